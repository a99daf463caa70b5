"""Definitions found in the text by scanners, for languages that no grammar parses well enough.

A scanner returns drafts, as the queries of a grammar do. Everything else, such as nesting, signatures and
documentation, is shared. No grammar is needed here.
"""

from __future__ import annotations

from promptls.index.syntax.definitions.lines import scan_lines
from promptls.index.syntax.definitions.sql import scan_sql
from promptls.index.syntax.definitions.templates import scan_templates
from promptls.index.syntax.symbol_builder import SymbolDraft
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language

__all__ = ["scan_definitions"]


def scan_definitions(source: SourceText, language: Language) -> list[SymbolDraft]:
    """Return the drafts of the definitions that the scanner of a language finds; none without a scanner."""
    if language.scanner == "sql":
        return scan_sql(source.data)
    if language.scanner == "lines":
        return scan_lines(source, language)
    if language.scanner == "template":
        return scan_templates(source)
    return []
