"""Languages that need no more than a query or a scanner: one module per family.

Each entry is data. A language that also needs rules for imports, types or visibility is defined in
`promptls.languages`. The registry there finds the constants of this package.
"""

from __future__ import annotations

from typing import Any

from promptls.languages.language import Language

CALL_WITH_PARENTHESES = r"(?<![\w$@])(?P<name>[^\W\d][\w$]*[!?]?)\("
"""A name with arguments in parentheses; a pattern of `Language.call_patterns`."""

COMMAND = r"(?:^|[;{}=]|\breturn\b)[ \t]*(?P<name>[^\W\d]\w*)(?=[ \t]+[^\s=]|[ \t]*(?:$|[;{}]))"
"""A word that begins a statement; most are keywords, which never are the name of a definition."""


def outlined(name: str, extensions: str, **fields: Any) -> Language:
    """Return a language whose grammar and query file have its name, unless its lines are scanned.

    Args:
        name: Name of the language.
        extensions: File extensions, separated by blanks.
        fields: Other fields.
    """
    fields = {"names_without_import": True, **fields}
    if fields.get("scanner") != "lines":
        fields = {"pack_grammar": name, "query_files": (name,), **fields}
    return Language(name=name, extensions=tuple(extensions.split()), **fields)
