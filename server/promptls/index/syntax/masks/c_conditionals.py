"""Preprocessor conditionals of C and C++, resolved so that the rest of a file parses.

The grammars accept `#if … #else … #endif` only around complete statements. Each directive is therefore blanked, and both
branches stay. Of branches that are not complete by themselves, such as two heads of one function, the first one
stays, and the others lose the lines that do not fit. Offsets and lines never change. Every step is linear in the size
of the text. Pure functions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_NESTED_CONDITIONALS = 100
"""Depth below which branches are not compared: generated or hostile text."""

BLANK = bytes(char if char in b"\n" else ord(" ") for char in range(256))
"""Table for `bytes.translate` that blanks everything but line ends."""

_LITERAL = re.compile(
    rb"//[^\\\n]*(?:\\.[^\\\n]*)*|/\*.*?(?:\*/|\Z)"
    rb'|R"([^ ()\\\t\v\f\n"]{0,16})\(.*?(?:\)\1"|\Z)'
    rb"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'(?<![0-9A-Fa-f]')[^'\\\n]*(?:\\.[^'\\\n]*)*'""",
    re.DOTALL,
)
"""Comments, strings and characters. Each alternative begins with a literal character, which makes the search fast."""
_HASH = re.compile(rb"#[ \t]*(\w*)[^\\\n]*(?:\\.[^\\\n]*)*", re.DOTALL)
_CONDITIONALS = frozenset((b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"))
_BRACKET = re.compile(rb"[(){}]")
_GUARD = re.compile(
    rb"\s*#[ \t]*(?:ifndef[ \t]+(\w+)|if[ \t]+!\s*defined[ \t(]+(\w+)[ \t)]*)\s*#[ \t]*define[ \t]+(?:\1|\2)\b"
)
_NEVER = re.compile(rb"#[ \t]*if[ \t]+(?:0|false)[ \t]*\Z")
_OPENS_LINKAGE = re.compile(rb'\s*extern\s*"\s*"\s*\{\s*\Z')
_CLOSES_LINKAGE = re.compile(rb"\s*\}\s*\Z")
_STARTS_WITH_ELSE = re.compile(rb"\s*else\b")
_COMPLETE_ENDS = b";},:{>"
"""Last characters of a branch that can be followed by another branch."""


class Cleaned(NamedTuple):
    """A C file without the parts that hide its structure."""

    code: bytes
    """Parser input: the file without conditional directives."""
    declarations: bytes
    """The same without comments, the content of strings, and all directives."""


class _Branch:
    """The text between two directives of a conditional, as brackets that it leaves open or closes."""

    __slots__ = ("closed_to", "end", "opened", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.opened: list[int] = []
        """Positions of the brackets that the branch leaves open."""
        self.closed_to: list[int] = []
        """Positions after the brackets that the branch closes without having opened them."""

    def add(self, opened: list[int], closed_to: list[int]) -> None:
        """Append the brackets of the text that follows."""
        matched = min(len(self.opened), len(closed_to))
        if matched:
            del self.opened[len(self.opened) - matched :]
        self.closed_to += closed_to[matched:]
        self.opened += opened


def without_conditionals(code: bytes) -> Cleaned:
    """Blank the conditional directives of a C file, and the branches that do not fit to the first one."""
    clean = _LITERAL.sub(_blank_literal, code)
    if b"#" not in clean:
        return Cleaned(code, clean)
    declarations = bytearray(clean)
    masked = bytearray(code)
    directives: list[re.Match[bytes]] = []
    for match in _HASH.finditer(clean):
        start, end = match.span()
        if clean[clean.rfind(b"\n", 0, start) + 1 : start].strip():
            continue
        declarations[start:end] = match[0].translate(BLANK)
        if match[1] in _CONDITIONALS:
            directives.append(match)
        elif b"\\\n" in match[0] and b"/*" in code[start:end]:
            masked[start:end] = match[0]  # a comment ends a macro too early in these grammars
    for start, end in _ranges_to_blank(clean, declarations, directives) if directives else ():
        masked[start:end] = masked[start:end].translate(BLANK)
        declarations[start:end] = declarations[start:end].translate(BLANK)
    for match in directives:
        masked[match.start() : match.end()] = masked[match.start() : match.end()].translate(BLANK)
    return Cleaned(bytes(masked), bytes(declarations))


def _blank_literal(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] == b"/":
        return text.translate(BLANK)
    start = text.index(text[-1:]) + 1
    return text[:start] + text[start:-1].translate(BLANK) + text[-1:] if start < len(text) else text


def _ranges_to_blank(clean: bytes, declarations: bytearray, directives: list[re.Match[bytes]]) -> list[tuple[int, int]]:
    """Return the parts of branches that the parser must not see."""
    blanks: list[tuple[int, int]] = []
    guard = _GUARD.match(clean)
    open_groups: list[list[_Branch]] = []
    conditions: list[bytes] = []
    position = directives[0].start()
    for match in directives:
        word = match[1]
        if open_groups and len(open_groups) <= MAX_NESTED_CONDITIONALS and not (guard and len(open_groups) == 1):
            open_groups[-1][-1].add(*_unmatched_brackets(declarations, position, match.start()))
        position = match.end()
        if word.startswith(b"if"):
            open_groups.append([_Branch(match.end())])
            conditions.append(match[0].strip())
        elif open_groups:
            open_groups[-1][-1].end = match.start()
            if word == b"endif":
                group = open_groups.pop()
                condition = conditions.pop()
                if not (guard and not open_groups) and len(open_groups) < MAX_NESTED_CONDITIONALS:
                    kept = _blank_branches(clean, declarations, group, condition, blanks)
                    if open_groups and kept is not None:
                        open_groups[-1][-1].add(kept.opened, kept.closed_to)
            else:
                open_groups[-1].append(_Branch(match.end()))
    return blanks


def _unmatched_brackets(text: bytearray, start: int, end: int) -> tuple[list[int], list[int]]:
    """Return the brackets that a text leaves open, and those that it closes without opening them."""
    opened: list[int] = []
    closed_to: list[int] = []
    for match in _BRACKET.finditer(text, start, end):
        if match[0] in b"({":
            opened.append(match.start())
        elif opened:
            opened.pop()
        else:
            closed_to.append(match.end())
    return opened, closed_to


def _blank_branches(
    clean: bytes, declarations: bytearray, group: list[_Branch], condition: bytes, blanks: list[tuple[int, int]]
) -> _Branch | None:
    """Add the ranges of a group that are blanked, and return the branch that the code around it continues."""
    if _NEVER.match(condition):
        blanks.append((group[0].start, group[0].end))
        del group[0]
        if not group:
            return None
    if len(group) == 1:
        branch = group[0]
        if len(branch.opened) + len(branch.closed_to) == 1:
            text = clean[branch.start : branch.end]
            closes = b"__cplusplus" in condition and _CLOSES_LINKAGE.match(text)
            if closes or _OPENS_LINKAGE.match(text):
                blanks.append((branch.start, branch.end))
                return None
        return branch
    kept = next((branch for branch in group if declarations[branch.start : branch.end].strip()), group[0])
    uneven = any((len(branch.opened), len(branch.closed_to)) != (0, 0) for branch in group)
    for branch in group:
        if branch is kept:
            continue
        content = declarations[branch.start : branch.end].rstrip()
        if not uneven and (content[-1:] not in _COMPLETE_ENDS or _STARTS_WITH_ELSE.match(content)):
            blanks.append((branch.start, branch.end))
            continue
        if branch.closed_to:
            blanks.append((branch.start, branch.closed_to[-1]))
        if branch.opened:
            first = max(
                declarations.rfind(b";", branch.start, branch.opened[0]),
                declarations.rfind(b"}", branch.start, branch.opened[0]),
            )
            blanks.append((max(first + 1, branch.start), branch.end))
    return kept
