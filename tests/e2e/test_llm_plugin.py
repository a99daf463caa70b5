"""The plugin of the command-line tool llm, which sends to a local endpoint: fragments (`-f`) and tools (`-T`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatserver import ChatServer, completion, raw, say
from conftest import SHOP, write_tree
from mcpkit import environment
from promptls.api.tools import TOOLS


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("llm") / "workspace", SHOP)


@pytest.fixture
def endpoint(workspace: Path) -> Iterator[ChatServer]:
    with ChatServer([say("It multiplies.")]) as server:
        folder = workspace.parent / "config" / "io.datasette.llm"
        folder.mkdir(parents=True, exist_ok=True)
        models = [
            {
                "model_id": "local",
                "model_name": "m",
                "api_base": server.url,
                "can_stream": False,
                "supports_tools": True,
            }
        ]
        (folder / "extra-openai-models.yaml").write_text(json.dumps(models))  # JSON is YAML
        yield server


def llm(workspace: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder = workspace.parent / "config" / "io.datasette.llm"
    return subprocess.run(
        [sys.executable, "-m", "llm", *arguments],
        env={**environment(workspace.parent), "LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "none"},
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def sent(endpoint: ChatServer) -> str:
    (request,) = endpoint.requests
    messages: list[dict[str, Any]] = request.body["messages"]
    return "\n".join(str(message["content"]) for message in messages)


def test_code_for_a_question_is_sent_with_the_prompt(workspace: Path, endpoint: ChatServer) -> None:
    done = llm(workspace, "-m", "local", "-f", "promptls:how is a discount applied?", "explain in one sentence")
    assert (done.returncode, done.stdout.strip()) == (0, "It multiplies."), done.stderr
    assert "def apply_discount" in sent(endpoint)
    assert "explain in one sentence" in sent(endpoint)
    assert "how is a discount applied?" not in sent(endpoint)


def test_question_without_code_is_reported(workspace: Path, endpoint: ChatServer) -> None:
    done = llm(workspace, "-m", "local", "-f", "promptls:thanks!", "hello")
    assert done.returncode == 0, done.stderr
    assert "promptls: no code in the current folder belongs to the question." in done.stderr


def test_blank_question_is_an_error(workspace: Path, endpoint: ChatServer) -> None:
    done = llm(workspace, "-m", "local", "-f", "promptls: ", "explain")
    assert done.returncode != 0
    assert "message: must not be blank." in done.stderr
    assert not endpoint.requests


def test_llm_lists_the_loader(workspace: Path) -> None:
    listed = llm(workspace, "fragments", "loaders").stdout
    assert listed.startswith("promptls:\n")
    assert "@-mentions" in listed


def test_model_calls_the_tools(workspace: Path, endpoint: ChatServer) -> None:
    calls = [
        ("search_code", {"query": "discount", "paths": "shop/"}),
        ("explain_symbol", {"name": "apply_discount"}),
        ("read_code", {"places": "shop/cart.py#apply_discount"}),
        ("get_context", {"text": "discount"}),
    ]
    functions = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in calls
    ]
    body = json.loads(completion(None))
    body["choices"][0]["message"]["tool_calls"] = functions
    endpoint.actions = [raw(json.dumps(body).encode()), say("It multiplies.")]
    done = llm(workspace, "-m", "local", *(f"-T{name}" for name in TOOLS), "how is a discount applied?")
    assert (done.returncode, done.stdout.strip()) == (0, "It multiplies."), done.stderr
    first, second = (request.body for request in endpoint.requests)
    declared = [tool["function"] for tool in first["tools"]]
    assert [(tool["name"], tool["description"]) for tool in declared] == [
        (t.name, t.description) for t in TOOLS.values()
    ]
    answers = {m["tool_call_id"]: m["content"] for m in second["messages"] if m["role"] == "tool"}
    assert "function apply_discount" in answers["search_code"]
    assert "def apply_discount" in answers["explain_symbol"]
    assert "calls total" in answers["read_code"]
    assert "text: unknown field; valid: question," in answers["get_context"]


def test_command_line_does_not_import_llm() -> None:
    code = (
        "import sys; from promptls.cli.main import argument_parser; argument_parser(); sys.exit('llm' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
