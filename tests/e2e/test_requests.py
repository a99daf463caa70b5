"""Every request gets exactly one response; an error is one sentence without internals."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsp import Client, Json, ResponseError, indexed_client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> object:
    from conftest import SHOP, write_tree

    folder = tmp_path_factory.mktemp("requests")
    with indexed_client(folder / "cache", write_tree(folder / "shop", SHOP)) as client:
        yield client


def request_error(client: Client, method: str, params: object) -> ResponseError:
    with pytest.raises(ResponseError) as caught:
        client.request(method, params)
    return caught.value


@pytest.mark.parametrize(
    ("params", "field", "text"),
    [
        ({"message": "  \n"}, "message", "blank"),
        ({}, "message", "missing"),
        ({"message": "x", "variant": "loose"}, "variant", "anti_prior, baseline, citation, strict"),
        ({"message": "x", "profile": "unknown"}, "profile", "default"),
        ({"message": "x", "output": "speech"}, "output", "messages, text"),
        ({"message": "x", "budget": {"tokens": "seven"}}, "budget.tokens", "expected `int"),
        ({"message": "x", "budget": {"tokens": 0}}, "budget.tokens", "from 1 to 100,000,000"),
        ({"message": "where is it? " * 9, "budget": {"tokens": 3}}, "message", "budget of 3"),
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


def test_explain_ignore_names_the_rule(client: Client) -> None:
    root = Path(client.request("promptls/status")["roots"][0]["uri"].removeprefix("file://"))
    explained = client.request("promptls/explainIgnore", {"uri": (root / "build/generated.py").as_uri()})
    assert explained["indexed"] is False
    assert (explained["rule"], Path(explained["file"]).name, explained["line"]) == ("build/", ".gitignore", 1)
    assert client.request("promptls/explainIgnore", {"uri": (root / "shop/cart.py").as_uri()})["indexed"] is True
