"""The MCP server beside the language server on one workspace: latency and memory.

The MCP server uses the engine of the language server.  Both get the same question in turns, so that the load of the
machine affects both alike.  The client of each writes and reads lines of JSON alone.  Ratios compare a tool with the
request of the language server that does the same.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import driven
from lsp import Client

BUDGET = 8000
"""Tokens of a context, the default of the tool."""
WARM_UP = 10
"""Number of questions before the measured ones."""
IDLE_S = 40.0
"""Seconds after which processes that are idle have ended."""

FILE = Path(__file__).parents[1] / "evaluation" / "data" / "agents_speed.md"
"""Tables of the documentation."""

Json = dict[str, Any]


class Latency(Struct, frozen=True):
    """Wall-clock times (median, 95th percentile) of one operation by both servers, in seconds."""

    tool: tuple[float, float]
    request: tuple[float, float]


class Figures(Struct, frozen=True):
    """Results for one workspace."""

    files: int
    latency: dict[str, Latency]  # by tool
    memory: dict[str, float]  # megabytes of all processes, by what runs


class McpProcess:
    """A process of `promptls mcp` and a connection without the checks of a client library."""

    def __init__(self, home: Path, root: Path) -> None:
        environment = {
            **os.environ,
            "PROMPTLS_CACHE": str(home / "cache"),
            "PROMPTLS_DATA": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
        }
        command = [sys.executable, "-m", "promptls", "mcp", "--root", str(root)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._ids = itertools.count()
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._request("initialize", client)
        self._send({"method": "notifications/initialized"})

    def tool(self, name: str, **arguments: Any) -> Json:
        """Call a tool; return its result."""
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    def stop(self) -> None:
        """Close the connection, and wait until the server ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)

    def _request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        assert self.process.stdout is not None
        while (message := json.loads(self.process.stdout.readline())).get("id") != number:
            pass
        assert "result" in message, message
        result: Json = message["result"]
        return result

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def measure(root: Path) -> Figures:
    """Measure one folder with both servers on one store."""
    texts = driven.texts_of(root)
    files, questions = len(texts), driven.questions_in(texts.values())
    texts.clear()  # frees the memory for the servers
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        editor = _open_language_server(home, root)  # builds the index
        editor.stop()
        editor = _open_language_server(home, root, questions)
        memory["language server alone"] = _idle_memory(editor.process.pid)
        editor.stop()
        agent = McpProcess(home, root)
        for question in questions[:WARM_UP]:
            agent.tool("search_code", query=question)
            agent.tool("get_context", question=question)
        memory["MCP server alone"] = _idle_memory(agent.process.pid)
        agent.stop()
        editor = _open_language_server(home, root, questions)
        agent = McpProcess(home, root)
        agent.tool("search_code", query=questions[0])
        memory["both"] = _idle_memory(editor.process.pid, agent.process.pid)
        latency = {
            "search_code": _compare(
                lambda question: agent.tool("search_code", query=question),
                lambda question: _search_request(editor, question),
                questions,
            ),
            "get_context": _compare(
                lambda question: agent.tool("get_context", question=question, budget_tokens=BUDGET),
                lambda question: _context_request(editor, question),
                questions,
            ),
        }
        agent.stop()
        editor.stop()
    return Figures(files, latency, memory)


def _open_language_server(home: Path, root: Path, questions: Sequence[str] = ()) -> Client:
    """Start a language server; it has answered the first questions."""
    client = Client(home / "cache")
    client.initialize(root)
    client.wait_indexed(timeout=driven.WAIT_S)
    for question in questions[:WARM_UP]:
        _search_request(client, question)
        _context_request(client, question)
    return client


def _search_request(editor: Client, question: str) -> None:
    editor.request("promptls/list", {"query": question, "budget": {"tokens": 1_900}}, driven.WAIT_S)


def _context_request(editor: Client, question: str) -> None:
    sections = {"instructions": False, "rules": False}  # as the tool
    editor.build(question, budget={"tokens": BUDGET}, output="context", sections=sections)


def _compare(tool: Callable[[str], object], request: Callable[[str], object], questions: Sequence[str]) -> Latency:
    """Return the times of a tool and of a request, called in turns; every second question in the other order."""
    for question in questions[:WARM_UP]:
        tool(question)
        request(question)
    times: dict[Callable[[str], object], list[float]] = {tool: [], request: []}
    for number, question in enumerate(questions):
        for call in (tool, request) if number % 2 else (request, tool):
            start = time.perf_counter()
            call(question)
            times[call].append(time.perf_counter() - start)
    return Latency(driven.two(times[tool]), driven.two(times[request]))


def _idle_memory(*pids: int) -> float:
    threading.Event().wait(IDLE_S)
    return sum(map(driven.resident, pids))


def write(figures: Figures) -> None:
    """Write the tables for the documentation."""
    FILE.write_text(table(figures) + "\n", encoding="utf-8")


def table(figures: Figures) -> str:
    """Return the figures as Markdown tables."""
    lines = [
        f"| {figures.files:,} files | median | of the language server | ratio | ratio of the 95th percentiles |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, one in figures.latency.items():
        ratios = (one.tool[0] / one.request[0], one.tool[1] / one.request[1])
        cells = [
            f"`{name}`",
            f"{1000 * one.tool[0]:.0f} ms",
            f"{1000 * one.request[0]:.0f} ms",
            *(f"{ratio:.2f}" for ratio in ratios),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| running | memory of all processes, idle |", "| --- | --- |"]
    lines += [f"| {name} | {value:.0f} MB |" for name, value in figures.memory.items()]
    return "\n".join(lines)
