"""Rust macro calls that hold items: `lazy_static!`, `bitflags!`, `cfg_if!` and project macros such as `cfg_rt!`.

The grammar sees only tokens in a macro call. The call is blanked, and items in a syntax of their own are rewritten at
the same length: a bit set becomes a trait whose constants have a type. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptls.index.syntax.masks.c_conditionals import BLANK
from promptls.index.syntax.masks.c_macro_names import MacroName

_ITEM_MACRO = re.compile(
    rb"^([ \t]*)(?!macro_rules)([\w:]+)!\s?\{[ \t]*\n"
    rb"(?=\s*(?://[^\n]*\s+)*(?:#!?\[|pub\b|fn\b|impl\b|struct\b|enum\b|mod\b|use\b|trait\b|const\b|"
    rb"static\s+(?:ref\s+)?\w+:|type\b|unsafe\s|async\s+fn\b|extern\b|macro_rules\b|if\s+#\[cfg))",
    re.MULTILINE,
)
_STATIC_REF = re.compile(rb"\bstatic\s+(ref)\s+\w+\s*:")
_BIT_SET = re.compile(rb"\b(struct|impl)\s+(\w+)(\s*:\s*[\w:]+)(?=\s*\{)")
_BIT = re.compile(rb"\bconst\s+\w+(\s*=[^;{}]*)(?=;)")
_FIRST_BRANCH = re.compile(rb"^([ \t]*)if\s+#\[cfg", re.MULTILINE)
_BRANCH = re.compile(
    rb"^([ \t]*)(?:if|\}(?:[ \t]*else)?(?:[ \t]+if)?)(?:\s+#\[cfg[^\n]{0,300}\])?[ \t]*\{?[ \t]*$", re.MULTILINE
)

_REWRITTEN = frozenset((b"bitflags", b"cfg_if", b"lazy_static"))
"""Macros whose items have a syntax of their own."""


def without_item_macros(code: bytes) -> tuple[bytes, Mapping[int, MacroName]]:
    """Blank macro calls that only hold items, and return the names of the definitions that are rewritten.

    Such a call is alone on its line, and a closing brace of the same indentation ends it.
    """
    masked = bytearray(code)
    names: dict[int, MacroName] = {}
    closes: dict[bytes, int] = {}  # by indentation, so that the text is searched once
    rewritten = 0
    for match in _ITEM_MACRO.finditer(code):
        indent, macro = match[1], match[2].rpartition(b":")[2]
        start = match.end()
        if indent not in closes or 0 <= closes[indent] < start - 1:
            closes[indent] = code.find(b"\n" + indent + b"}", start - 1)
        close = closes[indent]
        end = close + len(indent) + 2
        if close < 0 or code[end : end + 1] not in (b"\n", b""):
            continue
        _blank(masked, match.start(), match.end())
        _blank(masked, close + 1, end)
        if macro not in _REWRITTEN or start < rewritten:  # a call in a rewritten call
            continue
        rewritten = close
        if macro == b"lazy_static":
            for static in _STATIC_REF.finditer(code, start, close):
                _blank(masked, *static.span(1))
        elif macro == b"bitflags":
            _rewrite_bit_sets(code, masked, start, close, names)
        elif macro == b"cfg_if":
            _blank_branches(code, masked, start, close)
    return bytes(masked), names


def _blank(masked: bytearray, start: int, end: int) -> None:
    masked[start:end] = masked[start:end].translate(BLANK)


def _rewrite_bit_sets(code: bytes, masked: bytearray, start: int, end: int, names: dict[int, MacroName]) -> None:
    """Turn `struct A: u32 { const B = 1; }` into a trait with a typed constant."""
    for match in _BIT_SET.finditer(code, start, end):
        _blank(masked, *match.span(3))
        if match[1] == b"struct":
            masked[match.start(1) : match.end(1)] = b"trait "
            names[match.start(2)] = MacroName(match[2].decode("utf-8", "replace"), "struct")
    for match in _BIT.finditer(code, start, end):
        value, stop = match.span(1)
        if stop - value >= len(b":u8") and b"\n" not in code[value : value + len(b":u8")]:
            _blank(masked, value, stop)
            masked[value : value + len(b":u8")] = b":u8"


def _blank_branches(code: bytes, masked: bytearray, start: int, end: int) -> None:
    """Blank the conditions of `cfg_if!`: lines of the indentation of the first one that hold nothing else."""
    first = _FIRST_BRANCH.search(code, start, end)
    if first is None:
        return
    for match in _BRANCH.finditer(code, start, end):
        if match[1] == first[1]:
            _blank(masked, *match.span())
