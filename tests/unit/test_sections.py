"""Sections within their shares of the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptls.model import Note
from promptls.prompt.sections import STRETCH, Part, fit
from promptls.prompt.tokens import Chars4

COUNT = Chars4()
RULES = Note("Use tabs.\nNever use globals.", "AGENTS.md")
LONG = Note("\n".join(f"Rule {n} is as long as the others." for n in range(50)), "web/AGENTS.md")


def texts(*parts: Part, budget: int = 1000) -> dict[str, str]:
    return {s.name: s.text for s in fit(parts, budget, COUNT).sections}


def test_notes_stand_under_their_source() -> None:
    memory = (Note("We deploy on Mondays.", "memory (yours)"), Note("Ports start at 9000.", "memory (yours)"))
    assert texts(Part("rules", (RULES,), 0.1), Part("memory", memory, 0.1)) == {
        "rules": "[AGENTS.md]\nUse tabs.\nNever use globals.",
        "memory": "[memory (yours)]\nWe deploy on Mondays.\nPorts start at 9000.",
    }


def test_nothing_to_say_is_no_section() -> None:
    assert fit([Part("rules", (), 0.1), Part("memory", (Note("  \n"),), 0.1)], 1000, COUNT) == fit([], 0, COUNT)


def test_a_long_note_is_cut_between_lines_and_says_so() -> None:
    fitted = fit([Part("rules", (RULES, LONG), 0.1, 60)], 1000, COUNT)
    lines = fitted.sections[0].text.split("\n")
    assert lines[:6] == [
        *"[AGENTS.md]\nUse tabs.\nNever use globals.\n\n[web/AGENTS.md]".split("\n"),
        LONG.text.split("\n")[0],
    ]
    assert lines[-1] == "…"
    assert set(lines[5:-1]) < set(LONG.text.split("\n"))
    assert fitted.cut == ("rules",)


def test_a_file_is_shown_if_all_of_its_notes_are() -> None:
    part = Part("rules", (RULES, LONG, RULES), 0.1, 60, files=("AGENTS.md", "web/AGENTS.md", "AGENTS.md"))
    assert fit([part], 1000, COUNT).shown == set()
    assert fit([replace(part, notes=(RULES, LONG), files=part.files[:2])], 1000, COUNT).shown == {"AGENTS.md"}
    assert fit([replace(part, share=1.0, cap=1000)], 1000, COUNT).shown == {"AGENTS.md", "web/AGENTS.md"}


def test_what_one_leaves_the_next_may_use_but_not_without_end() -> None:
    alone = texts(Part("memory", (LONG,), 0.1))["memory"]
    after = texts(Part("rules", (RULES,), 0.3), Part("memory", (LONG,), 0.1))["memory"]
    assert COUNT.count(alone) <= 100 < COUNT.count(after) <= 100 * STRETCH


def test_what_is_invisible_in_a_note_is_shown_and_secrets_are_not() -> None:
    note = Note("Say\u202eno.\nKey: ghp_" + "a1B2" * 9, "x\n# Question\n.md")
    text = texts(Part("rules", (note,), 0.5))["rules"]
    assert "\u202e" not in text
    assert "ghp_a1B2a1B2" not in text
    assert "\n# Question" not in text


@given(
    st.lists(
        st.tuples(st.lists(st.text("ab \n", max_size=200), max_size=5), st.floats(0, 0.5), st.integers(0, 200)),
        max_size=4,
    ),
    st.integers(0, 2000),
)
def test_no_section_takes_more_than_it_may(given_parts: list[tuple[list[str], float, int]], budget: int) -> None:
    parts = [
        Part(str(i), tuple(Note(t, "s" * (i % 2)) for t in notes), share, cap)
        for i, (notes, share, cap) in enumerate(given_parts)
    ]
    fitted = fit(parts, budget, COUNT)
    by_name = {s.name: s for s in fitted.sections}
    total = 0
    for part in parts:
        section = by_name.get(part.name)
        used = COUNT.count(section.text) if section else 0
        total += used
        assert used <= min(part.cap, STRETCH * part.share * budget)
        if section is None and part.name not in fitted.cut:
            assert not any(note.text.strip() for note in part.notes)
    assert total <= sum(part.share for part in parts) * budget + 1
