"""Text synchronization: after any edits, the server holds exactly the text of the editor, as LSP defines it.

`apply_change` is an independent implementation of the edits on the editor's side.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SHOP, write_tree
from lsp import Client, Json
from tally import Tries

PIECES = [
    "a", "\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "é", "𝄞", "\ufeff", "\t", "x = 1",
    "def f():\n",
]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    folder = tmp_path_factory.mktemp("documents")
    client = Client(folder / "cache")
    root = write_tree(folder / "shop", SHOP)
    client.initialize(root)
    client.wait_indexed()
    yield client, root
    client.kill()


def apply_change(text: str, change: Json) -> str:
    """Apply a change as an editor does: lines end at LF, CRLF and CR, characters are UTF-16 code units."""
    if "range" not in change:
        return str(change["text"])
    offsets = sorted(offset_at(text, change["range"][end]) for end in ("start", "end"))
    return text[: offsets[0]] + str(change["text"]) + text[offsets[1] :]


def offset_at(text: str, position: Json) -> int:
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", text))]
    if position["line"] < 0:
        return 0
    if position["line"] >= len(starts):
        return len(text)
    start = starts[position["line"]]
    units, at = 0, start
    while at < len(text) and text[at] not in "\r\n" and units + 1 + (text[at] > "\uffff") <= position["character"]:
        units += 1 + (text[at] > "\uffff")
        at += 1
    return at


def server_text(client: Client, path: Path) -> str:
    """Return the text of a document as quoted in a prompt, with normalized line ends and escaped invisible characters."""
    prompt: str = client.build(f"@{path.name}", sections={"retrieval": False})["prompt"]
    match = re.search(rf'<context-\w+ path="{re.escape(path.name)}"[^>]*>\n(.*)\n</context', prompt, re.S)
    assert match, prompt
    return match[1]


def expected_text(text: str) -> str:
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    lines = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    return re.sub(
        r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"⟦U+{ord(m[0]):04X}⟧", "\n".join(lines)
    )


@pytest.mark.parametrize(
    ("before", "start", "end", "text", "after"),
    [
        ("a\x0cb\nc\n", (1, 0), (1, 1), "d", "a\x0cb\nd\n"),
        ("a\u2028b\nc\n", (1, 0), (1, 1), "d", "a\u2028b\nd\n"),
        ("a\x85b\nc\n", (1, 0), (1, 1), "d", "a\x85b\nd\n"),
        ("a\rb\nc\n", (1, 0), (1, 1), "d", "a\rd\nc\n"),
        ("ab\ncd\n", (1, 1), (0, 1), "", "ad\n"),  # reversed range
        ("ab\ncd\n", (0, 9), (0, 99), "x", "abx\ncd\n"),  # after the end of a line
        ("ab\ncd\n", (99, 0), (99, 9), "x", "ab\ncd\nx"),  # after the end of the text
        ("", (0, 0), (0, 0), "x", "x"),
        ("𝄞a", (0, 2), (0, 3), "b", "𝄞b"),
        ("𝄞a", (0, 1), (0, 3), "b", "b"),  # inside a surrogate pair: before it
    ],
)
def test_edit_is_applied_at_lsp_position(
    client: tuple[Client, Path], before: str, start: tuple[int, int], end: tuple[int, int], text: str, after: str
) -> None:
    server, root = client
    path = root / "edited.py"
    server.open(path, before)
    positions = [{"line": line, "character": character} for line, character in (start, end)]
    server.change(path, 2, {"range": {"start": positions[0], "end": positions[1]}, "text": text})
    assert apply_change(before, {"range": {"start": positions[0], "end": positions[1]}, "text": text}) == after
    assert server_text(server, path) == expected_text(after)
    server.close(path)


def test_random_edits_produce_editor_text(client: tuple[Client, Path], effort: float, tries: Tries) -> None:
    server, root = client
    path = root / "random.py"
    rng = random.Random(2)
    for document in range(max(1, int(12 * effort))):
        text = "".join(rng.choices(PIECES, k=rng.randrange(30)))
        server.open(path, text)
        for version in range(2, 10):
            changes = []
            tries("edits")
            for _ in range(rng.randrange(3)):
                ends = [{"line": rng.randrange(12), "character": rng.randrange(9)} for _ in range(2)]
                change: Json = {"text": "".join(rng.choices(PIECES, k=rng.randrange(6)))}
                if rng.random() < 0.9:
                    change["range"] = dict(zip(("start", "end"), ends, strict=True))
                changes.append(change)
                text = apply_change(text, change)
            server.change(path, version, *changes)
        if text:
            assert server_text(server, path) == expected_text(text), (document, text)
        server.close(path)


def test_change_of_unopened_document_is_ignored(client: tuple[Client, Path], tmp_path: Path) -> None:
    """The text is not read from the disk: the file may be a pipe, which would block the server."""
    server, root = client
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for path in (pipe, root / "shop" / "money.py", tmp_path):
        server.change(path, 2)
        server.change(path, 3, {"text": "lost = True\n"})
        server.save(path)
    assert "lost" not in server.build("@shop/money.py @diff:unsaved")["prompt"]
    assert server.wait_indexed()["state"] == "ready"
