"""Properties of rule files for any front matter and any tree of folders."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.knowledge.rule_files import (
    CONVENTIONS,
    RuleLocation,
    check_applicability,
    collect_rules,
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
from workspaces import context_of, snapshot_of

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
        for n in (*convention.files, *(f"{f}/r.md" for f, _, _ in convention.folders))
    ]
]
HEADS = st.lists(st.sampled_from(HEAD_PIECES), max_size=60).map("".join)


@given(st.one_of(HEADS, HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()))
@settings(max_examples=800)
def test_any_text_is_split_into_front_matter_and_body(text: str) -> None:
    head = parse_front_matter(text)
    assert text.endswith(head.body)
    assert head.found or (head.body == text and not head.fields)
    for value in head.fields.values():
        assert isinstance(value, (str, tuple)) or all(isinstance(v, tuple) for v in value.values())
    parse_filter(head)


ACTIVE_FILES = [
    ActiveFile("/w/src/a.py", "/w", "src/a.py", "python", 0),
    ActiveFile("/w/b.ts", "/w", "b.ts", "typescript", 1),
]


@given(st.one_of(HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()), st.sampled_from(PLACES))
@settings(max_examples=500)
def test_any_rule_applies_or_has_a_reason(text: str, place: RuleLocation) -> None:
    result = check_applicability(place, text, ACTIVE_FILES)
    assert bool(result.reason) != bool(result.rejection)
    assert result.reason == "" or result.problem is None or "the line is ignored" in result.problem.message
    assert abs(result.priority) <= 100
    requested = check_applicability(place, text, ACTIVE_FILES, [place.label])
    assert requested.reason == "requested by name"


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


FOLDERS = ["", "a", "a/b", "a/b/c", "d", "d/e"]


@given(
    st.lists(st.sampled_from(FOLDERS), unique=True),
    st.lists(st.sampled_from(FOLDERS), unique=True, min_size=1),
    st.sets(st.sampled_from(FOLDERS)),
)
@settings(max_examples=60, deadline=None)
def test_rules_of_a_file_come_from_its_folders_nearest_first(
    ruled: list[str], active: list[str], unsaved: set[str]
) -> None:
    def file(folder: str, name: str) -> str:
        return f"{folder}/{name}" if folder else name

    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        texts = {file(folder, "AGENTS.md"): f"Rule of <{folder}>." for folder in ruled}
        texts |= {file(folder, "x.py"): "x = 1" for folder in FOLDERS}
        buffers = {
            name: text for name, text in texts.items() if name.rpartition("/")[0] in unsaved and "AGENTS" in name
        }
        tree = "\n".join(f"-- {name} --\n{text}" for name, text in texts.items() if name not in buffers)
        snapshot = snapshot_of(tree, top, unsaved=buffers)
        base = snapshot.roots[0].path
        rules = collect_rules(context_of(snapshot).sources, [f"{base}/{file(folder, 'x.py')}" for folder in active])
    above = {f for p in active for f in ruled if not f or p == f or p.startswith(f + "/")}
    got = [note.text[9:-2] for note in rules.entries]
    assert sorted(got) == sorted(above)
    assert [rule.reason for rule in rules.active] == [f"folder {f}" if f else "always" for f in got]
    first = [f for f in got if f and (active[0] == f or active[0].startswith(f + "/"))]
    assert got[: len(first)] == first == sorted(first, key=len, reverse=True)
    assert "" not in got or got[-1] == ""
