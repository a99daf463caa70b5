"""Ranges of a message that are code: fenced and indented blocks, code spans, and HTML elements for code.

The rules are those of CommonMark without the exact nesting of quotes and list items: their markers are skipped.
People also open a fence at the end of a sentence, or close it at the end of a code line.  A text is read again with
rules for these forms if a fence or three backticks are left over, and the reading that leaves less over is taken.
A fence that neither reading can close extends to the end, as in CommonMark and in editors.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from msgspec import Struct

from promptls.mentions.syntax.answers import answer_ranges
from promptls.util.cancellation import check_each

_MAY_BE_CODE = re.compile(r"[`<\t]|~~~| {4}")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|\Z)")
_MARKERS = re.compile(r"(?:[ \t]*(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|\Z)))*[ \t]*")
"""Indentation, and the markers of quotes and list items."""
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_BARE_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*\Z")
_HEADING_OR_BREAK = re.compile(r"#{1,6}(?=[ \t]|\Z)|([-*_=])[ \t]*(?:\1[ \t]*){2,}\Z")

# Forms of fences that only the second reading accepts.
_RUN = re.compile(r"`{3,}|~{3,}")
_OPENS_AT_END = re.compile(r"(`{3,}|~{3,})[\w+#.-]*[ \t]*\Z")
_AFTER_CODE = re.compile(r"[ \t]|\Z")

_MAX_OFFSET = 1 << 62


class CodeRanges(Struct, frozen=True):
    """Code of a text as offsets, in text order and without overlaps."""

    ranges: tuple[tuple[int, int], ...] = ()

    def contains(self, offset: int) -> bool:
        """Return whether the character at this offset is code."""
        i = bisect_right(self.ranges, (offset, _MAX_OFFSET)) - 1
        return i >= 0 and offset < self.ranges[i][1]


def code_ranges(text: str) -> CodeRanges:
    """Return the code of a text, as its author is likely to mean it."""
    if not _MAY_BE_CODE.search(text):
        return CodeRanges()
    answers = answer_ranges(text)
    if answers:  # a fence that an answer leaves open must not extend into the next question
        text = _without(text, answers)
    found, left_over = _Reader(text).read()
    if left_over:
        other, other_left_over = _Reader(text, lenient=True).read()
        found = other if other_left_over < left_over else found
    return CodeRanges(tuple(_merged([*found, *answers]) if answers else found))


def _without(text: str, ranges: list[tuple[int, int]]) -> str:
    """Return a text of the same length with blank lines in place of some ranges."""
    for start, end in ranges:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


class _Reader:
    """State of one pass over the lines of a text."""

    def __init__(self, text: str, lenient: bool = False) -> None:
        self.text = text
        self.lenient = lenient
        self.ranges: list[tuple[int, int]] = []
        self.left_over = 0  # fences that are not closed, and runs of three or more backticks that are not part of code
        self.lines: list[tuple[int, int]] = []  # of the paragraph, without markers
        self.fence = ""  # the backticks or tildes that opened it
        self.start = 0  # of the fence
        self.in_quote = False  # whether the fence is in a quote
        self.in_list = False  # whether indentation belongs to a list item
        self.after_blank = True  # whether indentation starts or continues a block of code

    def read(self) -> tuple[list[tuple[int, int]], int]:
        """Return the ranges of code, and how many fences and backticks are left over."""
        lines = [line.span(1) for line in _LINE.finditer(self.text)]
        indented = self.text[:1].isspace()
        widths = (_indentation(self.text[s:e]) for s, e in lines if indented and not self.text[s:e].isspace() and s < e)
        common = min(widths, default=0)  # indentation that all lines share is not code
        for start, end in check_each(lines):
            if self.fence and not (self.in_quote and self.text[start:end].lstrip()[:1] != ">"):
                self._read_fence_line(start, end)
            else:
                self._close_fence(start)
                self._read_line(start, end, common)
        self.left_over += bool(self.fence)
        self._close_fence(len(self.text))
        self._end_paragraph()
        return self.ranges, self.left_over

    def _read_line(self, start: int, end: int, common: int) -> None:
        markers = _MARKERS.match(self.text, start, end)
        assert markers is not None, "the pattern matches the empty text"
        at, is_marked = markers.end(), not markers.group().isspace() and markers.end() > start
        if at == end:
            self._end_paragraph()
            self.in_list = self.in_list or is_marked
            self.after_blank = True
            return
        indentation = _indentation(markers.group()) - common
        if is_marked or indentation == 0:
            self.in_list = is_marked
        if self.after_blank and indentation >= 4 and not is_marked and not self.in_list:
            self.ranges.append((at, end))
            return
        if is_marked and ">" not in markers.group():
            self._end_paragraph()
        if (fence := _FENCE.match(self.text, at, end)) is not None:
            self._open_fence(at, fence[1] or fence[2], ">" in markers.group())
        elif _HEADING_OR_BREAK.match(self.text, at, end):
            self._end_paragraph()
            self.lines.append((at, end))
            self._end_paragraph()
        else:
            self._add_text(at, end)

    def _add_text(self, at: int, end: int) -> None:
        """Add a line to the paragraph; in the second reading, a fence may open at its end."""
        self.after_blank = False
        run = _odd_run(self.text, at, end) if self.lenient else None
        if run is None or not _OPENS_AT_END.match(self.text, run.start(), end):
            self.lines.append((at, end))
            return
        if run.start() > at:
            self.lines.append((at, run.start()))
        self._open_fence(run.start(), run.group(), False)

    def _open_fence(self, at: int, fence: str, in_quote: bool) -> None:
        self._end_paragraph()
        self.fence, self.start, self.in_quote = fence, at, in_quote

    def _read_fence_line(self, start: int, end: int) -> None:
        """Read a line within a fence, which may close it."""
        bare = _BARE_FENCE.match(self.text, start, end)
        if bare is not None:
            if bare[1].startswith(self.fence):
                self._close_fence(end)
            return
        run = _odd_run(self.text, start, end) if self.lenient else None
        if run is not None and run.group().startswith(self.fence) and _AFTER_CODE.match(self.text, run.end(), end):
            self._close_fence(run.end())
            self._add_text(run.end(), end)

    def _close_fence(self, at: int) -> None:
        if self.fence:
            self.ranges.append((self.start, at))
            self.fence, self.after_blank = "", True

    def _end_paragraph(self) -> None:
        """Record the code of the paragraph; markers between its lines become spaces, which keeps the offsets."""
        if not self.lines:
            return
        first, last = self.lines[0][0], self.lines[-1][1]
        if self.text.find("`", first, last) >= 0 or self.text.find("<", first, last) >= 0:
            starts = [start for start, _ in self.lines[1:]] + [last]
            parts = (self.text[s:e].ljust(following - s) for (s, e), following in zip(self.lines, starts, strict=True))
            spans, stray = code_spans("".join(parts))
            self.ranges += [(start + first, end + first) for start, end in spans]
            self.left_over += stray
        self.lines = []


def _odd_run(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return the last run of three or more backticks or tildes in a line, if no equal run in the line matches it."""
    runs = list(_RUN.finditer(text, at, end))
    if not runs or sum(run.group() == runs[-1].group() for run in runs) % 2 == 0:
        return None
    return runs[-1]


def _indentation(line: str) -> int:
    """Return the width of the white space at the start of a line, in columns."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" ")) if line[:1] in (" ", "\t") else 0


# ---------------------------------------------------------------- code within a paragraph
# The leftmost construct wins, as in CommonMark.  A quoted mention is such a construct, too.

MAX_TAG_LENGTH = 1000
"""Maximum number of characters of an HTML tag; bounds the time for a "<" that does not start one."""

_EVENT = re.compile(r"\\[^\r\n]|`+|[<@]")
_BACKTICKS = re.compile(r"`+")
_CODE_TAG = re.compile(r"<(code|kbd|pre|samp|script|style|tt)(?=[\s>])[^<>]*>", re.I)
_QUOTED_MENTION = re.compile(r"""(?<![\w.])@(?:[^\s`"'<]*(["'])(?:\\.|(?!\1)[^\\\r\n])*\1)+""")


def code_spans(content: str) -> tuple[list[tuple[int, int]], int]:
    """Return the code of a paragraph, and the number of runs of three or more backticks that are not part of code.

    Two single backticks with white space inside both delimit no code: "the ` key, then ` again".
    """
    spans: list[tuple[int, int]] = []
    stray = 0
    runs: dict[int, list[int]] = {}
    for run in check_each(_BACKTICKS.finditer(content)):
        runs.setdefault(len(run.group()), []).append(run.start())
    unclosed_tags: set[str] = set()
    at = 0
    while (event := _EVENT.search(content, at)) is not None:
        start, at = event.span()
        if content[start] == "`":
            same = runs.get(at - start, [])
            i = bisect_left(same, at)
            if i < len(same) and not (at - start == 1 and _is_prose(content[at : same[i]])):
                at = same[i] + at - start
                spans.append((start, at))
            elif i == len(same):
                stray += at - start > 2
        elif content[start] == "<":
            end = _code_element(content, start, unclosed_tags)
            if end:
                spans.append((start, end))
                at = end
        elif content[start] == "@" and (mention := _QUOTED_MENTION.match(content, start, start + MAX_TAG_LENGTH)):
            at = mention.end()
        elif content[start] == "\\" and content[start + 1] not in "`<\\":
            at = start + 1
    return spans, stray


def _is_prose(content: str) -> bool:
    """Return whether text between two backticks is several words with white space at both ends."""
    return content[:1].isspace() and content[-1:].isspace() and len(content[:MAX_TAG_LENGTH].split(None, 2)) > 2


def _code_element(content: str, start: int, unclosed: set[str]) -> int:
    """Return the end of the HTML element for code that starts here, 0 if there is none or it is not closed."""
    tag = _CODE_TAG.match(content, start, start + MAX_TAG_LENGTH)
    if tag is None or tag[1].lower() in unclosed:
        return 0
    end = re.compile(rf"</{tag[1]}\s*>", re.I).search(content, tag.end())
    if end is None:
        unclosed.add(tag[1].lower())
        return 0
    return end.end()
