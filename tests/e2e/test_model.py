"""Classification of questions by the editor's language model, which is optional."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lsp import Client

Start = Callable[..., Client]
QUESTION = "what happens when customers get money back?"
ANSWER = {
    "codebase": True,
    "confidence": "high",
    "action": "explain",
    "types": ["explanation"],
    "terms": ["refund", "discount"],
}
CAPABILITIES = {
    "experimental": {"promptls": {"complete": True}},
    "workspace": {"configuration": True, "workspaceFolders": True},
}


def test_terms_of_the_editor_model_are_searched(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES, options={"languageModel": {"use": "editor", "timeoutS": 20}})
    client.results_by_method["promptls/complete"] = {"text": json.dumps(ANSWER)}
    client.wait_indexed()
    result = client.build(QUESTION, budget={"fill": "full"})
    sent = next(m["params"] for m in client.server_requests if m["method"] == "promptls/complete")
    assert QUESTION in sent["messages"][-1]["content"]
    assert "refund" in " ".join(result["intent"]["terms"])
    assert "A refund is paid out" in result["prompt"]
    assert result["warnings"] == []


def test_invalid_model_response_is_a_warning(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES, options={"languageModel": {"use": "editor", "timeoutS": 20}})
    client.results_by_method["promptls/complete"] = {"nothing": 1}
    client.wait_indexed()
    result = client.build(QUESTION)
    assert len(result["warnings"]) == 1
    assert QUESTION in result["prompt"]


def test_editor_without_model_gets_no_request(start: Start, shop: Path) -> None:
    client = start(shop, options={"languageModel": {"use": "editor"}})
    client.wait_indexed()
    assert "offers no language model" in client.build(QUESTION)["warnings"][0]
    assert "promptls/complete" not in [m["method"] for m in client.server_requests]


def test_workspace_cannot_enable_the_model(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES)
    client.configuration = {"languageModel": {"use": "editor"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait_indexed()
    assert client.build(QUESTION)["warnings"] == []
    assert "promptls/complete" not in [m["method"] for m in client.server_requests]
