"""Instructions by question type, and the sections of the response format."""

from __future__ import annotations

import re
from itertools import chain, combinations
from pathlib import Path

import pytest

from promptls.model import Problem
from promptls.prompt.instructions import (
    BY_PRIORITY,
    MAX_FILE_CHARACTERS,
    TEMPLATE_NAMES,
    TYPES_WITH_FORMAT_SECTION,
    InstructionTemplates,
    load_instruction_templates,
    render_instructions,
    render_response_format,
)
from promptls.prompt.intent import QUESTION_TYPES
from promptls.prompt.tokens import counter

BUILT_IN = load_instruction_templates()
ANY = [set(c) for c in chain.from_iterable(combinations(QUESTION_TYPES, n) for n in range(6))]


@pytest.mark.parametrize("name", QUESTION_TYPES)
def test_question_type_has_one_short_point(name: str) -> None:
    line = render_instructions([name], BUILT_IN)
    assert line.startswith("- ")
    assert line.endswith(".")
    assert counter().count(line) <= 30


def test_general_question_has_one_point() -> None:
    general = render_instructions([], BUILT_IN)
    assert len(general.split("\n")) == 1
    assert render_instructions(["unheard of"], BUILT_IN) == general


@pytest.mark.parametrize("types", ANY, ids=lambda types: "+".join(sorted(types)) or "none")
def test_of_several_types_the_first_by_priority_gives_the_points(types: set[str]) -> None:
    lines = render_instructions(types, BUILT_IN).split("\n")
    assert len(lines) == len(set(lines))
    if types:
        first = next(t for t in BY_PRIORITY if t in types)
        assert lines == render_instructions([first], BUILT_IN).split("\n")
    assert counter().count("\n".join(lines)) <= 60


@pytest.mark.parametrize("types", ANY, ids=lambda types: "+".join(sorted(types)) or "none")
def test_sections_of_the_response_are_numbered_without_gaps(types: set[str]) -> None:
    first, *lines = render_response_format(types, BUILT_IN).split("\n")
    assert first == "Answer in these sections; leave out one that would be empty."
    assert [int(line.split(". ")[0]) for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) == 6 + len(types & set(TYPES_WITH_FORMAT_SECTION))


def test_additional_sections() -> None:
    names = re.findall(r"(?m)^\d\. ([\w ]+):", render_response_format(QUESTION_TYPES, BUILT_IN))
    assert names == [
        "Summary", "Analysis", "Code", "Files", "Sources", "Next steps", "Root cause", "Impact", "Structure",
    ]  # fmt: skip


# ---------------------------------------------------------------- the user's own


def own(folder: Path, **contents: str) -> InstructionTemplates:
    for name, content in contents.items():
        (folder / f"{name.replace('_', '-')}.md").write_text(content, encoding="utf-8")
    return load_instruction_templates(folder)


def test_user_file_replaces_a_built_in_template(tmp_path: Path) -> None:
    using = own(
        tmp_path, debugging="- Ask Ada.\n  She knows.\n\nThen *think*.\n* Twice\r\n", format_debugging="Blame: who."
    )
    assert render_instructions(["debugging"], using) == "- Ask Ada. She knows. Then *think*.\n- Twice"
    assert render_instructions(["feature"], using) == render_instructions(["feature"], BUILT_IN)
    assert render_response_format(["debugging"], using).endswith("\n7. Blame: who.")
    assert using.problems == ()


def test_equal_points_are_merged(tmp_path: Path) -> None:
    using = own(tmp_path, debugging="- Say  why.\n- A", feature="- B\n- say why\n- A.")
    assert render_instructions(["feature", "debugging"], using) == "- Say  why.\n- A\n- B"


def test_empty_file_turns_a_template_off(tmp_path: Path) -> None:
    using = own(tmp_path, debugging="", format="\n")
    assert render_instructions(["debugging"], using) == ""
    assert render_response_format(["debugging"], using) == ""


def test_invalid_user_file_is_a_problem_and_the_built_in_one_is_used(tmp_path: Path) -> None:
    (tmp_path / "general.md").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("x")
    using = own(tmp_path, feature="x" * (MAX_FILE_CHARACTERS + 1), bugs="- x")
    assert using.points == BUILT_IN.points
    valid = ", ".join(sorted(TEMPLATE_NAMES))
    assert using.problems == (
        Problem(f"Unknown instructions 'bugs'; valid: {valid}."),
        Problem("The instructions feature.md have more than 8,000 characters; using the built-in ones."),
        Problem("Cannot read the instructions general.md (it is not UTF-8); using the built-in ones."),
    )


def test_missing_folder_is_not_a_problem(tmp_path: Path) -> None:
    assert load_instruction_templates(tmp_path / "none") == BUILT_IN
    assert load_instruction_templates(None) == BUILT_IN


def test_invisible_characters_are_shown(tmp_path: Path) -> None:
    assert render_instructions(["debugging"], own(tmp_path, debugging="- a\u202eb")) == "- a⟦U+202E⟧b"
