r"""Source text in the forms that the parser and the chunker need: UTF-8 bytes, lines, and offsets between them.

Lines end with \n, \r\n or \r, as everywhere in promptls. The parser counts \n only, so line ends are normalized
first. A byte order mark is removed. No grammar is needed here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import accumulate, count
from operator import add

from promptls.index.syntax.c_masks import MacroName
from promptls.index.syntax.masks import apply_mask
from promptls.languages import Mask
from promptls.util.text.unicode_forms import nfc

_ASTRAL = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_ASTRAL_REPLACEMENT = "ßß".encode()
"""Replacement for characters outside of the BMP in the parser input: they crash scanners that expect single bytes."""


class SourceText:
    """The text of one file with normalized line ends."""

    __slots__ = ("_macro_positions", "code", "data", "line_starts", "lines", "macro_names", "path")

    data: bytes
    """UTF-8 of the text; the last line is terminated like the others."""
    code: bytes
    """Parser input: `data` of the same length, with the parts blanked that the parser must not see."""
    macro_names: Mapping[int, MacroName]
    """Definitions by macros of C, C++ and Rust, by the position of their placeholder in `code`."""
    lines: list[str]
    """The lines without their line ends."""
    path: str
    """Path of the file, "" if it is unknown."""
    line_starts: list[int]
    """Offset of the first byte of each line, and the offset after the last byte."""

    def __init__(self, text: str, mask: Mask = "", language: str = "", path: str = "") -> None:
        """Normalize a text, and mask it for the parser; `language` is that of the code in a document."""
        self.path = path
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if text.startswith("\ufeff"):
            text = text[1:]
        self.data = text.encode("utf-8", "surrogatepass")
        if self.data and not self.data.endswith(b"\n"):
            self.data += b"\n"  # the Perl scanner never terminates on an unterminated comment at the end of the text
        self.lines = text.split("\n")
        if len(self.lines) > 1 and self.lines[-1] == "":
            self.lines.pop()
        self.code = self.data if text.isascii() else _ASTRAL.sub(_ASTRAL_REPLACEMENT, self.data)
        self.code, self.macro_names = apply_mask(self.code, mask, language)
        self._macro_positions = sorted(self.macro_names)
        lengths = accumulate(map(len, self.data.split(b"\n")), initial=0)
        self.line_starts = list(map(add, lengths, count()))

    def line_at(self, byte: int) -> int:
        """Return the line that contains a byte; the end of the text belongs to the last line."""
        return min(bisect_right(self.line_starts, byte), len(self.lines)) - 1

    def code_lines(self) -> list[str]:
        """Return the lines of `code`, which the scanners read."""
        if self.code is self.data:
            return self.lines
        return self.code.decode("utf-8", "surrogatepass").split("\n")[: len(self.lines)]

    def macros_between(self, start: int, end: int) -> tuple[tuple[int, MacroName], ...]:
        """Return the definitions by macros between two bytes, with positions relative to the first."""
        if not self.macro_names:
            return ()
        positions = self._macro_positions
        inside = positions[bisect_left(positions, start) : bisect_left(positions, end)]
        return tuple([(position - start, self.macro_names[position]) for position in inside])

    def text(self, start: int, end: int) -> str:
        """Return the text between two bytes, in form NFC."""
        return nfc(self.data[start:end].decode("utf-8", "replace"))
