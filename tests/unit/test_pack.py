"""What is kept, in which form, and why the rest is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from promptkit import item, renderer, symbol_item, text_file

from promptls.model import FileText, Item, Origin, Span
from promptls.prompt.forms import item_forms
from promptls.prompt.pack import MAX_COUNTED_OMITTED, PackingCandidate, PackResult, pack

USING = renderer()  # chars4


def functions(count: int, lines: int, name: str) -> FileText:
    """A file of `count` functions f0, f1, … of `lines` lines, a statement between two."""
    body = "".join(f"    value_{n} = compute({n})\n" for n in range(lines - 1))
    return text_file("x = 1\n".join(f"def f{n}(x):\n{body}" for n in range(count)), name)


A = functions(4, 10, "a.py")
B = functions(4, 10, "b.py")
BIG = functions(30, 10, "big.py")


def found(*parts: tuple[FileText, str] | tuple[FileText, int, int]) -> list[PackingCandidate]:
    """Implicit candidates, best first: (file, symbol) or (file, first line, last line)."""
    return [choice(part, 1 - n / 10, Origin.SEMANTIC) for n, part in enumerate(parts)]


def asked(*parts: tuple[FileText, str] | tuple[FileText, int, int]) -> list[PackingCandidate]:
    """Explicit candidates in the order of the message; (file, 0, 0) is the whole file."""
    return [choice(part, 1.0, Origin.MENTION) for part in parts]


def choice(part: tuple[FileText, str] | tuple[FileText, int, int], score: float, origin: Origin) -> PackingCandidate:
    file = part[0]
    if isinstance(part[1], str):
        return PackingCandidate(item_forms(symbol_item(file, part[1], score=score, origin=origin), file, USING))
    first, last = part[1], part[2]  # type: ignore[misc]
    return PackingCandidate(item_forms(item(file, first or 1, last, score=score, origin=origin), file, USING))


def kept(packed: PackResult) -> list[str]:
    """ "full a.py:1-10" for each block, in prompt order."""
    return [
        f"{k.rendered.form} {k.rendered.item.path[3:]}:{', '.join(s.label for s in k.rendered.spans)}"
        for k in packed.items
    ]


def omitted(packed: PackResult) -> list[tuple[str, str]]:
    return [(f"{o.item.path[3:]}:{o.item.span.label}", o.reason) for o in packed.omitted]


def cost(*choices: PackingCandidate) -> int:
    return sum(full.tokens for c in choices if (full := c.forms.full()))


# ---------------------------------------------------------------- implicit


def test_all_that_fits_is_kept_in_full() -> None:
    wanted = found((A, "f1"), (B, "f0"))
    packed = pack([], wanted, cost(*wanted))
    assert kept(packed) == ["full a.py:12-21", "full b.py:1-10"]
    assert packed.omitted == ()
    assert packed.tokens == cost(*wanted)
    assert packed.trace == ("full a.py:12-21 (81)", "full b.py:1-10 (81)")


def test_nothing_to_pack_and_nothing_to_pack_into() -> None:
    assert pack([], [], 1000) == PackResult()
    packed = pack([], found((A, "f0")), 0)
    assert packed.items == ()
    assert omitted(packed) == [("a.py:1-10", "over the budget")]
    assert packed.omitted[0].tokens == cost(*found((A, "f0")))


def test_the_cost_of_what_nobody_reads_is_not_counted() -> None:
    packed = pack([], [choice((A, n + 1, n + 3), 1.0, Origin.PATH) for n in range(40)] * 2, 0)
    assert len(packed.omitted) == 80
    assert [o.tokens > 0 for o in packed.omitted] == [True] * MAX_COUNTED_OMITTED + [False] * (80 - MAX_COUNTED_OMITTED)


def test_a_misfit_is_skipped_and_a_smaller_one_taken() -> None:
    wanted = found((A, "f0"), (BIG, 0, 0), (B, 1, 3))
    budget = cost(wanted[0], wanted[2])
    assert kept(pack([], wanted, budget, mode="skip")) == ["full a.py:1-10", "full b.py:1-3"]
    stopped = pack([], wanted, budget, mode="stop")
    assert kept(stopped) == ["full a.py:1-10"]
    assert omitted(stopped) == [
        ("big.py:1-329", "over the budget"),
        ("b.py:1-3", "after the first one that did not fit"),
    ]


@pytest.mark.parametrize("mode", ["skip", "stop"])
def test_the_top_item_can_be_kept_trimmed_but_never_over(mode: str) -> None:
    wanted = found((BIG, 0, 0), (A, "f0"))
    for budget in (100, 500, 1000):
        packed = pack([], wanted, budget, mode=mode, trim_first=True)  # type: ignore[arg-type]
        assert packed.tokens <= budget
        assert packed.items[0].rendered.form == "partial"
        assert packed.items[0].rendered.item.path == BIG.entry.path
    assert pack([], wanted[:1], 500, mode=mode).items == ()  # type: ignore[arg-type]


def test_what_does_not_fit_can_stand_by_its_signature() -> None:
    wanted = found((A, "f0"), (BIG, "f1"), (B, 1, 3))
    short = wanted[1].forms.signature()
    assert short is not None
    budget = cost(wanted[0], wanted[2]) + short.tokens
    assert kept(pack([], wanted, budget, mode="signature")) == [
        "full a.py:1-10",
        f"signature big.py:{short.spans[0].label}",
        "full b.py:1-3",
    ]


def test_the_first_that_does_not_fit_can_be_cut_and_is_the_last() -> None:
    wanted = found((A, "f0"), (BIG, 0, 0), (B, 1, 3))
    packed = pack([], wanted, 500, mode="cut")
    assert [(k.rendered.item.path[3:], k.rendered.form) for k in packed.items] == [
        ("a.py", "full"),
        ("big.py", "partial"),
    ]
    assert packed.items[1].rendered.spans[0].start == 0
    assert omitted(packed) == [("b.py:1-3", "after the first one that did not fit")]
    assert 450 < packed.tokens <= 500


def test_a_budget_can_be_split_between_what_was_asked_for_and_what_was_found() -> None:
    """Cody: 30,000 tokens for mentions, and 60 % of the rest of the chat's budget for what was found."""
    mine, theirs = asked((A, "f2"), (A, "f3")), found((A, "f0"), (B, "f0"))
    one = cost(mine[0])
    assert one == cost(theirs[0]) == cost(theirs[1]) == 81
    both = ["full a.py:23-32", "full a.py:34-43"]
    assert kept(pack(mine, theirs, 3 * one, mode="skip")) == [*both, "full a.py:1-10"]
    split = pack(mine, theirs, 3 * one, mode="skip", explicit_reserve=one)
    assert sum(k.rendered.tokens for k in split.items if k.explicit) <= one
    assert [k.rendered.item.path[3:] for k in split.items if not k.explicit] == ["a.py", "b.py"]
    less = pack(mine, theirs, 3 * one, mode="skip", explicit_reserve=one, implicit_share=0.6)
    assert [k.rendered.item.path[3:] for k in less.items if not k.explicit] == ["a.py"]
    assert kept(pack(mine, theirs, 2 * one, mode="skip", explicit_reserve=2 * one)) == both  # not above it: shared


def test_a_large_item_is_shown_in_part_and_what_is_left_is_filled() -> None:
    wanted = found((BIG, "f0"), (BIG, 0, 0), (A, "f1"))
    packed = pack([], wanted, 1500)
    assert 1500 * 0.97 <= packed.tokens <= 1500
    assert [k.rendered.form for k in packed.items] == ["full", "partial", "full"]


def test_one_item_does_not_take_all_while_others_wait() -> None:
    big = functions(1, 100, "big.py")
    wanted = found((big, "f0"), (A, "f0"), (B, "f0"))
    packed = pack([], wanted, cost(wanted[0]))
    assert sorted(kept(packed))[:2] == ["full a.py:1-10", "full b.py:1-10"]
    assert packed.items[0].rendered.form == "partial"
    assert kept(pack([], wanted, cost(wanted[0]), max_item_share=1.0)) == ["full big.py:1-100"]


def test_a_relevant_definition_that_does_not_fit_keeps_its_signature() -> None:
    long = functions(1, 60, "long.py")
    packed = pack([], found((A, "f0"), (long, "f0")), cost(*found((A, "f0"))) + 40)
    assert kept(packed)[0] == "full a.py:1-10"
    assert packed.items[1].rendered.form in ("signature", "partial")
    assert packed.items[1].rendered.body.startswith("def f0(x):\n")


def test_what_is_shown_already_is_not_shown_again() -> None:
    packed = pack([], found((A, 0, 0), (A, "f2"), (A, 3, 5)), 1000)
    assert kept(packed) == ["full a.py:1-43"]
    assert omitted(packed) == [("a.py:23-32", "already included"), ("a.py:3-5", "already included")]


def test_a_larger_item_takes_up_a_smaller_one() -> None:
    packed = pack([], found((A, "f2"), (A, 0, 0)), 1000)
    assert kept(packed) == ["full a.py:1-43"]
    assert [source.span for source in packed.items[0].sources] == [Span(22, 32), Span(0, 43)]
    assert packed.items[0].rank == 0


def test_overlapping_and_touching_regions_become_one_block() -> None:
    packed = pack([], found((A, 1, 6), (A, 4, 9), (A, 10, 12)), 1000)
    assert kept(packed) == ["full a.py:1-12"]
    assert len(packed.items[0].sources) == 3
    assert packed.items[0].rendered.item.symbol == ""


def test_regions_with_code_between_them_share_a_block_in_the_order_by_file() -> None:
    wanted = found((A, 1, 4), (A, 6, 9))
    packed = pack([], wanted, 1000)
    assert kept(packed) == ["full a.py:1-4, 6-9"]
    assert "… 1 more line (5)" in packed.items[0].rendered.body
    assert packed.tokens < pack([], wanted, 1000, order="score").tokens
    assert kept(pack([], wanted, 1000, order="score")) == ["full a.py:1-4", "full a.py:6-9"]
    assert kept(pack(found((A, 1, 4)), found((A, 6, 9)), 1000)) == ["full a.py:1-4", "full a.py:6-9"]


def test_regions_with_only_blank_lines_between_become_one() -> None:
    spaced = text_file("a = 1\n\n\nb = 2\n\nc = 3\n", "s.txt")
    packed = pack([], found((spaced, 1, 1), (spaced, 4, 4)), 1000)
    assert kept(packed) == ["full s.txt:1-4"]


def test_an_overlap_that_cannot_be_joined_is_cut_off() -> None:
    selection = asked((A, 3, 5))
    packed = pack(selection, found((A, "f0")), 1000)
    assert kept(packed) == ["full a.py:3-5", "partial a.py:1-2, 6-10"]
    assert packed.items[1].rendered.body.split("\n")[2] == "… 3 more lines (3-5)"


def test_neighbours_do_not_become_one_across_what_was_asked_for() -> None:
    packed = pack(asked((A, 6, 6)), found((A, 1, 4), (A, 3, 9)), 1000)
    assert kept(packed) == ["full a.py:6", "full a.py:1-4", "partial a.py:5, 7-9"]


def test_neighbours_do_not_become_one_if_lines_would_be_lost() -> None:
    commented = text_file("x = 1\n" + "# why\n" * 14 + "def f():\n    return 1\n", "c.py")
    packed = pack([], found((commented, 3, 15), (commented, 16, 16), (commented, 17, 17), (commented, 2, 2)), 1000)
    shown = {line for k in packed.items for s in k.rendered.spans for line in range(s.start, s.end)}
    assert shown == set(range(1, 17))


def test_order_by_file_and_by_score() -> None:
    wanted = found((B, "f2"), (A, "f3"), (B, "f0"), (A, "f1"))
    assert kept(pack([], wanted, 1000)) == ["full b.py:1-10, 23-32", "full a.py:12-21, 34-43"]
    by_score = ["full b.py:23-32", "full a.py:34-43", "full b.py:1-10", "full a.py:12-21"]
    assert kept(pack([], wanted, 1000, order="score")) == by_score


# ---------------------------------------------------------------- explicit


def test_what_was_asked_for_comes_first_in_mention_order() -> None:
    explicit, implicit = asked((B, "f1"), (A, "f0")), found((BIG, "f0"), (BIG, "f2"))
    packed = pack(explicit, implicit, cost(*explicit) + 10)
    assert kept(packed) == ["full b.py:12-21", "full a.py:1-10"]
    assert [k.explicit for k in packed.items] == [True, True]
    assert len(packed.omitted) == 2


def test_a_file_that_does_not_fit_is_shown_by_its_relevant_definitions() -> None:
    explicit = [PackingCandidate(asked((BIG, 0, 0))[0].forms, tuple(c.forms for c in found((BIG, "f7"), (BIG, "f3"))))]
    packed = pack(explicit, [], 250)
    assert kept(packed) == ["partial big.py:34-43, 78-87"]
    assert packed.tokens <= 250


def test_a_caller_that_does_not_fit_is_shown_where_it_calls() -> None:
    caller = replace(item(BIG, 1, 329, score=1.0, origin=Origin.MENTION), call_sites=(200,))
    explicit = [
        PackingCandidate(item_forms(caller, BIG, USING), tuple(c.forms for c in found((BIG, "f7"), (BIG, "f3"))))
    ]
    packed = pack(explicit, [], 250)
    assert kept(packed) == ["partial big.py:182-220"]
    assert packed.tokens <= 250


def test_without_relevant_definitions_it_is_shown_in_part_by_its_outline_then_by_a_line() -> None:
    explicit = asked((BIG, 0, 0))
    full = cost(*explicit)
    seen = []
    for budget in range(full, 0, -5):
        packed = pack(explicit, [], budget)
        assert packed.tokens <= budget
        form = packed.items[0].rendered.form if packed.items else "nothing"
        if form not in seen:
            seen.append(form)
    assert seen == ["full", "partial", "outline", "reference", "nothing"]


def test_several_files_share_what_there_is() -> None:
    small, large, huge = functions(1, 10, "small.py"), functions(10, 10, "large.py"), functions(40, 10, "huge.py")
    explicit = asked((huge, 0, 0), (large, 0, 0), (small, 0, 0))
    packed = pack(explicit, [], 2000)
    by_path = {k.rendered.item.path[3:]: k.rendered for k in packed.items}
    assert [k.rendered.item.path[3:] for k in packed.items] == ["huge.py", "large.py", "small.py"]
    assert by_path["small.py"].form == "full"
    assert by_path["large.py"].form == "full"
    assert by_path["huge.py"].tokens > 0.97 * (2000 - by_path["small.py"].tokens - by_path["large.py"].tokens)


def test_equal_files_are_treated_alike() -> None:
    files = [functions(20, 10, f"{name}.py") for name in "abcd"]
    packed = pack(asked(*((file, 0, 0) for file in files)), [], 3600)
    tokens = [k.rendered.tokens for k in packed.items]
    assert len(tokens) == 4
    assert max(tokens) <= 1.3 * min(tokens)


def test_every_mention_keeps_a_line_when_lines_are_all_that_fits() -> None:
    files = [functions(20, 10, f"{name}.py") for name in "abcd"]
    explicit = asked(*((file, 0, 0) for file in files))
    lines = sum(c.forms.reference("asked for, does not fit").tokens for c in explicit)
    packed = pack(explicit, found((A, 1, 2)), lines)
    assert [k.rendered.form for k in packed.items] == ["reference"] * 4
    assert len(pack(explicit, [], lines - 1).items) == 3
    assert omitted(pack(explicit, [], lines - 1)) == [("d.py:1-219", "over the budget")]


def test_a_line_is_kept_back_for_each_mention_that_is_still_to_come() -> None:
    near, far = functions(20, 10, "n.py"), functions(20, 10, "a/path/that/takes/many/more/tokens/than/the/other/far.py")
    explicit = asked((near, 0, 0), (far, 0, 0))
    lines = sum(c.forms.reference("asked for, does not fit").tokens for c in explicit)
    for more in range(12):
        packed = pack(explicit, [], lines + more)
        assert [k.rendered.item.path for k in packed.items] == [near.entry.path, far.entry.path]


def test_the_same_thing_asked_for_twice_is_shown_once() -> None:
    folder = Item("/w/src", Span(0, 0), "folder", Origin.MENTION, 1.0)
    twice = [PackingCandidate(item_forms(folder, [A, B], USING)), PackingCandidate(item_forms(folder, [A, B], USING))]
    packed = pack([*asked((A, 0, 0), (A, "f1"), (A, 0, 0)), *twice], [], 2000)
    assert [(k.rendered.form, len(k.sources)) for k in packed.items] == [("full", 3), ("outline", 2)]
    assert packed.omitted == ()


def test_a_range_of_a_file_that_does_not_fit_is_still_shown() -> None:
    explicit = asked((BIG, 0, 0), (BIG, 300, 310))
    packed = pack(explicit, [], 400)
    assert "full big.py:300-310" in kept(packed)
    assert len(packed.items) == 2
    assert packed.tokens <= 400


def test_something_that_cannot_be_shown_is_named() -> None:
    gone = Item(A.entry.path, Span(500, 510), "text", Origin.MENTION, 1.0)
    packed = pack([PackingCandidate(item_forms(gone, A, USING))], [], 100)
    assert packed.items[0].rendered.body == "a.py - asked for, does not fit"
