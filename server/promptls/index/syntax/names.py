"""Names of definitions and references: splits qualified names, and finds owners and type names in text.

Pure functions.
"""

from __future__ import annotations

import re

from promptls.languages import LANGUAGES, Language

_MAX_REFERENCE_CHARS = 100
"""Longest name of a reference; longer ones are data."""

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_QUALIFIED_NAME = re.compile(r"[^\W\d]\w*(?:(?:::|\.|\\)[^\W\d]\w*)*")
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\$\{[^{}\n]*\}")
"""A quoted part of a name or an interpolation; a separator in it is text."""
_TYPE_MODIFIER = re.compile(r"'\w+\b|\b(?:mut|dyn|const)\b")
_OPERATOR = re.compile(r"(?:(.*)::)?\s*operator\b(\s*[\"]{2}\s*\w+|\s*\(\)|\s*\[\]|\s*[^\s\w(]+|[^(]*)", re.DOTALL)
_JULIA_OPERATOR = re.compile(r"(?:((?:\w+\.)*\w+)\.)?:?\(?([^\w\s.:()][^\s()]*|:|\.+)\)?")

_SEPARATORS: dict[str, re.Pattern[str]] = {
    name: re.compile("|".join(map(re.escape, language.name_separators)))
    for name, language in LANGUAGES.items()
    if language.name_separators
}
"""Pattern that separates the parts of a name, by language."""

_NON_OWNERS = frozenset({"module", "exports", "prototype", "this", "window", "globalThis", "root"})
"""Parts of a JavaScript name that are not the owner of a definition."""


def name_parts(text: str, language: Language) -> list[str]:
    """Split the name of a definition, owner first: ["A", "b"] for "A<T>::b" in C++. Never empty."""
    if text.isidentifier():
        return [text]
    separator = _SEPARATORS.get(language.name)
    if text[:1] in "\"'" and (separator is None or _QUOTED.fullmatch(text)):
        return [unquote(text)]
    if separator is None:
        return [text.strip("()`" if language.name == "haskell" else "`$")]
    if language.name == "julia":
        return _julia_parts(text)
    if language.name == "perl":
        text = text.lstrip("$@%")
    operator = _OPERATOR.match(text) if language.name_separators == ("::",) else None
    if operator:
        return [*_split(operator.group(1) or "", separator), "operator" + operator.group(2).rstrip()]
    parts = _split(text, separator)
    if language.family == "ecmascript" and len(parts) > 1:
        parts = [part for part in parts[:-1] if part not in _NON_OWNERS] + parts[-1:]
    return parts or [text]


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    while "<" in text:
        stripped = _TEMPLATE_ARGUMENTS.sub("", text)
        if stripped == text:
            break
        text = stripped
    if _QUOTED.search(text):
        return _split_quoted(text, separator)
    return [part.strip() for part in separator.split(text) if part.strip()]


def _split_quoted(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a name outside of its quotes and interpolations: `hosts."example.com".root`."""
    masked = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)
    ends = [(match.start(), match.end()) for match in separator.finditer(masked)]
    starts = [0, *(end for _, end in ends)]
    parts = [text[start:end].strip() for start, end in zip(starts, [*(s for s, _ in ends), len(text)], strict=True)]
    return [unquote(part) for part in parts if part]


def _julia_parts(text: str) -> list[str]:
    """Split the name of a Julia function: also operators such as "Base.:(==)", and the type of "(f::Rod{T})"."""
    if "::" in text:
        text = text.partition("::")[2]
    text = text.partition("{")[0].strip(" ()")
    operator = _JULIA_OPERATOR.fullmatch(text)
    owner, name = operator.groups() if operator else ("", text)
    return [*filter(None, (owner or "").split(".")), *(name.split(".") if not operator else [name])]


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
