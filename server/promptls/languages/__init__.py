"""Everything that promptls knows of individual programming languages: one module per language.

To add a language, add a module with a `Language` constant to this package and its queries to `queries/`. The kinds
of symbols are in `kinds`. Nothing here imports tree-sitter, so any process can use this package.
"""

from __future__ import annotations

from promptls.languages.detection import NOTEBOOK_HEADER, language_by_alias, language_of
from promptls.languages.language import ClassImports, ImportResolution, Language, Mask, PathImports
from promptls.languages.registry import ECMASCRIPT, LANGUAGES, PLAIN_TEXT, language_named, names_where

__all__ = [
    "ECMASCRIPT",
    "LANGUAGES",
    "NOTEBOOK_HEADER",
    "PLAIN_TEXT",
    "ClassImports",
    "ImportResolution",
    "Language",
    "Mask",
    "PathImports",
    "language_by_alias",
    "language_named",
    "language_of",
    "names_where",
]
