"""The handshake of the MCP server: answered from constants before heavy imports, and equal to the answers of the SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import docs
import pytest

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


def test_sdk_continues_the_session_and_does_not_answer_twice(tmp_path: Path) -> None:
    call = request("c", "tools/call", name="read_code", arguments={"places": "x"})
    command = [sys.executable, "-m", "promptls", "mcp"]
    process = subprocess.Popen(
        command, env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        for line in (initialize(), INITIALIZED, request(1, "tools/list"), call):
            process.stdin.write(f"{line}\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert [one["id"] for one in answers] == [0, 1, "c"]
        assert "is not a project" in answers[2]["result"]["content"][0]["text"]
        process.stdin.write(f"{request(2, 'prompts/list')}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 2


def test_requests_of_the_stateless_protocol_are_served(tmp_path: Path) -> None:
    lines = request(0, "server/discover", _meta=META), request(1, "prompts/list", _meta=META)
    discovered, listed = exchange(tmp_path, *lines)
    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert listed["result"]["prompts"] == []


@pytest.mark.parametrize(
    ("offered", "agreed"), [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2030-01-01", "2025-11-25")]
)
def test_version_of_the_protocol_is_agreed_on(tmp_path: Path, offered: str, agreed: str) -> None:
    (answer,) = exchange(tmp_path, initialize(version=offered))
    assert answer["result"]["protocolVersion"] == agreed


@pytest.mark.parametrize(
    "line",
    [
        request(0, "initialize", protocolVersion="2025-06-18"),
        request(0, "tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}),
        request(0, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
    ],
)
def test_invalid_requests_get_the_error_of_the_sdk(tmp_path: Path, line: str) -> None:
    (answer,) = exchange(tmp_path, line)
    assert answer["error"]["code"] < 0


@pytest.mark.parametrize(
    "line", ["", "no JSON", "[]", "[[", "3", "{}", '{"method": 1, "id": []}', "\x00", "[" * 100_000]
)
def test_lines_that_are_not_messages_are_survived(tmp_path: Path, line: str) -> None:
    answers = exchange(tmp_path, line, initialize(), INITIALIZED, request(1, "tools/list"))
    assert [one["id"] for one in answers if "result" in one] == [0, 1]
