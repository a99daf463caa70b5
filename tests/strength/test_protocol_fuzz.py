"""Protocol fuzzing: 10,000 invalid messages. Each request gets exactly one response, and results stay correct.

Expected responses follow from JSON-RPC 2.0 and LSP 3.17 alone (`count_expected_responses`). After each round the server
answers fixed questions like a new one. A failure prints its seed; earlier failures are separate test cases below.
"""

from __future__ import annotations

import copy
import io
import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import request_fields
from conftest import make_shop
from lsp import Client, Json, ResponseError
from promptls.lsp.transport.framing import FramingError, read_frame
from tally import Tries

NOTIFICATIONS = [
    "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose", "initialized",
    "workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration", "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel", "$/cancelRequest", "$/setTrace", "$/progress", "$/nothing", "notebookDocument/didOpen",
    "notebookDocument/didChange", "notebookDocument/didClose", "notebookDocument/didSave", "textDocument/willSave", "nonsense", "",
]  # fmt: skip
STANDARD = ["initialize", "workspace/executeCommand", "workspace/symbol", "textDocument/references", "completionItem/resolve",
            "textDocument/formatting", "textDocument/didOpen", "$/cancelRequest", "workspace/configuration", "client/registerCapability",
            "promptls/clientContext", "$/unknown", "", "a" * 500, "promptls/", "initialized", "textDocument/willSaveWaitUntil"]  # fmt: skip
UNUSUAL_VALUES: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 1e308, -0.0, 0.5, "", "x", "\0", "\ud800", "\udfff\ud800",
                  "😀", "a" * 5000, [], {}, [[]], [None], {"": ""}, {"__class__": 1}, {"uri": 5}, "file:///", "file:///%ff%fe", "file://x/y",
                  "untitled:1", "../..", "NaN", "null", "\u202e", "\n\r\u2028", {"line": -1, "character": -1}, 10**400]  # fmt: skip
QUESTIONS = [
    "how is a discount applied? @#apply_discount",
    "@shop/money.py where is rounding done?",
    "@web/ @README.md refresh session",
]
ASYNC_S = 60.0


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shop workspace for all tests; it is never modified, so only the first server has to index it."""
    return make_shop(tmp_path_factory.mktemp("work") / "shop")


def reference_results(client: Client) -> list[Any]:
    """Return the deterministic parts of the answers to fixed questions."""
    status = client.wait_indexed(ASYNC_S)
    results: list[Any] = [status["state"], [r["files"] for r in status["roots"]]]
    for question in QUESTIONS:
        built = client.build(question)
        results.append([(i["path"], i["range"], i["form"], i["origin"]) for i in built["items"]])
        results.append([(m["text"], m["status"], m["tokens"]) for m in built["mentions"]])
    results += [
        [(h["path"], h["range"], h["score"]) for h in client.search(q, 20)] for q in ("discount", "session cookie")
    ]
    return results


# ---------------------------------------------------------------- generated messages


class MessageGenerator:
    """Generates messages and counts the expected responses for each request ID."""

    def __init__(self, seed: int, root: Path) -> None:
        self.rng = random.Random(seed)
        self.root = root
        self.requests = request_fields.example_requests()
        self.count = 0
        self.expected: Counter[str] = Counter()  # by JSON of the ID
        self.expected_without_id = 0  # responses without an ID
        self.uris = [root.joinpath(p).as_uri() for p in ("shop/cart.py", "new.py", "ask.prompt.md", "gone/x.py")] + [
            "untitled:u",
            "git:/x",
        ]
        self.texts = [
            "",
            "x = 1\n",
            "def f():\n    pass\n" * 9,
            "how? @shop/cart.py @#Money.times @nothing",
            "\ud800\0\r\x0c😀\n" * 4,
        ]

    def id(self) -> Any:
        self.count += 1
        kind = self.rng.random()
        if kind < 0.7:
            return f"z{self.count}"
        if kind < 0.85:
            return 10_000_000 + self.count
        return self.rng.choice(["", "z1", 7, -7, 2**31 - 1, -(2**31), "\0", "😀", "z" * 300, *UNUSUAL_VALUES])

    def params(self, method: str) -> Any:
        if method in self.requests:
            base: Any = copy.deepcopy(self.requests[method])
            for path in list(request_fields.string_paths(base)):
                if self.rng.random() < 0.5:
                    base = request_fields.with_value(base, path, self.string(str(path[-1])))
            if method == "promptls/memory":
                # adding entries would change the reference results
                base["action"] = self.rng.choice(["list", "search", "nothing"])
            if method == "promptls/buildPrompt" and self.rng.random() < 0.7:
                base = {"message": self.rng.choice(QUESTIONS), "context": base["context"]}
        elif method == "workspace/executeCommand":
            name = self.rng.choice(list(self.requests))
            base = {
                "command": name.replace("/", "."),
                "arguments": [self.params(name)] if name != "promptls/memory" else [],
            }
        else:
            base = self.notification(method)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 5])):
            base = self.mutated(base)
        return base

    def string(self, key: str) -> str:
        if "uri" in key.lower() or self.rng.random() < 0.2:
            return self.rng.choice(self.uris)
        return self.rng.choice([*self.texts, "@shop/cart.py", "discount", "default", "text"])

    def notification(self, method: str) -> Any:
        rng = self.rng
        uri = rng.choice(self.uris[1:])  # keep the files of the fixed questions

        def position() -> Json:
            return {"line": rng.choice([0, 0, 1, 5, -3, 10**9]), "character": rng.choice([0, 1, 3, 200, -1, 10**9])}

        def span() -> Json:
            return {"start": position(), "end": position()}

        params: dict[str, Any] = {
            "textDocument/didOpen": {"textDocument": {"uri": uri, "languageId": rng.choice(["python", "promptls", "", "é"]), "version": rng.randrange(-3, 9), "text": rng.choice(self.texts)}},
            "textDocument/didChange": {"textDocument": {"uri": uri, "version": rng.randrange(-3, 9)},
                                       "contentChanges": [{**({"range": span()} if rng.random() < 0.8 else {}), "text": rng.choice(self.texts)} for _ in range(rng.randrange(4))]},
            "textDocument/didSave": {"textDocument": {"uri": uri}},
            "textDocument/didClose": {"textDocument": {"uri": uri}},
            "workspace/didChangeWatchedFiles": {"changes": [{"uri": rng.choice(self.uris), "type": rng.randrange(5)} for _ in range(rng.randrange(4))]},
            "workspace/didChangeConfiguration": {"settings": rng.choice(UNUSUAL_VALUES[:20])},
            "workspace/didChangeWorkspaceFolders": {"event": {"added": [], "removed": [{"uri": "file:///nowhere", "name": "x"}]}},
            "$/cancelRequest": {"id": rng.choice([f"z{rng.randrange(self.count + 1)}", 10_000_000 + rng.randrange(self.count + 1), None, [], 5.5])},
            "window/workDoneProgress/cancel": {"token": rng.choice(UNUSUAL_VALUES[:20])},
            "$/setTrace": {"value": rng.choice(["off", "verbose", 5])},
            "initialize": {"processId": None, "rootUri": "file:///nowhere", "capabilities": {}},
        }  # fmt: skip
        return params.get(method, rng.choice(UNUSUAL_VALUES))

    def mutated(self, value: Any) -> Any:
        """Return the value with one random defect."""
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.85:
            key = rng.choice(list(value))
            mutation = rng.randrange(5)
            if mutation == 0:
                return {k: v for k, v in value.items() if k != key}
            if mutation == 1:
                return {**value, key: rng.choice(UNUSUAL_VALUES)}
            if mutation == 2:
                return {**value, key.upper(): value[key], "class": 1}
            return {**value, key: self.mutated(value[key])}
        if isinstance(value, list) and value and rng.random() < 0.8:
            return rng.choice(
                [value * 2, value[:-1], [*value, rng.choice(UNUSUAL_VALUES)], [self.mutated(v) for v in value]]
            )
        if isinstance(value, str) and rng.random() < 0.5:
            return value[: rng.randrange(len(value) + 1)] + rng.choice(["", "\0", "\ud800", "%00", "😀"])
        return rng.choice(UNUSUAL_VALUES)

    def message(self) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            method = rng.choice([*self.requests, *self.requests, *STANDARD])
            if method in ("shutdown", "exit"):
                method = "$/unknown"
            return {"jsonrpc": "2.0", "id": self.id(), "method": method, "params": self.params(method)}
        if kind < 0.8:
            method = rng.choice(NOTIFICATIONS)
            return {"jsonrpc": "2.0", "method": method, "params": self.params(method)}
        if kind < 0.87:  # responses without a request, or to requests of this client that are running
            body = rng.choice(
                [
                    {"result": rng.choice(UNUSUAL_VALUES)},
                    {"error": rng.choice([{"code": 1, "message": "x"}, 5, None])},
                    {},
                ]
            )
            return {"jsonrpc": "2.0", "id": rng.choice([f"z{self.count}", self.count, None, [], {}, "unknown"]), **body}
        if kind < 0.93:
            request = {"jsonrpc": "2.0", "id": self.id(), "method": "promptls/status", "params": {}}
            return self.mutated(request)
        return rng.choice(
            [[], [{"jsonrpc": "2.0", "id": self.id(), "method": "promptls/status"}], None, 5, "text", True, {}]
        )

    def frame(self) -> bytes:
        """Return a framed message; the body is sometimes damaged, the framing is valid."""
        rng = self.rng
        message = self.message()
        try:
            body = json.dumps(message, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        except ValueError:
            body = b"{}"
            message = {}
        damage = rng.random()
        if damage < 0.03:
            body = body[: rng.randrange(len(body) + 1)]
        elif damage < 0.06:
            at = rng.randrange(len(body) + 1)
            body = (
                body[:at] + rng.choice([b"\xff", b"\0", b"\xc0\xaf", b"\xed\xa0\x80", b"}", b'"', b"\n\n"]) + body[at:]
            )
        elif damage < 0.07:
            body = json.dumps(message).encode(rng.choice(["utf-16", "utf-32", "utf-16-le"]))
        elif damage < 0.075:
            body = (
                b'{"jsonrpc":"2.0","id":"deep","method":"promptls/status","params":'
                + b"[" * 100_000
                + b"]" * 100_000
                + b"}"
            )
        elif damage < 0.08:
            body = b'{"jsonrpc":"2.0","id":"big","method":"promptls/search","params":{"query":' + b"9" * 20_000 + b"}}"
        count_expected_responses(body, self)
        header = rng.choice([b"Content-Length: %d\r\n\r\n"] * 8 + [b"content-length:%d\r\n\r\n", b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
                                                                 b"CONTENT-LENGTH:   %d  \r\nX-Other: a:b\r\n\r\n", b"Content-Length: %d\n\n", b"\r\n\r\nContent-Length: %d\r\n\r\n"])  # fmt: skip
        return header % len(body) + body


def count_expected_responses(body: bytes, generator: MessageGenerator) -> None:
    """Count the responses that JSON-RPC 2.0 and LSP 3.17 require for a message."""
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=lambda name: 1 / 0)
    except (ValueError, RecursionError, ZeroDivisionError):
        generator.expected_without_id += 1
        return
    if not isinstance(message, dict):
        generator.expected_without_id += 1
        return
    if "method" not in message or "id" not in message or message["method"] is None:
        return  # a notification or a response
    has_valid_id = isinstance(message["id"], str | int) and not isinstance(message["id"], bool)
    if message.get("jsonrpc") != "2.0" or not isinstance(message["method"], str):
        if message["id"] is not None:
            generator.expected[id_key(message["id"])] += 1
        return
    if has_valid_id:
        generator.expected[id_key(message["id"])] += 1
    else:
        generator.expected_without_id += 1


def id_key(identifier: Any) -> str:
    return json.dumps(identifier)


class RecordingClient(Client):
    """A client that records responses by the JSON of their IDs, including invalid IDs."""

    def _handle_message(self, message: Json) -> None:
        if "method" not in message and "own" not in str(message.get("id")):
            with self.received:
                self.responses.setdefault("fuzz " + id_key(message.get("id")), []).append(message)
                self.received.notify_all()
            return
        super()._handle_message(message)

    def start_request(self, method: str, params: Any = None) -> Any:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": f"own {self._id}", "method": method, "params": params})
        return f"own {self._id}"

    def received_counts(self) -> Counter[str]:
        return Counter(
            {k[5:]: len(v) for k, v in self.responses.items() if isinstance(k, str) and k.startswith("fuzz ")}
        )


def wait_for_responses(client: RecordingClient, generator: MessageGenerator) -> None:
    """Wait until every request has a response; fail if the server exits or a response is missing."""
    expected = generator.expected + Counter({"null": generator.expected_without_id})
    deadline = time.monotonic() + ASYNC_S
    with client.received:
        client.received.wait_for(
            lambda: client.ended or not (expected - client.received_counts()), max(0.0, deadline - time.monotonic())
        )
    assert not client.ended, client.stderr.read_text(errors="replace")[-2000:]
    assert expected - client.received_counts() == Counter(), "missing responses"


@pytest.fixture
def start_client(tmp_path: Path, workspace: Path) -> Iterator[Callable[..., RecordingClient]]:
    """Return a function that starts clients with separate logs and a shared cache."""
    started: list[RecordingClient] = []

    def run(kind: type[RecordingClient] = RecordingClient) -> RecordingClient:
        folder = tmp_path / f"client{len(started)}"
        folder.mkdir()
        cache = str(workspace.with_name("cache"))
        started.append(kind(folder / "cache", env={"HOME": str(tmp_path), "PROMPTLS_CACHE": cache}))
        return started[-1]

    yield run
    for client in started:
        client.kill()


MESSAGES = 1_200
ROUND = 150


def test_random_messages(
    start_client: Callable[..., RecordingClient], workspace: Path, effort: float, tries: Tries
) -> None:
    client = start_client()
    client.initialize(workspace)
    expected = reference_results(client)
    total = int(MESSAGES * effort)
    for number in range(max(1, total // ROUND)):
        seed = 1000 + number
        generator = MessageGenerator(seed, workspace)
        client.responses = {k: v for k, v in client.responses.items() if not str(k).startswith("fuzz ")}
        try:
            frames = [generator.frame() for _ in range(ROUND)]
            if number % 3 == 2:
                generator.rng.shuffle(frames)
            for frame in frames:
                client.send_bytes(frame)
            tries("messages", ROUND)
            wait_for_responses(client, generator)
            reset_documents(client, generator)
            expected_counts = generator.expected + Counter({"null": generator.expected_without_id})
            assert reference_results(client) == expected
            # without duplicate or unexpected responses
            assert client.received_counts() == expected_counts, client.received_counts() - expected_counts
            for answer in (a for k, v in client.responses.items() if str(k).startswith("fuzz ") for a in v):
                assert_plain_error(answer)
        except BaseException:
            print(f"seed {seed}, round {number}")
            raise


def reset_documents(client: Client, generator: MessageGenerator) -> None:
    """Close all documents and reset the settings."""
    for uri in generator.uris:
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.notify("workspace/didChangeConfiguration", {"settings": None})


def assert_plain_error(answer: Json) -> None:
    """Check that an error has a standard code and contains no traceback or server path."""
    if "error" in answer:
        error = answer["error"]
        assert error["code"] in (-32700, -32600, -32601, -32602, -32002, -32800), answer
        assert "Traceback" not in str(error) and "site-packages" not in str(error), answer


# ---------------------------------------------------------------- malformed frames

MALFORMED_FRAMES = [
    b"Content-Length: 5\r\n\r\n{}", b"Content-Length: -5\r\n\r\n{}", b"Content-Length: 0x10\r\n\r\n{}",
    b"Content-Length: 1e3\r\n\r\n{}", b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Content-Length: 9999999999\r\n\r\n{}", b"Content-Length: \r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"Content-Type: x\r\n\r\n{}", b"{}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff\xfe\x00\x01\x02\n", b"Content-Length 2\r\n\r\n{}", b"A" * 100_000,
    b"A: b\r\n" * 100 + b"\r\n", b"Content-Length: 2",
    b'Content-Length: 60\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"promptls/status"}Content-Length: 2\r\n\r\n{}',
]  # fmt: skip


@pytest.mark.parametrize("data", MALFORMED_FRAMES, ids=range(len(MALFORMED_FRAMES)))
def test_malformed_frame_raises_framing_error(data: bytes) -> None:
    stream = io.BytesIO(data)
    with pytest.raises(FramingError):
        list(iter(lambda: read_frame(stream), None))


@pytest.mark.parametrize("after", ["nothing", "initialize", "shutdown"])
def test_malformed_frame_ends_server_with_message(
    start_client: Callable[..., RecordingClient], workspace: Path, after: str, effort: float
) -> None:
    """Framing cannot be resynchronized; gopls and rust-analyzer exit as well."""
    # subsets, because starting a server is slow
    subsets = {
        "nothing": MALFORMED_FRAMES[::2],
        "initialize": MALFORMED_FRAMES[1::8],
        "shutdown": MALFORMED_FRAMES[5::8],
    }
    cases = MALFORMED_FRAMES if effort >= 3 else subsets[after]
    for batch in (cases[at : at + 5] for at in range(0, len(cases), 5)):
        for client, data in [(start_client(), data) for data in batch]:  # servers start concurrently
            if after != "nothing":
                client.initialize(workspace)
                client.wait_indexed()
            if after == "shutdown":
                client.request("shutdown")
            assert client.process.stdin is not None
            try:
                client.send_bytes(data)
                client.process.stdin.close()
            except BrokenPipeError:
                pass  # the server has already closed its input
            assert client.process.wait(30) == 1, data
            assert "Invalid message framing" in client.log_text(), data


# ---------------------------------------------------------------- lifecycle


def test_messages_before_initialize_and_after_shutdown(
    start_client: Callable[..., RecordingClient], workspace: Path
) -> None:
    client = start_client()
    generator = MessageGenerator(77, workspace)
    frames = [f for f in (generator.frame() for _ in range(120)) if b'"initialize"' not in f]
    generator.expected, generator.expected_without_id = Counter(), 0
    for frame in frames:
        count_expected_responses(frame_body(frame), generator)
        client.send_bytes(frame)
    wait_for_responses(client, generator)
    assert all(
        a["error"]["code"] in (-32002, -32600, -32602, -32700, -32601)
        for k, v in client.responses.items()
        if k.startswith("fuzz ")
        for a in v
    )
    client.initialize(workspace)
    reference_results(client)
    client.request("shutdown")
    client.responses = {k: v for k, v in client.responses.items() if not str(k).startswith("fuzz ")}
    again = MessageGenerator(78, workspace)
    for frame in [again.frame() for _ in range(80)]:
        client.send_bytes(frame)
    wait_for_responses(client, again)
    assert all("error" in a for k, v in client.responses.items() if k.startswith("fuzz ") for a in v)
    client.notify("exit")
    assert client.process.wait(30) == 0


def frame_body(frame: bytes) -> bytes:
    _, _, body = frame.lstrip(b"\r\n").partition(b"\r\n\r\n" if b"\r\n\r\n" in frame.lstrip(b"\r\n") else b"\n\n")
    return body


INVALID_PARAMS = [5, "x", [{"capabilities": {}}], True]


def test_initialize_can_be_repeated_after_invalid_params(
    start_client: Callable[..., RecordingClient], workspace: Path, effort: float
) -> None:
    for attempts in [INVALID_PARAMS] if effort < 3 else [INVALID_PARAMS, *([params] for params in INVALID_PARAMS)]:
        client = start_client()
        for params in attempts:
            with pytest.raises(ResponseError) as error:
                client.request("initialize", params)
            assert error.value.code == -32602, params
        client.initialize(workspace)
        assert client.wait_indexed()["state"] == "ready"
        client.kill()


def test_forged_response_does_not_complete_request(
    start_client: Callable[..., RecordingClient], workspace: Path
) -> None:
    client = start_client()
    client.initialize(workspace)
    client.wait_indexed()
    for number in range(30):
        request = client.start_request("promptls/buildPrompt", {"message": QUESTIONS[0]})
        client.send({"jsonrpc": "2.0", "id": request, "result": {"prompt": "forged", "number": number}})
        client.send({"jsonrpc": "2.0", "id": request, "error": {"code": 1, "message": "forged"}})
        assert client.wait_response(request)["mentions"][0]["status"] == "included"
    assert all(len(v) == 1 for k, v in client.responses.items() if str(k).startswith("own"))


def test_server_exits_at_end_of_input(start_client: Callable[..., RecordingClient], workspace: Path) -> None:
    client = start_client()
    client.initialize(workspace)
    client.wait_indexed()
    client.start_request("promptls/buildPrompt", {"message": QUESTIONS[0]})
    assert client.process.stdin is not None
    client.process.stdin.close()
    try:
        assert client.process.wait(30) == 1
    except subprocess.TimeoutExpired:
        pytest.fail("the server did not exit after its input was closed")
