"""What a signature says: what a function returns, and what it hands to a function that it is given."""

from __future__ import annotations

import re

from promptls.languages import language_named
from promptls.model import Symbol

_AFTER_ARROW = re.compile(
    r"(?:&(?:'\w+\s*)?(?:mut\s+)?)?(?:impl\s+|dyn\s+)?[\"']?([A-Za-z_][\w.:]*)(\[[^\]]*\]?|<[^>]*>?)?"
)
_AFTER_COLON = re.compile(r"\)\s*:\s*([A-Za-z_$][\w$.]*)(<([A-Za-z_$][\w$.]*)[^>]*>)?")
_BEFORE_NAME = re.compile(r"([A-Za-z_][\w.:]*)(<[^()]*>)?[\s*&?]+(?:[\w.:~]+::)?~?[\w]+\s*\(")
_GO_RESULT = re.compile(r"\)\s*\(?\s*(?:\w+\s+)?\**(?:\[\])?([A-Za-z_][\w.]*)(?![\w.]*\()")
_ZIG_RESULT = re.compile(r"\)\s*(?:(?:error\{[^{}]*\}|[\w.]*)!)?\s*(?:[*?]|const\s)*([A-Za-z_][\w.]*)(?![\w.(])")
_OF_FUNCTION = re.compile(r"(?:(?:export|declare|const|let|var|readonly)\s+)*[\w$]+\s*:\s*(?:<[^=()]*>\s*)?\(")
_NAMED = re.compile(r"[A-Za-z_$][\w$.]*")
_PARAMETER = re.compile(r"(?:(?:public|private|protected|readonly)\s+)*(?:\.\.\.)?[\w$]+\??\s*:\s*(.*)", re.DOTALL)
_WRAPPERS = frozenset(
    {"Optional", "Awaitable", "Result", "Option", "Box", "Rc", "Arc", "Promise", "Annotated", "Type", "type"}
)
_HOLDERS = frozenset({"Future", "FutureOr", "Task", "ValueTask", "unique_ptr", "shared_ptr", "optional"})
"""Of Dart, C# and C++: what is waited for or followed comes to be what they hold."""


def returned(symbol: Symbol, language: str) -> str:
    """The type that a function says it returns, as written and without what only wraps it; "" if it says none."""
    signature = symbol.signature
    syntax = language_named(language).return_syntax
    if syntax == "arrow":
        arrow = _AFTER_ARROW.match(behind_arrow(signature))
        if arrow is None:
            return ""
        name, inner = arrow.group(1).replace("::", "."), arrow.group(2) or ""
        if name.rpartition(".")[2] in _WRAPPERS and inner:
            match = re.search(r"[A-Za-z_][\w.]*", inner)
            return match.group() if match else ""
        return name
    if syntax == "colon":
        match = _AFTER_COLON.search(signature)
        if match is None:
            arrow = _OF_FUNCTION.match(signature)
            end = _closing(signature, arrow.end() - 1) if arrow else -1
            return _plain(signature[end + 1 :].lstrip()[2:]) if end >= 0 else ""
        return match.group(3) if match.group(1) == "Promise" and match.group(3) else match.group(1)
    if syntax == "type_first":
        match = _BEFORE_NAME.search(signature)
        if match is None:
            return ""
        name, inner = match.group(1).replace("::", "."), match.group(2) or ""
        held = re.search(r"[A-Za-z_][\w.:]*", inner) if name.rpartition(".")[2] in _HOLDERS else None
        return held.group().replace("::", ".") if held else name
    if syntax == "zig":
        end = _closing(signature, signature.find("("))
        match = _ZIG_RESULT.match(signature, end) if end >= 0 else None
        return match.group(1) if match else ""
    if syntax == "go":
        end = signature.rfind(")", 0, len(signature) - 1)
        match = _GO_RESULT.match(signature, end) if end >= 0 else None
        return match.group(1) if match else ""
    return ""


def behind_arrow(signature: str) -> str:
    """What a head says behind the arrow that follows its parameters, "" without one; their own arrows do not count."""
    start = _open_parenthesis(signature)
    if start < 0:
        return signature.rpartition("->")[2].strip() if "->" in signature else ""
    end = _closing(signature, start)
    return signature[end:].partition("->")[2].partition(" where ")[0].strip() if end >= 0 else ""


def taken(signature: str, argument: int, parameter: int) -> str:
    """The type, as written, of a parameter of the function type that a TypeScript parameter has; "" for none.

    taken("function each(to: (item: Cart, at: number) => void)", 0, 0) is "Cart".
    """
    listed = _parameters(signature)
    of = listed[argument] if argument < len(listed) else ""
    of = of[1:] if of.startswith("((") else of  # an optional callback: "((a: A) => void) | null"
    handed = _parameters(of) if re.match(r"(?:<[^=()]*>\s*)?\(", of) else []
    return _plain(handed[parameter]) if parameter < len(handed) else ""


def _plain(of: str) -> str:
    """The name of a type that is not a choice, an array or a function; "" for others."""
    match = _NAMED.match(of.strip())
    return match.group() if match is not None and not re.search(r"\[\]\s*$|=>|\||&", of) else ""


def _parameters(text: str) -> list[str]:
    """The types of the first parameter list in a text, "this" left out."""
    start = _open_parenthesis(text)
    if start < 0:
        return []
    end = _closing(text, start)
    parts = _split(text[start + 1 : end]) if end >= 0 else _split(text[start + 1 :])[:-1]  # its end is cut off
    out = []
    for part in map(str.strip, parts):
        match = _PARAMETER.match(part)
        if not part.startswith("this:"):
            out.append(match.group(1).strip() if match else "")
    return out


def _open_parenthesis(text: str) -> int:
    """Where the first "(" outside of type parameters is, -1 without one."""
    depth = 0
    for at, char in enumerate(text):
        if char == "(" and depth == 0:
            return at
        depth += (char == "<") - (char == ">" and text[at - 1 : at] not in ("=", "-"))
    return -1


def _closing(text: str, start: int) -> int:
    """Where the bracket closes that opens at `start`, -1 if it does not."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return -1


def _split(text: str) -> list[str]:
    """The parts of a list between commas that no bracket holds."""
    out, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[at - 1 : at] not in ("=", "-")):
            depth -= 1
        elif char == "," and depth == 0:
            out.append(text[begin:at])
            begin = at + 1
    return [*out, text[begin:]]
