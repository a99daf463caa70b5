"""Requests to the client: configuration, client context and progress bars."""
