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

from promptls.index.syntax.c_macro_names import MacroName
from promptls.index.syntax.c_macros import mask_preprocessor
from promptls.languages import Mask

_ASTRAL = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_ASTRAL_REPLACEMENT = "ßß".encode()
"""Replacement for characters outside of the BMP in the parser input: they crash scanners that expect single bytes."""

_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_NON_NEWLINE = re.compile(rb"[^\n]")
_WRAPPER_MACRO = re.compile(
    rb"^([ \t]*)(?!macro_rules|lazy_static|bitflags)[\w:]+!\s?\{[ \t]*\n"
    rb"(?=\s*(?://[^\n]*\s+)*(?:#!?\[|pub\b|fn\b|impl\b|struct\b|enum\b|mod\b|use\b|trait\b|const\b|static\s+\w+:|"
    rb"type\b|unsafe\s|async\s+fn\b|extern\b|macro_rules\b))",
    re.MULTILINE,
)
_VARIANCE = re.compile(
    rb"([<,]\s*(?:/\*[^\n]{0,200}?\*/\s*)?)(in[ ]out|in|out)(?=[ ](?!(?:in|of|as|is|extends|instanceof|satisfies)\b)[A-Za-z_$][\w$]*\s*"
    rb"(?:[,>=]|extends\b))"
)
_ESCAPED_BACKTICK = re.compile(rb"\\[\\`]")
_CALL_SIGNATURE = re.compile(
    rb"\n[ \t]*([ \t])(?=<\s*(?:const[ ])?[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b)"
    rb"|\(\s*(?:\.\.\.)?[A-Za-z_$][\w$]*\??\s*:|\(\)\s*:)"
)
_MAX_LINES_BETWEEN_MEMBERS = 20
"""Comments and blank lines that are skipped between two members of a type."""

_MAX_COMMENT_BYTES = 8_000
"""Longest block comment that is skipped between two members of a type."""

_LINE_COMMENT = re.compile(rb"(?<!\S)//.*\Z")
_MEMBER_END = re.compile(rb"(?:[\w$)\]}'\"`]|[^=]>)\Z")
_INCOMPLETE_END = re.compile(
    rb"\b(?:extends|keyof|typeof|infer|readonly|is|as|return|new|default|case|in|of|instanceof|await|yield|else|throw|"
    rb"delete|async|satisfies)\Z"
)


class SourceText:
    """The text of one file with normalized line ends."""

    __slots__ = ("_macro_positions", "code", "data", "line_starts", "lines", "macro_names")

    data: bytes
    """UTF-8 of the text; the last line is terminated like the others."""
    code: bytes
    """Parser input: `data` of the same length, with the parts blanked that the parser must not see."""
    macro_names: Mapping[int, MacroName]
    """Definitions by macros of C and C++, by the position of their placeholder in `code`."""
    lines: list[str]
    """The lines without their line ends."""
    line_starts: list[int]
    """Offset of the first byte of each line, and the offset after the last byte."""

    def __init__(self, text: str, mask: Mask = "") -> None:
        """Normalize a text, and mask it for the parser."""
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
        self.macro_names = {}
        if mask == "markup":
            self.code = _scripts_only(self.code)
        elif mask == "macros" and (b"! {\n" in self.data or b"!{\n" in self.data):
            self.code = _without_wrapper_macros(self.code)
        elif mask == "signatures":
            self.code = _with_separated_signatures(self.code)
        elif mask in ("c", "cpp"):
            self.code, self.macro_names = mask_preprocessor(self.code, mask == "c")
        self._macro_positions = sorted(self.macro_names)
        lengths = accumulate(map(len, self.data.split(b"\n")), initial=0)
        self.line_starts = list(map(add, lengths, count()))

    def line_at(self, byte: int) -> int:
        """Return the line that contains a byte; the end of the text belongs to the last line."""
        return min(bisect_right(self.line_starts, byte), len(self.lines)) - 1

    def macros_between(self, start: int, end: int) -> tuple[tuple[int, MacroName], ...]:
        """Return the definitions by macros between two bytes, with positions relative to the first."""
        if not self.macro_names:
            return ()
        positions = self._macro_positions
        inside = positions[bisect_left(positions, start) : bisect_left(positions, end)]
        return tuple([(position - start, self.macro_names[position]) for position in inside])

    def text(self, start: int, end: int) -> str:
        """Return the text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")


def _scripts_only(data: bytes) -> bytes:
    """Blank everything outside of the script elements of markup; lines and offsets stay."""
    pieces: list[bytes] = []
    position = 0
    for match in _SCRIPT.finditer(data):
        pieces += _NON_NEWLINE.sub(b" ", data[position : match.start(1)]), match.group(1)
        position = match.end(1)
    return b"".join([*pieces, _NON_NEWLINE.sub(b" ", data[position:])])


def _without_wrapper_macros(data: bytes) -> bytes:
    """Blank Rust macro calls that only wrap items, as in "cfg_rt! { fn … }".

    Such a call is alone on its line, and a closing brace of the same indentation ends it.
    """
    blanks: list[tuple[int, int]] = []
    for match in _WRAPPER_MACRO.finditer(data):
        indent = match.group(1)
        close = data.find(b"\n" + indent + b"}", match.end() - 1)
        if close >= 0 and data[close + len(indent) + 2 : close + len(indent) + 3] in (b"\n", b""):
            blanks += (match.start(), match.end() - 1), (close + 1, close + len(indent) + 2)
    if not blanks:
        return data
    masked = bytearray(data)
    for start, end in blanks:
        masked[start:end] = b" " * (end - start)
    return bytes(masked)


def _with_separated_signatures(data: bytes) -> bytes:
    """Insert the semicolons that the TypeScript grammars need before call signatures, in place of blanks.

    Also blanks the variance of type parameters and escaped backticks, which these grammars cannot parse.
    """
    data = _VARIANCE.sub(lambda match: match[1] + b" " * len(match[2]), data)
    if b"\\`" in data:
        data = _ESCAPED_BACKTICK.sub(lambda match: b"  " if match[0] == b"\\`" else match[0], data)
    masked = bytearray(data)
    for match in _CALL_SIGNATURE.finditer(data):
        end, blank = _member_end(data, match.start()), match.start(1)
        if end > 0:
            masked[end:blank] = _NON_NEWLINE.sub(b" ", data[end:blank])  # a comment would separate them a second time
            masked[blank] = ord(";")
    return bytes(masked)


def _member_end(data: bytes, end: int) -> int:
    """Return the end of the member of a type before a line end, comments skipped; 0 if there is no member."""
    for _ in range(_MAX_LINES_BETWEEN_MEMBERS):
        start = data.rfind(b"\n", 0, end) + 1
        line = data[start:end].rstrip()
        if line.endswith(b"*/"):
            end = data.rfind(b"/*", max(0, end - _MAX_COMMENT_BYTES), end)
        else:
            line = _LINE_COMMENT.sub(b"", line).rstrip()
            if line:
                is_member = _MEMBER_END.search(line) and not _INCOMPLETE_END.search(line)
                return start + len(line) if is_member else 0
            end = start - 1
        if end < 0:
            break
    return 0
