"""Names and kinds of the definitions that C and C++ macros make: tests, system calls, modules, variables.

Facts about test frameworks are from the documentation of GoogleTest, Catch2, doctest, Boost.Test, CppUTest, Criterion,
Check and the kernel self-tests. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class MacroName(NamedTuple):
    """The definition that a macro call makes."""

    name: str
    """Name as written; a string literal with its quotes."""
    kind: str = ""
    """Kind of the definition, "" for the kind of the declaration that the call is a part of."""
    owner: str = ""
    """Test suite, fixture or class, "" without one."""


PastingMacros = Mapping[bytes, tuple[list[bytes], bytes]]
"""Macros whose body joins tokens: parameters and body by name."""

_MAX_ARGUMENT_BYTES = 2_000
"""Longest arguments of a macro call that are split."""

_PASTING_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)\n]*)\)[ \t]*((?:[^\\\n]|\\.)*)", re.MULTILINE | re.DOTALL
)
_PASTED = re.compile(rb"\b\w+(?:\s*##\s*\w+)+(?=(\s*\()?)")
_ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"|[(){}\[\]]|,|[^"(){}\[\],]+', re.DOTALL)
_TITLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_IDENTIFIER = re.compile(r"(?:[^\W\d]\w*(?:\s*::\s*)?)+\Z")
_TEST = re.compile(r"(?:^|_)(?:U?TESTS?|SCENARIO|BENCHMARK)(?:_|\Z)|^(?:Test|ParameterizedTest|Theory)\Z")
_NAME_FIRST = re.compile(r"BOOST|TEST_METHOD|TEMPLATE|BENCHMARK_TEMPLATE|START_TEST")
_VARIABLE = re.compile(r"(?:\w+_)?DEFINE(?:_\w+)?\Z|LIST_HEAD\Z|HLIST_HEAD\Z")
_SECOND_ARGUMENT = re.compile(r"PER_CPU|DEFINE_EVENT")
_DELEGATE = re.compile(r"DECLARE_\w*DELEGATE\w*\Z")
_SCOPE_MACROS = {
    "TEST_SUITE": "namespace", "TEST_CLASS": "class", "TEST_GROUP": "struct", "TEST_GROUP_BASE": "struct",
    "FIXTURE": "struct",
}  # fmt: skip
"""Macros whose block holds declarations → kind of the definition."""


def pasting_macros(code: bytes) -> PastingMacros:
    """Return the macros of a file that join tokens."""
    return {
        match[1]: ([part.strip() for part in match[2].split(b",")], match[3])
        for match in _PASTING_MACRO.finditer(code)
        if b"##" in match[3]
    }


def split_arguments(text: bytes | bytearray) -> list[str]:
    """Return the arguments of a macro call, without the blanks around them."""
    arguments, depth = [""], 0
    for match in _ARGUMENT.finditer(text[:_MAX_ARGUMENT_BYTES].decode("utf-8", "replace")):
        piece = match[0]
        if piece == "," and depth == 0:
            arguments.append("")
            continue
        depth += (piece in "([{") - (piece in ")]}") if len(piece) == 1 else 0
        arguments[-1] += piece
    return [argument.strip() for argument in arguments]


def definition_name(macro: bytes, arguments: bytes | bytearray, pasting: PastingMacros) -> MacroName | None:
    """Return what a macro call defines that has a body, None if it names nothing.

    Args:
        macro: Name of the macro.
        arguments: Text between its parentheses.
        pasting: Macros of the same file that join tokens.
    """
    name = macro.decode("utf-8", "replace")
    parts = split_arguments(arguments)
    joined = _joined_name(macro, parts, pasting)
    if joined:
        return MacroName(joined)
    if name in _SCOPE_MACROS:
        return MacroName(parts[0], _SCOPE_MACROS[name]) if parts[0] else None
    title = next((match[0] for part in parts if (match := _TITLE.match(part))), "")
    identifiers = [part for part in parts if _IDENTIFIER.match(part)]
    if _TEST.search(name):
        first = identifiers[0] if identifiers and parts[0] == identifiers[0] else ""
        if title:
            return MacroName(title, "test", first)
        if first and len(identifiers) > 1 and not _NAME_FIRST.search(name):
            return MacroName(identifiers[1], "test", first)
        return MacroName(first, "test") if first else None
    if not identifiers:
        return None
    if "METHOD" in name and len(identifiers) > 1:
        return MacroName(identifiers[1], "method", identifiers[0])
    return MacroName(identifiers[0])


def variable_name(macro: bytes, arguments: bytes | bytearray) -> MacroName | None:
    """Return what a macro call without a body defines, such as DEFINE_MUTEX(name); None for other calls."""
    name = macro.decode("utf-8", "replace")
    is_delegate = _DELEGATE.match(name)
    if not is_delegate and not _VARIABLE.match(name):
        return None
    parts = split_arguments(arguments)
    index = 1 if _SECOND_ARGUMENT.search(name) and len(parts) > 1 else 0
    if not _IDENTIFIER.match(parts[index]):
        return None
    return MacroName(parts[index], "type" if is_delegate else "variable")


def _joined_name(macro: bytes, arguments: list[str], pasting: PastingMacros) -> str:
    """Return the name that a macro of the same file makes by joining tokens, "" if it is unknown."""
    if macro not in pasting:
        return ""
    parameters, body = pasting[macro]
    pasted = list(_PASTED.finditer(body))
    if not pasted:
        return ""
    chosen = next((match for match in pasted if match[1]), pasted[0])
    values = dict(zip(parameters, arguments, strict=False))
    joined = "".join(values.get(token, token.decode("utf-8", "replace")) for token in re.split(rb"\s*##\s*", chosen[0]))
    return joined if _IDENTIFIER.match(joined) else ""
