"""Types in signatures: the return type of a function, and the parameter types of its callbacks.

A function for the return type takes a signature and returns the type as written and without wrappers; "" if there is
none.
"""

from __future__ import annotations

import re

from promptls.util.text.regex import lazy_pattern

_AFTER_ARROW = lazy_pattern(
    r"(?:&(?:'\w+\s*)?(?:mut\s+)?)?(?:impl\s+|dyn\s+)?[\"']?([A-Za-z_][\w.:]*)(\[[^\]]*\]?|<[^>]*>?)?"
)
_AFTER_COLON = lazy_pattern(r"\)\s*:\s*([A-Za-z_$][\w$.]*)(<([A-Za-z_$][\w$.]*)[^>]*>)?")
_BEFORE_NAME = lazy_pattern(r"([A-Za-z_][\w.:]*)(<[^()]*>)?[\s*&?]+(?:[\w.:~]+::)?~?[\w]+\s*\(")
_FUNCTION_TYPE = lazy_pattern(r"(?:(?:export|declare|const|let|var|readonly)\s+)*[\w$]+\s*:\s*(?:<[^=()]*>\s*)?\(")
_TYPE_NAME = lazy_pattern(r"[A-Za-z_$][\w$.]*")
_PARAMETER = lazy_pattern(r"(?:(?:public|private|protected|readonly)\s+)*(?:\.\.\.)?[\w$]+\??\s*:\s*(.*)", re.DOTALL)
_WRAPPERS = frozenset(
    {"Optional", "Awaitable", "Result", "Option", "Box", "Rc", "Arc", "Promise", "Annotated", "Type", "type"}
)
"""Types of Python, Rust and TypeScript that are replaced by their first type argument."""

_CONTAINERS = frozenset({"Future", "FutureOr", "Task", "ValueTask", "unique_ptr", "shared_ptr", "optional"})
"""Types of Dart, C# and C++ whose value, after `await` or dereferencing, is their type argument."""


def return_after_arrow(signature: str) -> str:
    """Return the type in "f(a) -> Type"."""
    arrow = _AFTER_ARROW.match(after_arrow(signature))
    if arrow is None:
        return ""
    name, inner = arrow.group(1).replace("::", "."), arrow.group(2) or ""
    if name.rpartition(".")[2] in _WRAPPERS and inner:
        match = re.search(r"[A-Za-z_][\w.]*", inner)
        return match.group() if match else ""
    return name


def return_after_colon(signature: str) -> str:
    """Return the type in "f(a): Type", or that of a property with a function type."""
    match = _AFTER_COLON.search(signature)
    if match is None:
        arrow = _FUNCTION_TYPE.match(signature)
        end = closing_bracket(signature, arrow.end() - 1) if arrow else -1
        return _simple_type(signature[end + 1 :].lstrip()[2:]) if end >= 0 else ""
    return match.group(3) if match.group(1) == "Promise" and match.group(3) else match.group(1)


def return_before_name(signature: str) -> str:
    """Return the type in "Type f(a)"."""
    match = _BEFORE_NAME.search(signature)
    if match is None:
        return ""
    name, inner = match.group(1).replace("::", "."), match.group(2) or ""
    content = re.search(r"[A-Za-z_][\w.:]*", inner) if name.rpartition(".")[2] in _CONTAINERS else None
    return content.group().replace("::", ".") if content else name


def after_arrow(signature: str) -> str:
    """Return the text after the arrow that follows the parameters, "" for none; ignore arrows within parameters."""
    start = _open_parenthesis(signature)
    if start < 0:
        return signature.rpartition("->")[2].strip() if "->" in signature else ""
    end = closing_bracket(signature, start)
    return signature[end:].partition("->")[2].partition(" where ")[0].strip() if end >= 0 else ""


def callback_parameter_type(signature: str, argument: int, parameter: int) -> str:
    """Return the type, as written, of a parameter of a callback, "" for none.

    `callback_parameter_type("function each(to: (item: Cart, at: number) => void)", 0, 0)` is "Cart".

    Args:
        signature: Signature of a TypeScript function that takes the callback.
        argument: Position of the callback among the parameters of the function.
        parameter: Position of the parameter in the callback.
    """
    types = _parameter_types(signature)
    callback = types[argument] if argument < len(types) else ""
    callback = callback[1:] if callback.startswith("((") else callback  # optional: "((a: A) => void) | null"
    callback_types = _parameter_types(callback) if re.match(r"(?:<[^=()]*>\s*)?\(", callback) else []
    return _simple_type(callback_types[parameter]) if parameter < len(callback_types) else ""


def _simple_type(type_: str) -> str:
    """Return the name of a type, "" for a union, an intersection, an array or a function type."""
    match = _TYPE_NAME.match(type_.strip())
    return match.group() if match is not None and not re.search(r"\[\]\s*$|=>|\||&", type_) else ""


def _parameter_types(text: str) -> list[str]:
    """Return the types of the first parameter list in a text, without the parameter `this`."""
    start = _open_parenthesis(text)
    if start < 0:
        return []
    end = closing_bracket(text, start)
    is_truncated = end < 0
    parts = _split_list(text[start + 1 :])[:-1] if is_truncated else _split_list(text[start + 1 : end])
    out = []
    for part in map(str.strip, parts):
        match = _PARAMETER.match(part)
        if not part.startswith("this:"):
            out.append(match.group(1).strip() if match else "")
    return out


def _open_parenthesis(text: str) -> int:
    """Return the position of the first "(" outside of type parameters, -1 for none."""
    depth = 0
    for i, char in enumerate(text):
        if char == "(" and depth == 0:
            return i
        depth += (char == "<") - (char == ">" and text[i - 1 : i] not in ("=", "-"))
    return -1


def closing_bracket(text: str, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`, -1 if it is missing."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return -1


def _split_list(text: str) -> list[str]:
    """Split a list at the commas outside of brackets."""
    out, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[i - 1 : i] not in ("=", "-")):
            depth -= 1
        elif char == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]]
