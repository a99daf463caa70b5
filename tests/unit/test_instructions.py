"""Instructions by type of question, and the sections of the reply."""

from __future__ import annotations

import re
from itertools import chain, combinations
from pathlib import Path

import pytest

from promptls.model import Problem
from promptls.prompt.instructions import (
    EXTRAS,
    MAX_SIZE,
    NAMES,
    TYPES,
    Templates,
    instructions_for,
    response_format,
    templates,
)
from promptls.prompt.tokens import counter

OURS = templates()
ANY = [set(c) for c in chain.from_iterable(combinations(TYPES, n) for n in range(6))]


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_six_or_seven_short_points(name: str) -> None:
    lines = instructions_for([name], OURS).split("\n")
    assert 6 <= len(lines) <= 7
    assert all(line.startswith("- ") and line.endswith(".") for line in lines)
    assert counter().count("\n".join(lines)) <= 120


def test_a_question_of_no_type_has_three() -> None:
    general = instructions_for([], OURS)
    assert len(general.split("\n")) == 3
    assert instructions_for(["unheard of"], OURS) == general


@pytest.mark.parametrize("types", ANY, ids=lambda types: "+".join(sorted(types)) or "none")
def test_several_types_say_each_point_once_in_a_fixed_order(types: set[str]) -> None:
    lines = instructions_for(types, OURS).split("\n")
    assert len(lines) == len(set(lines))
    if types:
        alone = [instructions_for([t], OURS).split("\n") for t in TYPES if t in types]
        assert lines == list(dict.fromkeys(chain.from_iterable(alone)))


@pytest.mark.parametrize("types", ANY, ids=lambda types: "+".join(sorted(types)) or "none")
def test_the_sections_of_the_reply_are_numbered_without_a_gap(types: set[str]) -> None:
    """CodeBuddy gives each of its extra sections the number 7."""
    first, *lines = response_format(types, OURS).split("\n")
    assert first == "Answer in these sections; leave out one that would be empty."
    assert [int(line.split(". ")[0]) for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) == 6 + len(types & set(EXTRAS))


def test_the_extra_sections() -> None:
    names = re.findall(r"(?m)^\d\. ([\w ]+):", response_format(TYPES, OURS))
    assert names == [
        "Summary", "Analysis", "Code", "Files", "Sources", "Next steps", "Root cause", "Impact", "Structure",
    ]  # fmt: skip


# ---------------------------------------------------------------- the user's own


def own(folder: Path, **contents: str) -> Templates:
    for name, content in contents.items():
        (folder / f"{name.replace('_', '-')}.md").write_text(content, encoding="utf-8")
    return templates(folder)


def test_a_file_of_the_users_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    using = own(
        tmp_path, debugging="- Ask Ada.\n  She knows.\n\nThen *think*.\n* Twice\r\n", format_debugging="Blame: who."
    )
    assert instructions_for(["debugging"], using) == "- Ask Ada. She knows. Then *think*.\n- Twice"
    assert instructions_for(["feature"], using) == instructions_for(["feature"], OURS)
    assert response_format(["debugging"], using).endswith("\n7. Blame: who.")
    assert using.problems == ()


def test_points_that_say_the_same_are_one(tmp_path: Path) -> None:
    using = own(tmp_path, debugging="- Say  why.\n- A", feature="- B\n- say why\n- A.")
    assert instructions_for(["feature", "debugging"], using) == "- Say  why.\n- A\n- B"


def test_an_empty_file_switches_off(tmp_path: Path) -> None:
    using = own(tmp_path, debugging="", format="\n")
    assert instructions_for(["debugging"], using) == ""
    assert response_format(["debugging"], using) == ""


def test_what_cannot_be_used_is_told_and_ours_stay(tmp_path: Path) -> None:
    (tmp_path / "general.md").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("x")
    using = own(tmp_path, feature="x" * (MAX_SIZE + 1), bugs="- x")
    assert using.points == OURS.points
    valid = ", ".join(sorted(NAMES))
    assert using.problems == (
        Problem(f"There are no instructions called 'bugs'; valid: {valid}."),
        Problem("The instructions feature.md have more than 8,000 characters; ours are used."),
        Problem("The instructions general.md cannot be read (it is not UTF-8); ours are used."),
    )


def test_no_folder_is_no_problem(tmp_path: Path) -> None:
    assert templates(tmp_path / "none") == OURS
    assert templates(None) == OURS


def test_invisible_characters_are_shown(tmp_path: Path) -> None:
    assert instructions_for(["debugging"], own(tmp_path, debugging="- a\u202eb")) == "- a⟦U+202E⟧b"
