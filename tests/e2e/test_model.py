"""A language model that the user has allowed: it helps to understand the question, and nothing needs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lsp import Client

Start = Callable[..., Client]
QUESTION = "what happens when somebody gets money back?"
ANSWER = {
    "codebase": True,
    "confidence": "high",
    "action": "explain",
    "types": ["explanation"],
    "terms": ["refund", "discount"],
}
OFFERS = {
    "experimental": {"promptls": {"complete": True}},
    "workspace": {"configuration": True, "workspaceFolders": True},
}


def test_the_editors_model_is_asked_and_its_terms_are_searched(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=OFFERS, options={"languageModel": {"use": "editor", "timeoutS": 20}})
    client.replies["promptls/complete"] = {"text": json.dumps(ANSWER)}
    client.settled()
    result = client.build(QUESTION)
    asked = next(m["params"] for m in client.asked if m["method"] == "promptls/complete")
    assert QUESTION in asked["messages"][-1]["content"]
    assert "refund" in " ".join(result["intent"]["terms"])
    assert "A refund is paid out" in result["prompt"]
    assert result["warnings"] == []


def test_without_an_answer_the_prompt_is_built_and_says_so(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=OFFERS, options={"languageModel": {"use": "editor", "timeoutS": 20}})
    client.replies["promptls/complete"] = {"nothing": 1}
    client.settled()
    result = client.build(QUESTION)
    assert len(result["warnings"]) == 1
    assert QUESTION in result["prompt"]


def test_an_editor_that_offers_none_is_not_asked(start: Start, shop: Path) -> None:
    client = start(shop, options={"languageModel": {"use": "editor"}})
    client.settled()
    assert "offers none" in client.build(QUESTION)["warnings"][0]
    assert "promptls/complete" not in [m["method"] for m in client.asked]


def test_a_workspace_cannot_switch_it_on(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=OFFERS)
    client.configuration = {"languageModel": {"use": "editor"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.settled()
    assert client.build(QUESTION)["warnings"] == []
    assert "promptls/complete" not in [m["method"] for m in client.asked]
