"""Names of definitions and references: splits qualified names, and finds owners and type names in text.

Pure functions.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from promptls.util.text.regex import lazy_pattern

if TYPE_CHECKING:
    from promptls.languages.language import Language

_MAX_REFERENCE_CHARS = 100
"""Longest name of a reference; longer ones are data."""

_TEMPLATE_ARGUMENTS = lazy_pattern(r"<[^<>]*>")
_QUALIFIED_NAME = lazy_pattern(r"[^\W\d]\w*(?:(?:::|\.|\\)[^\W\d]\w*)*")
_QUOTED = lazy_pattern(r"\"[^\"\n]*\"|'[^'\n]*'|\$\{[^{}\n]*\}")
"""A quoted part of a name or an interpolation; a separator in it is text."""
_TYPE_MODIFIER = lazy_pattern(r"'\w+\b|\b(?:mut|dyn|const)\b")


def name_parts(text: str, language: Language) -> list[str]:
    """Split the name of a definition, owner first: ["A", "b"] for "A<T>::b" in C++. Never empty."""
    if text.isidentifier():
        return [text]
    if text[:1] in "\"'" and (not language.name_separators or _QUOTED.fullmatch(text)):
        return [unquote(text)]
    if language.split_name is not None:
        return language.split_name(text)
    if not language.name_separators:
        return [text.strip("()`$ ")]
    return split_at_separators(text, language.name_separators) or [text]


def split_at_separators(text: str, separators: tuple[str, ...]) -> list[str]:
    """Split a name, without type arguments, at separators outside of quotes."""
    while "<" in text:
        stripped = _TEMPLATE_ARGUMENTS.sub("", text)
        if stripped == text:
            break
        text = stripped
    separator = _separator_pattern(separators)
    if _QUOTED.search(text):
        return _split_quoted(text, separator)
    return [part.strip() for part in separator.split(text) if part.strip()]


@cache
def _separator_pattern(separators: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, separators)))


def _split_quoted(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a name outside of its quotes and interpolations: `hosts."example.com".root`."""
    masked = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)
    ends = [(match.start(), match.end()) for match in separator.finditer(masked)]
    starts = [0, *(end for _, end in ends)]
    parts = [text[start:end].strip() for start, end in zip(starts, [*(s for s, _ in ends), len(text)], strict=True)]
    return [unquote(part) for part in parts if part]


def type_name(text: str) -> str:
    """Return the unqualified name of a type as written: "Vec" for "&'a mut Vec<T>", "Result" for "fmt::Result"."""
    match = _QUALIFIED_NAME.search(_TYPE_MODIFIER.sub(" ", text))
    return re.split(r"::|\.|\\", match.group())[-1] if match else ""


def owner_parts(text: str, language: Language) -> list[str]:
    """Split the owner of a definition: a receiver, or the target of an assignment in JavaScript."""
    if language.family == "ecmascript":
        return name_parts(text, language)[:-1]
    name = type_name(text)
    return [name] if name else []


def reference_name(text: str) -> str:
    """Return the name of a captured reference: its last part, "" if it is not a name."""
    if len(text) > _MAX_REFERENCE_CHARS:
        return ""
    if not text.isidentifier():
        text = re.split(r"::|\.|\\|=", text)[-1].strip("`\"' ")
    return text


def unquote(text: str) -> str:
    """Return a title or key without quotes and with whitespace collapsed."""
    text = " ".join(text.split())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1]
    return text
