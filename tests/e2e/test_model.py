"""Selection of code by the editor's language model, which is optional."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lsp import Start

QUESTION = "what happens when customers get money back?"
CAPABILITIES = {
    "experimental": {"promptls": {"complete": True}},
    "workspace": {"configuration": True, "workspaceFolders": True},
}
EDITOR = {"languageModel": {"use": "editor", "timeoutS": 20}}


def test_model_of_the_editor_chooses_the_code(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES, options=EDITOR)
    client.results_by_method["promptls/complete"] = {"text": json.dumps({"regions": [1]})}
    client.wait_indexed()
    result = client.build(QUESTION)
    sent = next(m["params"] for m in client.server_requests if m["method"] == "promptls/complete")
    assert QUESTION in sent["messages"][-1]["content"]
    [chosen] = [item for item in result["items"] if item["origin"] == "model"]
    listed = re.search(r"^(\S+)\n1 (\d+)-(\d+)", sent["messages"][-1]["content"], re.M)
    assert listed is not None and chosen["path"].endswith(listed[1])
    assert chosen["range"]["start"]["line"] < int(listed[2]) <= int(listed[3]) <= chosen["range"]["end"]["line"]
    assert result["selection"]["chosen"] == 1
    assert result["warnings"] == []
    count = len(client.server_requests)
    assert "selection" not in client.build(QUESTION, selection="ranker")
    assert [m["method"] for m in client.server_requests[count:]].count("promptls/complete") == 0


def test_invalid_model_response_is_a_warning(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES, options=EDITOR)
    client.results_by_method["promptls/complete"] = {"nothing": 1}
    client.wait_indexed()
    result = client.build(QUESTION)
    assert len(result["warnings"]) == 1
    assert QUESTION in result["prompt"]


def test_workspace_cannot_enable_the_model(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES)
    client.configuration = {"languageModel": {"use": "editor"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait_indexed()
    assert client.build(QUESTION)["warnings"] == []
    assert "promptls/complete" not in [m["method"] for m in client.server_requests]
