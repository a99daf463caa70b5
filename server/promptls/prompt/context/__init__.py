"""The context that a prompt may show: explicit and implicit items, earlier turns, code of the team index."""
