"""Invariants of the selection of earlier turns: budget, order and content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptls.prompt.assemble import OUTPUTS, frame_tokens
from promptls.prompt.context.history import select_turns
from promptls.prompt.layouts import Message
from promptls.prompt.profile import profile, profile_names
from promptls.prompt.tokens import counter

B = "0123456789ab"
SLACK = {"chars4": 1, "estimate": 9}
"""Tokens that rounding adds, and the estimate at the two ends of the turns, whose windows begin elsewhere in the frame."""
TEXTS = st.lists(
    st.sampled_from(
        [
            "word ", "\n", "```py:a.py\n", "```\n", "x = 1\n", f'<context-{B} path="a.py">\n', f"</context-{B}>\n",
            f"Boundary: {B}\n", "# Question\n", f'<context-{B} see="x"/>\n', "é中", "\r\n", "\u202e", "long" * 40,
        ]
    ),
    max_size=30,
).map("".join)  # fmt: skip
TURNS = st.lists(st.builds(Message, st.sampled_from(["user", "assistant", "system"]), TEXTS), max_size=8)


@given(TURNS, st.integers(-10, 400), st.sampled_from(["chars4", "estimate"]))
def test_selected_turns_are_the_end_of_the_history_within_the_budget(
    turns: list[Message], budget: int, name: str
) -> None:
    everything = select_turns(turns, 10**9, counter(name))
    done = select_turns(turns, budget, counter(name))
    assert done.tokens <= max(0, budget)
    assert sum(counter(name).count(t.content) for t in done.turns) <= max(0, budget)
    assert done.dropped_count <= len(turns) - len(done.turns)
    assert done.dropped_count == 0 or len(done.turns) < len(turns)
    ending = everything.turns[len(everything.turns) - len(done.turns) :]
    assert [t.role for t in done.turns] == [t.role for t in ending]
    assert done.truncated or done.turns == ending
    assert not done.truncated or done.turns != ending


@given(TURNS, st.integers(0, 400))
def test_selection_is_idempotent(turns: list[Message], budget: int) -> None:
    first = select_turns(turns, budget, counter("chars4"))
    if not first.truncated:
        assert select_turns(first.turns, budget, counter("chars4")).turns == first.turns


@given(st.lists(st.sampled_from(["plain words", "x < y", "```py\n1\n```", ""]), max_size=6).map("\n".join))
def test_turn_without_copies_is_unchanged(text: str) -> None:
    turns = (Message("user", text),) if text.strip() else ()
    assert select_turns([Message("user", text)], 10**6, counter()).turns == turns


@given(TURNS, st.integers(0, 400), st.sampled_from(["chars4", "estimate"]), st.sampled_from(profile_names()))
def test_turns_cost_at_most_the_reported_tokens(turns: list[Message], budget: int, name: str, layout: str) -> None:
    done = select_turns(turns, budget, counter(name), profile(layout).hooks.quotes_history)
    for output in OUTPUTS:
        without, with_turns = (
            frame_tokens("What?", "baseline", output, counter(name), history=history, layout=profile(layout).layout)
            for history in ((), done.turns)
        )
        assert with_turns - without <= done.tokens + SLACK[name]
