"""Code within a paragraph: code spans of CommonMark, and the HTML elements for code.

The leftmost construct wins, as in CommonMark: a backtick within an HTML tag or an autolink does not open a code span.
A quoted mention is such a construct, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from promptls.util.cancellation import check_each

MAX_TAG_LENGTH = 1000
"""Maximum number of characters of an HTML tag; bounds the time for a "<" that does not start one."""

_EVENT = re.compile(r"\\[^\r\n]|`+|[<@]")
_RUN = re.compile(r"`+")
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
    for run in check_each(_RUN.finditer(content)) if backticks else ():
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
