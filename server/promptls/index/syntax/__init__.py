"""Syntax analysis of one file: from text to outline, chunks and references.

The entry points are `parse.parse_source` and `structural_search.find_matches`. This is the only package that imports
tree-sitter, and it does so on first use.
"""
