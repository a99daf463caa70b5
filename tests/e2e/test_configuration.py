"""Settings, workspace folders and progress: the newest information from the client is used, in any order of arrival."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsp import Client, Json, Start

NO_CONFIGURATION = {"workspace": {"workspaceFolders": True}}


def requests_of(client: Client, method: str) -> list[Json]:
    """Return the requests of this method that the server has sent."""
    return [one for one in client.server_requests if one["method"] == method]


def budget(client: Client) -> int:
    return int(client.build("discount")["tokens"]["budget"])


def send_settings(client: Client, request: Json, tokens: int) -> None:
    client.send({"jsonrpc": "2.0", "id": request["id"], "result": [{"budget": {"tokens": tokens}}]})


def notify_change(client: Client, settings: Json | None = None) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": settings})


def pending_requests(client: Client, changes: int) -> list[Json]:
    """Return the unanswered settings requests that the server sends after this number of changes."""
    client.wait_indexed()
    client.unanswered_methods.add("workspace/configuration")
    before = len(requests_of(client, "workspace/configuration"))
    for _ in range(changes):
        notify_change(client)
    with client.received:
        client.received.wait_for(lambda: len(requests_of(client, "workspace/configuration")) == before + changes, 120)
    return requests_of(client, "workspace/configuration")[before:]


# ---------------------------------------------------------------- settings


def test_newest_settings_win_in_any_order_of_arrival(start: Start, shop: Path) -> None:
    client = start(shop)
    older, newer = pending_requests(client, 2)
    send_settings(client, newer, 5000)
    send_settings(client, older, 4000)
    assert budget(client) == 5000


def test_late_settings_are_applied_on_arrival(start: Start, shop: Path) -> None:
    client = start(shop)
    (request,) = pending_requests(client, 1)
    assert budget(client) == 8000, "a request waits for a bounded time"
    send_settings(client, request, 4000)
    assert budget(client) == 4000


def test_pushed_settings_are_applied(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    notify_change(client, {"promptls": {"budget": {"tokens": 3000, "tokenizer": "/elsewhere"}}})
    assert budget(client) == 3000
    assert "budget.tokenizer" in client.wait_notification("window/showMessage")["message"]
    notify_change(client, {"promptls": {}})
    assert budget(client) == 8000


def test_lens_shows_a_changed_budget_of_an_unchanged_document(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    document = shop / "ask.promptls.md"
    client.open(document, "Why?", language="prompt")
    client.wait_indexed()
    for tokens in (3000, 4000, 5000):
        notify_change(client, {"promptls": {"budget": {"tokens": tokens}}})
        lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": document.as_uri()}})
        assert f"of {tokens:,} tokens" in lenses[0]["command"]["title"]


def test_users_settings_change_at_run_time_and_stay_apart_from_those_of_the_workspace(start: Start, shop: Path) -> None:
    capabilities = {"workspace": {"configuration": True}, "experimental": {"promptls": {"userSettings": True}}}
    client = start(shop, capabilities=capabilities, options={"budget": {"tokens": 7000}})
    (shop / ".env").write_text("COLOR=green\n")
    env = "what is in @.env"
    assert [budget(client), client.build(env)["mentions"][0]["status"]] == [7000, "refused"]
    notify_change(client, {"promptls": {"secrets": {"allowFiles": True}}})
    assert [budget(client), client.build(env)["mentions"][0]["status"]] == [8000, "included"], (
        "the former ones are gone"
    )
    client.configuration = {"budget": {"tokens": 5000}, "secrets": {"allowFiles": True}}
    notify_change(client, {"promptls": {}})
    assert [budget(client), client.build(env)["mentions"][0]["status"]] == [5000, "refused"]
    assert "secrets.allowFiles is ignored" in client.wait_notification("window/showMessage")["message"]


def test_pushed_settings_of_other_clients_are_not_trusted(start: Start, shop: Path) -> None:
    client = start(shop)
    client.configuration = {"budget": {"tokens": 5000}}
    notify_change(client, {"promptls": {"budget": {"tokens": 3000}, "secrets": {"allowFiles": True}}})
    assert budget(client) == 5000, "they are requested"


def test_language_setting_reclassifies_open_documents(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=NO_CONFIGURATION)
    client.wait_indexed()
    note, at = shop / "note.md", {"line": 0, "character": 6}
    client.open(note, "ask @nope.py please\n", language="markdown")
    hover = {"textDocument": {"uri": note.as_uri()}, "position": at}
    assert client.request("textDocument/hover", hover) is None
    notify_change(client, {"promptls": {"documents": {"languages": ["markdown"]}}})
    assert client.wait_notification("textDocument/publishDiagnostics")["diagnostics"]
    assert client.request("textDocument/hover", hover) is not None
    notify_change(client, {"promptls": {}})
    client.wait_notification("textDocument/publishDiagnostics", lambda note: not note["diagnostics"])
    assert client.request("textDocument/hover", hover) is None
    client.replace(note, 2, "ask @nope.py\n")
    assert client.request("textDocument/hover", hover) is None


# ---------------------------------------------------------------- folders


def folders(client: Client, **changes: list[tuple[Path, str]]) -> list[str]:
    """Change the workspace folders and return the sorted names of the roots."""
    client.folders_changed(**changes)
    return sorted(root["name"] for root in client.wait_indexed()["roots"])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "extra.py").write_text("def extra(): ...\n")
    return folder


def test_renamed_folder_is_kept(start: Start, shop: Path, other: Path) -> None:
    client = start(shop)
    assert folders(client, added=[(shop, "new")], removed=[(shop, "shop")]) == ["new"]
    assert folders(client, added=[(shop, "newer")]) == ["newer"]
    assert client.build("@newer:cart.py")["mentions"][0]["status"] == "included"
    assert folders(client, added=[(other, "other"), (shop, "last")], removed=[(shop, "newer")]) == ["last", "other"]
    assert folders(client, removed=[(shop, "last")]) == ["other"]


def test_root_uri_is_kept_when_a_folder_is_added(start: Start, tmp_path: Path, shop: Path, other: Path) -> None:
    with Client(tmp_path / "cache") as client:
        client.request("initialize", {"processId": None, "rootUri": shop.as_uri(), "capabilities": {}})
        client.notify("initialized", {})
        assert folders(client, added=[(other, "other")]) == ["other", "shop-root"]
        client.notify(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [], "removed": [{"uri": other.as_uri() + "/", "name": "other"}]}},
        )
        assert [root["name"] for root in client.wait_indexed()["roots"]] == ["shop-root"]


# ---------------------------------------------------------------- progress


def kinds(client: Client) -> list[str]:
    return [note["params"]["value"]["kind"] for note in client.notifications if note["method"] == "$/progress"]


def test_rejected_progress_is_never_reported(start: Start, tmp_path: Path, shop: Path) -> None:
    with Client(tmp_path / "cache") as client:
        client.unanswered_methods.add("window/workDoneProgress/create")
        client.initialize(shop)
        create = client.wait_server_request("window/workDoneProgress/create")
        client.send({"jsonrpc": "2.0", "id": create["id"], "error": {"code": -32601, "message": "no"}})
        client.wait_notification("promptls/statusChanged", lambda status: status["state"] == "ready")
        assert client.wait_indexed()["state"] == "ready"
        assert kinds(client) == []
        assert len(requests_of(client, "window/workDoneProgress/create")) == 1
