"""Facts of a project that follow changes are those of a fresh look; nothing in a file breaks them."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from promptls.index import files
from promptls.index.snapshot import OpenDocument, Snapshot, Sources, with_entries
from promptls.knowledge.project import Projects, architecture_notes, overview
from promptls.knowledge.project.manifests import read_manifest
from promptls.knowledge.project.readme import cut, opening, parts_of
from promptls.knowledge.team.codeowners import matches_segment, owners_of, parse_owners
from promptls.model import FileEntry, Root, pack
from promptls.util.hashing import digest_of
from workspaces import outline_of

ROOT = "/nowhere/at-all"
NAMES = ["a.py", "pk/__init__.py", "pk/b.py", "pk/c.py", "src/d.ts", "src/e.ts", "go.mod", "x/f.go", "y/g.go",
         "package.json", "sub/pyproject.toml", "README.md", "tests/test_a.py"]  # fmt: skip
TEXTS = ["", "from pk import b\nfrom pk.c import x\n", "import a\n", 'import x from "./d"\n', "module ex.org/m\n",
         "module ex.org/n\n", 'package f\nimport "ex.org/m/y"\n', '{"name": "n", "dependencies": {"react": "1"}}',
         '[project]\nname = "p"\ndependencies = ["flask"]\n', "# Title\n\nProse.\n", 'if __name__ == "__main__":\n    pass\n']  # fmt: skip
changes = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.sampled_from(TEXTS)), max_size=12)


def changed(snapshot: Snapshot, name: str, text: str | None) -> Snapshot:
    path = f"{ROOT}/{name}"
    if text is None:
        documents = snapshot.documents.delete(path) if path in snapshot.documents else snapshot.documents
        gone = with_entries(snapshot, [(path, None)])
        return Snapshot(gone.generation, gone.roots, gone.files, gone.names, gone.basenames, documents=documents)
    entry = FileEntry(path, ROOT, name, digest=digest_of(text), version=1, outlined=pack(outline_of(path, text)))
    found = with_entries(snapshot, [(path, entry)])
    documents = snapshot.documents.set(path, OpenDocument(text, 1))
    return Snapshot(found.generation, found.roots, found.files, found.names, found.basenames, documents=documents)


@settings(deadline=None, max_examples=60)
@given(changes, st.data())
def test_facts_that_follow_are_those_of_a_fresh_look(steps: list[tuple[str, str | None]], data: st.DataObject) -> None:
    snapshot = Snapshot(roots=(Root(ROOT, "r", files.to_uri(ROOT)),), documents=Map())
    following = Projects()
    for name, text in steps:
        snapshot = changed(snapshot, name, text)
        if data.draw(st.booleans()):
            following.at(Sources(snapshot, files.Limits()))
    sources = Sources(snapshot, files.Limits())
    facts = following.at(sources)
    assert facts == Projects().at(sources)
    assert all(note.text.strip() for note in (*architecture_notes(facts), *overview(sources, facts)))


manifest_names = st.sampled_from(
    ["pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
     "composer.json", "a.gemspec", "a.csproj", "pubspec.yaml", "mix.exs", "Makefile", "justfile", "Dockerfile", "deno.json"]
)  # fmt: skip
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "scripts", "dependencies", "bin", "main", "exports", "tasks"]), inner
        )
    ),
    max_leaves=8,
)


@given(manifest_names, st.text() | json_like.map(str) | json_like.map(lambda value: __import__("json").dumps(value)))
def test_reading_a_manifest_never_fails(name: str, text: str) -> None:
    found = read_manifest(name, text)
    assert all("\n" not in value for value in (found.name, found.description, *found.dependencies))


@given(st.text(alphabet="ab. \n!-*#`=<>[]()|", max_size=300), st.integers(2, 80))
def test_prose_is_cut_within_its_length_and_stays_a_beginning(text: str, most: int) -> None:
    found = cut(text, most)
    assert len(found) <= most
    assert text.startswith(found.removesuffix("…") if len(text) > most else found)
    assert all(part.title or part.text for part in parts_of(text))
    assert "\n" not in opening(text).paragraph


@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=10))
def test_a_segment_is_matched_like_the_expression_it_stands_for(pattern: str, name: str) -> None:
    expression = "".join(".*" if c == "*" else "." if c == "?" else c for c in pattern)
    assert matches_segment(pattern, name) is (re.fullmatch(expression, name) is not None)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="ab*/?!#\\[]@ \n^", max_size=80), st.text(alphabet="ab/", min_size=1, max_size=10))
def test_any_codeowners_has_an_answer(text: str, name: str) -> None:
    owners = parse_owners(text)
    assert all(owner.startswith("@") or "@" in owner for owner in owners_of(owners, name))


def test_many_stars_take_no_time() -> None:
    assert not matches_segment("a*" * 2_000 + "b", "a" * 4_000)
    owners = parse_owners("/" + "**/a/" * 200 + "b @me")
    assert owners_of(owners, "a/" * 400 + "c") == ()


def test_a_readme_of_nothing_but_marks_takes_no_time(tmp_path: Path) -> None:
    for text in (
        "<!--" * 50_000,
        "![" * 100_000,
        "# " + " " * 200_000,
        "<a" * 100_000,
        "=\n" * 100_000,
        "[x](" * 50_000,
    ):
        assert isinstance(parts_of(text), tuple)
        assert len(opening(text).paragraph) <= 400
