"""Packing: selected forms, their order, and the reasons of omitted items."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promptkit import item, renderer, symbol_item, text_file
from promptls.index.snapshot import split_lines
from promptls.model import FileEntry, FileText, Item, Origin, Span, encode_outline
from promptls.prompt.packing.pack import MAX_COUNTED_OMITTED, PackingCandidate, PackResult, pack
from promptls.prompt.packing.packer import SIGNATURE, Part, allot_tokens, render_parts
from promptls.prompt.rendering.forms import item_forms
from workspaces import outline_of

USING = renderer()  # chars4


def functions(count: int, lines: int, name: str) -> FileText:
    """Return a file of `count` functions f0, f1, … of `lines` lines, with a statement between two functions."""
    body = "".join(f"    value_{n} = compute({n})\n" for n in range(lines - 1))
    return text_file("x = 1\n".join(f"def f{n}(x):\n{body}" for n in range(count)), name)


A = functions(4, 10, "a.py")
B = functions(4, 10, "b.py")
BIG = functions(30, 10, "big.py")


def implicit_candidates(*parts: tuple[FileText, str] | tuple[FileText, int, int]) -> list[PackingCandidate]:
    """Return implicit candidates, best first: (file, symbol) or (file, first line, last line)."""
    return [candidate(part, 1 - n / 10, Origin.SEMANTIC) for n, part in enumerate(parts)]


def explicit_candidates(*parts: tuple[FileText, str] | tuple[FileText, int, int]) -> list[PackingCandidate]:
    """Return explicit candidates in the order of the message; (file, 0, 0) is the whole file."""
    return [candidate(part, 1.0, Origin.MENTION) for part in parts]


def candidate(part: tuple[FileText, str] | tuple[FileText, int, int], score: float, origin: Origin) -> PackingCandidate:
    file = part[0]
    if isinstance(part[1], str):
        return PackingCandidate(item_forms(symbol_item(file, part[1], score=score, origin=origin), file, USING))
    first, last = part[1], part[2]  # type: ignore[misc]
    return PackingCandidate(item_forms(item(file, first or 1, last, score=score, origin=origin), file, USING))


def packed_lines(packed: PackResult) -> list[str]:
    """Return "full a.py:1-10" for each packed item, in prompt order."""
    return [
        f"{k.rendered.form} {k.rendered.item.path[3:]}:{', '.join(s.label for s in k.rendered.spans)}"
        for k in packed.items
    ]


def omitted_reasons(packed: PackResult) -> list[tuple[str, str]]:
    return [(f"{o.item.path[3:]}:{o.item.span.label}", o.reason) for o in packed.omitted]


def cost(*choices: PackingCandidate) -> int:
    return sum(full.tokens for c in choices if (full := c.forms.full()))


# ---------------------------------------------------------------- implicit


def test_no_candidates_and_no_budget() -> None:
    assert pack([], [], 1000) == PackResult()
    packed = pack([], implicit_candidates((A, "f0")), 0)
    assert packed.items == ()
    assert omitted_reasons(packed) == [("a.py:1-10", "over the budget")]
    assert packed.omitted[0].tokens == cost(*implicit_candidates((A, "f0")))


def test_cost_of_few_omitted_items_is_counted() -> None:
    packed = pack([], [candidate((A, n + 1, n + 3), 1.0, Origin.PATH) for n in range(40)] * 2, 0)
    assert len(packed.omitted) == 80
    assert [o.tokens > 0 for o in packed.omitted] == [True] * MAX_COUNTED_OMITTED + [False] * (80 - MAX_COUNTED_OMITTED)


def test_smaller_item_is_packed_after_one_that_does_not_fit() -> None:
    candidates = implicit_candidates((A, "f0"), (BIG, 0, 0), (B, 1, 3))
    budget = cost(candidates[0], candidates[2])
    assert packed_lines(pack([], candidates, budget, mode="skip")) == ["full a.py:1-10", "full b.py:1-3"]
    stopped = pack([], candidates, budget, mode="stop")
    assert packed_lines(stopped) == ["full a.py:1-10"]
    assert omitted_reasons(stopped) == [
        ("big.py:1-329", "over the budget"),
        ("b.py:1-3", "after the first one that did not fit"),
    ]


@pytest.mark.parametrize("mode", ["skip", "stop"])
def test_first_item_can_be_trimmed_to_the_budget(mode: str) -> None:
    candidates = implicit_candidates((BIG, 0, 0), (A, "f0"))
    for budget in (100, 500, 1000):
        packed = pack([], candidates, budget, mode=mode, trim_first=True)  # type: ignore[arg-type]
        assert packed.tokens <= budget
        assert packed.items[0].rendered.form == "partial"
        assert packed.items[0].rendered.item.path == BIG.entry.path
    assert pack([], candidates[:1], 500, mode=mode).items == ()  # type: ignore[arg-type]


def test_item_that_does_not_fit_can_be_shown_by_its_signature() -> None:
    candidates = implicit_candidates((A, "f0"), (BIG, "f1"), (B, 1, 3))
    short = candidates[1].forms.signature()
    assert short is not None
    budget = cost(candidates[0], candidates[2]) + short.tokens
    assert packed_lines(pack([], candidates, budget, mode="signature")) == [
        "full a.py:1-10",
        f"signature big.py:{short.spans[0].label}",
        "full b.py:1-3",
    ]


def test_mode_cut_trims_the_first_misfit_and_stops() -> None:
    candidates = implicit_candidates((A, "f0"), (BIG, 0, 0), (B, 1, 3))
    packed = pack([], candidates, 500, mode="cut")
    assert [(k.rendered.item.path[3:], k.rendered.form) for k in packed.items] == [
        ("a.py", "full"),
        ("big.py", "partial"),
    ]
    assert packed.items[1].rendered.spans[0].start == 0
    assert omitted_reasons(packed) == [("b.py:1-3", "after the first one that did not fit")]
    assert 450 < packed.tokens <= 500


def test_budget_can_be_split_between_explicit_and_implicit() -> None:
    """The reserve is for explicit items, and 60 % of the rest of the budget for implicit items."""
    mine, theirs = explicit_candidates((A, "f2"), (A, "f3")), implicit_candidates((A, "f0"), (B, "f0"))
    one = cost(mine[0])
    assert one == cost(theirs[0]) == cost(theirs[1]) == 81
    both = ["full a.py:23-32", "full a.py:34-43"]
    assert packed_lines(pack(mine, theirs, 3 * one, mode="skip")) == [*both, "full a.py:1-10"]
    split = pack(mine, theirs, 3 * one, mode="skip", explicit_reserve=one)
    assert sum(k.rendered.tokens for k in split.items if k.explicit) <= one
    assert [k.rendered.item.path[3:] for k in split.items if not k.explicit] == ["a.py", "b.py"]
    less = pack(mine, theirs, 3 * one, mode="skip", explicit_reserve=one, implicit_share=0.6)
    assert [k.rendered.item.path[3:] for k in less.items if not k.explicit] == ["a.py"]
    assert (
        packed_lines(pack(mine, theirs, 2 * one, mode="skip", explicit_reserve=2 * one)) == both
    )  # not above it: shared


def test_one_item_does_not_take_the_whole_budget() -> None:
    big = functions(1, 100, "big.py")
    candidates = implicit_candidates((big, "f0"), (A, "f0"), (B, "f0"))
    packed = pack([], candidates, cost(candidates[0]))
    assert sorted(packed_lines(packed))[:2] == ["full a.py:1-10", "full b.py:1-10"]
    assert packed.items[0].rendered.form == "signature"


def test_relevant_definition_that_does_not_fit_is_shown_by_its_signature() -> None:
    long = functions(1, 60, "long.py")
    packed = pack([], implicit_candidates((A, "f0"), (long, "f0")), cost(*implicit_candidates((A, "f0"))) + 40)
    assert packed_lines(packed)[0] == "full a.py:1-10"
    assert packed.items[1].rendered.form in ("signature", "partial")
    assert packed.items[1].rendered.body.startswith("def f0(x):\n")


def test_lines_are_not_shown_twice() -> None:
    packed = pack([], implicit_candidates((A, 0, 0), (A, "f2"), (A, 3, 5)), 1000)
    assert packed_lines(packed) == ["full a.py:1-43"]
    assert omitted_reasons(packed) == [("a.py:23-32", "already included"), ("a.py:3-5", "already included")]


def test_larger_item_replaces_a_smaller_one_inside() -> None:
    packed = pack([], implicit_candidates((A, "f2"), (A, 0, 0)), 1000)
    assert packed_lines(packed) == ["full a.py:1-43"]
    assert [source.span for source in packed.items[0].sources] == [Span(22, 32), Span(0, 43)]
    assert packed.items[0].rank == 0


def test_overlapping_and_adjacent_items_are_merged() -> None:
    packed = pack([], implicit_candidates((A, 1, 6), (A, 4, 9), (A, 10, 12)), 1000)
    assert packed_lines(packed) == ["full a.py:1-12"]
    assert len(packed.items[0].sources) == 3
    assert packed.items[0].rendered.item.symbol == ""


def test_items_of_one_file_are_merged_in_file_order() -> None:
    candidates = implicit_candidates((A, 1, 4), (A, 6, 9))
    packed = pack([], candidates, 1000)
    assert packed_lines(packed) == ["full a.py:1-4, 6-9"]
    assert "… 1 more line (5)" in packed.items[0].rendered.body  # the line costs more
    assert packed.tokens < pack([], candidates, 1000, order="score").tokens
    assert packed_lines(pack([], candidates, 1000, order="score")) == ["full a.py:1-4", "full a.py:6-9"]
    assert packed_lines(pack(implicit_candidates((A, 1, 4)), implicit_candidates((A, 6, 9)), 1000)) == [
        "full a.py:1-4",
        "full a.py:6-9",
    ]


def test_overlap_that_cannot_be_merged_is_removed() -> None:
    selection = explicit_candidates((A, 3, 5))
    packed = pack(selection, implicit_candidates((A, "f0")), 1000)
    assert packed_lines(packed) == ["full a.py:3-5", "partial a.py:1-2, 6-10"]
    assert packed.items[1].rendered.body.split("\n")[2] == "… 3 more lines (3-5)"


def test_items_are_not_merged_if_lines_would_be_lost() -> None:
    commented = text_file("x = 1\n" + "# why\n" * 14 + "def f():\n    return 1\n", "c.py")
    packed = pack(
        [], implicit_candidates((commented, 3, 15), (commented, 16, 16), (commented, 17, 17), (commented, 2, 2)), 1000
    )
    shown = {line for k in packed.items for s in k.rendered.spans for line in range(s.start, s.end)}
    assert shown == set(range(1, 17))


def test_orders_by_file_and_by_score() -> None:
    candidates = implicit_candidates((B, "f2"), (A, "f3"), (B, "f0"), (A, "f1"))
    assert packed_lines(pack([], candidates, 1000)) == ["full b.py:1-10, 23-32", "full a.py:12-21, 34-43"]
    by_score = ["full b.py:23-32", "full a.py:34-43", "full b.py:1-10", "full a.py:12-21"]
    assert packed_lines(pack([], candidates, 1000, order="score")) == by_score


# ---------------------------------------------------------------- one fence per file


def sources(packed: PackResult) -> list[list[str]]:
    """Return the lines of the candidates in each packed item, best first."""
    return [[source.span.label for source in k.sources] for k in packed.items]


def test_full_and_reduced_items_of_a_file_share_a_fence() -> None:
    long = text_file(A.text + "def long(x):\n" + "    value = compute(x)\n" * 90, "long.py")
    candidates = implicit_candidates((long, "f2"), (B, "f1"), (long, "long"))
    packed = pack([], candidates, 450)
    assert [k.rendered.item.path[3:] for k in packed.items] == ["long.py", "b.py"]
    assert packed.items[0].rendered.spans[0] == Span(22, 32)
    assert packed.items[0].rendered.spans[1].start == 43
    assert packed.items[0].rendered.body.endswith("-134)")  # the rest of the definition is elided
    assert sources(packed) == [["23-32", "44-134"], ["12-21"]]
    assert packed.tokens <= 450


def test_explicit_items_of_a_file_share_a_fence() -> None:
    packed = pack(explicit_candidates((A, "f3"), (B, "f0"), (A, 1, 4)), implicit_candidates((A, "f1")), 1000)
    assert packed_lines(packed) == ["full a.py:1-4, 34-43", "full b.py:1-10", "full a.py:12-21"]
    assert [k.explicit for k in packed.items] == [True, True, False]
    assert sources(packed) == [["34-43", "1-4"], ["1-10"], ["12-21"]]


def test_items_with_a_citation_label_keep_their_fence() -> None:
    citing = renderer(citations=True)
    explicit = [
        PackingCandidate(item_forms(item(A, first, last, origin=Origin.MENTION), A, citing))
        for first, last in ((1, 4), (20, 24))
    ]
    assert packed_lines(pack(explicit, [], 1000)) == ["full a.py:1-4", "full a.py:20-24"]


@pytest.mark.parametrize("budget", range(100, 1000, 50))
def test_tokens_of_parts_add_up_to_the_tokens_of_the_fence(budget: int) -> None:
    packed = pack([], implicit_candidates((BIG, "f0"), (BIG, "f5"), (BIG, 100, 200), (BIG, "f25")), budget)
    for k in packed.items:
        assert sum(part.tokens for part in allot_tokens(k.rendered, k.parts)) == k.rendered.tokens
    assert [k.rendered.item.path for k in packed.items if k.rendered.spans] == [BIG.entry.path]


# ---------------------------------------------------------------- enclosing definitions


def parsed(path: str, text: str) -> FileText:
    """Return a file with the outline that the index makes of it."""
    lines = tuple(split_lines(text))
    outline = encode_outline(outline_of(path, text))
    return FileText(FileEntry(f"/w/{path}", "/w", path, encoded_outline=outline), text, lines)


def real_item(file: FileText, name: str, origin: Origin = Origin.SEMANTIC) -> PackingCandidate:
    return PackingCandidate(item_forms(symbol_item(file, name, score=0.5, origin=origin), file, USING))


METHODS = {
    "a.py": (
        '@final\nclass Cart(Base):\n    """A cart."""\n\n    one = 1\n    two = 2\n    three = 3\n\n'
        "    def add(self, name):\n        self.names.append(name)\n",
        "Cart.add",
        "class Cart(Base):",
    ),
    "a.rs": (
        "pub struct Cart;\n\n#[allow(dead_code)]\nimpl Total for Cart {\n    const ONE: i32 = 1;\n    const TWO: i32 = 2;\n"
        "    const THREE: i32 = 3;\n\n    fn total(&self) -> i32 {\n        1\n    }\n}\n",
        "Cart.total",
        "impl Total for Cart {",
    ),
}


@pytest.mark.parametrize("path", METHODS)
@pytest.mark.parametrize("origin", [Origin.SEMANTIC, Origin.MENTION])
def test_line_that_opens_the_enclosing_definition_is_shown(path: str, origin: Origin) -> None:
    text, name, header = METHODS[path]
    candidate = real_item(parsed(path, text), name, origin)
    packed = pack([candidate], [], 1000) if origin is Origin.MENTION else pack([], [candidate], 1000)
    lines = packed.items[0].rendered.body.split("\n")
    assert lines[0] == header
    assert lines[1].startswith("… ")
    assert packed.items[0].rendered.item.symbol == name
    only = candidate.forms.full()
    assert only is not None and packed.tokens > only.tokens
    assert pack([], [candidate], 1000, mode="skip").items[0].rendered == only


def test_enclosing_definition_is_opened_once_in_a_fence() -> None:
    methods = "".join(
        f"    def m{n}(self):\n        return [{n},\n{'            1,' * 9}\n        ]\n\n" for n in range(6)
    )
    inner = (
        "    class Inner:\n        a = 1\n        b = 2\n        c = 3\n\n        def m(self):\n            return 1\n"
    )
    file = parsed("deep.py", f"class Outer:\n    x = 1\n    y = 2\n    z = 3\n\n{methods}{inner}")
    packed = pack([], [real_item(file, name) for name in ("Outer.m4", "Outer.Inner.m", "Outer.m1")], 1000)
    lines = packed.items[0].rendered.body.split("\n")
    assert [line.strip() for line in lines if line.strip().startswith(("class", "def"))] == [
        "class Outer:",
        "def m1(self):",
        "def m4(self):",
        "class Inner:",
        "def m(self):",
    ]
    selected = [candidate((file, 2, 3), 1.0, Origin.SELECTION)]
    assert packed_lines(pack(selected, [], 1000)) == ["full deep.py:2-3"]  # a range of lines is shown as requested


# ---------------------------------------------------------------- short gaps


@pytest.mark.parametrize(
    ("gap", "shown"),
    [
        ("", "1-4"),
        ("\n\n", "1-6"),
        ("x = 1\n", "1-5"),
        ("x = 1\n\ny\n", "1-2, 6-7"),
        ("x = 1\ny\n", "1-6"),
        ("x = one_name_after_another(that, has, many, more, tokens, than, a, mark, has)\n", "1-2, 4-5"),
    ],
)
def test_gap_is_shown_if_it_costs_no_more_than_its_mark(gap: str, shown: str) -> None:
    file = text_file(f"a = 1\nb = 2\n{gap}c = 3\nd = 4\n", "g.txt")
    last = len(file.lines)
    packed = pack([], implicit_candidates((file, 1, 2), (file, last - 1, last)), 1000)
    assert packed_lines(packed) == [f"full g.txt:{shown}"]
    assert "more line (" not in packed.items[0].rendered.body or len(gap) > 50


def test_signature_of_a_short_definition_is_its_full_form() -> None:
    file = text_file("def f():\n    return 1\n", "s.py")
    made = real_item(file, "f").forms
    signature = made.signature()
    assert signature is not None and signature.body.endswith("… 1 more line (2)")
    fence = render_parts([Part(SIGNATURE, signature, made, ((0, made.item),))], complete=True)
    assert (fence.rendered.form, fence.rendered.body) == ("full", "def f():\n    return 1")


# ---------------------------------------------------------------- whole definitions


SHOP = parsed(
    "shop.py",
    'import money\n\n\nclass Shop(Base):\n    """A shop."""\n\n'
    + "\n".join(
        f"    def step_{n}(self, order):\n" + "".join(f"        order.do({n}, {line})\n" for line in range(12))
        for n in range(8)
    )
    + "\n\ndef main(argv):\n"
    + "".join(f"    run(argv[{n}])\n" for n in range(40)),
)


@pytest.mark.parametrize("budget", range(60, 1200, 40))
def test_definitions_are_complete_or_replaced_by_their_signature(budget: int) -> None:
    candidates = [real_item(SHOP, name) for name in ("main", "Shop.step_3", "Shop.step_5", "Shop")]
    packed = pack([], candidates, budget)
    assert packed.tokens <= budget
    shown = {line for k in packed.items for s in k.rendered.spans for line in range(s.start, s.end)}
    assert SHOP.entry.outline is not None
    for symbol in SHOP.entry.outline.symbols:
        body = set(range(symbol.body_start, symbol.span.end))
        if symbol.name != "Shop" and symbol.kind in ("function", "method"):
            assert body <= shown or not body & shown, symbol.name


def test_class_that_does_not_fit_is_shown_by_its_members() -> None:
    packed = pack([], [real_item(SHOP, "Shop"), real_item(SHOP, "Shop.step_3")], 400)
    lines = packed.items[0].rendered.body.split("\n")
    code = [line for line in lines if line and not line.startswith("…")]
    assert code[:2] == ["class Shop(Base):", '    """A shop."""']
    assert [line for line in code if "def " in line] == [f"    def step_{n}(self, order):" for n in range(8)]
    assert sum("order.do(3," in line for line in code) == 12
    assert sum("order.do(" in line for line in code) == 12
    assert [source.symbol for source in packed.items[0].sources] == ["Shop", "Shop.step_3"]


def test_lines_between_definitions_are_cut_before_a_function() -> None:
    window = parsed("w.py", "".join(f"def f{n}(x):\n" + f"    g(x, {n})\n" * 9 for n in range(20)))
    ends = set()
    for budget in range(300, 800, 20):
        packed = pack([], [candidate((window, 1, 200), 0.9, Origin.SEMANTIC)], budget)
        ends |= {span.end for k in packed.items for span in k.rendered.spans}
    assert len(ends) > 5
    assert all(end % 10 == 0 for end in ends)


def test_sections_of_a_document_may_be_cut() -> None:
    notes = parsed("notes.md", "# One\n\n" + "".join(f"Paragraph {n} about shops.\n\n" for n in range(60)))
    packed = pack([], [real_item(notes, "One")], 300)
    assert packed.items[0].rendered.form == "partial"
    assert packed.tokens > 250


# ---------------------------------------------------------------- explicit


def test_explicit_items_come_first_in_mention_order() -> None:
    explicit, implicit = explicit_candidates((B, "f1"), (A, "f0")), implicit_candidates((BIG, "f0"), (BIG, "f2"))
    packed = pack(explicit, implicit, cost(*explicit) + 10)
    assert packed_lines(packed) == ["full b.py:12-21", "full a.py:1-10"]
    assert [k.explicit for k in packed.items] == [True, True]
    assert len(packed.omitted) == 2


def test_file_that_does_not_fit_is_shown_by_its_relevant_definitions() -> None:
    explicit = [
        PackingCandidate(
            explicit_candidates((BIG, 0, 0))[0].forms,
            tuple(c.forms for c in implicit_candidates((BIG, "f7"), (BIG, "f3"))),
        )
    ]
    packed = pack(explicit, [], 250)
    assert packed_lines(packed) == ["partial big.py:34-43, 78-87"]
    assert packed.tokens <= 250


def test_caller_that_does_not_fit_is_shown_by_its_call_sites() -> None:
    caller = replace(item(BIG, 1, 329, score=1.0, origin=Origin.MENTION), call_sites=(200,))
    explicit = [
        PackingCandidate(
            item_forms(caller, BIG, USING), tuple(c.forms for c in implicit_candidates((BIG, "f7"), (BIG, "f3")))
        )
    ]
    packed = pack(explicit, [], 250)
    assert packed_lines(packed) == ["partial big.py:182-220"]
    assert packed.tokens <= 250


def test_explicit_file_degrades_to_partial_then_outline_then_reference() -> None:
    explicit = explicit_candidates((BIG, 0, 0))
    full = cost(*explicit)
    seen = []
    for budget in range(full, 0, -5):
        packed = pack(explicit, [], budget)
        assert packed.tokens <= budget
        form = packed.items[0].rendered.form if packed.items else "nothing"
        if form not in seen:
            seen.append(form)
    assert seen == ["full", "partial", "outline", "reference", "nothing"]


def test_explicit_files_share_the_budget() -> None:
    small, large, huge = functions(1, 10, "small.py"), functions(10, 10, "large.py"), functions(40, 10, "huge.py")
    explicit = explicit_candidates((huge, 0, 0), (large, 0, 0), (small, 0, 0))
    packed = pack(explicit, [], 2000)
    by_path = {k.rendered.item.path[3:]: k.rendered for k in packed.items}
    assert [k.rendered.item.path[3:] for k in packed.items] == ["huge.py", "large.py", "small.py"]
    assert by_path["small.py"].form == "full"
    assert by_path["large.py"].form == "full"
    assert by_path["huge.py"].tokens > 0.97 * (2000 - by_path["small.py"].tokens - by_path["large.py"].tokens)


def test_every_mention_has_a_reference_line_in_a_tiny_budget() -> None:
    files = [functions(20, 10, f"{name}.py") for name in "abcd"]
    explicit = explicit_candidates(*((file, 0, 0) for file in files))
    lines = sum(c.forms.reference("asked for, does not fit").tokens for c in explicit)
    packed = pack(explicit, implicit_candidates((A, 1, 2)), lines)
    assert [k.rendered.form for k in packed.items] == ["reference"] * 4
    assert len(pack(explicit, [], lines - 1).items) == 3
    assert omitted_reasons(pack(explicit, [], lines - 1)) == [("d.py:1-219", "over the budget")]


def test_item_mentioned_twice_is_shown_once() -> None:
    folder = Item("/w/src", Span(0, 0), "folder", Origin.MENTION, 1.0)
    twice = [PackingCandidate(item_forms(folder, [A, B], USING)), PackingCandidate(item_forms(folder, [A, B], USING))]
    packed = pack([*explicit_candidates((A, 0, 0), (A, "f1"), (A, 0, 0)), *twice], [], 2000)
    assert [(k.rendered.form, len(k.sources)) for k in packed.items] == [("full", 3), ("outline", 2)]
    assert packed.omitted == ()


def test_item_without_forms_is_a_reference() -> None:
    gone = Item(A.entry.path, Span(500, 510), "text", Origin.MENTION, 1.0)
    packed = pack([PackingCandidate(item_forms(gone, A, USING))], [], 100)
    assert packed.items[0].rendered.body == "a.py - asked for, does not fit"
