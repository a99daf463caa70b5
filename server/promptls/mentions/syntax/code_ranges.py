"""Ranges of a message that are code: fenced and indented blocks, and code spans, by the rules of CommonMark.

`markdown_code` reads a text as CommonMark does.  It takes one pass over the lines: containers (quotes, list items)
first, then the leaf block, then the code spans of each paragraph.

People also write fences that CommonMark reads differently from what they mean: opened at the end of a sentence, closed
at the end of a code line, nested without longer backticks.  `code_ranges` reads such a text a second time with rules
for these forms.  It takes the second reading only if fewer fences and backticks are left over.  A fence that neither
reading can close extends to the end, as in CommonMark and in editors, and `CodeRanges.unclosed` reports it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from promptls.util.cancellation import check_each

MAX_CONTAINERS = 64
"""Maximum depth of quotes and list items; bounds the time of a line.  Deeper markers are text."""

_MAY_BE_CODE = re.compile(r"[`<\t]|~~~| {4}")
_LINE = re.compile(r"([ \t]*)([^\r\n]*)(?:\r\n?|\n|\Z)")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_BARE_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*\Z")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_SETEXT = re.compile(r"(?:=+|-+)[ \t]*\Z")
_BREAK = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_ITEM = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
_BLOCK_STARTS = frozenset("`~#>-+*_=<0123456789")
"""Characters that a block other than a paragraph may start with."""

# Forms of fences that only the second reading accepts.
_RUN = re.compile(r"(?<!`)`{3,}(?!`)|(?<!~)~{3,}(?!~)")
_OPENS_AT_END = re.compile(r"(`{3,}|~{3,})[\w+#.-]*[ \t]*\Z")
_OPENS_NESTED = re.compile(r"(`{3,}|~{3,})[\w+#.-]+[ \t]*\Z")
_TEXT_AFTER_FENCE = re.compile(r"[ \t]+(?=\S+[ \t]+\S|\S*@)")
_AFTER_CODE = re.compile(r"[ \t]|\Z")

# Start and end of HTML blocks in the order of the specification; None: a blank line ends the block.
_RAW_HTML = "script|pre|style|textarea"
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_ATTRIBUTE = r"[ \t]+[A-Za-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s\"'=<>`]+|'[^'\r\n]*'|\"[^\"\r\n]*\"))?"
_HTML_BLOCKS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (re.compile(rf"<(?:{_RAW_HTML})(?=[\s>]|\Z)", re.I), re.compile(rf"</(?:{_RAW_HTML})>", re.I)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?=\s|/?>|\Z)", re.I), None),
)
_HTML_TAG_LINE = re.compile(
    rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[A-Za-z][A-Za-z0-9-]*[ \t]*>)[ \t]*\Z"
)


_MAX_OFFSET = 1 << 62


class CodeRanges(Struct, frozen=True):
    """Code of a text as offsets, in text order and without overlaps."""

    ranges: tuple[tuple[int, int], ...] = ()
    indented: tuple[tuple[int, int], ...] = ()  # ranges that are code only because they are indented
    unclosed: int = -1  # offset of a fence that is not closed before the end of the text, -1 for none
    left_over: int = 0  # fences that are not closed, and runs of three or more backticks that are not part of code

    def contains(self, offset: int) -> bool:
        """Return whether the character at this offset is code."""
        i = bisect_right(self.ranges, (offset, _MAX_OFFSET)) - 1
        return i >= 0 and offset < self.ranges[i][1]


def code_ranges(text: str) -> CodeRanges:
    """Return the code of a text, as its author is likely to mean it."""
    if not _MAY_BE_CODE.search(text):
        return CodeRanges()
    found = _Reader(text).read()
    if not found.left_over:
        return found
    other = _Reader(text, lenient=True).read()
    return other if other.left_over < found.left_over else found


def markdown_code(text: str) -> CodeRanges:
    """Return the code of a text by the rules of CommonMark; indentation that all lines share is ignored."""
    return _Reader(text, tight=False).read()


class _Reader:
    """State of one pass over the lines of a text."""

    def __init__(self, text: str, lenient: bool = False, tight: bool = True) -> None:
        self.text = text
        self.tight = tight
        self.lenient = lenient
        self.ranges: list[tuple[int, int]] = []
        self.indented: list[tuple[int, int]] = []
        self.left_over = 0
        self.containers: list[int] = []  # width of each list item in columns; 0 for a quote
        self.empty_item = -1  # index of an item whose marker is all that it has so far
        self.leaf: Literal["", "paragraph", "fence", "indented", "html"] = ""
        self.lines: list[tuple[int, int]] = []  # of a paragraph or an HTML block
        self.start = 0  # of a block of code
        self.end = 0  # of indented code
        self.fence = ""  # the backticks or tildes that opened it
        self.nested = 0  # fences within the fence
        self.html_end: re.Pattern[str] | None = None
        self.is_raw_html = False

    def read(self) -> CodeRanges:
        origin = _common_indentation(self.text)
        for line in check_each(_LINE.finditer(self.text)):
            if line.start() < len(self.text):
                self._read_line(line, origin)
        unclosed = self.start if self.leaf == "fence" else -1
        self.left_over += unclosed >= 0
        self._close_leaf(len(self.text))
        return CodeRanges(tuple(self.ranges), tuple(self.indented), unclosed, self.left_over)

    def _read_line(self, line: re.Match[str], base: int) -> None:
        text = self.text
        at, end = line.span(2)
        if self.leaf == "paragraph" and not self.containers and at < end and text[at] not in _BLOCK_STARTS:
            self._add_text(at, end)
            return
        column = _width(line[1])
        depth, at, column, base = self._match_containers(at, end, column, base)
        if self.leaf in ("fence", "indented", "html"):
            matched = depth == len(self.containers)
            # An author who forgets to indent a fence under a list item still means one fence.
            if self.leaf == "fence" and (matched or (self.lenient and all(self.containers[depth:]))):
                self._read_fence_line(at, column - base, end)
                return
            if matched and self._continue_block(at, column - base, end):
                return
            self._close_leaf(line.start())
        self._open_blocks(depth, at, end, column, base)

    def _match_containers(self, at: int, end: int, column: int, base: int) -> tuple[int, int, int, int]:
        """Return how many containers the line continues, and where their content starts in the line."""
        for depth, width in enumerate(self.containers):
            if width and at >= end and depth != self.empty_item:
                continue
            if width and at < end and column - base >= width:
                base += width
            elif not width and at < end and column - base < 4 and self.text[at] == ">":
                at, column, base = self._skip_quote(at, end, column)
            else:
                return depth, at, column, base
        return len(self.containers), at, column, base

    def _skip_quote(self, at: int, end: int, column: int) -> tuple[int, int, int]:
        """Return offset, column and base of the content after ">"."""
        base = column + 1
        at, column = _skip_space(self.text, at + 1, end, base)
        return at, column, base + (column > base)

    def _continue_block(self, at: int, indent: int, end: int) -> bool:
        """Return whether the line belongs to the indented code or the HTML block above it."""
        if self.leaf == "indented":
            if at < end and indent >= 4:
                self.end = end
            return at >= end or indent >= 4
        if at >= end and self.html_end is None:
            return False
        if self.html_end is None and _FENCE.match(self.text, at, end):
            if self.lenient:
                return False
            self.left_over += 1
        self.lines.append((at, end))
        if self.html_end is not None and self.html_end.search(self.text, at, end):
            self._close_leaf(end)
        return True

    def _open_blocks(self, depth: int, at: int, end: int, column: int, base: int) -> None:
        """Open the containers that start in the line, and the leaf block after them."""
        text = self.text
        opened = False
        if at < end:
            self.empty_item = -1
        while at < end:
            in_paragraph = self.leaf == "paragraph" and not opened
            if column - base >= 4:
                if not in_paragraph:
                    self._open_leaf("indented", depth, at)
                    self.end = end
                    return
                break
            if text[at] not in _BLOCK_STARTS:
                break
            interrupts = in_paragraph and depth == len(self.containers)
            if text[at] == ">" and depth < MAX_CONTAINERS:
                self._open_container(depth, 0, at)
                at, column, base = self._skip_quote(at, end, column)
            elif self._open_leaf_at(depth, at, end, in_paragraph, interrupts):
                return
            elif (item := _ITEM.match(text, at, end)) is not None and depth < MAX_CONTAINERS:
                marker = column + item.end() - at
                next_at, next_column = _skip_space(text, item.end(), end, marker)
                if interrupts and (next_at >= end or (item[1] and int(item[1]) != 1)):
                    break
                is_wide = next_at >= end or next_column - marker > 4
                width = marker - base + (1 if is_wide else next_column - marker)
                self._open_container(depth, width, at)
                at, column, base = next_at, next_column, base + width
                if at >= end:
                    self.empty_item = depth
            else:
                break
            depth += 1
            opened = True
        if at < end:
            if self.leaf != "paragraph":
                self._open_leaf("paragraph", depth, at)
            self._add_text(at, end)
        elif not opened:
            self._close_to(depth, at)

    def _open_leaf_at(self, depth: int, at: int, end: int, in_paragraph: bool, interrupts: bool) -> bool:
        """Open the leaf block that starts here, other than a paragraph; return whether there is one."""
        text = self.text
        if (fence := _FENCE.match(text, at, end)) is not None:
            self._open_leaf("fence", depth, at)
            self.fence = fence[1] or fence[2]
        elif _HEADING.match(text, at, end):
            self._open_leaf("paragraph", depth, at)
            self._add_text(at, end)
            self._close_leaf(end)
        elif text[at] == "<" and self._open_html(depth, at, end, in_paragraph):
            pass
        elif (interrupts and _SETEXT.match(text, at, end)) or _BREAK.match(text, at, end):
            self._close_to(depth, at)
        else:
            return False
        return True

    def _open_html(self, depth: int, at: int, end: int, in_paragraph: bool) -> bool:
        text = self.text
        kinds = (i for i, (start, _) in enumerate(_HTML_BLOCKS) if start.match(text, at, end))
        kind = next(kinds, None)
        if kind is None and (in_paragraph or not _HTML_TAG_LINE.match(text, at, end)):
            return False
        self._open_leaf("html", depth, at)
        self.html_end = None if kind is None else _HTML_BLOCKS[kind][1]
        self.is_raw_html = kind == 0
        self.lines.append((at, end))
        if self.html_end is not None and self.html_end.search(text, at, end):
            self._close_leaf(end)
        return True

    def _add_text(self, at: int, end: int) -> None:
        """Add a line to the paragraph; in the second reading, a fence may open at its end."""
        run = _odd_run(self.text, at, end) if self.lenient else None
        if run is None or not _OPENS_AT_END.match(self.text, run.start(), end):
            self.lines.append((at, end))
            return
        if run.start() > at:
            self.lines.append((at, run.start()))
        self._close_leaf(run.start())
        self.leaf, self.start, self.fence = "fence", run.start(), run.group()

    def _read_fence_line(self, at: int, indent: int, end: int) -> None:
        """Read a line within a fence, which may close it."""
        text = self.text
        if (bare := _BARE_FENCE.match(text, at, end)) is not None:
            if bare[1].startswith(self.fence) and (indent < 4 or self.lenient):
                if self.nested:
                    self.nested -= 1
                else:
                    self._close_leaf(end)
            return
        if not self.lenient or (run := _odd_run(text, at, end)) is None or not run.group().startswith(self.fence):
            return
        if run.start() == at and _OPENS_NESTED.match(text, at, end):
            self.nested += 1
        elif not self.nested and (_TEXT_AFTER_FENCE if run.start() == at else _AFTER_CODE).match(text, run.end(), end):
            self._close_leaf(run.end())
            start, _ = _skip_space(text, run.end(), end, 0)
            if start < end:
                self._open_leaf("paragraph", len(self.containers), start)
                self._add_text(start, end)

    def _open_container(self, depth: int, width: int, at: int) -> None:
        self._close_to(depth, at)
        self.containers.append(width)

    def _open_leaf(self, leaf: Literal["paragraph", "fence", "indented", "html"], depth: int, at: int) -> None:
        self._close_to(depth, at)
        self.leaf, self.start = leaf, at

    def _close_to(self, depth: int, at: int) -> None:
        """Close the leaf and the containers from a depth on."""
        self._close_leaf(at)
        del self.containers[depth:]

    def _close_leaf(self, at: int) -> None:
        """Close the leaf at an offset and record its code."""
        if self.leaf == "fence":
            self.ranges.append((self.start, at))
        elif self.leaf == "indented":
            self.ranges.append((self.start, self.end))
            self.indented.append((self.start, self.end))
        elif self.leaf == "html" and self.is_raw_html:
            self.ranges.append((self.start, self.lines[-1][1]))
        elif self.lines:
            spans, stray = spans_of_lines(
                self.text, self.lines, backticks=self.leaf == "paragraph", quoted=0 in self.containers, tight=self.tight
            )
            self.ranges += spans
            self.left_over += stray
        self.leaf, self.lines, self.nested, self.is_raw_html = "", [], 0, False


def _odd_run(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return the last run of three or more backticks or tildes in a line, if no equal run in the line matches it."""
    runs = list(_RUN.finditer(text, at, end))
    if not runs or sum(run.group() == runs[-1].group() for run in runs) % 2 == 0:
        return None
    return runs[-1]


def _common_indentation(text: str) -> int:
    """Return the indentation that all lines share, in columns."""
    if text[:1] not in (" ", "\t", "\n", "\r"):
        return 0
    common = 1 << 30
    for line in _LINE.finditer(text):
        if line[2]:
            common = min(common, _width(line[1]))
            if common < 4:
                return 0
    return common if common < 1 << 30 else 0


def _width(space: str) -> int:
    return len(space.expandtabs(4)) if "\t" in space else len(space)


def _skip_space(text: str, at: int, end: int, column: int) -> tuple[int, int]:
    """Return offset and column of the next character that is not a space or a tab."""
    while at < end and text[at] in " \t":
        column += 4 - column % 4 if text[at] == "\t" else 1
        at += 1
    return at, column


# ---------------------------------------------------------------- code within a paragraph
# The leftmost construct wins, as in CommonMark: a backtick within an HTML tag or an autolink does not open a code span.
# A quoted mention is such a construct, too.

MAX_TAG_LENGTH = 1000
"""Maximum number of characters of an HTML tag; bounds the time for a "<" that does not start one."""

_EVENT = re.compile(r"\\[^\r\n]|`+|[<@]")
_BACKTICKS = re.compile(r"`+")
_CODE_TAG = re.compile(r"<(code|kbd|pre|samp|script|style|tt)(?=[\s>])[^<>]*>", re.I)
_QUOTED_MENTION = re.compile(r"""(?<![\w.])@(?:[^\s`"'<]*(["'])(?:\\.|(?!\1)[^\\\r\n])*\1)+""")
_NOT_TEXT = re.compile(
    r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*>"  # an autolink
    r"|<[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*>"
    r"|<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*\s*/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*\s*>"
    r"|<!--(?:>|->|.*?-->)|<\?.*?\?>|<![A-Za-z][^>]*>|<!\[CDATA\[.*?\]\]>",
    re.DOTALL | re.ASCII,
)


def code_spans(content: str, backticks: bool = True, tight: bool = False) -> tuple[list[tuple[int, int]], int]:
    """Return the code of a paragraph, and the number of runs of three or more backticks that are not part of code.

    Args:
        content: text of the paragraph without the markers of quotes and list items.
        backticks: whether backticks delimit code; they do not in an HTML block.
        tight: whether two single backticks with white space inside both delimit no code: "the ` key, then ` again".
    """
    spans: list[tuple[int, int]] = []
    stray = 0
    runs: dict[int, list[int]] = {}
    for run in check_each(_BACKTICKS.finditer(content)) if backticks else ():
        runs.setdefault(len(run.group()), []).append(run.start())
    unclosed_tags: set[str] = set()
    at = 0
    while (event := _EVENT.search(content, at)) is not None:
        start, at = event.span()
        if content[start] == "`" and backticks:
            same = runs.get(at - start, [])
            i = bisect_left(same, at)
            if i < len(same) and tight and at - start == 1 and _is_prose(content[at : same[i]]):
                continue
            if i < len(same):
                at = same[i] + at - start
                spans.append((start, at))
            else:
                stray += at - start > 2
        elif content[start] == "<":
            end = _code_element(content, start, unclosed_tags)
            if end:
                spans.append((start, end))
                at = end
            elif (tag := _NOT_TEXT.match(content, start, start + MAX_TAG_LENGTH)) is not None:
                at = tag.end()
        elif content[start] == "@" and (mention := _QUOTED_MENTION.match(content, start, start + MAX_TAG_LENGTH)):
            at = mention.end()
        elif content[start] == "\\" and content[start + 1] not in "`<\\":
            at = start + 1
    return spans, stray


def spans_of_lines(
    text: str, lines: list[tuple[int, int]], backticks: bool = True, quoted: bool = False, tight: bool = False
) -> tuple[list[tuple[int, int]], int]:
    """Return `code_spans` of a paragraph whose lines are at these offsets, as offsets into the text.

    Args:
        text: the whole text.
        lines: start and end of each line, without the markers of quotes and list items.
        backticks: see `code_spans`.
        quoted: whether there are markers of quotes between the lines.
        tight: see `code_spans`.
    """
    first, last = lines[0][0], lines[-1][1]
    if text.find("`", first, last) < 0 and text.find("<", first, last) < 0:
        return [], 0
    if not quoted:
        spans, stray = code_spans(text[first:last], backticks, tight)
        return [(start + first, end + first) for start, end in spans], stray
    spans, stray = code_spans("\n".join(text[start:end] for start, end in lines), backticks, tight)
    offsets = _Offsets(lines)
    return [(offsets(start), offsets(end - 1) + 1) for start, end in spans], stray


class _Offsets:
    """Translates ascending offsets into joined lines to offsets into the text."""

    def __init__(self, lines: list[tuple[int, int]]) -> None:
        self._starts = self._cumulated(lines)
        self._at, self._next = next(self._starts), next(self._starts, None)

    @staticmethod
    def _cumulated(lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        joined = 0
        for start, end in lines:
            yield joined, start
            joined += end - start + 1

    def __call__(self, offset: int) -> int:
        while self._next is not None and self._next[0] <= offset:
            self._at, self._next = self._next, next(self._starts, None)
        return offset - self._at[0] + self._at[1]


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
