"""Anchors: after any edit they refer to the original lines, or report that these were changed or deleted."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from promptls.index.snapshot import split_lines
from promptls.mentions.anchors import create_anchor, track
from promptls.model import FileEntry, FileText, Span
from promptls.util.hashing import content_hash

LINE = st.sampled_from(["", "}", "    return x", "def f():", "def g():", "x = 1", "y = 2", "print(x)", "  else:"])


def view(lines: list[str], path: str = "/w/a.py") -> FileText:
    text = "\n".join(lines) + "\n" if lines else ""
    return FileText(
        FileEntry(path, "/w", path[3:], content_hash=content_hash(text)), text, tuple(split_lines(text)) if text else ()
    )


@st.composite
def edited(draw: st.DrawFn) -> tuple[list[str], Span, list[str], list[int | None]]:
    """Return lines, an anchored span, the lines after some edits, and the new index of each old line or None."""
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
def test_anchor_refers_to_the_original_lines_or_reports_a_change(
    case: tuple[list[str], Span, list[str], list[int | None]],
) -> None:
    lines, span, after, where = case
    state, now = track(create_anchor(view(lines), span), view(after))
    wanted = lines[span.start : span.end]
    if state in ("same", "moved"):
        assert after[now.span.start : now.span.end] == wanted
    if state == "changed":
        assert after[now.span.start : now.span.end] != wanted
        assert len(now.span) > 0
    if state == "deleted":
        assert now.span == span  # unchanged, so that an undo restores it
        gone = any(where[i] is None for i in range(span.start, span.end))
        twice = sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines))) > 1
        assert gone or twice or not any(map(str.strip, wanted)), "only repeated lines cannot be identified"


def test_anchor_in_a_long_repetitive_text() -> None:
    records = [line for number in range(3_000) for line in ("  {", f'    "id": {number},', '    "new": false', "  },")]
    edited = [line if i % 50 else f"{line} " for i, line in enumerate(records) if i % 70]
    edited = [line.replace("false", "true") if i % 90 < 20 else line for i, line in enumerate(edited)]
    span = Span(records.index('    "id": 2000,'), records.index('    "id": 2000,') + 1)
    state, now = track(create_anchor(view(records), span), view(["[", *edited, "]"]))
    assert state == "moved"
    assert ["[", *edited][now.span.start] == '    "id": 2000,'
