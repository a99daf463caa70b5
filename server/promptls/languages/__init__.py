"""Everything that promptls knows of individual programming languages: data, and functions of text.

Languages with rules have a module, alone or with their family; others are in `scripting` and `data_formats`, and
languages that need no more than a query or a scanner in `promptls.extensions.languages`. The queries are in `queries/`.
Nothing here imports tree-sitter, so any process can use this package.
"""

from __future__ import annotations

from promptls.languages.detection import (
    FILE_EXTENSIONS,
    NOTEBOOK_HEADER,
    implementation_paths,
    language_by_alias,
    language_of,
)
from promptls.languages.language import ClassImports, ImportResolution, Language, Mask, PathImports
from promptls.languages.registry import (
    ECMASCRIPT,
    LANGUAGES,
    PLAIN_TEXT,
    UNKNOWN_CODE,
    analyses_calls,
    language_named,
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
    "analyses_calls",
    "implementation_paths",
    "language_by_alias",
    "language_named",
    "language_of",
    "read_query_file",
]
