"""Invariants of packing, for any files, candidates and budget."""

from __future__ import annotations

from collections import Counter

from hypothesis import event, given
from hypothesis import strategies as st

from promptkit import files, label, renderer
from promptls.model import FileText, Item, Origin, Span
from promptls.prompt.assemble import BudgetTooSmall, assemble, frame_tokens
from promptls.prompt.packing.pack import PackingCandidate, PackResult, pack
from promptls.prompt.rendering.fences import SPECIMEN
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import Renderer, render_element

COUNTERS = st.sampled_from(["chars4", "estimate"])


@st.composite
def candidates(
    draw: st.DrawFn, views: list[FileText], using: Renderer, origin: Origin, first: int, least: int
) -> list[PackingCandidate]:
    """Generate candidates from the files; `mention` numbers them, which makes each one unique."""
    out: list[PackingCandidate] = []
    for n in range(draw(st.integers(least, 6))):
        view = draw(st.sampled_from(views))
        symbols = view.entry.outline.symbols if view.entry.outline else ()
        shape = draw(st.sampled_from(["file", "symbol", "symbol", "lines", "lines", "folder"]))
        score = 1.0 if origin is Origin.MENTION else 1 - n / 10
        if shape == "folder":
            item = Item("/w/src", Span(0, 0), "folder", origin, score, mention=first + n)
            out.append(PackingCandidate(item_forms(item, views, using)))
            continue
        span, kind, name = Span(0, len(view.lines)), "file", ""
        if shape == "symbol" and symbols:
            symbol = draw(st.sampled_from(symbols))
            span, kind, name = symbol.span, symbol.kind, symbol.qualified
        elif shape == "lines":
            start = draw(st.integers(0, 40))
            span, kind = Span(start, start + draw(st.integers(0, 30))), "text"
        item = Item(view.entry.path, span, kind, origin, score, symbol=name, mention=first + n)
        inside = [
            item_forms(Item(view.entry.path, s.span, s.kind, origin, 1.0, s.qualified), view, using) for s in symbols
        ]
        out.append(PackingCandidate(item_forms(item, view, using), tuple(inside) if draw(st.booleans()) else ()))
    return out


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[PackingCandidate], list[PackingCandidate], Renderer]:
    using = renderer(draw(COUNTERS), citations=draw(st.booleans()), omit_notes=draw(st.booleans()))
    views = [draw(files(name)) for name in ("a.py", "b.py")]
    explicit = draw(candidates(views, using, Origin.MENTION, 0, 0))
    implicit = draw(candidates(views, using, Origin.SEMANTIC, 100, 2))
    return explicit, implicit, using


OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["best", "best", "skip", "signature", "stop", "cut"]),
        "trim_first": st.booleans(),
        "order": st.sampled_from(["file", "score", "reverse"]),
        "implicit_share": st.sampled_from([0.6, 1.0]),
    }
)


def numbers(packed: PackResult) -> list[int]:
    kept = [item.mention for k in packed.items for item in k.sources]
    return sorted(kept + [o.item.mention for o in packed.omitted])


@given(cases(), st.one_of(st.integers(0, 60), st.integers(60, 300), st.integers(300, 1500)), OPTIONS)
def test_packing_invariants(
    case: tuple[list[PackingCandidate], list[PackingCandidate], Renderer], budget: int, options: dict
) -> None:  # type: ignore[type-arg]
    explicit, implicit, using = case
    packed = pack(explicit, implicit, budget, **options)

    # The budget is not exceeded, and the counted tokens are right.
    assert packed.tokens <= budget
    for kept in packed.items:
        text = render_element(kept.rendered, label, SPECIMEN, "P10" if using.citations else "")
        assert kept.rendered.tokens == using.counter.count(text + "\n\n")

    # Every candidate is packed or omitted, once.
    assert numbers(packed) == sorted(c.forms.item.mention for c in (*explicit, *implicit))
    assert all(kept.sources for kept in packed.items)
    assert all(o.reason for o in packed.omitted)

    # No line is shown twice.
    shown = Counter(
        (k.rendered.item.path, line) for k in packed.items for s in k.rendered.spans for line in range(s.start, s.end)
    )
    assert not shown or max(shown.values()) == 1

    # Implicit items do not displace explicit items.
    if any(o.item.mention < 100 for o in packed.omitted):
        assert all(kept.explicit for kept in packed.items)
    assert all(kept.explicit == (min(i.mention for i in kept.sources) < 100) for kept in packed.items)

    # Explicit items come first, in the order of the message.
    order = [(not kept.explicit, kept.rank if kept.explicit else 0) for kept in packed.items]
    assert order == sorted(order)

    # Packing is deterministic.
    again = pack(explicit, implicit, budget, **options)
    assert [(k.rendered, k.sources) for k in again.items] == [(k.rendered, k.sources) for k in packed.items]
    assert again.omitted == packed.omitted
    event(", ".join(sorted({k.rendered.form for k in packed.items})) or "nothing")


@given(
    cases(),
    st.integers(0, 900),
    OPTIONS,
    st.text(max_size=60),
    st.sampled_from(["text", "messages"]),
    st.sampled_from(["baseline", "citation", "strict", "anti_prior"]),
    st.integers(-40, 200),
)
def test_finished_prompt_is_within_its_budget(
    case: tuple[list[PackingCandidate], list[PackingCandidate], Renderer],
    budget: int,
    options: dict,  # type: ignore[type-arg]
    message: str,
    output: str,
    variant: str,
    too_much: int,
) -> None:
    explicit, implicit, using = case
    room = budget - frame_tokens(message, variant, output, using.counter)
    packed = pack(explicit, implicit, room + too_much, **options)
    try:
        done = assemble(message, packed, variant=variant, output=output, budget=budget, renderer=using)
    except BudgetTooSmall as error:
        assert error.needed > budget
        return
    texts = [done.prompt] if output == "text" else [m.content for m in done.messages]
    counted = sum(map(using.counter.count, texts)) + (0 if output == "text" else 4 * len(texts))
    assert counted == done.tokens_used <= budget
    assert not message.strip() or texts[-1].endswith(message)  # a blank question is left out
    assert sum(done.section_tokens.values()) == done.tokens_used
    assert min(done.section_tokens.values()) >= 0
    kept = [item.mention for placed in done.items for item in placed.sources]
    lost = [o.item.mention for o in done.omitted]
    assert sorted(kept + lost) == numbers(packed)
    assert [placed.citation for placed in done.items] == [f"P{n}" for n in range(1, len(done.items) + 1)]
