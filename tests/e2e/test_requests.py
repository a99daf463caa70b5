"""Every request gets exactly one response; an error is one sentence without internals."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp import Client, Json, ResponseError

Start = Callable[..., Client]

METHODS = [
    "promptls/buildPrompt",
    "promptls/resolveMentions",
    "promptls/completeMention",
    "promptls/search",
    "promptls/list",
    "promptls/read",
    "promptls/status",
    "promptls/reindex",
    "promptls/explainIgnore",
    "promptls/mentionKinds",
    "promptls/models",
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/completion",
    "textDocument/documentLink",
    "textDocument/codeAction",
    "textDocument/inlayHint",
    "textDocument/codeLens",
    "textDocument/semanticTokens/full",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/prepareRename",
    "textDocument/rename",
    "workspace/willRenameFiles",
]
INVALID_PARAMS: list[object] = [
    None,
    5,
    "text",
    [],
    [1, "x"],
    {},
    {"message": None},
    {"message": 5},
    {"message": "x", "budget": 7},
    {"message": "x", "budget": {"tokens": "many"}},
    {"message": "x", "context": {"selection": {"uri": 5}}},
    {"class": 1, "_": 2, "0": 3},
    {"query": ["x"]},
    {"uri": "ftp://elsewhere/x"},
    {"text": "@", "offset": -1},
    {"text": "@", "offset": 10**9},
    {"roots": ["file:///not/there"]},
    {"textDocument": {"uri": "file:///not/there.prompt.md"}},
    {"textDocument": {"uri": "untitled:x"}, "position": {"line": -1, "character": 10**12}},
    {"textDocument": {"uri": "x"}, "range": {"start": {"line": 2, "character": 0}, "end": {"line": 1, "character": 0}}},
    {"files": [{"oldUri": "untitled:a", "newUri": "file:///"}]},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> object:
    from conftest import SHOP, write_tree

    folder = tmp_path_factory.mktemp("requests")
    client = Client(folder / "cache")
    client.initialize(write_tree(folder / "shop", SHOP))
    client.wait_indexed()
    yield client
    client.kill()


def request_error(client: Client, method: str, params: object) -> ResponseError:
    with pytest.raises(ResponseError) as caught:
        client.request(method, params)
    return caught.value


@pytest.mark.parametrize("method", METHODS)
def test_invalid_params_get_one_clean_error(client: Client, method: str) -> None:
    for params in INVALID_PARAMS:
        request = client.start_request(method, params)
        try:
            client.wait_response(request)
        except ResponseError as error:
            assert error.code == -32602, (method, params, error)
            text = str(error)
            assert text.endswith("."), text
            assert "Traceback" not in text
            assert "/" not in re.sub(
                r"(?:promptls|textDocument|workspace)/|file:///[^', ]*", "", text
            )  # no path other than the client's own
        assert client.request("promptls/models")["models"]
        assert len(client.responses[request]) == 1


@pytest.mark.parametrize(
    ("params", "field", "text"),
    [
        ({"message": "  \n"}, "message", "blank"),
        ({}, "message", "missing"),
        ({"message": 5}, "message", "expected `str`, got `int`"),
        ({"message": "x", "variant": "loose"}, "variant", "anti_prior, baseline, citation, strict"),
        ({"message": "x", "profile": "unknown"}, "profile", "default"),
        ({"message": "x", "output": "speech"}, "output", "messages, text"),
        ({"message": None}, "message", "required"),
        ({"message": "x", "budget": {"tokens": "seven"}}, "budget.tokens", "expected `int"),
        ({"message": "x", "budget": {"tokens": 7.5}}, "budget.tokens", "expected `int"),
        ({"message": "x", "budget": {"tokens": 0}}, "budget.tokens", "from 1 to 100,000,000"),
        ({"message": "where is it? " * 9, "budget": {"tokens": 3}}, "message", "budget of 3"),
        ({"message": "@a " * 20_000}, "message", "needs at least"),
        ({"message": "@a " * 2_000_000}, "message", "6,000,000 characters are over the limit of 4,000,000"),
        ({"message": "x", "budget": {"counter": "abacus"}}, "budget.counter", "chars4"),
    ],
)
def test_error_names_the_field_and_the_valid_values(client: Client, params: Json, field: str, text: str) -> None:
    error = request_error(client, "promptls/buildPrompt", params)
    assert error.code == -32602
    assert error.data["field"] == field
    assert text in str(error)


def test_unknown_model_is_a_warning(client: Client) -> None:
    result = client.build("where is the discount?", budget={"model": "frobnicator-9000"})
    assert any("frobnicator-9000" in w for w in result["warnings"])
    assert result["tokens"]["budget"] == client.request("promptls/models")["default"]


def test_every_request_is_also_a_command(client: Client) -> None:
    cases: dict[str, Json] = {
        "promptls/search": {"query": "discount"},
        "promptls/list": {"query": "discount"},
        "promptls/resolveMentions": {"message": "@cart.py and @nothing.here"},
        "promptls/completeMention": {"text": "@ca", "offset": 3},
        "promptls/explainIgnore": {"uri": "file:///elsewhere"},
        "promptls/models": {},
        "promptls/mentionKinds": {},
    }
    for method, params in cases.items():
        command = {"command": method.replace("/", "."), "arguments": [params]}
        assert client.request("workspace/executeCommand", command) == client.request(method, params)
    command = {"command": "promptls.buildPrompt", "arguments": [{"message": "discount", "class": {"_x": 1}}]}
    assert client.request("workspace/executeCommand", command)["prompt"]
    assert (
        request_error(client, "workspace/executeCommand", {"command": "promptls.buildPrompt", "arguments": []}).code
        == -32602
    )
    assert request_error(client, "workspace/executeCommand", {"command": "promptls.fly"}).code == -32602


def test_unknown_methods_and_malformed_messages_are_rejected(client: Client) -> None:
    assert request_error(client, "promptls/fly", {}).code == -32601
    assert request_error(client, "textDocument/didFly", {}).code == -32601
    assert request_error(client, "workspace/executeCommand", {"command": 5}).code == -32602
    client.send([{"jsonrpc": "2.0", "id": "batch", "method": "promptls/status"}])
    client.send({"jsonrpc": "1.0", "id": "old", "method": "promptls/status"})
    assert error_code_of_response(client, "old") == -32600
    client.send_bytes(b"Content-Length: 9\r\n\r\nnot json!")
    client.notify("textDocument/didOpen", {"textDocument": 5})
    client.notify("textDocument/didChange", {})
    client.notify("promptls/status", {})
    client.notify("$/cancelRequest", {"id": 99999})
    assert client.wait_indexed()["state"] == "ready"


def error_code_of_response(client: Client, request: str) -> int:
    with pytest.raises(ResponseError) as caught:
        client.wait_response(request)
    return caught.value.code


def test_json_keys_that_are_not_identifiers_are_accepted(client: Client) -> None:
    history = [{"role": "user", "content": "x", "jsonrpc": "2.0", "method": "exit", "id": 1}]
    result = client.build("discount", context={"history": history, "class": 1, "_private": 2, "9": 3})
    assert result["prompt"]


def test_cancelled_requests_are_answered_once(client: Client) -> None:
    requests = []
    for n in range(30):
        requests.append(client.start_request("promptls/buildPrompt", {"message": f"where is discount number {n}?"}))
        client.notify("$/cancelRequest", {"id": requests[-1]})
    for request in requests:
        try:
            assert client.wait_response(request)["prompt"]
        except ResponseError as error:
            assert error.code == -32800
    assert client.build("where is the discount?")["items"]
    assert all(len(client.responses[request]) == 1 for request in requests)


def test_concurrent_requests_are_all_answered(client: Client) -> None:
    rng = random.Random(1)
    requests = [
        client.start_request(
            *rng.choice(
                [
                    ("promptls/buildPrompt", {"message": "how is the total made?"}),
                    ("promptls/search", {"query": "session cookie"}),
                    ("promptls/status", {}),
                    ("promptls/fly", {}),
                    ("promptls/buildPrompt", {"message": 1}),
                ]
            )
        )
        for _ in range(60)
    ]
    for request in requests:
        try:
            json.dumps(client.wait_response(request))
        except ResponseError as error:
            assert error.code in (-32601, -32602)


def test_explain_ignore_names_the_rule(client: Client) -> None:
    root = Path(client.request("promptls/status")["roots"][0]["uri"].removeprefix("file://"))
    explained = client.request("promptls/explainIgnore", {"uri": (root / "build/generated.py").as_uri()})
    assert explained["indexed"] is False
    assert (explained["rule"], Path(explained["file"]).name, explained["line"]) == ("build/", ".gitignore", 1)
    assert client.request("promptls/explainIgnore", {"uri": (root / "shop/cart.py").as_uri()})["indexed"] is True
