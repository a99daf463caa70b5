"""After any sequence of changes, the index equals a fresh index of the final state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptls.index.configuration import IndexConfig
from promptls.index.indexer import Indexer
from promptls.index.snapshot import with_files
from promptls.index.syntax.parse import parse_source
from promptls.languages import language_of
from promptls.model import FileEntry, Root, encode_outline
from promptls.util.hashing import content_hash

NAMES = ["a.py", "b.py", "sub/c.py", "sub/d.js", "notes.md", "ignored/x.py", "sub/.gitignore"]
TEXTS = [
    "",
    "def one(x):\n    '''First of all.'''\n    return x + 1\n",
    "def one(x):\n    '''First of all.'''\n    return x + 2\n\n\nclass Two:\n    def three(self):\n        return one(3)\n",
    "function four(y) {\n  return y * 4; // 😀\n}\n",
    "# Title\n\nSome prose about ones and twos, long enough to be kept as a chunk of its own.\n",
    "d.js\n",
    "broken ((( def class {{{\n" * 5,
]
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "rename", "open", "edit", "save", "close", "nest", "settle"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.integers(0, len(TEXTS) - 1),
        st.integers(0, len(TEXTS) - 1),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Indexer, Path]]:
    folder = tmp_path_factory.mktemp("machine")
    root = folder / "root"
    root.mkdir()
    indexer = Indexer(IndexConfig(cache_folder=str(folder / "cache"), workers=1))
    indexer.workspace.set_roots(roots(root))
    indexer.start()
    assert indexer.client.wait_until_searchable(timeout_s=60)
    yield indexer, root
    indexer.close()


def roots(root: Path, *nested: str) -> list[Root]:
    return [Root(folder.as_posix(), folder.name, folder.as_uri()) for folder in (root, *map(root.joinpath, nested))]


def expected(indexer: Indexer, root: Path) -> dict[str, FileEntry]:
    """Return the entries expected from the files on disk and the open documents."""
    texts = {}
    for name in NAMES:
        file = root / name
        if file.is_file():
            texts[file.as_posix()] = file.read_text()
    for path, document in indexer.workspace.documents.items():
        texts[path] = document.text
    entries = {}
    rules = (root / "sub/.gitignore").read_text().split() if (root / "sub/.gitignore").is_file() else []
    for path, text in texts.items():
        name = path.removeprefix(root.as_posix() + "/")
        if name.startswith("ignored/") or (name.startswith("sub/") and name[4:] in rules):
            continue
        entries[path] = FileEntry(
            path,
            root.as_posix(),
            name,
            encoded_outline=encode_outline(parse_source(text, language_of(path, text)).outline),
        )
    return entries


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_index_after_any_changes_equals_a_fresh_one(
    indexed: tuple[Indexer, Path], operations: list[tuple[str, str, str, int, int]]
) -> None:
    indexer, root = indexed
    workspace = indexer.workspace
    (root / ".gitignore").write_text("ignored/\n")
    for version, (operation, name, other, text, extra) in enumerate(operations, 1):
        file, target = root / name, root / other
        path, content = file.as_posix(), TEXTS[text] + TEXTS[extra]
        file.parent.mkdir(exist_ok=True)
        target.parent.mkdir(exist_ok=True)
        if operation == "write":
            file.write_text(content)
            workspace.touch([path])
        elif operation == "delete" and file.exists():
            file.unlink()
            workspace.touch([path])
        elif operation == "rename" and file.exists() and name != other:
            file.replace(target)
            workspace.touch([path, target.as_posix()])
        elif operation == "open" and file.exists():
            workspace.put_document(path, file.read_text(), version, edited=False)
        elif operation == "edit" and path in workspace.documents:
            workspace.put_document(path, content, version, edited=True)
        elif operation == "save" and path in workspace.documents:
            file.write_text(workspace.documents[path].text)
            workspace.mark_saved(path)
        elif operation == "close":
            workspace.close_document(path)
        elif operation == "nest":
            (root / "sub").mkdir(exist_ok=True)
            workspace.set_roots(roots(root, "sub") if len(workspace.roots) == 1 else roots(root))
        elif operation == "settle":
            assert indexer.client.wait_until_searchable(timeout_s=60)
        if path in workspace.documents:
            view = indexer.client.snapshot()
            entry = view.files.get(path)
            shown = entry.content_hash if entry else None
            assert view.documents[path].text == workspace.documents[path].text
            assert shown in (None, content_hash(workspace.documents[path].text))
    assert indexer.client.wait_until_searchable(timeout_s=60)
    snapshot = indexer.client.snapshot()
    wanted = expected(indexer, root)
    rules = (root / ".gitignore").as_posix()
    assert {p: e.outline for p, e in snapshot.files.items() if p != rules} == {p: e.outline for p, e in wanted.items()}
    fresh = with_files(type(snapshot)(roots=snapshot.roots), wanted.items())
    assert {k: set(v) for k, v in snapshot.names.items()} == {k: set(v) for k, v in fresh.names.items()}
    assert all(entry.root == getattr(snapshot.root_of(path), "path", "") for path, entry in snapshot.files.items())
    columns = indexer.client.reader()
    places: dict[bytes, list[tuple[str, int]]] = {}
    for path, entry in sorted(snapshot.files.items()):
        for at, chunk in enumerate(entry.outline.chunks if entry.outline is not None else ()):
            places.setdefault(chunk.key, []).append((path, at))
    assert {key: columns.locations(columns.row_of(key)) for key in columns.live_keys()} == places
    assert columns.live_count == len(places)
    workspace.set_roots(roots(root))
    for name in NAMES:
        workspace.close_document((root / name).as_posix())
        (root / name).unlink(missing_ok=True)
    workspace.touch([(root / name).as_posix() for name in NAMES])
    assert indexer.client.wait_until_searchable(timeout_s=60)
