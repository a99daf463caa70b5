"""Scanners: find definitions in the text of a file, for languages that no grammar parses well enough.

A scanner returns drafts, as the queries of a grammar do. Everything else, such as nesting, signatures and documentation,
is shared. No grammar is needed here. A language names its scanner, which is a service "scan-NAME" in `pyproject.toml`.
"""
