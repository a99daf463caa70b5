"""Invariants of forms, for any file and item: lines are verbatim, spans are right, token limits are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptkit import files, label, renderer
from promptls.model import Item, Origin, RenderedItem, Span
from promptls.prompt.packing.pack import render_definitions
from promptls.prompt.rendering.fences import SPECIMEN
from promptls.prompt.rendering.forms import ItemForms, item_forms
from promptls.prompt.rendering.renderer import render_element


@st.composite
def items(draw: st.DrawFn) -> ItemForms:
    view = draw(files())
    using = renderer(draw(st.sampled_from(["chars4", "estimate"])), citations=draw(st.booleans()))
    symbols = view.entry.outline.symbols if view.entry.outline else ()
    if symbols and draw(st.booleans()):
        symbol = draw(st.sampled_from(symbols))
        return item_forms(Item("/w/a.py", symbol.span, "function", Origin.SYMBOL, 0.5, symbol.qualified), view, using)
    span = Span(draw(st.integers(0, 45)), draw(st.integers(0, 50)))
    return item_forms(Item("/w/a.py", span, draw(st.sampled_from(["file", "text"])), Origin.MENTION, 1.0), view, using)


def check(block: RenderedItem | None, rendered: ItemForms, room: int | None = None) -> None:
    if block is None:
        return
    assert rendered.file is not None
    assert room is None or block.tokens <= room
    cites = "P10" if rendered.renderer.citations else ""
    assert block.tokens == rendered.renderer.counter.count(render_element(block, label, SPECIMEN, cites) + "\n\n")
    if block.form in ("outline", "reference"):
        assert block.spans == ()
        return
    assert list(block.spans) == sorted(block.spans)
    assert all(a.end < b.start for a, b in zip(block.spans, block.spans[1:], strict=False))
    shown = [rendered.file.lines[n] for span in block.spans for n in range(span.start, span.end)]
    rows = block.body.split("\n") if block.body or shown else []
    assert [row for row in rows if not row.startswith("…")] == shown
    for row in rows:
        if row.startswith("…"):
            first, _, last = row[row.index("(") + 1 : -1].partition("-")
            missing = Span(int(first) - 1, int(last or first))
            assert row == f"… {len(missing)} more line{'s' if len(missing) > 1 else ''} ({missing.label})"
            assert not any(missing.overlaps(span) for span in block.spans)


@given(items(), st.integers(0, 200), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=3))
def test_every_form_shows_the_lines_of_its_spans(rendered: ItemForms, room: int, more: list[tuple[int, int]]) -> None:
    full = rendered.full()
    check(full, rendered)
    check(rendered.signature(), rendered)
    check(rendered.reference(), rendered)
    check(rendered.outline(), rendered)
    check(rendered.outline(room), rendered, room)
    part = rendered.partial(room)
    check(part, rendered, room)
    assert full is None or full.tokens > room or not full.spans or part == full
    inside = [rendered.for_span(Span(min(a, b), max(a, b))) for a, b in more]
    check(render_definitions(rendered, inside, room), rendered, room)
    for block in (full, rendered.outline(), part):
        if block is not None:
            trimmed = rendered.trim(block, room)
            check(trimmed, rendered, room)
            assert trimmed is None or trimmed.form == "outline" or set(lines(trimmed)) <= set(lines(block))


def lines(block: RenderedItem) -> list[int]:
    return [n for span in block.spans for n in range(span.start, span.end)]
