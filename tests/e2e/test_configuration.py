"""Settings, folders and progress: the client's word counts, the newest first, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lsp import Client, Json

Start = Callable[..., Client]
NO_CONFIGURATION = {"workspace": {"workspaceFolders": True}}


def asked(client: Client, method: str) -> list[Json]:
    """Requests of this method that the server has made."""
    return [one for one in client.asked if one["method"] == method]


def budget(client: Client) -> int:
    return int(client.build("discount")["tokens"]["budget"])


def answer(client: Client, request: Json, tokens: int) -> None:
    client.send({"jsonrpc": "2.0", "id": request["id"], "result": [{"budget": {"tokens": tokens}}]})


def changed(client: Client, settings: Json | None = None) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": settings})


def questions(client: Client, changes: int) -> list[Json]:
    """What the server asks when settings have changed so often; nobody has answered yet."""
    client.settled()
    client.silent.add("workspace/configuration")
    before = len(asked(client, "workspace/configuration"))
    for _ in range(changes):
        changed(client)
    with client.arrived:
        client.arrived.wait_for(lambda: len(asked(client, "workspace/configuration")) == before + changes, 30)
    return asked(client, "workspace/configuration")[before:]


# ---------------------------------------------------------------- settings


def test_the_newest_settings_count_in_whatever_order_they_come(start: Start, shop: Path) -> None:
    client = start(shop)
    older, newer = questions(client, 2)
    answer(client, newer, 5000)
    answer(client, older, 4000)
    assert budget(client) == 5000


def test_settings_that_come_late_count_from_then_on(start: Start, shop: Path) -> None:
    client = start(shop)
    (question,) = questions(client, 1)
    assert budget(client) == 8000, "a request does not wait for ever"
    answer(client, question, 4000)
    assert budget(client) == 4000


def test_settings_that_a_client_pushes(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    changed(client, {"promptls": {"budget": {"tokens": 3000, "tokenizer": "/elsewhere"}}})
    assert budget(client) == 3000
    assert "budget.tokenizer" in client.wait_note("window/showMessage")["message"]
    changed(client, {"promptls": {}})
    assert budget(client) == 8000


def test_what_is_wrong_is_told_once_until_it_is_wrong_anew(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    for settings in ({"graph": None}, {"graph": None}, {}, {"graph": None}):
        changed(client, {"promptls": settings})
        client.request("promptls/status", {})
    told = [note["params"]["message"] for note in client.notes if note["method"] == "window/showMessage"]
    assert told == ["The setting graph is ignored: expected `object`, got `null`."] * 2


def test_a_language_makes_documents_prompts_and_no_prompts(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    client.settled()
    note, at = shop / "note.md", {"line": 0, "character": 6}
    client.open(note, "ask @nope.py please\n", language="markdown")
    hover = {"textDocument": {"uri": note.as_uri()}, "position": at}
    assert client.request("textDocument/hover", hover) is None
    changed(client, {"promptls": {"documents": {"languages": ["markdown"]}}})
    assert client.wait_note("textDocument/publishDiagnostics")["diagnostics"]
    assert client.request("textDocument/hover", hover) is not None
    changed(client, {"promptls": {}})
    client.wait_note("textDocument/publishDiagnostics", lambda told: not told["diagnostics"])
    assert client.request("textDocument/hover", hover) is None
    client.replace(note, 2, "ask @nope.py\n")
    assert client.request("textDocument/hover", hover) is None


# ---------------------------------------------------------------- folders


def folders(client: Client, **changes: list[tuple[Path, str]]) -> list[str]:
    """Names of the roots after folders have come and gone, in no order."""
    client.folders_changed(**changes)
    return sorted(root["name"] for root in client.settled()["roots"])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "extra.py").write_text("def extra(): ...\n")
    return folder


def test_a_folder_that_is_renamed_stays(start: Start, shop: Path, other: Path) -> None:
    client = start(shop)
    assert folders(client, added=[(shop, "new")], removed=[(shop, "shop")]) == ["new"]
    assert folders(client, added=[(shop, "newer")]) == ["newer"]
    assert client.build("@newer:cart.py")["mentions"][0]["status"] == "included"
    assert folders(client, added=[(other, "other"), (shop, "last")], removed=[(shop, "newer")]) == ["last", "other"]
    assert folders(client, removed=[(shop, "last")]) == ["other"]


def test_a_root_without_folders_stays_when_one_is_added(start: Start, tmp_path: Path, shop: Path, other: Path) -> None:
    client = Client(tmp_path / "cache")
    try:
        client.request("initialize", {"processId": None, "rootUri": shop.as_uri(), "capabilities": {}})
        client.notify("initialized", {})
        assert folders(client, added=[(other, "other")]) == ["other", "shop-root"]
        client.notify(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [], "removed": [{"uri": other.as_uri() + "/", "name": "other"}]}},
        )
        assert [root["name"] for root in client.settled()["roots"]] == ["shop-root"]
    finally:
        client.kill()


# ---------------------------------------------------------------- progress


def kinds(client: Client) -> list[str]:
    return [note["params"]["value"]["kind"] for note in client.notes if note["method"] == "$/progress"]


def test_a_bar_that_is_allowed_late_begins_and_ends_once(start: Start, tmp_path: Path, shop: Path) -> None:
    client = Client(tmp_path / "cache")
    try:
        client.silent.add("window/workDoneProgress/create")
        client.initialize(shop)
        create = client.wait_asked("window/workDoneProgress/create")
        client.wait_note("promptls/statusChanged", lambda status: status["state"] == "ready")
        assert kinds(client) == []
        client.send({"jsonrpc": "2.0", "id": create["id"], "result": None})
        client.wait_note("$/progress", lambda told: told["value"]["kind"] == "end")
        assert kinds(client) == ["begin", "end"]
    finally:
        client.kill()


def test_a_bar_that_is_refused_is_not_spoken_of(start: Start, tmp_path: Path, shop: Path) -> None:
    client = Client(tmp_path / "cache")
    try:
        client.silent.add("window/workDoneProgress/create")
        client.initialize(shop)
        create = client.wait_asked("window/workDoneProgress/create")
        client.send({"jsonrpc": "2.0", "id": create["id"], "error": {"code": -32601, "message": "no"}})
        client.wait_note("promptls/statusChanged", lambda status: status["state"] == "ready")
        assert client.settled()["state"] == "ready"
        assert kinds(client) == []
        assert len(asked(client, "window/workDoneProgress/create")) == 1
    finally:
        client.kill()
