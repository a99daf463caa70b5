"""Start, state, answers and end of a server, over real stdio."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lsp import Client, Json, ServerError
from promptls.index.status import READ
from promptls.lsp import create_server

Start = Callable[..., Client]
HEAVY = ("lancedb", "pyarrow", "fastembed", "onnxruntime", "numpy", "tree_sitter", "pandas", "tokenizers", "tqdm")


def test_nothing_heavy_is_imported_before_initialize_is_answered(tmp_path: Path, shop: Path) -> None:
    client = Client(tmp_path / "cache", command=[sys.executable, "-X", "importtime", "-m", "promptls", "serve"])
    try:
        uri = shop.as_uri()
        client.request("initialize", {"processId": None, "rootUri": uri, "capabilities": {}})
        imported = set(re.findall(r"\|\s+([\w.]+)$", client.stderr.read_text(), re.M))
        assert "pygls.lsp.server" in imported
        assert [name for name in HEAVY if any(i.split(".")[0] == name for i in imported)] == []
    finally:
        client.kill()


def test_the_server_becomes_ready_and_says_so(start: Start, shop: Path) -> None:
    client = start(shop)
    status = client.settled()
    assert status["state"] == "ready"
    assert status["roots"][0]["files"] == 5
    assert status["roots"][0]["symbols"] >= 11
    assert status["roots"][0]["chunks"] == status["roots"][0]["vectors"]
    assert status["embedder"]["dimension"] > 0
    assert client.wait_note("promptls/statusChanged", lambda s: s["state"] == "ready")["roots"][0]["pending"] == 0
    assert "client/registerCapability" in [m["method"] for m in client.asked]


def test_progress_is_shown_while_indexing(start: Start, shop: Path) -> None:
    for n in range(300):
        (shop / f"module_{n}.py").write_text(f"def function_{n}(x):\n    return x + {n}\n" * 20)
    client = start(shop)
    client.settled()
    kinds = []
    client.wait_note("$/progress", lambda p: p["value"]["kind"] == "end")
    for note in client.notes:
        if note["method"] == "$/progress":
            kinds.append(note["params"]["value"]["kind"])
    begun = next(n["params"] for n in client.notes if n["method"] == "$/progress")
    assert begun["value"]["cancellable"] is True
    client.notify("window/workDoneProgress/cancel", {"token": begun["token"]})  # too late, and no harm
    assert client.settled()["state"] == "ready"
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"


def test_shutdown_and_exit(start: Start, shop: Path) -> None:
    assert start(shop).stop() == 0


WAITING = {
    "options": {"languageModel": {"use": "editor", "timeoutS": 100}},
    "capabilities": {"experimental": {"promptls": {"complete": True}}},
}
ASKED = {"message": "how does a discount work, and where is it applied?"}
ASKINGS = [("promptls/buildPrompt", ASKED), ("workspace/executeCommand", {"command": "promptls.buildPrompt", "arguments": [ASKED]})]  # fmt: skip


@pytest.mark.parametrize(("method", "params"), ASKINGS)
def test_shutdown_while_an_answer_is_waited_for(start: Start, shop: Path, method: str, params: Json) -> None:
    client = start(shop, **WAITING)
    client.silent.add("promptls/complete")
    asked = [client.start_request(method, params) for _ in range(2)]
    client.wait_asked("promptls/complete")
    assert client.stop() == 0
    for one in asked:
        with pytest.raises(ServerError, match="cancel"):
            client.answer(one)


@pytest.mark.parametrize(("method", "params"), ASKINGS)
def test_what_is_cancelled_holds_nobody_up(start: Start, shop: Path, method: str, params: Json) -> None:
    client = start(shop, **WAITING)
    client.settled()
    client.silent.add("promptls/complete")
    asked = [client.start_request(method, params) for _ in range(4)]  # as many as there are threads
    client.wait_asked("promptls/complete")
    for one in asked:
        client.notify("$/cancelRequest", {"id": one})
    assert client.request("promptls/search", {"query": "discount"}, timeout=30)["hits"]


def test_nothing_is_kept_of_commands_that_were_answered() -> None:
    server, sent = create_server(), []

    class Writer:
        def write(self, data: bytes) -> None:
            sent.append(data)

        def close(self) -> None: ...

    async def talk() -> None:
        server.protocol.set_writer(Writer())  # type: ignore[arg-type]
        hello = {"processId": None, "rootUri": None, "capabilities": {}}
        server.protocol.handle_message({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        for number in range(1, 20):
            params = {"command": "promptls.buildPrompt", "arguments": [{"message": 5}]}
            message = {"jsonrpc": "2.0", "id": number, "method": "workspace/executeCommand", "params": params}
            server.protocol.handle_message(message)
        while len(sent) < 20:
            await asyncio.sleep(0)

    asyncio.run(talk())
    server.stop()
    assert not server.protocol._request_futures


def test_exit_without_shutdown_is_an_error(start: Start, shop: Path) -> None:
    client = start(shop)
    client.notify("exit")
    assert client.process.wait(30) == 1


def test_the_server_ends_with_its_input(start: Start, shop: Path) -> None:
    client = start(shop)
    client.settled()
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.process.wait(30)


def test_before_initialize_and_after_shutdown_requests_are_refused(tmp_path: Path, shop: Path) -> None:
    client = Client(tmp_path / "cache")
    try:
        with pytest.raises(ServerError) as early:
            client.request("promptls/status", {})
        assert early.value.code == -32002
        client.initialize(shop)
        with pytest.raises(ServerError) as again:
            client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert again.value.code == -32600
        client.request("shutdown")
        with pytest.raises(ServerError) as late:
            client.request("promptls/status", {})
        assert late.value.code == -32600
    finally:
        client.kill()


def test_a_workspace_without_folders_answers(start: Start) -> None:
    client = start()
    assert client.settled()["state"] == "ready"
    result = client.build("what is a monad?")
    assert "what is a monad?" in result["prompt"]
    assert result["items"] == []


def test_what_keeps_it_from_starting_is_told_and_it_starts_once_that_is_gone(
    start: Start, shop: Path, broken: Path
) -> None:
    client = start(shop, env={"PYTHONPATH": str(broken)})
    with pytest.raises(ServerError, match=r"libsim\.so: cannot open .* `promptls doctor`"):
        client.build("discount")
    assert "libsim.so" in client.wait_note("window/showMessage")["message"]
    (broken / "simsimd.py").unlink()
    assert client.wait_note("promptls/statusChanged", lambda s: s["state"] == "ready")["roots"][0]["files"] == 5
    assert "def apply_discount(" in client.build("how is a discount applied?")["prompt"]
    assert client.stop() == 0


def test_a_server_that_cannot_start_still_ends(start: Start, shop: Path, broken: Path) -> None:
    assert start(shop, env={"PYTHONPATH": str(broken)}).stop() == 0


def test_wrong_settings_are_told_and_do_no_harm(start: Start, shop: Path) -> None:
    client = start(shop, options={"index": {"maxFileSize": "big"}})
    shown = client.wait_note("window/showMessage")
    assert "index.maxFileSize" in shown["message"]
    assert client.settled()["state"] == "ready"


def test_it_ends_when_nobody_reads_its_answers(tmp_path: Path, shop: Path) -> None:
    """An editor that has closed only one of the two streams is gone, too."""
    command = ["sh", "-c", f"{sys.executable} -m promptls serve | head -c 100"]
    client = Client(tmp_path / "cache", command=command)
    try:
        client.start_request("initialize", {"rootUri": shop.as_uri(), "capabilities": {}})
        client.notify("initialized", {})
        for _ in range(3):
            client.start_request("promptls/status", {})
        client.process.wait(60)
        assert "Nobody reads the answers any more" in client.logged() + client.stderr.read_text()
    except BrokenPipeError:
        client.process.wait(60)  # it was quicker than we
    finally:
        client.kill()


def test_nothing_is_said_to_be_missing_while_files_are_read(start: Start, tmp_path: Path) -> None:
    for number in range(300):
        body = "".join(f"def f{number}_{n}(x):\n    return x * {n}\n\n\n" for n in range(60))
        (tmp_path / "many" / f"p{number % 7}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "many" / f"p{number % 7}" / f"m{number}.py").write_text(body)
    client = start(tmp_path / "many")
    said = []
    while not said or said[-1][2] != "ready":
        state = client.request("promptls/status", {})["state"]
        found, missing = client.build("@#f299_7 and @#f1000_1", budget={"tokens": 2000})["mentions"]
        said.append((found["status"] == "included" or "still being read" in found["reason"], missing["reason"], state))
    assert all(told for told, _, _ in said), said
    assert said[-1][1] == 'There is no symbol "f1000_1" in the workspace.'


def test_a_notification_leaves_nothing_behind() -> None:
    """pygls keeps the outcome of each for ever: megabytes for a thousand keystrokes."""
    server, heard = create_server(), []

    def hear(ls: object, params: object) -> Iterator[None]:
        heard.append(params)
        yield from ()

    server.feature("test/heard")(hear)
    try:
        server.protocol._handle_notification("test/heard", {})
        assert heard == [{}]
        assert server.protocol._request_futures == {}
    finally:
        server.stop()


def test_a_signal_has_it_tell_what_it_is_at(start: Start, shop: Path) -> None:
    client = start(shop)
    client.settled()
    assert "promptls/index/indexer.py" in client.stacks()
    assert client.settled()["state"] == "ready"


def test_progress_goes_on_all_the_time(start: Start, tmp_path: Path) -> None:
    """Names and words come first, and most of the work is theirs: the bar does not wait for the vectors."""
    for number in range(300):
        body = "".join(f"def f{number}_{n}(x):\n    return x * {n} + g(x)\n\n\n" for n in range(60))
        (tmp_path / "many" / f"p{number % 7}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "many" / f"p{number % 7}" / f"m{number}.py").write_text(body)
    client = start(tmp_path / "many")
    client.wait_note("promptls/statusChanged", lambda status: status["state"] == "ready")
    told = [note["params"] for note in client.notes if note["method"] == "promptls/statusChanged"]
    shares = [(status["complete"], status["message"]) for status in told if status["state"] != "scanning"]
    assert shares == sorted(shares, key=lambda share: share[0])
    assert shares[-1] == (1, "300 files indexed.")
    assert told[-1]["usable"]
    assert any(status["usable"] and status["complete"] < READ for status in told), "of use before all is read"
    assert any(0 < share < READ for share, _ in shares), shares
