"""Small facts of a definition: how many ways lead through it, whether others may use it, what marks it.

Complexity is McCabe's cyclomatic number (T. J. McCabe, "A Complexity Measure", 1976): decisions + 1, boolean
operators counted as decisions, nested definitions counted by themselves.  Which nodes decide is said by the
queries (`@fork`).  Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.index.syntax.source_text import Source
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS

MARKS = ("yields", "spawns", "defers", "awaits")
"""Captures of the queries that mark the function they stand in."""

_DECORATOR = re.compile(rb"@(?!interface\b)([A-Za-z_][\w.]*)|#!?\[(?:cfg_attr\([^,]*,\s*)?([A-Za-z_][\w:]*)")
_MAX_DECORATORS = 6
_MAX_HEAD = 400  # bytes of a definition that are looked at
_DECORATED = frozenset(
    {
        "python",
        "rust",
        "java",
        "kotlin",
        "scala",
        "swift",
        "dart",
        "typescript",
        "tsx",
        "javascript",
        "jsx",
        "php",
        "vue",
    }
)

_SCRIPTS = frozenset({"javascript", "jsx", "typescript", "tsx", "vue", "svelte"})
_ALL = re.compile(rb"^__all__\s*(?::[^=\n]*)?\+?=\s*[\[(]([^\])]{0,20000})[\])]", re.MULTILINE)
_STRING = re.compile(rb"[\"'](\w+)[\"']")
_EXPORTS = re.compile(rb"^[ \t]*export\s*(?:type\s*)?\{([^}]{0,20000})\}(?!\s*from)", re.MULTILINE)
_EXPORT_DEFAULT = re.compile(rb"^[ \t]*export[ \t]+default[ \t]+([A-Za-z_$][\w$]*)[ \t]*;?[ \t]*$", re.MULTILINE)
_COMMON_OBJECT = re.compile(rb"module\.exports\s*=\s*\{([^}]{0,20000})\}")
_COMMON_NAME = re.compile(
    rb"(?:module\.)?exports(?:\.(\w+))?\s*=\s*(?:(?:async\s+)?function\s*\*?\s*|class\s+)?([A-Za-z_$][\w$]*)?"
)
_WORD = re.compile(rb"([A-Za-z_$][\w$]*)(?:\s*(?:as|:)\s*[A-Za-z_$][\w$]*)?")
_HIDDEN = re.compile(r"\b(?:private|protected|fileprivate|internal)\b|(?:^|\s)#\w")
_PUBLIC = re.compile(r"\b(?:public|open|protected)\b")
_NO_UNDERSCORE = frozenset({"python", "dart", "lua", "julia", "r", "bash", "perl", "ruby", "zig"})


def complexities(spans: Sequence[tuple[int, int, int]], kinds: Sequence[str], forks: Sequence[int]) -> list[int]:
    """By definition its own cyclomatic number; 0 for what is not callable.

    `spans` are (first byte, end byte, index of the parent), in document order, parents first; `forks` bytes in
    ascending order.
    """
    out = [1 if kind in CALLABLE_KINDS else 0 for kind in kinds]
    for owner in owners(spans, forks):
        while owner >= 0 and not out[owner]:
            owner = spans[owner][2]
        if owner >= 0:
            out[owner] += 1
    return out


def owners(spans: Sequence[tuple[int, int, int]], places: Sequence[int]) -> list[int]:
    """For bytes in ascending order the innermost definition each stands in, -1 for none."""
    out: list[int] = []
    stack: list[int] = []
    at = 0
    for place in places:
        while at < len(spans) and spans[at][0] <= place:
            while stack and spans[stack[-1]][1] <= spans[at][0]:
                stack.pop()
            stack.append(at)
            at += 1
        while stack and spans[stack[-1]][1] <= place:
            stack.pop()
        out.append(stack[-1] if stack else -1)
    return out


def decorators(data: bytes, start: int, head: int, end: int, language: str) -> list[str]:
    """Decorators and attributes of a definition, as "@name": those before its head and, but in Python, in it."""
    if language not in _DECORATED:
        return []
    text = data[start : head if language == "python" else min(end, head + _MAX_HEAD)]
    if b"@" not in text and b"#[" not in text:
        return []
    found = [(match.group(1) or match.group(2)).decode("utf-8", "replace") for match in _DECORATOR.finditer(text)]
    return [f"@{name}" for name in dict.fromkeys(found)][:_MAX_DECORATORS]


def listed(source: Source, language: str) -> frozenset[str] | None:
    """Names that a file lists as its exports, None where it has no such list."""
    data = source.data
    if language == "python":
        if b"__all__" not in data:
            return None
        lists = _ALL.findall(data)
        return frozenset(name.decode() for text in lists for name in _STRING.findall(text)) if lists else None
    if language not in _SCRIPTS or b"export" not in data:
        return None
    found = [word for text in _EXPORTS.findall(data) for word in _WORD.findall(text)]
    found += _EXPORT_DEFAULT.findall(data)
    if b"exports" in data:
        found += [word for text in _COMMON_OBJECT.findall(data) for word in _WORD.findall(text)]
        found += [word for pair in _COMMON_NAME.findall(data) for word in pair if word]
    return frozenset(word.decode("utf-8", "replace") for word in found)


def exported(
    name: str, kind: str, signature: str, parent: tuple[str, bool] | None, language: str, names: frozenset[str] | None
) -> bool:
    """Whether other files may use a definition, by the rule of its language.

    `parent` is (kind, exported) of the enclosing definition, `names` what the file lists.
    """
    if kind in SPACE_KINDS:
        return True
    if parent is not None and (parent[0] in CALLABLE_KINDS or not parent[1]):
        return False
    head = signature.partition("(")[0]
    if language == "python":
        if parent is None and names is not None:
            return name in names
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
    if language in _SCRIPTS:
        if parent is None:
            return signature.startswith("export") or (names is not None and name in names)
        return not _HIDDEN.search(head)
    if language == "go":
        return name[:1].isupper()
    if language == "rust":
        return signature.startswith("pub") or (parent is not None and parent[0] == "trait")
    if language in ("java", "csharp"):
        return bool(_PUBLIC.search(head)) or (parent is not None and parent[0] in ("interface", "enum"))
    if language in ("kotlin", "scala", "php", "swift"):
        return not _HIDDEN.search(head)
    if language in ("c", "cpp"):
        return not signature.startswith("static ")
    if language == "elixir":
        return not signature.startswith(("defp ", "defmacrop "))
    if language in _NO_UNDERSCORE:
        return not name.startswith("_")
    return True
