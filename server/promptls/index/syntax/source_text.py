"""A file's text as the parser and the chunker want it: lines, bytes, and the way between them.

Only \\n, \\r\\n and \\r end a line, as everywhere in promptls; the parser counts \\n alone, so the text
is brought to that first.  A byte order mark is dropped.  No grammar is needed here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, count
from operator import add
from typing import Literal

Mask = Literal["", "markup", "macros", "signatures"]
"""What the parser gets otherwise than it is written: nothing but the script elements; macros around items hidden;
call signatures without semicolons between them parted, as the grammars of TypeScript cannot do it themselves."""

_ASTRAL = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_LETTERS = "ßß".encode()
"""What emoji and the like are to the parser: a scanner that takes them for bytes can crash."""

_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_INK = re.compile(rb"[^\n]")
_WRAPPER = re.compile(
    rb"^([ \t]*)(?!macro_rules|lazy_static|bitflags)[\w:]+!\s?\{[ \t]*\n"
    rb"(?=\s*(?://[^\n]*\s+)*(?:#!?\[|pub\b|fn\b|impl\b|struct\b|enum\b|mod\b|use\b|trait\b|const\b|static\s+\w+:|"
    rb"type\b|unsafe\s|async\s+fn\b|extern\b|macro_rules\b))",
    re.MULTILINE,
)
_VARIANCE = re.compile(
    rb"([<,]\s*(?:/\*[^\n]{0,200}?\*/\s*)?)(in[ ]out|in|out)(?=[ ](?!(?:in|of|as|is|extends|instanceof|satisfies)\b)[A-Za-z_$][\w$]*\s*"
    rb"(?:[,>=]|extends\b))"
)
_TICK = re.compile(rb"\\[\\`]")
_SIGNATURE = re.compile(
    rb"\n[ \t]*([ \t])(?=<\s*(?:const[ ])?[A-Za-z_$][\w$]*\s*(?:[,>=]|extends\b)"
    rb"|\(\s*(?:\.\.\.)?[A-Za-z_$][\w$]*\??\s*:|\(\)\s*:)"
)
_MAX_ABOVE = 20  # comments and blank lines between two members
_MAX_COMMENT = 8_000  # bytes
_REMARK = re.compile(rb"(?<!\S)//.*\Z")
_MEMBER_END = re.compile(rb"(?:[\w$)\]}'\"`]|[^=]>)\Z")
_UNENDED = re.compile(
    rb"\b(?:extends|keyof|typeof|infer|readonly|is|as|return|new|default|case|in|of|instanceof|await|yield|else|throw|"
    rb"delete|async|satisfies)\Z"
)


class Source:
    """One text, with its line ends made uniform."""

    __slots__ = ("code", "data", "lines", "starts")

    data: bytes  # UTF-8 of the text, its last line ended like the others
    code: bytes  # what the parser gets of it: as long, but for what it must not see
    lines: list[str]  # without their ends
    starts: list[int]  # byte at which each line begins, and one past the end

    def __init__(self, text: str, mask: Mask = "") -> None:
        """`mask` says what of the text the parser shall not see."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if text.startswith("\ufeff"):
            text = text[1:]
        self.data = text.encode("utf-8", "surrogatepass")
        if self.data and not self.data.endswith(b"\n"):
            self.data += b"\n"  # a comment that the end of the text cuts off sends one grammar round for ever
        self.lines = text.split("\n")
        if len(self.lines) > 1 and self.lines[-1] == "":
            self.lines.pop()
        self.code = self.data if text.isascii() else _ASTRAL.sub(_LETTERS, self.data)
        if mask == "markup":
            self.code = _scripts(self.code)
        elif mask == "macros" and (b"! {\n" in self.data or b"!{\n" in self.data):
            self.code = _unwrapped(self.code)
        elif mask == "signatures":
            self.code = _parted(self.code)
        lengths = accumulate(map(len, self.data.split(b"\n")), initial=0)
        self.starts = list(map(add, lengths, count()))

    def row(self, byte: int) -> int:
        """The line that holds a byte; the end of the text belongs to the last line."""
        return min(bisect_right(self.starts, byte), len(self.lines)) - 1

    def slice(self, start: int, end: int) -> str:
        """The text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")


def _scripts(data: bytes) -> bytes:
    """Markup with everything outside of its script elements blanked; lines and offsets stay."""
    pieces: list[bytes] = []
    at = 0
    for match in _SCRIPT.finditer(data):
        pieces += _INK.sub(b" ", data[at : match.start(1)]), match.group(1)
        at = match.end(1)
    return b"".join([*pieces, _INK.sub(b" ", data[at:])])


def _unwrapped(data: bytes) -> bytes:
    """Rust with the macros that only wrap items, as "cfg_rt! { fn … }", blanked around them.

    Told by their looks: the call has its line for itself and a closing brace of the same indentation.
    """
    blank: list[tuple[int, int]] = []
    for match in _WRAPPER.finditer(data):
        close = data.find(b"\n" + match.group(1) + b"}", match.end() - 1)
        if close >= 0 and data[close + len(match.group(1)) + 2 : close + len(match.group(1)) + 3] in (b"\n", b""):
            blank += (match.start(), match.end() - 1), (close + 1, close + len(match.group(1)) + 2)
    if not blank:
        return data
    masked = bytearray(data)
    for start, end in blank:
        masked[start:end] = b" " * (end - start)
    return bytes(masked)


def _parted(data: bytes) -> bytes:
    """TypeScript with a semicolon, in place of a blank, before each call signature that only a line end parts
    from the member above it, and without what else the grammars stumble over: the variance of type parameters
    and escaped backticks."""
    data = _VARIANCE.sub(lambda match: match[1] + b" " * len(match[2]), data)
    if b"\\`" in data:
        data = _TICK.sub(lambda match: b"  " if match[0] == b"\\`" else match[0], data)
    parted = bytearray(data)
    for match in _SIGNATURE.finditer(data):
        end, place = _member_end(data, match.start()), match.start(1)
        if end > 0:
            parted[end:place] = _INK.sub(b" ", data[end:place])  # a comment there would part them a second time
            parted[place] = 0x3B
    return bytes(parted)


def _member_end(data: bytes, end: int) -> int:
    """Where the code before a line end, comments left out, ends; 0 if it does not end as a member of a type may."""
    for _ in range(_MAX_ABOVE):
        start = data.rfind(b"\n", 0, end) + 1
        line = data[start:end].rstrip()
        if line.endswith(b"*/"):
            end = data.rfind(b"/*", max(0, end - _MAX_COMMENT), end)
        else:
            line = _REMARK.sub(b"", line).rstrip()
            if line:
                return start + len(line) if _MEMBER_END.search(line) and not _UNENDED.search(line) else 0
            end = start - 1
        if end < 0:
            break
    return 0
