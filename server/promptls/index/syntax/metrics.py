"""Properties of a definition: cyclomatic complexity, visibility, decorators and traits.

Complexity is McCabe's cyclomatic number (T. J. McCabe, "A Complexity Measure", 1976): decisions + 1. Boolean operators
count as decisions, and nested definitions are counted separately. The queries capture decisions as `@branch`. Pure
functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.languages import Language
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS
from promptls.languages.visibility import Definition

TRAITS = ("yields", "spawns", "defers", "awaits")
"""Query captures that are traits of the enclosing function."""

_DECORATOR = re.compile(rb"@(?!interface\b)([A-Za-z_][\w.]*)|#!?\[(?:cfg_attr\([^,]*,\s*)?([A-Za-z_][\w:]*)")
_MAX_DECORATORS = 6
_MAX_HEAD_BYTES = 400
"""Bytes of a head that are searched for decorators."""


def cyclomatic_complexities(
    spans: Sequence[tuple[int, int, int]], kinds: Sequence[str], branches: Sequence[int]
) -> list[int]:
    """Return the cyclomatic complexity of each definition, 0 for those that cannot be called.

    Args:
        spans: (first byte, end byte, index of the parent) of each definition, in document order.
        kinds: Kind of each definition.
        branches: Bytes of decisions, in ascending order.
    """
    complexities = [1 if kind in CALLABLE_KINDS else 0 for kind in kinds]
    for owner in innermost_definitions(spans, branches):
        while owner >= 0 and not complexities[owner]:
            owner = spans[owner][2]
        if owner >= 0:
            complexities[owner] += 1
    return complexities


def innermost_definitions(spans: Sequence[tuple[int, int, int]], positions: Sequence[int]) -> list[int]:
    """Return the index of the innermost definition around each byte, -1 for none; bytes are in ascending order."""
    owners: list[int] = []
    stack: list[int] = []
    next_span = 0
    for position in positions:
        while next_span < len(spans) and spans[next_span][0] <= position:
            while stack and spans[stack[-1]][1] <= spans[next_span][0]:
                stack.pop()
            stack.append(next_span)
            next_span += 1
        while stack and spans[stack[-1]][1] <= position:
            stack.pop()
        owners.append(stack[-1] if stack else -1)
    return owners


def decorators(data: bytes, start: int, head: int, end: int, language: Language) -> list[str]:
    """Return the decorators and attributes of a definition as "@name".

    Args:
        data: The text of the file.
        start: First byte of the first line, attributes included.
        head: First byte of the signature.
        end: Byte after the signature.
        language: The language of the file.
    """
    if not language.annotations:
        return []
    text = data[start : min(end, head + _MAX_HEAD_BYTES) if language.annotations == "in_head" else head]
    if b"@" not in text and b"#[" not in text:
        return []
    names = [(match.group(1) or match.group(2)).decode("utf-8", "replace") for match in _DECORATOR.finditer(text)]
    return [f"@{name}" for name in dict.fromkeys(names)][:_MAX_DECORATORS]


def is_exported(
    name: str,
    kind: str,
    signature: str,
    parent: tuple[str, bool] | None,
    language: Language,
    exports: frozenset[str] | None,
) -> bool:
    """Return whether other files may use a definition.

    Args:
        name: Name of the definition.
        kind: Kind of the definition.
        signature: Signature of the definition.
        parent: (kind, exported) of the enclosing definition, None at top level.
        language: The language of the file, whose `visibility` rule applies.
        exports: Names in the export lists of the file, None without such a list.
    """
    if kind in SPACE_KINDS:
        return True
    if parent is not None and (parent[0] in CALLABLE_KINDS or not parent[1]):
        return False
    parent_kind = parent[0] if parent is not None else ""
    return language.visibility.is_exported(Definition(name, signature, parent_kind, exports))
