"""Anchors: after any edit the lines are the ones that were meant, or it is said that they are not."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.mentions.anchors import bind, follow
from promptls.model import FileEntry, Span, TextView
from promptls.util.hashing import digest_of

LINE = st.sampled_from(["", "}", "    return x", "def f():", "def g():", "x = 1", "y = 2", "print(x)", "  else:"])


def view(lines: list[str], path: str = "/w/a.py") -> TextView:
    text = "\n".join(lines) + "\n" if lines else ""
    return TextView(
        FileEntry(path, "/w", path[3:], digest=digest_of(text)), text, tuple(split_lines(text)) if text else ()
    )


@st.composite
def edited(draw: st.DrawFn) -> tuple[list[str], Span, list[str], list[int | None]]:
    """(lines, what is meant, lines after a few edits, where each old line is now: None when it was touched)."""
    lines = [f"{draw(LINE)}" for _ in range(draw(st.integers(1, 25)))]
    start = draw(st.integers(0, len(lines) - 1))
    span = Span(start, draw(st.integers(start + 1, len(lines))))
    now: list[tuple[str, int | None]] = [(line, i) for i, line in enumerate(lines)]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(now)))
        until = draw(st.integers(at, min(len(now), at + 3)))
        new = draw(st.lists(LINE.map(lambda line: line + "  # new"), max_size=3))
        now[at:until] = [(line, None) for line in new]
    where: list[int | None] = [None] * len(lines)
    for i, (_, old) in enumerate(now):
        if old is not None:
            where[old] = i
    return lines, span, [line for line, _ in now], where


@given(edited())
@example((["}", "", "}"], Span(2, 3), ["}"], [None, None, 0]))
def test_lines_are_those_that_were_meant_or_it_is_said(
    case: tuple[list[str], Span, list[str], list[int | None]],
) -> None:
    lines, span, after, where = case
    fate, now = follow(bind(view(lines), span), view(after))
    wanted = lines[span.start : span.end]
    if fate in ("same", "moved"):
        assert after[now.span.start : now.span.end] == wanted
    if fate == "changed":
        assert after[now.span.start : now.span.end] != wanted
        assert len(now.span) > 0
    if fate == "deleted":
        assert now.span == span  # kept as it was, so that an undo finds it again
        gone = any(where[i] is None for i in range(span.start, span.end))
        twice = sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines))) > 1
        assert gone or twice or not any(map(str.strip, wanted)), (
            "only of what is there twice nobody can tell which it is"
        )


@given(edited())
def test_an_undo_brings_everything_back(case: tuple[list[str], Span, list[str], list[int | None]]) -> None:
    lines, span, after, _ = case
    first = bind(view(lines), span)
    _, there = follow(first, view(after))
    fate, back = follow(there, view(lines))
    if fate in ("same", "moved"):
        assert lines[back.span.start : back.span.end] == lines[span.start : span.end]


@given(st.lists(LINE, min_size=1, max_size=20), st.lists(LINE, max_size=10), st.data())
def test_lines_put_in_above_move_it_by_as_many(lines: list[str], above: list[str], data: st.DataObject) -> None:
    marked = [f"{line}  # {i}" for i, line in enumerate(lines)]
    start = data.draw(st.integers(0, len(lines) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(lines))))
    fate, now = follow(bind(view(marked), span), view(above + marked))
    assert now.span == Span(span.start + len(above), span.end + len(above))
    assert fate == ("moved" if above else "same")


def test_lines_of_a_long_text_in_which_most_are_alike_are_followed() -> None:
    records = [line for number in range(3_000) for line in ("  {", f'    "id": {number},', '    "new": false', "  },")]
    edited = [line if i % 50 else f"{line} " for i, line in enumerate(records) if i % 70]
    edited = [line.replace("false", "true") if i % 90 < 20 else line for i, line in enumerate(edited)]
    span = Span(records.index('    "id": 2000,'), records.index('    "id": 2000,') + 1)
    fate, now = follow(bind(view(records), span), view(["[", *edited, "]"]))
    assert fate == "moved"
    assert ["[", *edited][now.span.start] == '    "id": 2000,'
