"""Visibility: whether other files may use a definition, by the rule of its language."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from promptls.util.text.regex import lazy_pattern


class Definition(NamedTuple):
    """The parts of a definition that decide on its visibility."""

    name: str
    signature: str
    parent_kind: str
    """Kind of the enclosing definition, "" at top level."""
    exports: frozenset[str] | None
    """Names in the export lists of the file, None without such a list."""

    @property
    def head(self) -> str:
        """The signature up to the parameters."""
        return self.signature.partition("(")[0]


class Visibility(Struct, frozen=True):
    """The rule of a language."""

    is_exported: Callable[[Definition], bool]
    exports: Callable[[bytes], frozenset[str] | None] | None = None
    """Returns the names in the export lists of a file, None without such a list."""


_NON_PUBLIC_KEYWORD = lazy_pattern(r"\b(?:private|protected|fileprivate|internal)\b|(?:^|\s)#\w")
_PUBLIC_KEYWORD = lazy_pattern(r"\b(?:public|open|protected)\b")


def has_no_private_keyword(definition: Definition) -> bool:
    """Return whether a definition has no keyword that makes it private."""
    return not _NON_PUBLIC_KEYWORD.search(definition.head)


def _is_public(definition: Definition) -> bool:
    return bool(_PUBLIC_KEYWORD.search(definition.head)) or definition.parent_kind in ("interface", "enum")


EVERYTHING = Visibility(lambda definition: True)
NO_UNDERSCORE = Visibility(lambda definition: not definition.name.startswith("_"))
NOT_PRIVATE = Visibility(has_no_private_keyword)
PUBLIC = Visibility(_is_public)
NOT_STATIC = Visibility(lambda definition: not definition.signature.startswith("static "))
"""As in C, where "static" restricts a name to its file."""
