"""Masks: rewriting of the source before it is parsed, for syntax that a grammar does not know."""
