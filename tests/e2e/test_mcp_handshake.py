"""The handshake of the MCP server: answered from constants before heavy imports, and equal to the answers of the SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docs
import pytest

from conftest import write_tree
from mcpkit import environment
from promptls.mcp.handshake import ANSWERS

CLIENT = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(number: int | str, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def initialize(number: int | str = 0, version: str = "2025-06-18") -> str:
    return request(number, "initialize", protocolVersion=version, **CLIENT)


INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})


def exchange(home: Path, *lines: str) -> list[dict[str, Any]]:
    """Send lines to a server that has no workspace; return its messages."""
    command = [sys.executable, "-m", "promptls", "mcp"]
    done = subprocess.run(
        command,
        env=environment(home),
        cwd=home,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_constants_are_the_answers_of_the_sdk() -> None:
    assert ANSWERS.read_text("utf-8") == docs.handshake_answers()


@pytest.mark.parametrize(
    "lines",
    [
        (initialize(), INITIALIZED, request(1, "tools/list")),
        (request(0, "server/discover", _meta=META), request(1, "tools/list", _meta=META)),
    ],
)
def test_handshake_is_answered_by_the_standard_library_alone(lines: tuple[str, ...], tmp_path: Path) -> None:
    code = (
        "import sys; from promptls.cli.main import argument_parser; "
        "options = argument_parser().parse_args(['mcp']); options.begin(options); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names), file=sys.stderr); "
        "print('promptls.settings' in sys.modules, 'promptls.engine' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**environment(tmp_path), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        cwd=tmp_path,
        input="\n".join([*lines, ""]),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules, *rest = done.stderr.splitlines()
    assert modules == "['__main__', 'promptls']"
    assert rest == ["False False"]
    first, second = map(json.loads, done.stdout.splitlines())
    assert [first["id"], second["id"]] == [0, 1]
    assert "instructions" in first["result"]
    assert len(second["result"]["tools"]) == 4


class Session:
    """A raw connection to a server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, *lines: str) -> None:
        assert self._process.stdin is not None
        for line in lines:
            self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@contextmanager
def session(home: Path, cwd: Path) -> Iterator[Session]:
    command = [sys.executable, "-m", "promptls", "mcp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(home), cwd=cwd, text=True, **pipes) as process:  # type: ignore[call-overload]
        yield Session(process)
        process.stdin.close()


def test_sdk_continues_the_session_and_does_not_answer_twice(tmp_path: Path) -> None:
    call = request("c", "tools/call", name="read_code", arguments={"places": "x"})
    with session(tmp_path, tmp_path) as server:
        server.send(initialize(), INITIALIZED, request(1, "tools/list"), call)
        answers = [server.receive() for _ in range(3)]
        assert [one["id"] for one in answers] == [0, 1, "c"]
        assert "is not a project" in answers[2]["result"]["content"][0]["text"]
        server.send(request(2, "prompts/list"))
        assert server.receive()["id"] == 2


def test_recipes_of_the_workspace_are_announced(tmp_path: Path) -> None:
    recipe = '+++\ntitle = "Shipping"\ndescription = "Explain shipping."\nversion = "1.0"\n+++\nExplain shipping.\n'
    root = write_tree(tmp_path / "workspace", f"-- .promptls/recipes/shipping.md --\n{recipe}")
    with session(tmp_path, root) as server:
        server.send(initialize(), INITIALIZED, request(1, "tools/list"), request(2, "prompts/list"))
        answers = [server.receive() for _ in range(4)]
        names = [prompt["name"] for prompt in answers[2]["result"]["prompts"]]
        assert names == sorted(names)
        assert "shipping" not in names
        assert answers[3] == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
        server.send(request(3, "prompts/list"))
        assert "shipping" in [prompt["name"] for prompt in server.receive()["result"]["prompts"]]


@pytest.mark.parametrize(
    ("offered", "agreed"), [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2030-01-01", "2025-11-25")]
)
def test_version_of_the_protocol_is_agreed_on(tmp_path: Path, offered: str, agreed: str) -> None:
    (answer,) = exchange(tmp_path, initialize(version=offered))
    assert answer["result"]["protocolVersion"] == agreed


@pytest.mark.parametrize("line", ["", "no JSON", "[]", '{"method": 1, "id": []}', "[" * 100_000])
def test_lines_that_are_not_messages_are_survived(tmp_path: Path, line: str) -> None:
    answers = exchange(tmp_path, line, initialize(), INITIALIZED, request(1, "tools/list"))
    assert [one["id"] for one in answers if "result" in one] == [0, 1]
