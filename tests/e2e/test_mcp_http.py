"""The MCP server over HTTP on the loopback interface: clients, token, headers, disconnects and shutdown."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest

from conftest import SHOP, write_tree
from mcpkit import connect_http, environment, serve_http

TOKEN = "a-token-of-the-user-0123456789"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Served(NamedTuple):
    process: subprocess.Popen[str]
    url: str
    headers: dict[str, str]
    root: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = write_tree(tmp_path_factory.mktemp("http") / "workspace", SHOP)
    with serve_http(root.parent, "--root", str(root)) as (process, url, header):
        yield Served(process, url, {"Authorization": header}, root)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_both_protocol_generations_are_served(served: Served, mode: str) -> None:
    with connect_http(served.url, served.headers, mode) as client:
        assert [tool.name for tool in client.run("list_tools").tools][:2] == ["search_code", "read_code"]
        assert client.tool("explain_symbol", name="Money").startswith("shop/money.py:")
        assert "Did you mean Cart" in client.tool_error("explain_symbol", name="Kart")


def test_two_clients_are_served_at_once_and_see_their_own_writes(served: Served) -> None:
    def work(worker: int) -> None:
        with connect_http(served.url, served.headers) as client:
            for turn in range(5):
                (served.root / f"client_{worker}.py").write_text(f"def kite_{worker}_{turn}():\n    return {turn}\n")
                text = client.tool("explain_symbol", name=f"kite_{worker}_{turn}")
                # the file that the other client writes may still be unread, which the answer then says first
                assert f"\nclient_{worker}.py:1-2 function kite_{worker}_{turn}\n" in f"\n{text}"

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, range(2)))


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "attacker.example"}, 421),
        ({"Host": "127.0.0.1.attacker.example:{port}"}, 421),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "http://localhost.attacker.example:3000"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_headers_of_strangers_are_refused(served: Served, changed: dict[str, str], status: int) -> None:
    values = {"token": served.headers["Authorization"].split()[1], "port": urlsplit(served.url).port}
    headers = {**served.headers, **{name: value.format(**values) for name, value in changed.items()}}
    response = httpx2.post(served.url, json=INITIALIZE, headers=ACCEPT | headers)
    assert response.status_code == status
    assert "access-control-allow-origin" not in response.headers


def test_no_request_is_answered_without_the_token(served: Served) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        for path in ("", "/", "/other"):
            response = httpx2.request(method, served.url + path, json=INITIALIZE)
            assert response.status_code == 401
            assert "PROMPTLS_MCP_TOKEN" in response.text


def test_token_of_the_environment_is_used_and_not_printed(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with serve_http(tmp_path, "--root", str(root), address="localhost:0", PROMPTLS_MCP_TOKEN=TOKEN) as (_, url, header):
        assert header == "Bearer $PROMPTLS_MCP_TOKEN"
        with connect_http(url, {"Authorization": f"Bearer {TOKEN}"}) as client:
            assert client.tool("explain_symbol", name="Money").startswith("shop/money.py:")


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_server_ends_quietly_when_it_is_interrupted(tmp_path: Path, signal_number: int) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with serve_http(tmp_path, "--root", str(root)) as (process, url, header):
        with connect_http(url, {"Authorization": header}) as client:
            client.tool("search_code", query="cart")
        process.send_signal(signal_number)
        assert process.wait(120) == 128 + signal_number
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("address", "token", "message"),
    [
        ("0.0.0.0:8750", "", "--http needs a loopback address and a port, such as 8750, not '0.0.0.0:8750'."),
        ("70000", "", "--http needs a loopback address"),
        ("{port}", "", "cannot listen on 127.0.0.1:{port}: Address already in use. Choose another port."),
        ("[::1]:0", "too short", "PROMPTLS_MCP_TOKEN needs at least 16 ASCII characters without spaces."),
    ],
)
def test_invalid_addresses_and_tokens_are_one_sentence(
    served: Served, tmp_path: Path, address: str, token: str, message: str
) -> None:
    port = urlsplit(served.url).port
    command = [sys.executable, "-m", "promptls", "mcp", "--http", address.format(port=port)]
    done = subprocess.run(
        command,
        env={**environment(tmp_path), "PROMPTLS_MCP_TOKEN": token},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message.format(port=port) in line
