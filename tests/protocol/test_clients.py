"""Sessions of editors: the `initialize` message of each, and what it sends until it exits.

The messages in clients/ were recorded, or written from the sources that each file names. ROOT_URI, ROOT_PATH, ROOT_NAME
and PROCESS_ID stand for the values of the test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import write_tree
from lsp import TIMEOUT_S, Client, Json

CLIENTS = sorted((Path(__file__).parent / "clients").glob("*.json"))
ENCODINGS = dict.fromkeys(("helix", "neovim", "neovim-blink", "neovim-nvim-cmp"), "utf-8")
"""Position encoding by client; utf-16 for all others."""
INEXACT = {"lsp4ij"}
"""Clients with a capability that lacks a required part."""
ACCEPTED = [
    ("説明 See @ca", "の端数処理", "説明 See @cart.pyの端数処理"),
    ("See @ca", "的作用？", "See @cart.py的作用？"),
    ("See @ca", ":10-20", "See @cart.py:10-20"),
    ("See @ca", "#TOTAL", "See @cart.py#TOTAL"),
    ("See @ca", "rt.py, then", "See @cart.py, then"),
    ("😀 @ca", ") and more", "😀 @cart.py) and more"),
]
"""Text before and after the cursor, and with `@cart.py` accepted, whether the client inserts or replaces."""
CODE, UNSAVED = "TOTAL = 'saved'\n", "TOTAL = 'unsaved'\n"


class Editor(Client):
    """A client that sends messages as one editor does."""

    def __init__(self, cache: Path, root: Path, file: Path) -> None:
        super().__init__(cache)
        recorded = load_client(file)
        text = json.dumps(recorded["initialize"]).replace('"PROCESS_ID"', str(os.getpid()))
        for name, value in {"ROOT_URI": root.as_uri(), "ROOT_PATH": str(root), "ROOT_NAME": root.name}.items():
            text = text.replace(name, value)
        self.initialize_params = json.loads(text)
        self.string_ids = recorded.get("stringIds", False)
        self.empty_params = recorded.get("emptyParams", False)

    def send(self, message: Any) -> None:
        if self.string_ids and "method" in message and "id" in message:
            message = {**message, "id": str(message["id"])}
        if "method" in message and message.get("params") is None:
            message = {key: value for key, value in message.items() if key != "params"}
            if self.empty_params:
                message["params"] = {}
        super().send(message)

    def wait_response(self, request: Any, timeout: float = TIMEOUT_S) -> Any:
        return super().wait_response(str(request) if self.string_ids else request, timeout)


def load_client(file: Path) -> Json:
    """Read a client's file; "extends" names the file that it changes."""
    client = json.loads(file.read_text())
    return merge(load_client(file.with_name(client["extends"])), client) if "extends" in client else client


def merge(base: Json, changes: Json) -> Json:
    merged = {
        name: merge(base[name], value) if isinstance(value, dict) and isinstance(base.get(name), dict) else value
        for name, value in changes.items()
    }
    return {**base, **merged}


@pytest.mark.parametrize("file", CLIENTS, ids=[file.stem for file in CLIENTS])
def test_session_of_editor(file: Path, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "shop", f"-- cart.py --\n{CODE}-- ask.prompt.md --\n")
    with Editor(tmp_path / "cache", root, file) as editor:
        capabilities = editor.request("initialize", editor.initialize_params)["capabilities"]
        assert capabilities["positionEncoding"] == ENCODINGS.get(file.stem, "utf-16")
        assert capabilities["textDocumentSync"]["change"] == 2
        assert ("notebookDocumentSync" in capabilities) == (file.stem == "vscode")
        editor.notify("initialized", {})
        assert [r["name"] for r in editor.wait_indexed()["roots"]] == ["shop"]
        editor.open(root / "cart.py", UNSAVED, version=0)
        editor.open(root / "ask.prompt.md", "what is @car", version=0, language="markdown")
        at_end = {"textDocument": {"uri": (root / "ask.prompt.md").as_uri()}, "position": {"line": 0, "character": 12}}
        items = editor.request("textDocument/completion", at_end)["items"]
        assert "@cart.py" in [item["textEdit"]["newText"] for item in items]
        for number, (before, after, accepted) in enumerate(ACCEPTED):
            document = root / f"{number}.prompt.md"
            editor.open(document, before + after, version=0, language="promptls")
            assert accept(editor, document, before, after, capabilities["positionEncoding"]) == {accepted}
        result = editor.build("what is @cart.py", budget={"tokens": 2000, "counter": "chars4"})
        assert "'unsaved'" in result["prompt"]
        assert [t["uri"] for t in result["mentions"][0]["targets"]] == [(root / "cart.py").as_uri()]
        assert editor.stop() == 0
        assert ("ignored invalid fields of initialize" in editor.log_text()) == (file.stem in INEXACT)


def accept(editor: Editor, document: Path, before: str, after: str, encoding: str) -> set[str]:
    """Return the texts after `@cart.py` was accepted at the cursor: by the inserting and by the replacing edit."""
    cursor = {"line": 0, "character": units(before, encoding)}
    at_cursor = {"textDocument": {"uri": document.as_uri()}, "position": cursor}
    items = editor.request("textDocument/completion", at_cursor)["items"]
    (edit,) = [item["textEdit"] for item in items if item["textEdit"]["newText"].strip() == "@cart.py"]
    text = before + after
    ends = {units(text[:index], encoding): index for index in range(len(text) + 1)}
    ranges = [edit["range"]] if "range" in edit else [edit["insert"], edit["replace"]]
    return {
        text[: ends[one["start"]["character"]]] + edit["newText"] + text[ends[one["end"]["character"]] :]
        for one in ranges
    }


def units(text: str, encoding: str) -> int:
    return len(text.encode("utf-8")) if encoding == "utf-8" else len(text.encode("utf-16-le")) // 2
