"""Extent of a definition in lines, from indentation, braces and end words, for texts without a syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

MAX_HEAD_LINES = 8
"""Lines at the indentation of the definition that can continue its head: closed parameter lists, "begin", "{"."""

_CLOSER = re.compile(r"[})\]]|(?:end\w*|fi|done|esac|od|next|loop|wend|qed|defined|admitted)\b", re.IGNORECASE)
_CONTINUES_HEAD = re.compile(
    r"[{(]\s*$|\)[^;]*[{:=]\s*$|(?:begin|is|as|then|do|where|declare|var|implicit none|proof\.?)\s*$|(?:requires|ensures)\b",
    re.IGNORECASE,
)
_END_WORD = re.compile(r"\s*(end)[ \t_]?(\w*)", re.IGNORECASE)
_INCOMPLETE = re.compile(r"(?:[{(\[=,]|[-=]>)\s*$")
_KEYWORD = re.compile(r"[^\W\d]+")


class Extents:
    """Precomputed lines that end blocks; each is found in constant or logarithmic time."""

    __slots__ = ("_brace_end", "_end_words", "_indents", "_lines", "_next_outer")

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._indents = [_indent(line) for line in lines]
        self._next_outer = _next_not_above(self._indents)
        self._brace_end: list[int] | None = None
        self._end_words: dict[str, list[int]] | None = None

    def of(self, line: int, is_value: bool = False) -> tuple[int, int]:
        """Return (line after the definition, first line of the body) of a definition that begins at a line.

        Args:
            line: The line.
            is_value: Whether it defines a value, which has further lines only if the first one is incomplete.
        """
        if is_value and not _INCOMPLETE.search(self._lines[line]):
            return line + 1, line + 1
        lines, indents = self._lines, self._indents
        end, body = self._next_outer[line], line + 1
        for _ in range(MAX_HEAD_LINES):
            if end >= len(lines) or indents[end] != indents[line] or not _CONTINUES_HEAD.match(lines[end].strip()):
                break
            end, body = self._next_outer[end], end + 1
        if end < len(lines) and indents[end] == indents[line] and _CLOSER.match(lines[end].strip()):
            return end + 1, body
        by_braces = self._end_by_braces(line)
        if by_braces > end:
            return by_braces, body
        if end == line + 1 or not any(lines[i].strip() for i in range(line + 1, min(end, line + 3))):
            by_words = self._end_by_words(line)
            if by_words > line:
                return by_words, body
        while end > line + 1 and not lines[end - 1].strip():
            end -= 1
        return end, min(body, end)

    def _end_by_braces(self, line: int) -> int:
        """Return the line after the brace that closes the block of a line; 0 if the line opens none."""
        if self._lines[line].count("{") <= self._lines[line].count("}"):
            return 0
        if self._brace_end is None:
            depths = [0]
            for text in self._lines:
                depths.append(depths[-1] + text.count("{") - text.count("}"))
            self._brace_end = _next_not_above(depths)
        end = self._brace_end[line]
        return end if end <= len(self._lines) else 0

    def _end_by_words(self, line: int) -> int:
        """Return the line after the words that end a block, such as "end sub", where nothing is indented; 0 if there are none."""
        if self._end_words is None:
            self._end_words = {}
            for i, text in enumerate(self._lines):
                match = _END_WORD.match(text)
                if match is not None:
                    self._end_words.setdefault(match[2].lower(), []).append(i)
        for keyword in _KEYWORD.findall(self._lines[line])[:4]:
            ends = self._end_words.get(keyword.lower(), [])
            index = bisect_right(ends, line)
            if index < len(ends):
                return ends[index] + 1
        return 0


def _indent(line: str) -> int:
    """Return the width of the indentation, a large number for a blank line, which ends nothing."""
    code = line.lstrip()
    return len(line[: len(line) - len(code)].expandtabs(4)) if code else 1 << 30


def _next_not_above(values: Sequence[int]) -> list[int]:
    """Return for each position the next one whose value is not greater; the length if there is none."""
    result = [len(values)] * len(values)
    stack: list[int] = []
    for i, value in enumerate(values):
        while stack and values[stack[-1]] >= value:
            result[stack.pop()] = i
        stack.append(i)
    return result
