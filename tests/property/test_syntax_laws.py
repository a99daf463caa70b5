"""Properties of outlines and chunks for every language, on randomly edited samples."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from promptls.index.syntax.chunks import MAX_CHUNK_LINES
from promptls.index.syntax.parse import ParseResult, parse_source
from promptls.index.syntax.tree_sitter import grammar_queries
from promptls.languages import language_of
from promptls.languages.kinds import CALLABLE_KINDS, SYMBOL_KINDS
from promptls.model import Outline
from promptls.util.hashing import content_hash

SAMPLES = {
    language_of(file.name): file.read_text("utf-8")
    for file in sorted((Path(__file__).parent.parent / "fixtures" / "syntax").iterdir())
    if file.is_file()
}
PIECES = [
    "\n", "\r\n", "\r", "\t", "  ", "(", ")", "{", "}", '"', "'", "//", "/*", "*/", "#", "=>", ";", "ü", "😀", "x",
    "```\n", "\ufeff",
]  # fmt: skip

Edit = tuple[float, int, str]
EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),  # position as a fraction of the text
        st.integers(0, 40),  # characters that are deleted
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


def apply_edit(text: str, change: Edit) -> str:
    fraction, deleted, inserted = change
    position = int(fraction * len(text))
    return text[:position] + inserted + text[position + deleted :]


@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS, piece=st.sampled_from([60, 250, grammar_queries.MAX_SUBTREE_BYTES]))
def test_incremental_parse_equals_full_parse(language: str, changes: list[Edit], piece: int) -> None:
    text = SAMPLES[language]
    with patch.object(grammar_queries, "MAX_SUBTREE_BYTES", piece):
        parsed = parse_source(text, language, incremental=True)
        for change in changes:
            text = apply_edit(text, change)
            parsed, fresh = parse_source(text, language, parsed), parse_source(text, language)
            assume(not fresh.outline.problem.startswith("parsing took"))
            assert parsed.outline == fresh.outline
            assert parsed.chunk_texts == fresh.chunk_texts


@pytest.mark.parametrize("order", ["pack", "legacy"])
@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS)
def test_broken_file_does_not_affect_others(
    language: str, order: Literal["pack", "legacy"], changes: list[Edit]
) -> None:
    text = SAMPLES[language]
    expected = parse_source(text, language, grammar_sources=(order,)).outline
    for change in changes:
        text = apply_edit(text, change)
        parse_source(text, language, grammar_sources=(order,))
    assert parse_source(SAMPLES[language], language, grammar_sources=(order,)).outline == expected


@pytest.mark.parametrize("language", sorted(SAMPLES))
@LAWS
@given(changes=EDITS, times=st.sampled_from([1, 1, 4]))
def test_outlines_and_chunks_are_consistent(language: str, changes: list[Edit], times: int) -> None:
    text = SAMPLES[language] * times
    for change in changes:
        text = apply_edit(text, change)
    parsed = parse_source(text, language)
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
    lines = [use.line for use in outline.references()]
    assert lines == sorted(lines) and all(0 <= line < outline.lines for line in lines)
    assert all(0 <= imported.line < outline.lines for imported in outline.imports)


def check_chunks(parsed: ParseResult) -> None:
    outline = parsed.outline
    end = 0
    for chunk in outline.chunks:
        assert end <= chunk.span.start < chunk.span.end <= outline.lines
        assert len(chunk.span) <= MAX_CHUNK_LINES
        end = chunk.span.end
        assert chunk.key == content_hash(parsed.chunk_texts[chunk.key], person=b"chunk")
        if chunk.symbol >= 0:
            symbol = outline.symbols[chunk.symbol]
            assert symbol.doc_start <= chunk.span.start and chunk.span.end <= symbol.span.end
            assert parsed.chunk_texts[chunk.key].startswith(f"{symbol.qualified} {symbol.name} {symbol.name} ")
    assert set(parsed.chunk_texts) == {chunk.key for chunk in outline.chunks}
    owners = {chunk.symbol for chunk in outline.chunks}
    for index, symbol in enumerate(outline.symbols):
        if symbol.kind not in CALLABLE_KINDS or symbol.kind == "macro" or len(symbol.span) < 2:
            continue
        # A chunk of its own; or a chunk that begins before it, because it is nested or shares its first line with
        # another definition; or a chunk of an enclosing definition that begins on the same line.
        assert index in owners or any(
            (chunk.span.start <= symbol.span.start < chunk.span.end and chunk.symbol >= 0)
            or (chunk.symbol in enclosing_on_first_line(outline, index) and chunk.span.overlaps(symbol.span))
            for chunk in outline.chunks
        ), f"{symbol.qualified} {symbol.span.label}"


def enclosing_on_first_line(outline: Outline, index: int) -> set[int]:
    """Return the enclosing definitions that begin on the same line."""
    enclosing: set[int] = set()
    start, parent = outline.symbols[index].span.start, outline.symbols[index].parent
    while parent >= 0 and outline.symbols[parent].span.start == start:
        enclosing.add(parent)
        parent = outline.symbols[parent].parent
    return enclosing
