"""Everything that promptls knows of individual programming languages: one module per language.

To add a language, add a module with a `Language` constant to this package and its queries to `queries/`. Languages that
need no more than a query or a scanner are in `promptls.extensions.languages`. The kinds of symbols are in `kinds`.
Nothing here imports tree-sitter, so any process can use this package.
"""

from __future__ import annotations

from promptls.languages.detection import FILE_EXTENSIONS, NOTEBOOK_HEADER, language_by_alias, language_of
from promptls.languages.interface_files import implementation_paths
from promptls.languages.language import ClassImports, ImportResolution, Language, Mask, PathImports
from promptls.languages.registry import (
    ECMASCRIPT,
    LANGUAGES,
    PLAIN_TEXT,
    UNKNOWN_CODE,
    language_named,
    names_where,
    read_query_file,
)

__all__ = [
    "ECMASCRIPT",
    "FILE_EXTENSIONS",
    "LANGUAGES",
    "NOTEBOOK_HEADER",
    "PLAIN_TEXT",
    "UNKNOWN_CODE",
    "ClassImports",
    "ImportResolution",
    "Language",
    "Mask",
    "PathImports",
    "implementation_paths",
    "language_by_alias",
    "language_named",
    "language_of",
    "names_where",
    "read_query_file",
]
