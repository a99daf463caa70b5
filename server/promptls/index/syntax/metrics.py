"""Properties of a definition: cyclomatic complexity, visibility, decorators and traits.

Complexity is McCabe's cyclomatic number (T. J. McCabe, "A Complexity Measure", 1976): decisions + 1. Boolean operators
count as decisions, and nested definitions are counted separately. The queries capture decisions as `@branch`. Pure
functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import Language
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS

TRAITS = ("yields", "spawns", "defers", "awaits")
"""Query captures that are traits of the enclosing function."""

_DECORATOR = re.compile(rb"@(?!interface\b)([A-Za-z_][\w.]*)|#!?\[(?:cfg_attr\([^,]*,\s*)?([A-Za-z_][\w:]*)")
_MAX_DECORATORS = 6
_MAX_HEAD_BYTES = 400
"""Bytes of a head that are searched for decorators."""

_DUNDER_ALL = re.compile(rb"^__all__\s*(?::[^=\n]*)?\+?=\s*[\[(]([^\])]{0,20000})[\])]", re.MULTILINE)
_STRING = re.compile(rb"[\"'](\w+)[\"']")
_EXPORT_LIST = re.compile(rb"^[ \t]*export\s*(?:type\s*)?\{([^}]{0,20000})\}(?!\s*from)", re.MULTILINE)
_EXPORT_DEFAULT = re.compile(rb"^[ \t]*export[ \t]+default[ \t]+([A-Za-z_$][\w$]*)[ \t]*;?[ \t]*$", re.MULTILINE)
_COMMONJS_OBJECT = re.compile(rb"module\.exports\s*=\s*\{([^}]{0,20000})\}")
_COMMONJS_NAME = re.compile(
    rb"(?:module\.)?exports(?:\.(\w+))?\s*=\s*(?:(?:async\s+)?function\s*\*?\s*|class\s+)?([A-Za-z_$][\w$]*)?"
)
_EXPORTED_NAME = re.compile(rb"([A-Za-z_$][\w$]*)(?:\s*(?:as|:)\s*[A-Za-z_$][\w$]*)?")
_NON_PUBLIC_KEYWORD = re.compile(r"\b(?:private|protected|fileprivate|internal)\b|(?:^|\s)#\w")
_PUBLIC_KEYWORD = re.compile(r"\b(?:public|open|protected)\b")


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
        end: Byte after the signature; decorators within it count too, except in Python.
        language: The language of the file.
    """
    if not language.has_decorators:
        return []
    text = data[start : head if language.name == "python" else min(end, head + _MAX_HEAD_BYTES)]
    if b"@" not in text and b"#[" not in text:
        return []
    names = [(match.group(1) or match.group(2)).decode("utf-8", "replace") for match in _DECORATOR.finditer(text)]
    return [f"@{name}" for name in dict.fromkeys(names)][:_MAX_DECORATORS]


def explicit_exports(source: SourceText, language: Language) -> frozenset[str] | None:
    """Return the names in the export lists of a file, None if it has no such list."""
    data = source.data
    if language.visibility == "python":
        if b"__all__" not in data:
            return None
        lists = _DUNDER_ALL.findall(data)
        return frozenset(name.decode() for text in lists for name in _STRING.findall(text)) if lists else None
    if language.visibility != "export" or b"export" not in data:
        return None
    names = [name for text in _EXPORT_LIST.findall(data) for name in _EXPORTED_NAME.findall(text)]
    names += _EXPORT_DEFAULT.findall(data)
    if b"exports" in data:
        names += [name for text in _COMMONJS_OBJECT.findall(data) for name in _EXPORTED_NAME.findall(text)]
        names += [name for pair in _COMMONJS_NAME.findall(data) for name in pair if name]
    return frozenset(name.decode("utf-8", "replace") for name in names)


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
    head = signature.partition("(")[0]
    rule = language.visibility
    if rule == "python":
        if parent is None and exports is not None:
            return name in exports
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
    if rule == "export":
        if parent is None:
            return signature.startswith("export") or (exports is not None and name in exports)
        return not _NON_PUBLIC_KEYWORD.search(head)
    if rule == "capitalized":
        return name[:1].isupper()
    if rule == "pub":
        return signature.startswith("pub") or (parent is not None and parent[0] == "trait")
    if rule == "public":
        return bool(_PUBLIC_KEYWORD.search(head)) or (parent is not None and parent[0] in ("interface", "enum"))
    if rule == "not_private":
        return not _NON_PUBLIC_KEYWORD.search(head)
    if rule == "not_static":
        return not signature.startswith("static ")
    if rule == "not_defp":
        return not signature.startswith(("defp ", "defmacrop "))
    if rule == "no_underscore":
        return not name.startswith("_")
    return True
