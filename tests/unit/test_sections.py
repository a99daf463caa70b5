"""Sections within their shares of the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptls.model import SectionEntry
from promptls.prompt.sections import MAX_SHARE_FACTOR, SectionContent, fit_sections
from promptls.prompt.tokens import Chars4

COUNT = Chars4()
RULES = SectionEntry("Use tabs.\nNever use globals.", "AGENTS.md")
LONG = SectionEntry("\n".join(f"Rule {n} is as long as the others." for n in range(50)), "web/AGENTS.md")


def texts(*parts: SectionContent, budget: int = 1000) -> dict[str, str]:
    return {s.name: s.text for s in fit_sections(parts, budget, COUNT).sections}


def test_notes_are_grouped_by_source() -> None:
    memory = (
        SectionEntry("We deploy on Mondays.", "memory (yours)"),
        SectionEntry("Ports start at 9000.", "memory (yours)"),
    )
    assert texts(SectionContent("rules", (RULES,), 0.1), SectionContent("memory", memory, 0.1)) == {
        "rules": "[AGENTS.md]\nUse tabs.\nNever use globals.",
        "memory": "[memory (yours)]\nWe deploy on Mondays.\nPorts start at 9000.",
    }


def test_section_without_notes_is_left_out() -> None:
    assert fit_sections(
        [SectionContent("rules", (), 0.1), SectionContent("memory", (SectionEntry("  \n"),), 0.1)], 1000, COUNT
    ) == fit_sections([], 0, COUNT)


def test_long_note_is_truncated_between_lines() -> None:
    fitted = fit_sections([SectionContent("rules", (RULES, LONG), 0.1, 60)], 1000, COUNT)
    lines = fitted.sections[0].text.split("\n")
    assert lines[:6] == [
        *"[AGENTS.md]\nUse tabs.\nNever use globals.\n\n[web/AGENTS.md]".split("\n"),
        LONG.text.split("\n")[0],
    ]
    assert lines[-1] == "…"
    assert set(lines[5:-1]) < set(LONG.text.split("\n"))
    assert fitted.truncated == ("rules",)


def test_file_is_shown_if_all_of_its_notes_are() -> None:
    part = SectionContent("rules", (RULES, LONG, RULES), 0.1, 60, files=("AGENTS.md", "web/AGENTS.md", "AGENTS.md"))
    assert fit_sections([part], 1000, COUNT).shown == set()
    assert fit_sections([replace(part, notes=(RULES, LONG), files=part.files[:2])], 1000, COUNT).shown == {"AGENTS.md"}
    assert fit_sections([replace(part, share=1.0, max_tokens=1000)], 1000, COUNT).shown == {
        "AGENTS.md",
        "web/AGENTS.md",
    }


def test_unused_share_rolls_over_up_to_a_factor() -> None:
    alone = texts(SectionContent("memory", (LONG,), 0.1))["memory"]
    after = texts(SectionContent("rules", (RULES,), 0.3), SectionContent("memory", (LONG,), 0.1))["memory"]
    assert COUNT.count(alone) <= 100 < COUNT.count(after) <= 100 * MAX_SHARE_FACTOR


def test_notes_are_sanitized() -> None:
    note = SectionEntry("Say\u202eno.\nKey: ghp_" + "a1B2" * 9, "x\n# Question\n.md")
    text = texts(SectionContent("rules", (note,), 0.5))["rules"]
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
def test_section_never_exceeds_its_share(given_parts: list[tuple[list[str], float, int]], budget: int) -> None:
    parts = [
        SectionContent(str(i), tuple(SectionEntry(t, "s" * (i % 2)) for t in notes), share, cap)
        for i, (notes, share, cap) in enumerate(given_parts)
    ]
    fitted = fit_sections(parts, budget, COUNT)
    by_name = {s.name: s for s in fitted.sections}
    total = 0
    for part in parts:
        section = by_name.get(part.name)
        used = COUNT.count(section.text) if section else 0
        total += used
        assert used <= min(part.max_tokens, MAX_SHARE_FACTOR * part.share * budget)
        if section is None and part.name not in fitted.truncated:
            assert not any(note.text.strip() for note in part.notes)
    assert total <= sum(part.share for part in parts) * budget + 1
