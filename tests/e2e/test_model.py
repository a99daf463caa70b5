"""Selection of code and answers by a language model, which is optional."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lsp import Client, Json, ResponseError, Start

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


ANSWER = "Money goes back through `refund`.\n\n```\nan unclosed fence, and @#Cart.total"
URI = "untitled:Question"


def open_question(client: Client, text: str, version: int = 1) -> None:
    document = {"uri": URI, "languageId": "promptls", "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def applied(text: str, request: Json) -> str:
    """Return a text with the one edit of a `workspace/applyEdit` at its end."""
    (edit,) = request["params"]["edit"]["changes"][URI]
    start, end = edit["range"]["start"], edit["range"]["end"]
    lines = text.split("\n")
    assert end == {"line": len(lines) - 1, "character": len(lines[-1])}
    before = "\n".join([*lines[: start["line"]], lines[start["line"]][: start["character"]]])
    return before + edit["newText"]


def test_answer_is_written_below_its_question_and_is_history_for_the_next_one(start: Start, shop: Path) -> None:
    client = start(shop, capabilities=CAPABILITIES, options={**EDITOR, "retrieval": {"selection": "ranker"}})
    client.results_by_method["promptls/complete"] = {"text": ANSWER}
    client.results_by_method["workspace/applyEdit"] = {"applied": True}
    client.wait_indexed()
    open_question(client, f"{QUESTION}\n")
    titles = [
        lens["command"]["title"] for lens in client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
    ]
    assert "Answer here" in titles
    client.request("workspace/executeCommand", {"command": "promptls.answer", "arguments": [{"uri": URI}]})
    sent = client.wait_server_request("promptls/complete")["params"]["messages"]
    assert sent[-1]["content"].rstrip().endswith(QUESTION)
    text = applied(f"{QUESTION}\n", client.wait_server_request("workspace/applyEdit"))
    assert text.startswith(f"{QUESTION}\n\n<!-- answer: the editor's language model -->\nMoney goes back")
    second = client.build(f"{text}And @#Money?", document=URI, output="messages")
    assert [message["role"] for message in second["messages"]][-3:] == ["user", "assistant", "user"]
    assert ANSWER.split("\n")[0] in second["messages"][-2]["content"]
    assert second["messages"][-1]["content"].endswith("And @#Money?")
    (mention,) = second["mentions"]  # none of the answer
    assert text[: mention["range"]["start"] - 4].endswith("<!-- end of answer -->\n\n")
    again = client.build(text, document=URI)
    assert again["prompt"].rstrip().endswith(QUESTION)


@pytest.mark.parametrize(
    ("options", "response", "problem"),
    [
        ({}, None, "No language model is configured. Set languageModel.use, or send the prompt to a chat."),
        (EDITOR, {"text": " "}, "The language model gave no answer: the editor's language model returned no text."),
    ],
)
def test_answer_that_cannot_be_had_is_one_sentence(
    start: Start, shop: Path, options: Json, response: Json | None, problem: str
) -> None:
    client = start(shop, capabilities=CAPABILITIES, options={**options, "retrieval": {"selection": "ranker"}})
    client.results_by_method["promptls/complete"] = response
    client.wait_indexed()
    open_question(client, QUESTION)
    with pytest.raises(ResponseError, match=re.escape(problem)):
        client.request("promptls/answer", {"uri": URI})
    assert "workspace/applyEdit" not in [m["method"] for m in client.server_requests]
