"""Prescan: words and probable definitions of files that wait to be outlined.

Workers run the `lexer`.  The server keeps the results in a `term_index`, and uses the `fallback` for files that are not
prescanned yet.
"""
