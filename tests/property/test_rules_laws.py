"""What holds of rules files for any head, any expression and any tree of folders."""

from __future__ import annotations

import itertools
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptls.knowledge.rules import gather
from promptls.knowledge.rules.applicability import Place, judge
from promptls.knowledge.rules.conventions import FAMILIES
from promptls.knowledge.rules.filters import MOST_GLOBS, Played, expanded, filter_of
from promptls.knowledge.rules.frontmatter import Head, parse, words
from promptls.knowledge.rules.regexes import Effort, Expression, TooCostly, Unsupported
from promptls.knowledge.rules.sections import passages, pieces, without_comments
from promptls.model import Root
from workspaces import request_of, snapshot_of

HEAD_PIECES = [
    "---", "\n", "\n", "\n", "---\n", "globs", "alwaysApply", "path_filters", "include", "priority", ":", ": ", " ", "  ", "- ",
    "[", "]", "{", "}", ",", ", ", "'", '"', "\\", "#", " #", "|", ">", "*", "**/*.py", "true", "false", "x", "é", "\t", "\r", "&a", "*a", "!!x",
]  # fmt: skip
ROOT = Root("/w", "w", "file:///w")
PLACES = [
    Place(ROOT, name, folder, number, name)
    for number, family in enumerate(FAMILIES)
    for folder in ("", "src")
    for name in [
        "/".join(filter(None, (folder, n))) for n in (*family.files, *(f"{f}/r.md" for f, _, _ in family.folders))
    ]
]
HEADS = st.lists(st.sampled_from(HEAD_PIECES), max_size=60).map("".join)


@given(st.one_of(HEADS, HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()))
@settings(max_examples=800)
def test_any_text_has_a_head_or_not(text: str) -> None:
    head = parse(text)
    assert text.endswith(head.body)
    assert head.found or (head.body == text and not head.fields)
    for value in head.fields.values():
        assert isinstance(value, (str, tuple)) or all(isinstance(v, tuple) for v in value.values())
    filter_of(head)


PLAYED = [Played("/w/src/a.py", "/w", "src/a.py", "python", 0), Played("/w/b.ts", "/w", "b.ts", "typescript", 1)]


@given(st.one_of(HEADS.map(lambda text: f"---\n{text}\n---\nbody"), st.text()), st.sampled_from(PLACES))
@settings(max_examples=500)
def test_any_rule_holds_or_says_why_not(text: str, place: Place) -> None:
    judged = judge(place, text, PLAYED)
    assert bool(judged.reason) != bool(judged.refusal)
    assert judged.reason == "" or judged.problem is None or "the rest counts" in judged.problem.message
    assert abs(judged.priority) <= 100
    asked = judge(place, text, PLAYED, [place.label])
    assert asked.reason == "asked for"


NAMES = st.sampled_from(["description", "globs", "languages", "title"])
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs"), include_characters=" "),
    min_size=1,
    max_size=30,
)


@given(st.dictionaries(NAMES, st.one_of(PLAIN, st.lists(PLAIN, min_size=1, max_size=4)), min_size=1), st.booleans())
@settings(max_examples=300)
def test_heads_that_a_yaml_library_writes_are_read_as_meant(fields: dict[str, str | list[str]], flow: bool) -> None:
    yaml = pytest.importorskip("yaml")
    options = {"allow_unicode": True, "width": 10_000, "default_flow_style": flow}
    written = "".join(f"{key}: {yaml.safe_dump(value, **options)}" for key, value in fields.items())
    written = written.replace("\n...\n", "\n").replace(": - ", ":\n- ")
    assume(yaml.safe_load(written) == fields)
    assume(not re.search(r"\\[^\"\\/nt]|\n  |: [|>]", written))  # what only a library writes
    meant = {key: value if isinstance(value, str) else tuple(value) for key, value in fields.items()}
    assert parse(f"---\n{written}---\nbody") == Head(meant, "body", found=True), written


def test_a_list_is_one_in_every_style() -> None:
    for text in ("a, b", "[a, b]", "'a', 'b'", '["a", "b"]', "\n- a\n- b", "\n  - a\n  - 'b'", "a,b # both", "'a,b'"):
        assert words(parse(f"---\nglobs: {text}\n---\n").fields["globs"]) == ("a", "b"), text


ATOMS = ["a", "b", ".", "[ab]", "[^a]", r"\.", r"\w", "^", "$", "(a|b)", "(?:ab|)", "(b*)", "/"]
EXPRESSIONS = st.lists(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "+?"])),
    max_size=5,
).map(lambda parts: "".join(a + b for a, b in parts))


@given(EXPRESSIONS, EXPRESSIONS, st.booleans(), st.text("ab./é\n", max_size=8))
@settings(max_examples=1500)
def test_expressions_mean_what_python_says_they_mean(left: str, right: str, both: bool, text: str) -> None:
    source = f"{left}|{right}" if both else left
    try:
        meant = re.compile(source.replace("$", r"\Z"), re.DOTALL)
    except re.error:
        return
    try:
        ours = Expression(source)
    except Unsupported:
        return
    assert ours.search(text, Effort()) == bool(meant.search(text)), source


@given(st.text(r"()[]{}|*+?^$.\ab1,-:i", max_size=40), st.text("ab1", max_size=200))
@settings(max_examples=800)
def test_any_expression_is_compiled_or_refused_and_ends(source: str, text: str) -> None:
    effort = Effort(20_000)
    try:
        Expression(source).search(text, effort)
    except (Unsupported, TooCostly):
        pass
    assert effort.left > -1000


@pytest.mark.parametrize(
    "source", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){20}$", "(a*)*(a*)*(a*)*b", "((((a*)*)*)*)*b"]
)
def test_expressions_that_take_python_for_ever_end(source: str) -> None:
    try:
        assert Expression(source).search("a" * 3000 + "!", Effort()) is False
    except (Unsupported, TooCostly):
        pass


@given(st.lists(st.lists(st.text("ab*", max_size=2), min_size=2, max_size=3), max_size=3), st.text("x/", max_size=3))
def test_braces_are_every_choice(groups: list[list[str]], joint: str) -> None:
    glob = joint.join("{" + ",".join(group) + "}" for group in groups)
    assert sorted(expanded(glob)) == sorted(joint.join(choice) for choice in itertools.product(*groups))


@given(st.text("{},ab*/", max_size=200))
def test_no_glob_becomes_too_many(glob: str) -> None:
    assert len(expanded(glob)) <= MOST_GLOBS


PROSE = st.lists(
    st.sampled_from(
        [
            "# A\n",
            "## B\n",
            "### C\n",
            "\n",
            "```\n",
            "~~~\n",
            "words of a rule\n" * 20,
            "x" * 300 + "\n",
            "@a.md\n",
            "- @b.md\n",
        ]
    ),
    max_size=40,
).map("".join)


@given(PROSE)
def test_passages_lose_nothing_and_keep_the_order(text: str) -> None:
    assert " ".join(pieces(text)).split() == text.split()
    said, troubles = passages(text, "me", lambda path: "not now")
    assert " ".join(passage.text for passage in said).split() == text.split()
    assert all(passage.text.strip() for passage in said)
    assert len(troubles) <= text.count("@")


@given(st.lists(st.sampled_from(["<!--", "-->", "\n", "a", " ", "```\n", "<!-- x -->"]), max_size=30).map("".join))
def test_without_comments_there_is_nothing_new(text: str) -> None:
    left = without_comments(text)
    assert set(left.split("\n")) <= {*text.split("\n"), *(part.lstrip() for part in re.split("-->|\n", text)), ""} or (
        len(left) < len(text)
    )
    assert without_comments(left).count("<!--") <= left.count("<!--")


FOLDERS = ["", "a", "a/b", "a/b/c", "d", "d/e"]


@given(
    st.lists(st.sampled_from(FOLDERS), unique=True),
    st.lists(st.sampled_from(FOLDERS), unique=True, min_size=1),
    st.sets(st.sampled_from(FOLDERS)),
)
@settings(max_examples=60, deadline=None)
def test_the_rules_of_a_file_are_those_of_its_folders_nearest_first(
    ruled: list[str], played: list[str], unsaved: set[str]
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
        rules = gather(request_of(snapshot).sources, [f"{base}/{file(folder, 'x.py')}" for folder in played])
    above = {f for p in played for f in ruled if not f or p == f or p.startswith(f + "/")}
    got = [note.text[9:-2] for note in rules.notes]
    assert sorted(got) == sorted(above)
    assert [rule.reason for rule in rules.held] == [f"folder {f}" if f else "always" for f in got]
    first = [f for f in got if f and (played[0] == f or played[0].startswith(f + "/"))]
    assert got[: len(first)] == first == sorted(first, key=len, reverse=True)
    assert "" not in got or got[-1] == ""
