"""Lines behind a path: ":10-20", "#L10-L20", and the spellings of other tools.

A location that is understood in part only is not understood at all, because the rest may change the region.  What is
left behind a path is then reported as an unknown symbol.
"""

from __future__ import annotations

import re

from msgspec import Struct

from promptls.model import Span

LAST_LINE = 2**31 - 1
"""End of an open range ("@a.py:10-"): resolvers clamp it to the length of the file."""

_DASH = r"(?:[-\u2010-\u2015\u2212\uff0d~\u301c\uff5e]|\.\.\.?|\u2026)"

_OPENER = re.compile(r"[:\uff1a]:?#?|#|@|\?(?=L)")
_ITEM = re.compile(
    rf"(?P<line>[#]?L?)(?P<a>\d+)(?:C\d+)?"
    rf"(?:(?::\d+)?{_DASH}#?L?(?P<b>\d+)(?:C\d+|:\d+)?"
    rf"|(?P<open>[-\u2013](?![\w>.~-]))"
    rf"|:(?P<column>\d+)(?::\d+)?)?"
)
_BRACKETS = re.compile(
    rf"[(\uff08](?P<a>\d+)(?:,\d+)?(?:(?:{_DASH}(?P<b>\d+)|,(?P<c>\d+))(?:,\d+)?)?[)\uff09]"
    rf"|[\[{{](?P<d>\d+)(?:{_DASH}(?P<e>\d+))?[\]}}]"
)
_MORE_DIGITS = re.compile(r"[-+,.:/@#~\u2010-\u2015]{0,2}L?\d|[^\W\d_]")
"""Behind a location: more of it, which makes it another one."""

_SPACED_END = re.compile(rf"(?:[ \t]{{1,3}}(?P<dash>{_DASH})[ \t]{{0,3}}|[ \t]{{1,3}})#?L?(?P<end>\d{{1,9}})(?![\w.])")
"""Behind a line or an open range: a dash with spaces around it, and a number, perhaps the end of a range."""


class LineReference(Struct, frozen=True):
    """Lines that a text names."""

    end: int  # offset behind the text
    spans: tuple[Span, ...]
    note: str = ""  # how an unusual spelling was read


def parse_lines(masked: str, at: int) -> LineReference | None:
    """Return the lines that the text at an offset names, None if it is not a location or not a known one."""
    reference = _in_brackets(masked, at) or _behind_mark(masked, at)
    if reference is None:
        return None
    rest = _MORE_DIGITS.match(masked, reference.end)
    if rest is not None and not (rest.group().isalpha() and rest.group().lower() == rest.group().upper()):
        return None
    return reference


def is_line_range(text: str) -> bool:
    """Return whether a text consists of digits as a location does, so that it cannot be the name of a symbol."""
    return text[:1].isdigit() or (text[:1] in "-+L" and text[1:2].isdigit())


def spaced_range_note(span: Span, message: str, end: int) -> str:
    """Return a note if a later line follows with spaces around a dash: "2 - 3" may be a range or the start of a text.

    `end` is the offset behind the mention of the line, or of the open range.
    """
    is_open = span.end == LAST_LINE
    rest = _SPACED_END.match(message, end)
    if (
        rest is None
        or bool(rest["dash"]) == is_open
        or int(rest["end"]) <= span.start + 1
        or (len(span) > 1) != is_open
    ):
        return ""
    first = span.start + 1
    read = f"All lines from {first} were read" if is_open else f"Line {first} alone was read"
    return f"{read}; a range is written {first}-{rest['end']}."


def _in_brackets(masked: str, at: int) -> LineReference | None:
    match = _BRACKETS.match(masked, at)
    if match is None:
        return None
    return LineReference(match.end(), (_span(match["a"] or match["d"], match["b"] or match["c"] or match["e"]),))


def _behind_mark(masked: str, at: int) -> LineReference | None:
    opener = _OPENER.match(masked, at)
    item = _ITEM.match(masked, opener.end()) if opener is not None else None
    if opener is None or item is None:
        return None
    items = [item]
    while masked.startswith(",", item.end()) and (item := _ITEM.match(masked, item.end() + 1)) is not None:
        items.append(item)
    end = items[-1].end()
    text = masked[opener.end() : end]
    if len(items) == 2 and all(item.group() == item["line"] + item["a"] for item in items):
        span = _span(items[0]["a"], items[1]["a"])
        return LineReference(end, (span,), f'"{text}" was read as the lines {span.label}.')
    spans = tuple(dict.fromkeys(_item_span(item) for item in items))
    column = items[0]["column"]
    note = ""
    if column and not items[0]["line"] and int(column) > int(items[0]["a"]):
        note = (
            f'"{text}" was read as line {spans[0].label}, column {column}; a range is written {items[0]["a"]}-{column}.'
        )
    return LineReference(end, spans, note)


def _item_span(item: re.Match[str]) -> Span:
    if item["open"]:
        return Span(_line_number(item["a"]) - 1, LAST_LINE)
    # "L10:20" is a range, and "10:20" a line and a column.
    return _span(item["a"], item["b"] or (item["column"] if item["line"] else None))


def _span(first: str, last: str | None) -> Span:
    a, b = _line_number(first), _line_number(last or first)
    return Span(min(a, b) - 1, max(a, b))


def _line_number(digits: str) -> int:
    return min(max(int(digits), 1), LAST_LINE)
