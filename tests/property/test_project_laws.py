"""Properties of project facts: incremental updates equal new facts, and any text can be parsed."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promptls.index.files.read import FileLimits
from promptls.index.files.uris import to_uri
from promptls.index.snapshot import OpenDocument, Snapshot, SourceReader, with_files
from promptls.knowledge.code_owners import file_owners, parse_codeowners
from promptls.knowledge.project.manifests import parse_manifest
from promptls.knowledge.project.project_index import ProjectIndex
from promptls.knowledge.project.project_overview import overview_entries, project_entries
from promptls.knowledge.project.readme import read_opening, split_document
from promptls.model import FileEntry, Root, encode_outline
from promptls.util.hashing import content_hash
from promptls.util.mappings import PersistentMap
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
        gone = with_files(snapshot, [(path, None)])
        return replace(gone, documents=documents, changes=())
    entry = FileEntry(
        path,
        ROOT,
        name,
        content_hash=content_hash(text),
        version=1,
        encoded_outline=encode_outline(outline_of(path, text)),
    )
    found = with_files(snapshot, [(path, entry)])
    documents = snapshot.documents.set(path, OpenDocument(text, 1))
    return replace(found, documents=documents, changes=())


@settings(deadline=None, max_examples=60)
@given(changes, st.data())
def test_incremental_facts_equal_new_facts(steps: list[tuple[str, str | None]], data: st.DataObject) -> None:
    snapshot = Snapshot(roots=(Root(ROOT, "r", to_uri(ROOT)),), documents=PersistentMap())
    following = ProjectIndex()
    for name, text in steps:
        snapshot = changed(snapshot, name, text)
        if data.draw(st.booleans()):
            following.get(SourceReader(snapshot, FileLimits()))
    sources = SourceReader(snapshot, FileLimits())
    facts = following.get(sources)
    assert facts == ProjectIndex().get(sources)
    assert all(note.text.strip() for note in (*project_entries(facts), *overview_entries(sources, facts)))


manifest_names = st.sampled_from(
    ["pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
     "composer.json", "a.gemspec", "a.csproj", "pubspec.yaml", "mix.exs", "Makefile"]
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
def test_manifest_parsing_never_fails(name: str, text: str) -> None:
    found = parse_manifest(name, text)
    assert all("\n" not in value for value in (found.name, found.description, *found.dependencies))


@given(st.text(alphabet="ab*?", min_size=1, max_size=8), st.text(alphabet="ab", min_size=1, max_size=10))
def test_owner_pattern_matches_like_equivalent_regular_expression(pattern: str, name: str) -> None:
    regex = "".join(".*" if c == "*" else "." if c == "?" else c for c in pattern)
    owned = file_owners(parse_codeowners(f"{pattern} @me"), name) == ("@me",)
    assert owned is (re.fullmatch(regex, name) is not None)


def test_many_wildcards_are_matched_without_backtracking() -> None:
    assert file_owners(parse_codeowners("a*" * 2_000 + "b @me"), "a" * 4_000) == ()
    owners = parse_codeowners("/" + "**/a/" * 200 + "b @me")
    assert file_owners(owners, "a/" * 400 + "c") == ()


def test_readme_of_markup_only_has_a_short_paragraph(tmp_path: Path) -> None:
    for text in (
        "<!--" * 50_000,
        "![" * 100_000,
        "# " + " " * 200_000,
        "<a" * 100_000,
        "=\n" * 100_000,
        "[x](" * 50_000,
    ):
        assert isinstance(split_document(text), tuple)
        assert len(read_opening(text).paragraph) <= 400
