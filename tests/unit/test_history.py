"""Selection and truncation of earlier turns, and removal of file copies."""

from __future__ import annotations

import pytest

from promptkit import SECRET, item, renderer, text_file
from promptls.prompt.assemble import assemble
from promptls.prompt.context.history import SelectedTurns, select_turns
from promptls.prompt.layouts import Message
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.tokens import counter

CHARS4 = counter("chars4")
CODE = "".join(f"def function_{n}(argument):\n    return argument + {n}\n" for n in range(10))
FILE = text_file(CODE, "src/a.py")


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


def selected(*turns: Message, budget: int = 10_000) -> SelectedTurns:
    return select_turns(turns, budget, CHARS4)


# ---------------------------------------------------------------- budget


FIVE = [t for n in range(5) for t in (user(f"question {n} " + "q" * 100), assistant(f"answer {n} " + "a" * 200))]


def test_oldest_exchanges_are_dropped_first() -> None:
    whole = selected(*FIVE).tokens
    seen = set()
    for budget in range(200, whole + 1):
        done = selected(*FIVE, budget=budget)
        assert done.tokens <= budget
        assert done.turns == tuple(FIVE[done.dropped_count :])
        assert done.dropped_count % 2 == 0
        seen.add(done.dropped_count)
    assert seen == {0, 2, 4, 6, 8}


def test_selection_ends_at_the_first_exchange_that_does_not_fit() -> None:
    """An exchange that does not fit ends the selection, even if smaller ones precede it."""
    done = selected(
        user("small"), assistant("small"), user("big " * 500), assistant("x"), user("last"), assistant("y"), budget=200
    )
    assert [t.content for t in done.turns] == ["last", "y"]
    assert done.dropped_count == 4


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        ([user("1"), user("2")], ["1", "2"]),
        ([assistant("0"), user("1"), assistant("2"), assistant("3")], ["0", "1", "2", "3"]),
        ([Message("system", "s"), user("1")], ["s", "1"]),
        ([user(" \n"), assistant(""), user("1")], ["1"]),
        ([], []),
    ],
)
def test_roles_need_not_alternate(turns: list[Message], kept: list[str]) -> None:
    assert [t.content for t in selected(*turns).turns] == kept


def test_newest_exchange_is_truncated_in_the_middle() -> None:
    long = "\n".join(f"line {n}" for n in range(1000))
    done = selected(user("old"), assistant("old"), user("short question"), assistant(long), budget=200)
    assert done.truncated and done.dropped_count == 2 and done.tokens <= 200
    assert done.turns[0] == user("short question")
    lines = done.turns[1].content.split("\n")
    left_out = [line for line in lines if line.startswith("…")]
    assert left_out == [f"… {1000 - (len(lines) - 1)} lines left out …"]
    at = lines.index(left_out[0])
    assert lines[:at] == [f"line {n}" for n in range(at)]
    assert lines[-1] == "line 999"
    assert at > len(lines) - at - 1 > 0


# ---------------------------------------------------------------- copies of files


def prompt(question: str, *, text: str = CODE, variant: str = "baseline", citations: bool = False) -> str:
    old = text_file(text, "src/a.py")
    using = renderer(citations=citations)
    packed = pack(
        [PackingCandidate(item_forms(item(old, 1, 6), old, using))],
        [PackingCandidate(item_forms(item(FILE, 8, 9), FILE, using))],
        5000,
    )
    return assemble(question, packed, variant=variant, budget=5000, renderer=using, boundary_key=SECRET).prompt


@pytest.mark.parametrize(("variant", "citations"), [("baseline", False), ("citation", True)])
def test_earlier_prompt_is_reduced_to_its_question_and_item_names(variant: str, citations: bool) -> None:
    question = "What now?\n\n# Question\nis a heading <context-x>"
    done = selected(user(prompt(question, variant=variant, citations=citations)), assistant("That."))
    assert done.turns[0].content == f"[src/a.py:1-6 was shown here]\n[src/a.py:8-9 was shown here]\n{question}"
    assert done.removed_copies == 2


def test_earlier_prompt_without_code_is_reduced_to_its_question() -> None:
    text = assemble("Hi\n# Question\n?", pack([], [], 500), budget=500, renderer=renderer(), boundary_key=SECRET).prompt
    assert selected(user(text)).turns == (user("Hi\n# Question\n?"),)


def test_pasted_element_is_replaced_by_its_name() -> None:
    text = prompt("x")
    start = text.index("<context-", text.index("Boundary"))
    block = text[start : text.index("\n\n<context-", start)]
    done = selected(user(f"Look:\n{block}\nWhy?"), assistant(f"Because of\n{block}"))
    assert [t.content for t in done.turns] == [
        "Look:\n[src/a.py:1-6 was shown here]\nWhy?",
        "Because of\n[src/a.py:1-6 was shown here]",
    ]


B = "0123456789ab"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f'<context-{B} path="a &amp; b.py" lines="3">\nx\n</context-{B}>', "[a & b.py:3 was shown here]"),
        (f'<file-{B} path="a.py" lines="1-2" language="py" cite="P1">\nx\n</context-{B}>\n</file-{B}>', "[a.py:1-2 was shown here]"),
        (f'a\n<context-{B} see="a.py - file"/>\nb', "a\n\nb"),
        (f'a\n<context-{B} section="memory">\nx\n</context-{B}>\nb', "a\n\nb"),
        (f'<context-{B} path="a.py">\nx\n</context-{B}>\n<context-{B} see="a.py - file"/>\nb', "[a.py was shown here]\n\nb"),
        (f'<context-{B} path="a.py">\n<context-ba9876543210 path="b.py">\n</context-ba9876543210>\n</context-{B}>!', None),
        (f'<context-{B} path="a.py">\n<context-ba9876543210 path="b.py">\n</context-ba9876543210>\n</context-{B}>', "[a.py was shown here]"),
        (f'<context-{B} path="a.py">\nnever closed', None),
        ('<context-x path="a.py">\nx\n</context-x>', None),
        (f'  <context-{B} path="a.py">\nx\n</context-{B}>', None),
        (f"<context-{B} path='a.py'>\nx\n</context-{B}>", None),
        (f"</context-{B}>", None),
    ],
)  # fmt: skip
def test_only_valid_elements_are_replaced(text: str, left: str | None) -> None:
    if text.endswith("!"):
        left = f'<context-{B} path="a.py">\n[b.py was shown here]\n</context-{B}>!'
    [turn] = selected(user(f"see\n{text}")).turns
    assert turn.content == f"see\n{text if left is None else left}"


def test_many_opening_tags_without_a_closing_tag() -> None:
    text = "\n".join(f'<context-{n:012x} path="a.py">' for n in range(20_000))
    [turn] = selected(user(text), budget=10**7).turns
    assert turn.content == text


def test_invisible_characters_are_escaped() -> None:
    assert selected(assistant("a\u202eb\r\nc")).turns[0].content == "a⟦U+202E⟧b\nc"
