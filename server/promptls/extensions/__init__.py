"""Optional parts: promptls starts and answers without this folder.

The core never imports this package. Its parts are found through entry points in `pyproject.toml`; languages are found
by the registry of `promptls.languages`.
"""
