"""Server life cycle over stdio: start, status, cancellation, shutdown and exit."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp import Client, Json, ResponseError, Start
from promptls.index.index_status import READ_SHARE
from promptls.lsp import create_server, process_watch

HEAVY = ("lancedb", "pyarrow", "fastembed", "onnxruntime", "numpy", "tree_sitter", "pandas", "tokenizers", "tqdm")


def test_no_heavy_import_before_initialize_is_answered(tmp_path: Path, shop: Path) -> None:
    with Client(tmp_path / "cache", command=[sys.executable, "-X", "importtime", "-m", "promptls", "serve"]) as client:
        uri = shop.as_uri()
        client.request("initialize", {"processId": None, "rootUri": uri, "capabilities": {}})
        imported = set(re.findall(r"\|\s+([\w.]+)$", client.stderr.read_text(), re.M))
        assert "pygls.lsp.server" in imported
        assert [name for name in HEAVY if any(i.split(".")[0] == name for i in imported)] == []


def test_server_indexes_and_reports_ready(start: Start, shop: Path) -> None:
    client = start(shop)
    status = client.wait_indexed()
    assert status["state"] == "ready"
    assert status["roots"][0]["files"] == 5
    assert status["roots"][0]["symbols"] >= 11
    assert status["roots"][0]["chunks"] == status["roots"][0]["vectors"]
    assert status["embedder"]["dimension"] > 0
    assert (
        client.wait_notification("promptls/statusChanged", lambda s: s["state"] == "ready")["roots"][0]["pending"] == 0
    )
    assert "client/registerCapability" in [m["method"] for m in client.server_requests]


def test_shutdown_and_exit_end_with_status_0(start: Start, shop: Path) -> None:
    assert start(shop).stop() == 0


WITH_EDITOR_MODEL = {
    "options": {"languageModel": {"use": "editor", "timeoutS": 100}},
    "capabilities": {"experimental": {"promptls": {"complete": True}}},
}
PARAMS = {"message": "how does a discount work, and where is it applied?"}
REQUEST_AND_COMMAND = [("promptls/buildPrompt", PARAMS), ("workspace/executeCommand", {"command": "promptls.buildPrompt", "arguments": [PARAMS]})]  # fmt: skip


@pytest.mark.parametrize(("method", "params"), REQUEST_AND_COMMAND)
def test_shutdown_cancels_requests_that_wait_for_the_client(
    start: Start, shop: Path, method: str, params: Json
) -> None:
    client = start(shop, **WITH_EDITOR_MODEL)
    client.wait_indexed()
    client.unanswered_methods.add("promptls/complete")
    requests = [client.start_request(method, params) for _ in range(2)]
    client.wait_server_request("promptls/complete")
    assert client.stop() == 0
    for request in requests:
        with pytest.raises(ResponseError, match="cancel"):
            client.wait_response(request)


@pytest.mark.parametrize(("method", "params"), REQUEST_AND_COMMAND)
def test_cancelled_requests_free_their_threads(start: Start, shop: Path, method: str, params: Json) -> None:
    client = start(shop, **WITH_EDITOR_MODEL)
    client.wait_indexed()
    client.unanswered_methods.add("promptls/complete")
    requests = [client.start_request(method, params) for _ in range(4)]  # one for each request thread
    client.wait_server_request("promptls/complete")
    for request in requests:
        client.notify("$/cancelRequest", {"id": request})
    assert client.request("promptls/search", {"query": "discount"})["hits"]


def test_exit_without_shutdown_ends_with_status_1(start: Start, shop: Path) -> None:
    client = start(shop)
    client.notify("exit")
    assert client.process.wait(120) == 1


def test_server_exits_with_the_process_of_the_client(tmp_path: Path, shop: Path) -> None:
    """A child of the editor can hold the other end of the pipe, so that stdin never ends."""
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = Client(tmp_path / "cache")
    try:
        params = {"processId": editor.pid, "rootUri": shop.as_uri(), "capabilities": {}}
        client.request("initialize", params)
        client.notify("initialized", {})
        client.wait_indexed()
        editor.kill()  # not reaped yet: the process remains as a zombie
        assert client.process.wait(120) == 1
    finally:
        editor.kill()
        editor.communicate()
        client.kill()


@pytest.mark.parametrize("pid", [None, 0, -1, 2**31 - 1, 2**40])
def test_process_that_does_not_exist_is_not_watched(tmp_path: Path, shop: Path, pid: Any) -> None:
    with Client(tmp_path / "cache") as client:
        client.request("initialize", {"processId": pid, "rootUri": shop.as_uri(), "capabilities": {}})
        client.notify("initialized", {})
        assert client.wait_indexed()["state"] == "ready"


def test_process_is_polled_where_the_system_does_not_report_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_watch, "POLL_S", 0.01)
    monkeypatch.setattr(process_watch, "_open_process", lambda pid: os.open("/nonexistent", os.O_RDONLY))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    async def watch() -> None:
        ended = asyncio.Event()
        process_watch.watch_process(asyncio.get_running_loop(), child.pid, ended.set)
        await asyncio.sleep(0)
        assert not ended.is_set()
        child.communicate(b"\n")
        await asyncio.wait_for(ended.wait(), 120)

    asyncio.run(watch())


def test_folder_of_another_machine_is_named(tmp_path: Path, shop: Path) -> None:
    with Client(tmp_path / "cache") as client:
        folders = [{"uri": "vscode-vfs://github/o/r"}, {"name": "x"}, {"uri": shop.as_uri(), "name": str(shop)}]
        client.request("initialize", {"workspaceFolders": folders, "capabilities": {}})
        client.notify("initialized", {})
        message = client.wait_notification("window/showMessage", lambda params: "github" in params["message"])
        assert message["message"].startswith("Cannot open the workspace folder")
        assert [r["name"] for r in client.wait_indexed()["roots"]] == [shop.name]


def test_requests_before_initialize_and_after_shutdown_are_rejected(tmp_path: Path, shop: Path) -> None:
    with Client(tmp_path / "cache") as client:
        with pytest.raises(ResponseError) as early:
            client.request("promptls/status", {})
        assert early.value.code == -32002
        client.initialize(shop)
        with pytest.raises(ResponseError) as again:
            client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert again.value.code == -32600
        client.request("shutdown")
        with pytest.raises(ResponseError) as late:
            client.request("promptls/status", {})
        assert late.value.code == -32600


def test_workspace_without_folders(start: Start) -> None:
    client = start()
    assert client.wait_indexed()["state"] == "ready"
    result = client.build("what is a monad?")
    assert "what is a monad?" in result["prompt"]
    assert result["items"] == []


def test_start_failure_is_reported_and_start_is_retried(start: Start, shop: Path, broken: Path) -> None:
    client = start(shop, env={"PYTHONPATH": str(broken)})
    with pytest.raises(ResponseError, match=r"libsim\.so: cannot open .* `promptls doctor`"):
        client.build("discount")
    assert "libsim.so" in client.wait_notification("window/showMessage")["message"]
    (broken / "simsimd-is-broken").unlink()
    assert client.wait_notification("promptls/statusChanged", lambda s: s["state"] == "ready")["roots"][0]["files"] == 5
    assert "def apply_discount(" in client.build("how is a discount applied?")["prompt"]
    assert client.stop() == 0


def test_invalid_settings_are_reported_and_ignored(start: Start, shop: Path) -> None:
    client = start(shop, options={"index": {"maxFileSize": "big"}})
    shown = client.wait_notification("window/showMessage")
    assert "index.maxFileSize" in shown["message"]
    assert client.wait_indexed()["state"] == "ready"


def test_unread_symbols_are_not_reported_as_missing(start: Start, tmp_path: Path) -> None:
    for number in range(300):
        body = "".join(f"def f{number}_{n}(x):\n    return x * {n}\n\n\n" for n in range(60))
        (tmp_path / "many" / f"p{number % 7}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "many" / f"p{number % 7}" / f"m{number}.py").write_text(body)
    client = start(tmp_path / "many")
    replies = []
    while not replies or replies[-1][2] != "ready":
        state = client.request("promptls/status", {})["state"]
        found, missing = client.build("@#f299_7 and @#f1000_1", budget={"tokens": 2000})["mentions"]
        replies.append(
            (found["status"] == "included" or "Indexing is in progress" in found["reason"], missing["reason"], state)
        )
    assert all(plausible for plausible, _, _ in replies), replies
    assert replies[-1][1] == 'Symbol "f1000_1" not found in the workspace.'


def test_completion_right_after_the_start_knows_all_files(start: Start, tmp_path: Path) -> None:
    for n in range(3_000):
        file = tmp_path / "ws" / f"package_{n // 50}" / f"module_{n}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one line\n")
    client = start(tmp_path / "ws")
    question = tmp_path / "ws" / "question.prompt.md"
    client.open(question, "See @module_2999", language="markdown")
    at = {"textDocument": {"uri": question.as_uri()}, "position": {"line": 0, "character": 16}}
    items = client.request("textDocument/completion", at)["items"]
    assert "@package_59/module_2999.txt" in [item["label"] for item in items]
    api = client.request("promptls/completeMention", {"text": "@module_2998", "offset": 12})["items"]
    assert "@package_59/module_2998.txt" in [item["insertText"] for item in api]


def test_notifications_leave_no_futures() -> None:
    """Pygls would keep a future for each notification: megabytes after a thousand keystrokes."""
    server, received = create_server(), []

    def handler(ls: object, params: object) -> Iterator[None]:
        received.append(params)
        yield from ()

    server.feature("test/notification")(handler)
    try:
        server.protocol._handle_notification("test/notification", {})
        assert received == [{}]
        assert server.protocol._request_futures == {}
    finally:
        server.stop()


def test_signal_prints_thread_stacks(start: Start, shop: Path) -> None:
    client = start(shop)
    client.wait_indexed()
    assert "promptls/index/indexer.py" in client.thread_stacks()
    assert client.wait_indexed()["state"] == "ready"


def test_progress_increases_monotonically(start: Start, tmp_path: Path) -> None:
    """Parsing counts for most of the progress, so that it does not stall until the embeddings are computed."""
    for number in range(300):
        body = "".join(f"def f{number}_{n}(x):\n    return x * {n} + g(x)\n\n\n" for n in range(60))
        (tmp_path / "many" / f"p{number % 7}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "many" / f"p{number % 7}" / f"m{number}.py").write_text(body)
    client = start(tmp_path / "many")
    asked = [client.request("promptls/status", {})]  # a fast read can end between two notifications
    while asked[-1]["state"] != "ready":
        asked.append(client.request("promptls/status", {}))
    client.wait_notification("promptls/statusChanged", lambda status: status["state"] == "ready")
    statuses = [note["params"] for note in client.notifications if note["method"] == "promptls/statusChanged"]
    shares = [(status["complete"], status["message"]) for status in statuses if status["state"] != "scanning"]
    assert shares == sorted(shares, key=lambda share: share[0])
    assert shares[-1] == (1, "300 files indexed.")
    assert statuses[-1]["usable"]
    assert any(status["usable"] and status["complete"] < READ_SHARE for status in statuses), (
        "usable before all files are read"
    )
    seen = [status["complete"] for status in (*asked, *statuses)]  # on a busy machine an answer may skip the whole read
    assert any(0 < complete < READ_SHARE for complete in seen), seen
