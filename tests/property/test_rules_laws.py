"""Properties of rule files for any front matter and any tree of folders."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.knowledge.rule_files import (
    CONVENTIONS,
    ApplicableRule,
    RuleLocation,
    check_applicability,
    split_sections,
    split_text,
)
from promptls.knowledge.rule_filters import (
    MAX_GLOBS,
    ActiveFile,
    expand_braces,
    parse_filter,
    parse_front_matter,
)
from promptls.model import Root

HEAD_PIECES = [
    "---", "\n", "\n", "\n", "---\n", "globs", "alwaysApply", "path_filters", "include", "priority", ":", ": ", " ", "  ", "- ",
    "[", "]", "{", "}", ",", ", ", "'", '"', "\\", "#", " #", "|", ">", "*", "**/*.py", "true", "false", "x", "é", "\t", "\r", "&a", "*a", "!!x",
]  # fmt: skip
ROOT = Root("/w", "w", "file:///w")
PLACES = [
    RuleLocation(ROOT, name, folder, number, name)
    for number, convention in enumerate(CONVENTIONS)
    for folder in ("", "src")
    for name in [
        "/".join(filter(None, (folder, n)))
        for n in (*convention.files, *([f"{convention.folder}/r.md"] if convention.folder else []))
    ]
]
HEADS = st.lists(st.sampled_from(HEAD_PIECES), max_size=60).map("".join)


@given(st.one_of(HEADS, HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()))
@settings(max_examples=800)
def test_any_text_is_split_into_front_matter_and_body(text: str) -> None:
    head = parse_front_matter(text)
    assert text.endswith(head.body)
    assert not head.is_unterminated or (head.body == text and not head.fields)
    for value in head.fields.values():
        assert isinstance(value, (str, tuple)) or all(isinstance(v, tuple) for v in value.values())
    parse_filter(head)


ACTIVE_FILES = [
    ActiveFile("/w/src/a.py", "/w", "src/a.py", "python", 0),
    ActiveFile("/w/b.ts", "/w", "b.ts", "typescript", 1),
]


@given(st.one_of(HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()), st.sampled_from(PLACES))
@settings(max_examples=500)
def test_any_rule_can_be_checked(text: str, place: RuleLocation) -> None:
    result = check_applicability(place, text, ACTIVE_FILES)
    assert not isinstance(result, ApplicableRule) or result.location is place


@given(st.text("{},ab*/", max_size=200))
def test_brace_expansion_is_limited(glob: str) -> None:
    assert len(expand_braces(glob)) <= MAX_GLOBS


PROSE = st.lists(
    st.sampled_from(
        [
            "# A\n", "## B\n", "### C\n", "\n", "```\n", "~~~\n", "words of a rule\n" * 20, "x" * 300 + "\n",
            "@a.md\n", "- @b.md\n",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@given(PROSE)
def test_sections_preserve_text_and_order(text: str) -> None:
    assert " ".join(split_text(text)).split() == text.split()
    sections, messages = split_sections(text, "me", lambda path: "not now")
    assert " ".join(section.text for section in sections).split() == text.split()
    assert all(section.text.strip() for section in sections)
    assert len(messages) <= text.count("@")
