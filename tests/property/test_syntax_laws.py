"""Laws of outlines and chunks, for every language, on samples that have been tampered with."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from promptls.index.syntax import captures
from promptls.index.syntax.chunks import MAX_LINES
from promptls.index.syntax.parse import Parsed, edit, scan
from promptls.languages.kinds import CALLABLE_KINDS, SYMBOL_KINDS
from promptls.languages.table import language_of
from promptls.model import Outline
from promptls.util.hashing import digest_of

SAMPLES = {
    language_of(file.name): file.read_text("utf-8")
    for file in sorted((Path(__file__).parent.parent / "fixtures" / "syntax").iterdir())
    if file.is_file()
}
PIECES = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "(",
    ")",
    "{",
    "}",
    '"',
    "'",
    "//",
    "/*",
    "*/",
    "#",
    "=>",
    ";",
    "ü",
    "😀",
    "x",
    "```\n",
    "\ufeff",
]

Edit = tuple[float, int, str]
EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),  # where, as a share of the text
        st.integers(0, 40),  # characters that go
        st.one_of(
            st.sampled_from(PIECES),
            st.sampled_from(sorted(SAMPLES.values())).map(lambda text: text[:80]),
            st.text(max_size=8),
        ),
    ),
    min_size=1,
    max_size=4,
)
LAWS = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def tampered(text: str, change: Edit) -> str:
    where, gone, piece = change
    at = int(where * len(text))
    return text[:at] + piece + text[at + gone :]


@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS, piece=st.sampled_from([60, 250, captures.PIECE]))
def test_going_on_from_the_version_before_changes_nothing(language: str, changes: list[Edit], piece: int) -> None:
    text = SAMPLES[language]
    with patch.object(captures, "PIECE", piece):
        parsed = scan(text, language, edited=True)
        for change in changes:
            text = tampered(text, change)
            parsed, fresh = scan(text, language, parsed), scan(text, language)
            assume(not fresh.outline.problem.startswith("parsing took"))
            assert parsed.outline == fresh.outline
            assert parsed.texts == fresh.texts


@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS, piece=st.sampled_from([1, 60, 250]))
def test_asking_piece_by_piece_finds_what_one_question_finds(language: str, changes: list[Edit], piece: int) -> None:
    """Of broken texts nothing else at least: a cursor that is bound to a depth may pass over a node with an error in it."""
    text = SAMPLES[language]
    for change in changes:
        text = tampered(text, change)
    with patch.object(captures, "PIECE", piece):
        apart = scan(text, language)
    with patch.object(captures, "MOST_CHILDREN", -1):
        whole = scan(text, language)
    if whole.tree is not None and whole.tree.root_node.has_error:
        assert {(s.name, s.span.start) for s in apart.outline.symbols} <= {
            (s.name, s.span.start) for s in whole.outline.symbols
        }
    else:
        assert apart.outline == whole.outline


@pytest.mark.parametrize("order", ["pack", "legacy"])
@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS)
def test_a_broken_file_spoils_no_other(language: str, order: Literal["pack", "legacy"], changes: list[Edit]) -> None:
    text = SAMPLES[language]
    known = scan(text, language, order=(order,)).outline
    for change in changes:
        text = tampered(text, change)
        scan(text, language, order=(order,))
    assert scan(SAMPLES[language], language, order=(order,)).outline == known


@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS, times=st.sampled_from([1, 1, 4]))
def test_outlines_and_chunks_keep_their_shape(language: str, changes: list[Edit], times: int) -> None:
    text = SAMPLES[language] * times
    for change in changes:
        text = tampered(text, change)
    parsed = scan(text, language)
    check_outline(parsed.outline)
    check_chunks(parsed)


def check_outline(outline: Outline) -> None:
    before = -1
    for index, symbol in enumerate(outline.symbols):
        assert symbol.kind in SYMBOL_KINDS
        assert bool(symbol.name) == (symbol.kind != "impl")
        assert len(symbol.signature) <= 240 and len(symbol.doc) <= 400
        assert "\n" not in symbol.signature + symbol.doc
        assert 0 <= symbol.doc_start <= symbol.span.start < symbol.body_start <= symbol.span.end <= outline.lines
        assert -1 <= symbol.parent < index
        if symbol.parent >= 0:
            parent = outline.symbols[symbol.parent]
            assert parent.span.contains(symbol.span)
            assert symbol.qualified.startswith(parent.qualified)
        assert symbol.span.start >= before or symbol.parent >= 0
        before = symbol.span.start
    lines = [line for _, line in outline.references()]
    assert lines == sorted(lines) and all(0 <= line < outline.lines for line in lines)
    assert all(0 <= found.line < outline.lines for found in outline.imports)


def check_chunks(parsed: Parsed) -> None:
    outline = parsed.outline
    end = 0
    for chunk in outline.chunks:
        assert end <= chunk.span.start < chunk.span.end <= outline.lines
        assert len(chunk.span) <= MAX_LINES
        end = chunk.span.end
        assert chunk.key == digest_of(parsed.texts[chunk.key], person=b"chunk")
        if chunk.symbol >= 0:
            symbol = outline.symbols[chunk.symbol]
            assert symbol.doc_start <= chunk.span.start and chunk.span.end <= symbol.span.end
            assert parsed.texts[chunk.key].startswith(f"{symbol.qualified} {symbol.name} {symbol.name} ")
    assert set(parsed.texts) == {chunk.key for chunk in outline.chunks}
    owners = {chunk.symbol for chunk in outline.chunks}
    for index, symbol in enumerate(outline.symbols):
        if symbol.kind not in CALLABLE_KINDS or symbol.kind == "macro" or len(symbol.span) < 2:
            continue
        # A chunk of its own, or one that begins before it: around it, or with the end of another on its first line;
        # or one of a definition around it that begins on the same line, where another ends.
        assert index in owners or any(
            (chunk.span.start <= symbol.span.start < chunk.span.end and chunk.symbol >= 0)
            or (chunk.symbol in around(outline, index) and chunk.span.overlaps(symbol.span))
            for chunk in outline.chunks
        ), f"{symbol.qualified} {symbol.span.label}"


def around(outline: Outline, index: int) -> set[int]:
    """Definitions around one that begin on its first line."""
    found: set[int] = set()
    start, parent = outline.symbols[index].span.start, outline.symbols[index].parent
    while parent >= 0 and outline.symbols[parent].span.start == start:
        found.add(parent)
        parent = outline.symbols[parent].parent
    return found


@LAWS
@given(head=st.binary(max_size=20), old=st.binary(max_size=9), new=st.binary(max_size=9), tail=st.binary(max_size=20))
def test_the_edited_region_is_all_that_differs(head: bytes, old: bytes, new: bytes, tail: bytes) -> None:
    before, after = head + old + tail, head + new + tail
    start, old_end, new_end = edit(before, after)
    assert start <= old_end <= len(before) and start <= new_end <= len(after)
    assert before[:start] + after[start:new_end] + before[old_end:] == after


@LAWS
@given(old=st.text(max_size=12), new=st.text(max_size=12), around=st.text(alphabet="aäö😀", max_size=6))
def test_the_edited_region_is_made_of_whole_characters(old: str, new: str, around: str) -> None:
    before, after = (around + old + around).encode(), (around + new + around).encode()
    start, old_end, new_end = edit(before, after)
    for piece in (before[:start], before[start:old_end], before[old_end:], after[start:new_end]):
        piece.decode("utf-8")
