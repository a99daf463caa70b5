"""Ten thousand messages that no client should send: one answer for each request, none for anything else, and right after.

What the server has to do with a message is decided here from JSON-RPC 2.0 and LSP 3.17 alone (`answers_due`).  After
each round the server answers fixed questions just as a fresh one does.  A failure prints its seed; what was found so
stands below as a case of its own.
"""

from __future__ import annotations

import copy
import io
import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fields
import pytest
from tally import Tries

from conftest import make_shop
from lsp import Client, Json, ResponseError
from promptls.lsp.framing import FramingError, read_frame

NOTIFICATIONS = [
    "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose", "initialized",
    "workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration", "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel", "$/cancelRequest", "$/setTrace", "$/progress", "$/nothing", "notebookDocument/didOpen",
    "notebookDocument/didChange", "notebookDocument/didClose", "notebookDocument/didSave", "textDocument/willSave", "nonsense", "",
]  # fmt: skip
STANDARD = ["initialize", "workspace/executeCommand", "workspace/symbol", "textDocument/references", "completionItem/resolve",
            "textDocument/formatting", "textDocument/didOpen", "$/cancelRequest", "workspace/configuration", "client/registerCapability",
            "promptls/clientContext", "$/unknown", "", "a" * 500, "promptls/", "initialized", "textDocument/willSaveWaitUntil"]  # fmt: skip
ODD: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 1e308, -0.0, 0.5, "", "x", "\0", "\ud800", "\udfff\ud800",
                  "😀", "a" * 5000, [], {}, [[]], [None], {"": ""}, {"__class__": 1}, {"uri": 5}, "file:///", "file:///%ff%fe", "file://x/y",
                  "untitled:1", "../..", "NaN", "null", "\u202e", "\n\r\u2028", {"line": -1, "character": -1}, 10**400]  # fmt: skip
QUESTIONS = [
    "how is a discount applied? @#apply_discount",
    "@shop/money.py where is rounding done?",
    "@web/ @README.md refresh session",
]
ASYNC_S = 60.0


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop; nothing here writes into it, so one is enough, and only the first server has to index it."""
    return make_shop(tmp_path_factory.mktemp("work") / "shop")


def right(client: Client) -> list[Any]:
    """Answers to fixed questions, without what differs from run to run."""
    status = client.wait_indexed(ASYNC_S)
    found: list[Any] = [status["state"], [r["files"] for r in status["roots"]]]
    for question in QUESTIONS:
        built = client.build(question)
        found.append([(i["path"], i["range"], i["form"], i["origin"]) for i in built["items"]])
        found.append([(m["text"], m["status"], m["tokens"]) for m in built["mentions"]])
    found += [
        [(h["path"], h["range"], h["score"]) for h in client.search(q, 20)] for q in ("discount", "session cookie")
    ]
    return found


# ---------------------------------------------------------------- what is sent


class Fuzz:
    """Makes messages, and remembers how many answers each id is due."""

    def __init__(self, seed: int, root: Path) -> None:
        self.rng = random.Random(seed)
        self.root = root
        self.requests = fields.requests()
        self.count = 0
        self.due: Counter[str] = Counter()  # by the id's JSON
        self.nameless = 0  # answers that can only come without an id
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
        return self.rng.choice(["", "z1", 7, -7, 2**31 - 1, -(2**31), "\0", "😀", "z" * 300, *ODD])

    def params(self, method: str) -> Any:
        if method in self.requests:
            base: Any = copy.deepcopy(self.requests[method])
            for place in list(fields.places(base)):
                if self.rng.random() < 0.5:
                    base = fields.put(base, place, self.string(str(place[-1])))
            if method == "promptls/memory":
                base["action"] = self.rng.choice(["list", "search", "nothing"])  # what adds changes what is right
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
            base = self.bent(base)
        return base

    def string(self, key: str) -> str:
        if "uri" in key.lower() or self.rng.random() < 0.2:
            return self.rng.choice(self.uris)
        return self.rng.choice([*self.texts, "@shop/cart.py", "discount", "default", "text"])

    def notification(self, method: str) -> Any:
        rng = self.rng
        uri = rng.choice(self.uris[1:])  # what the fixed questions are about stays

        def position() -> Json:
            return {"line": rng.choice([0, 0, 1, 5, -3, 10**9]), "character": rng.choice([0, 1, 3, 200, -1, 10**9])}

        def span() -> Json:
            return {"start": position(), "end": position()}

        made: dict[str, Any] = {
            "textDocument/didOpen": {"textDocument": {"uri": uri, "languageId": rng.choice(["python", "promptls", "", "é"]), "version": rng.randrange(-3, 9), "text": rng.choice(self.texts)}},
            "textDocument/didChange": {"textDocument": {"uri": uri, "version": rng.randrange(-3, 9)},
                                       "contentChanges": [{**({"range": span()} if rng.random() < 0.8 else {}), "text": rng.choice(self.texts)} for _ in range(rng.randrange(4))]},
            "textDocument/didSave": {"textDocument": {"uri": uri}},
            "textDocument/didClose": {"textDocument": {"uri": uri}},
            "workspace/didChangeWatchedFiles": {"changes": [{"uri": rng.choice(self.uris), "type": rng.randrange(5)} for _ in range(rng.randrange(4))]},
            "workspace/didChangeConfiguration": {"settings": rng.choice(ODD[:20])},
            "workspace/didChangeWorkspaceFolders": {"event": {"added": [], "removed": [{"uri": "file:///nowhere", "name": "x"}]}},
            "$/cancelRequest": {"id": rng.choice([f"z{rng.randrange(self.count + 1)}", 10_000_000 + rng.randrange(self.count + 1), None, [], 5.5])},
            "window/workDoneProgress/cancel": {"token": rng.choice(ODD[:20])},
            "$/setTrace": {"value": rng.choice(["off", "verbose", 5])},
            "initialize": {"processId": None, "rootUri": "file:///nowhere", "capabilities": {}},
        }  # fmt: skip
        return made.get(method, rng.choice(ODD))

    def bent(self, value: Any) -> Any:
        """The value with something in it put wrong."""
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.85:
            key = rng.choice(list(value))
            deed = rng.randrange(5)
            if deed == 0:
                return {k: v for k, v in value.items() if k != key}
            if deed == 1:
                return {**value, key: rng.choice(ODD)}
            if deed == 2:
                return {**value, key.upper(): value[key], "class": 1}
            return {**value, key: self.bent(value[key])}
        if isinstance(value, list) and value and rng.random() < 0.8:
            return rng.choice([value * 2, value[:-1], [*value, rng.choice(ODD)], [self.bent(v) for v in value]])
        if isinstance(value, str) and rng.random() < 0.5:
            return value[: rng.randrange(len(value) + 1)] + rng.choice(["", "\0", "\ud800", "%00", "😀"])
        return rng.choice(ODD)

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
        if kind < 0.87:  # answers that nobody has asked for, also to requests of our own that are under way
            body = rng.choice(
                [{"result": rng.choice(ODD)}, {"error": rng.choice([{"code": 1, "message": "x"}, 5, None])}, {}]
            )
            return {"jsonrpc": "2.0", "id": rng.choice([f"z{self.count}", self.count, None, [], {}, "nobody"]), **body}
        if kind < 0.93:
            whole = {"jsonrpc": "2.0", "id": self.id(), "method": "promptls/status", "params": {}}
            return self.bent(whole)
        return rng.choice(
            [[], [{"jsonrpc": "2.0", "id": self.id(), "method": "promptls/status"}], None, 5, "text", True, {}]
        )

    def frame(self) -> bytes:
        """A message as bytes, sometimes damaged in ways that leave the framing whole."""
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
        due(body, self)
        head = rng.choice([b"Content-Length: %d\r\n\r\n"] * 8 + [b"content-length:%d\r\n\r\n", b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
                                                                 b"CONTENT-LENGTH:   %d  \r\nX-Other: a:b\r\n\r\n", b"Content-Length: %d\n\n", b"\r\n\r\nContent-Length: %d\r\n\r\n"])  # fmt: skip
        return head % len(body) + body


def due(body: bytes, fuzz: Fuzz) -> None:
    """Note how a message is to be answered, from its bytes alone, by the rules of JSON-RPC 2.0 and LSP 3.17."""
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=lambda name: 1 / 0)
    except (ValueError, RecursionError, ZeroDivisionError):
        fuzz.nameless += 1
        return
    if not isinstance(message, dict):
        fuzz.nameless += 1
        return
    if "method" not in message or "id" not in message or message["method"] is None:
        return  # a notification, or an answer
    proper = isinstance(message["id"], str | int) and not isinstance(message["id"], bool)
    if message.get("jsonrpc") != "2.0" or not isinstance(message["method"], str):
        if message["id"] is not None:
            fuzz.due[key(message["id"])] += 1
        return
    if proper:
        fuzz.due[key(message["id"])] += 1
    else:
        fuzz.nameless += 1


def key(identifier: Any) -> str:
    return json.dumps(identifier)


class Ear(Client):
    """A client that keeps answers by their ids' JSON, whatever an id is."""

    def _handle_message(self, message: Json) -> None:
        if "method" not in message and "own" not in str(message.get("id")):
            with self.received:
                self.responses.setdefault("fuzz " + key(message.get("id")), []).append(message)
                self.received.notify_all()
            return
        super()._handle_message(message)

    def start_request(self, method: str, params: Any = None) -> Any:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": f"own {self._id}", "method": method, "params": params})
        return f"own {self._id}"

    def heard(self) -> Counter[str]:
        return Counter({k[5:]: len(v) for k, v in self.responses.items() if isinstance(k, str) and k.startswith("fuzz ")})


def wait_answers(client: Ear, fuzz: Fuzz) -> None:
    """Until every request is answered; a request that was answered twice, or something else, fails."""
    wanted = fuzz.due + Counter({"null": fuzz.nameless})
    until = time.monotonic() + ASYNC_S
    with client.received:
        client.received.wait_for(
            lambda: client.ended or not (wanted - client.heard()), max(0.0, until - time.monotonic())
        )
    assert not client.ended, client.stderr.read_text(errors="replace")[-2000:]
    assert wanted - client.heard() == Counter(), "no answer"


@pytest.fixture
def ear(tmp_path: Path, work: Path) -> Iterator[Callable[..., Ear]]:
    """Servers with a log each and one cache."""
    started: list[Ear] = []

    def run(kind: type[Ear] = Ear) -> Ear:
        folder = tmp_path / f"ear{len(started)}"
        folder.mkdir()
        cache = str(work.with_name("cache"))
        started.append(kind(folder / "cache", env={"HOME": str(tmp_path), "PROMPTLS_CACHE": cache}))
        return started[-1]

    yield run
    for client in started:
        client.kill()


MESSAGES = 1_200
ROUND = 150


def test_random_messages(ear: Callable[..., Ear], work: Path, effort: float, tries: Tries) -> None:
    client = ear()
    client.initialize(work)
    expected = right(client)
    total = int(MESSAGES * effort)
    for number in range(max(1, total // ROUND)):
        seed = 1000 + number
        fuzz = Fuzz(seed, work)
        client.responses = {k: v for k, v in client.responses.items() if not str(k).startswith("fuzz ")}
        try:
            frames = [fuzz.frame() for _ in range(ROUND)]
            if number % 3 == 2:
                fuzz.rng.shuffle(frames)
            for frame in frames:
                client.send_bytes(frame)
            tries("messages", ROUND)
            wait_answers(client, fuzz)
            close_all(client, fuzz)
            wanted = fuzz.due + Counter({"null": fuzz.nameless})
            assert right(client) == expected
            assert client.heard() == wanted, client.heard() - wanted  # nothing was answered twice, and no notification
            for answer in (a for k, v in client.responses.items() if str(k).startswith("fuzz ") for a in v):
                clean(answer)
        except BaseException:
            print(f"seed {seed}, round {number}")
            raise


def close_all(client: Client, fuzz: Fuzz) -> None:
    """Take back what was done to documents and settings, as a client would."""
    for uri in fuzz.uris:
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.notify("workspace/didChangeConfiguration", {"settings": None})


def clean(answer: Json) -> None:
    """One sentence, no traceback, no path of the server's own."""
    if "error" in answer:
        error = answer["error"]
        assert error["code"] in (-32700, -32600, -32601, -32602, -32002, -32800), answer
        assert "Traceback" not in str(error) and "site-packages" not in str(error), answer


# ---------------------------------------------------------------- where the frame itself is broken

BROKEN = [
    b"Content-Length: 5\r\n\r\n{}",
    b"Content-Length: -5\r\n\r\n{}",
    b"Content-Length: 0x10\r\n\r\n{}",
    b"Content-Length: 1e3\r\n\r\n{}",
    b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Content-Length: 9999999999\r\n\r\n{}",
    b"Content-Length: \r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Content-Type: x\r\n\r\n{}",
    b"{}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\xff\xfe\x00\x01\x02\n",
    b"Content-Length 2\r\n\r\n{}",
    b"A" * 100_000,
    b"A: b\r\n" * 100 + b"\r\n",
    b"Content-Length: 2",
    b'Content-Length: 60\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"promptls/status"}Content-Length: 2\r\n\r\n{}',
]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_frame_is_seen(data: bytes) -> None:
    stream = io.BytesIO(data)
    with pytest.raises(FramingError):
        list(iter(lambda: read_frame(stream), None))


@pytest.mark.parametrize("after", ["nothing", "initialize", "shutdown"])
def test_a_broken_frame_ends_the_server_with_a_sentence(
    ear: Callable[..., Ear], work: Path, after: str, effort: float
) -> None:
    """There is nothing to go by any more; so do gopls and rust-analyzer."""
    some = {"nothing": BROKEN[::2], "initialize": BROKEN[1::8], "shutdown": BROKEN[5::8]}  # a start takes a while
    cases = BROKEN if effort >= 3 else some[after]
    for few in (cases[at : at + 5] for at in range(0, len(cases), 5)):
        for client, data in [(ear(), data) for data in few]:  # they start side by side
            if after != "nothing":
                client.initialize(work)
                client.wait_indexed()
            if after == "shutdown":
                client.request("shutdown")
            assert client.process.stdin is not None
            try:
                client.send_bytes(data)
                client.process.stdin.close()
            except BrokenPipeError:
                pass  # it has seen enough
            assert client.process.wait(30) == 1, data
            assert "Invalid message framing" in client.log_text(), data


def test_frames_in_pieces_and_in_one_piece(ear: Callable[..., Ear], work: Path) -> None:
    client = ear()
    client.initialize(work)
    client.wait_indexed()  # from now on the client sends nothing of its own in between
    fuzz = Fuzz(1, work)
    bodies = [
        json.dumps({"jsonrpc": "2.0", "id": f"p{n}", "method": "promptls/status", "params": {}}).encode()
        for n in range(20)
    ]
    data = b"".join(b"Content-Length: %d\r\n\r\n" % len(b) + b for b in bodies)
    for body in bodies:
        due(body, fuzz)
    for at in range(0, len(data), 7):
        client.send_bytes(data[at : at + 7])
    client.send_bytes(data.replace(b'"p', b'"q'))
    for body in bodies:
        due(body.replace(b'"p', b'"q'), fuzz)
    wait_answers(client, fuzz)
    assert client.heard() == fuzz.due


# ---------------------------------------------------------------- before and after, again and again


def test_before_initialize_and_after_shutdown(ear: Callable[..., Ear], work: Path) -> None:
    client = ear()
    fuzz = Fuzz(77, work)
    frames = [f for f in (fuzz.frame() for _ in range(120)) if b'"initialize"' not in f]
    fuzz.due, fuzz.nameless = Counter(), 0
    for frame in frames:
        due(body_of(frame), fuzz)
        client.send_bytes(frame)
    wait_answers(client, fuzz)
    assert all(
        a["error"]["code"] in (-32002, -32600, -32602, -32700, -32601)
        for k, v in client.responses.items()
        if k.startswith("fuzz ")
        for a in v
    )
    client.initialize(work)
    right(client)
    client.request("shutdown")
    client.responses = {k: v for k, v in client.responses.items() if not str(k).startswith("fuzz ")}
    again = Fuzz(78, work)
    for frame in [again.frame() for _ in range(80)]:
        client.send_bytes(frame)
    wait_answers(client, again)
    assert all("error" in a for k, v in client.responses.items() if k.startswith("fuzz ") for a in v)
    client.notify("exit")
    assert client.process.wait(30) == 0


def body_of(frame: bytes) -> bytes:
    _, _, body = frame.lstrip(b"\r\n").partition(b"\r\n\r\n" if b"\r\n\r\n" in frame.lstrip(b"\r\n") else b"\n\n")
    return body


UNFIT = [None, 5, [], {}, {"capabilities": 5}, {"capabilities": {}, "workspaceFolders": 5}]


def test_an_initialize_that_does_not_fit_is_refused_and_the_next_one_counts(
    ear: Callable[..., Ear], work: Path, effort: float
) -> None:
    for one_after_the_other in [UNFIT] if effort < 3 else [UNFIT, *([params] for params in UNFIT)]:
        client = ear()
        for params in one_after_the_other:
            with pytest.raises(ResponseError) as refused:
                client.request("initialize", params)
            assert refused.value.code == -32602, params
        client.initialize(work)
        assert client.wait_indexed()["state"] == "ready"
        client.kill()


def test_an_initialize_with_a_root_that_is_none_begins_without_one(ear: Callable[..., Ear]) -> None:
    client = ear()
    client.request("initialize", {"rootUri": 5, "capabilities": {}})
    client.notify("initialized", {})
    assert client.wait_indexed()["roots"] == []


def test_initialize_with_everything_odd_in_its_options(ear: Callable[..., Ear], work: Path, effort: float) -> None:
    odd = ({"index": 5, "a": {"b": [1]}}, "x", [[{}]], 5, [], {"index": {"workers": -1}}, True)
    for options in odd if effort >= 3 else odd[:2]:
        client = ear()
        client.initialize(work, options=options)
        assert client.wait_indexed()["state"] == "ready"
        client.kill()


def test_initialized_twice_starts_one_index(ear: Callable[..., Ear], work: Path) -> None:
    client = ear()
    client.initialize(work)
    expected = right(client)
    for _ in range(3):
        client.notify("initialized", {})
    document = work / "ask.prompt.md"
    client.open(document, "how? @shop/cart.py", language="promptls")
    where = {"textDocument": {"uri": document.as_uri()}, "position": {"line": 0, "character": 8}}
    assert "class Cart" in client.request("textDocument/hover", where)["contents"]["value"]
    client.close(document)
    assert right(client) == expected


NONSENSE: list[Json] = [{"result": 5}, {"result": [[]]}, {"result": {}}, {"error": 7}, {"error": {"code": "x"}}, {}]


class Mute(Ear):
    """A client that never answers what it is asked, or answers nonsense: `replies`, one after the other."""

    replies: Sequence[Json] = ()
    answered = 0

    def _handle_message(self, message: Json) -> None:
        if "method" in message and "id" in message:
            if self.replies:
                self.send({"jsonrpc": "2.0", "id": message["id"], **self.replies[self.answered % len(self.replies)]})
                self.answered += 1
            return
        super()._handle_message(message)


def served(client: Ear) -> None:
    assert client.wait_indexed(30)["state"] == "ready"
    assert client.build(QUESTIONS[0])["mentions"][0]["status"] == "included"


def test_a_client_that_answers_nothing_or_nonsense_is_served(
    ear: Callable[..., Ear], work: Path, effort: float
) -> None:
    silent = ear(Mute)
    silent.initialize(work)  # its answers are waited for some seconds, which the others need
    for first in range(0, len(NONSENSE), 1 if effort >= 3 else 2):
        client = ear(Mute)
        assert isinstance(client, Mute)
        client.replies = NONSENSE[first:] + NONSENSE[:first]
        client.initialize(work)
        served(client)
        assert client.answered > 1  # so that of all servers together some request got each of the replies
        client.kill()
    served(silent)


def test_an_answer_with_the_id_of_a_request_does_not_answer_it(ear: Callable[..., Ear], work: Path) -> None:
    client = ear()
    client.initialize(work)
    client.wait_indexed()
    for number in range(30):
        request = client.start_request("promptls/buildPrompt", {"message": QUESTIONS[0]})
        client.send({"jsonrpc": "2.0", "id": request, "result": {"prompt": "forged", "number": number}})
        client.send({"jsonrpc": "2.0", "id": request, "error": {"code": 1, "message": "forged"}})
        assert client.wait_response(request)["mentions"][0]["status"] == "included"
    assert all(len(v) == 1 for k, v in client.responses.items() if str(k).startswith("own"))


def test_the_end_of_the_stream_is_the_end(ear: Callable[..., Ear], work: Path) -> None:
    client = ear()
    client.initialize(work)
    client.wait_indexed()
    client.start_request("promptls/buildPrompt", {"message": QUESTIONS[0]})
    assert client.process.stdin is not None
    client.process.stdin.close()
    try:
        assert client.process.wait(30) == 1
    except subprocess.TimeoutExpired:
        pytest.fail("the server waits for a client that has left")
