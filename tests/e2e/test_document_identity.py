"""Identity of documents: one file under all spellings of its URI, and documents that are not files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from conftest import write_tree
from lsp import Client, Json, Start, indexed_client

WORKSPACE = """
-- src/app.py --
MARK = "saved"
-- src/[id]/page.py --
MARK = "page"
-- ignored/a.py --
MARK = "hidden"
-- .gitignore --
ignored/
-- .env --
MARK=topsecret
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("identity")
    root = write_tree(top / "project", WORKSPACE)
    if os.name == "posix":
        (top / "link").symlink_to(root)
        (root / "inner").symlink_to("src")
        (root / "notes.md").symlink_to(".env")
        (top / "outside.py").write_text('MARK = "outside"\n')
        (root / "out.py").symlink_to(top / "outside.py")
    return root


@pytest.fixture(scope="module")
def client(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with indexed_client(tmp_path_factory.mktemp("server") / "cache", workspace) as client:
        yield client


def build(client: Client, message: str, **context: object) -> Json:
    budget = {"tokens": 4000, "counter": "chars4"}
    return client.build(message, budget=budget, sections={"retrieval": False}, context=context)


def quoted(result: Json) -> str:
    """Return the part of a prompt before the question."""
    return str(result["prompt"]).rsplit("# Question", 1)[0]


def did_open(client: Client, uri: str, text: str, language: str = "python") -> None:
    document = {"uri": uri, "languageId": language, "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def did_close(client: Client, uri: str) -> None:
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


SPELLINGS = {
    "encoded": lambda path: f"file://{quote(path)}",
    "raw": lambda path: f"file://{path}",
    "encoded letters": lambda path: f"file://{quote(path).replace('page', '%70age')}",
    "one slash": lambda path: f"file:{quote(path)}",
    "dot": lambda path: f"file://{quote(path.replace('/src/', '/./src/./'))}",
    "root link": lambda path: f"file://{quote(path.replace('/project/', '/link/'))}",
    "inner link": lambda path: f"file://{quote(path.replace('/src/', '/inner/'))}",
}


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_unsaved_text_is_used_for_any_spelling(client: Client, workspace: Path, spelling: str) -> None:
    path = (workspace / "src/[id]/page.py").as_posix()
    uri, usual = SPELLINGS[spelling](path), SPELLINGS["encoded"](path)
    did_open(client, uri, 'MARK = "unsaved"\n')
    for message, context in [
        ("what is @src/[id]/page.py", {}),
        ("what is @active", {"activeDocument": usual}),
        ("what is @active", {"activeDocument": uri}),
        ("what is @open", {"openDocuments": [usual, uri]}),
        ("what is @selection", {"selection": {"uri": usual, "range": lines(0, 1)}}),
    ]:
        result = build(client, message, **context)
        assert quoted(result).count('"unsaved"') == 1, message
        assert {target["uri"] for target in result["mentions"][0]["targets"]} == {uri}
    change = {"range": {"start": at(0, 8), "end": at(0, 15)}, "text": "changed"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": usual, "version": 2}, "contentChanges": [change]})
    assert '"changed"' in quoted(build(client, "what is @src/[id]/page.py"))
    did_close(client, usual)
    assert '"page"' in quoted(build(client, "what is @src/[id]/page.py"))


def at(line: int, character: int) -> Json:
    return {"line": line, "character": character}


def lines(first: int, end: int) -> Json:
    return {"start": at(first, 0), "end": at(end, 0)}


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_file_open_twice_keeps_the_text_of_the_remaining_document(client: Client, workspace: Path) -> None:
    by_link, by_path = f"file://{workspace}/inner/app.py", f"file://{workspace}/src/app.py"
    did_open(client, by_path, 'MARK = "first"\n')
    did_open(client, by_link, 'MARK = "second"\n')
    assert '"second"' in quoted(build(client, "what is @src/app.py"))
    did_close(client, by_link)
    assert '"first"' in quoted(build(client, "what is @src/app.py"))
    did_close(client, by_path)
    assert '"saved"' in quoted(build(client, "what is @src/app.py"))


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
@pytest.mark.parametrize("name", ["notes.md", "out.py", ".env", "ignored/a.py"])
def test_link_does_not_open_what_is_refused(client: Client, workspace: Path, name: str) -> None:
    for top in (workspace, workspace.parent / "link"):
        uri = f"file://{top}/{name}"
        result = build(client, f"what is @{name} @active", activeDocument=uri)
        assert "MARK" not in quoted(result)
        assert {m["status"] for m in result["mentions"]} <= {"refused", "omitted"}


OTHER_SCHEMES = [
    "untitled:Untitled-1", "untitled:/tmp/x.py", "vscode-notebook-cell:/w/nb.ipynb#W0sZmlsZQ%3D%3D",
    "zipfile:///a.zip::b.py", "inmemory://model/1", "buffer://scratch", "output:log",
    "vscode-vfs://github/o/r/app.py", "file://server/share/x.py", "file:///", "http://[x",
]  # fmt: skip


@pytest.mark.parametrize("uri", OTHER_SCHEMES)
def test_any_open_document_can_be_mentioned_by_kind(client: Client, uri: str) -> None:
    did_open(client, uri, "def scratch():\n    return 'unsaved'\n")
    selection = {"uri": uri, "range": lines(1, 2)}
    for message in ("explain @active", "explain @selection", "explain @open", "explain @visible", "explain this file"):
        result = build(client, message, activeDocument=uri, openDocuments=[uri], visibleDocuments=[uri])
        if message == "explain @selection":
            result = build(client, message, selection=selection)
        assert "return 'unsaved'" in quoted(result), message
        assert all(target["uri"] == uri for mention in result["mentions"] for target in mention["targets"])
    did_close(client, uri)
    result = build(client, "explain @active", activeDocument=uri)
    assert result["mentions"][0]["status"] == "refused"
    assert result["mentions"][0]["reason"]


def test_open_documents_are_those_that_the_client_reports(client: Client, workspace: Path) -> None:
    listed, other = (workspace / "src/app.py").as_uri(), "untitled:Untitled-1"
    did_open(client, listed, 'MARK = "listed"\n')
    did_open(client, other, 'MARK = "other"\n')
    assert '"listed"' in quoted(build(client, "explain @open")) and '"other"' in quoted(build(client, "explain @open"))
    for reported in ([listed], []):
        result = build(client, "explain @open", openDocuments=reported)
        assert ('"listed"' in quoted(result), '"other"' in quoted(result)) == (bool(reported), False)
    did_close(client, listed)
    did_close(client, other)


@pytest.mark.parametrize("name", [".env", "ignored/a.py"])
def test_document_with_the_path_of_a_refused_file_is_refused(client: Client, workspace: Path, name: str) -> None:
    uri = f"git:{workspace}/{name}?%7B%22ref%22%3A%22HEAD%22%7D"
    did_open(client, uri, "MARK = 'old version'\n")
    result = build(client, "what is @active, and this file", activeDocument=uri)
    assert "old version" not in quoted(result)
    assert result["mentions"][0]["status"] == "refused"
    assert any("not included" in warning for warning in result["warnings"])
    did_close(client, uri)


def test_open_document_is_used_without_a_workspace_folder(start: Start, workspace: Path) -> None:
    client = start()
    client.wait_indexed()
    uri = (workspace / "src/app.py").as_uri()
    assert "MARK" not in quoted(build(client, "explain this file", activeDocument=uri))
    client.open(workspace / "src/app.py", 'MARK = "unsaved"\n')
    for message in ("explain this file", "explain @active", "explain @src/app.py"):
        assert '"unsaved"' in quoted(build(client, message, activeDocument=uri)), message
