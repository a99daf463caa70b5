"""No network access: in a network namespace without interfaces, the kernel counts attempts of all processes.

`OutNoRoutes` of /proc/PID/net/snmp counts connections and datagrams without a route, including DNS queries; loopback
is down as well. A Python audit hook also records IPv6 attempts. Some libraries cache usage data for later upload:
servers run with their own home folder, and only files of promptls may remain in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import request_fields
from conftest import git, make_shop
from lsp import Client, ResponseError
from promptls.mentions.registry import BUILT_IN

UNSHARE = ["unshare", "-n"]
AUDIT_HOOK = """
import sys

def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open({log!r}, "a") as stream:
            stream.write(f"{{event}} {{arguments!r}}\\n")

sys.addaudithook(guard)
"""
CONNECT_SCRIPT = """
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for address in (("192.0.2.1", 53), ("127.0.0.1", 9)):
        try:
            socket.socket(socket.AF_INET, kind).connect(address)
        except OSError:
            pass
print(open("/proc/self/net/snmp").read())
"""


def attempt_count(snmp: str) -> int:
    names, values = (line.split()[1:] for line in snmp.splitlines() if line.startswith("Ip:"))
    counters = dict(zip(names, map(int, values), strict=True))
    return counters["OutRequests"] + counters["OutNoRoutes"]


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    result = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True)
    if result.returncode:
        pytest.skip(f"cannot create a network namespace: {result.stderr.strip()}")


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Callable[..., tuple[Client, Path]]]:
    """Return a function that starts a server in its own network namespace and returns it with the log of the hook."""
    log = tmp_path / "attempts"
    (tmp_path / "site").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(AUDIT_HOOK.format(log=str(log)))
    root = make_shop(tmp_path / "shop")
    git(root, "commit", "--allow-empty", "-qm", "see https://192.0.2.1/x")
    git(root, "remote", "add", "origin", "https://192.0.2.1/x.git")
    git(root, "config", "remote.origin.promisor", "true")  # a partial clone, which fetches missing objects
    git(root, "config", "extensions.partialClone", "origin")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "site")}
    # without variables such as CI that reveal a test
    clean_env = [
        "env",
        "-i",
        *(f"{name}={value}" for name, value in environment.items()),
    ]
    client = Client(
        tmp_path / "home" / "none", command=[*clean_env, *UNSHARE, sys.executable, "-m", "promptls", "serve"]
    )

    def run(**options: object) -> tuple[Client, Path]:
        client.initialize(root, **options)
        return client, log

    yield run
    client.kill()


def kernel_attempts(client: Client) -> int:
    """Return the attempts that the kernel counted in the namespace of the server."""
    server_namespace, own_namespace = (
        Path(f"/proc/{process}/ns/net").readlink() for process in (client.process.pid, "self")
    )
    assert server_namespace != own_namespace
    return attempt_count(Path(f"/proc/{client.process.pid}/net/snmp").read_text())


def test_connection_attempts_are_counted() -> None:
    """Control for the tests below: attempts are counted."""
    result = subprocess.run(
        [*UNSHARE, sys.executable, "-c", CONNECT_SCRIPT], capture_output=True, text=True, check=True
    )
    assert attempt_count(result.stdout) == 4


def test_connection_to_configured_endpoint_is_counted(offline: Callable[..., tuple[Client, Path]]) -> None:
    """Control for the next test: the configured endpoint is the only permitted connection."""
    model = {"use": "endpoint", "endpoint": "http://192.0.2.1/v1", "model": "m", "timeoutS": 20}
    client, log = offline(options={"languageModel": model})
    client.wait_indexed()  # a model is asked only about regions that were found
    assert client.build("How is a discount applied?")["prompt"]
    assert kernel_attempts(client) > 0 and "192.0.2.1" in log.read_text()


def test_requests_make_no_connection_attempts(offline: Callable[..., tuple[Client, Path]]) -> None:
    client, log = offline()
    assert client.wait_indexed()["state"] == "ready"
    mentions = [f'@{k.name}:"cart"' if k.argument != "none" else f"@{k.name}" for k in BUILT_IN]
    profiles = [p["name"] for p in client.request("promptls/profiles")["profiles"]]
    for message in ("How is a discount applied? See https://192.0.2.1/issue/7", " ".join(mentions)):
        for profile in profiles:
            assert client.build(message, profile=profile, budget={"tokens": 20_000, "model": "gpt-4o"})["prompt"]
    refused = 0
    for method, params in request_fields.example_requests().items():
        for variant in (params, {**params, "message": "cart", "query": "cart", "action": "list", "symbol": None}):
            try:
                client.request(method, variant)
                command = {"command": method.replace("/", "."), "arguments": [variant]}
                client.request("workspace/executeCommand", command)
            except ResponseError as error:
                assert error.code == -32602
                refused += 1
    assert refused < 2 * len(request_fields.example_requests()) + 20
    for counter in ("auto", "o200k_base", "cl100k_base", "estimate", "chars4"):
        client.build("cart", budget={"tokens": 4000, "counter": counter})
    assert client.build("@commit:0123456789abcdef0123456789abcdef01234567")["mentions"][0]["status"] == "unresolved"
    assert kernel_attempts(client) == 0
    assert not log.exists(), log.read_text()
    client.stop()
    home = log.parent / "home"
    files = {file.relative_to(home).as_posix() for file in home.rglob("*") if file.is_file()}
    assert files
    assert not [name for name in files if "/promptls/" not in name and not name.startswith("stderr-")]
