"""No network: in a namespace without interfaces the kernel counts every attempt, of every process and library.

`OutNoRoutes` of /proc/<pid>/net/snmp grows with each connect and each datagram (a question to a name server is one)
that finds no way out; loopback is down as well.  What Python itself tries is counted by an audit hook besides,
which sees IPv6 too.  Some libraries report on their users later, at home only, and keep what to report in a cache:
servers run as at home here, and what lies in the home folder afterwards is ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fields
import pytest

from conftest import git, make_shop
from lsp import Client, ResponseError
from promptls.mentions.registry import BUILT_IN

UNSHARE = ["unshare", "-n"]
GUARD = """
import sys

def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open({log!r}, "a") as stream:
            stream.write(f"{{event}} {{arguments!r}}\\n")

sys.addaudithook(guard)
"""
KNOCK = """
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for address in (("192.0.2.1", 53), ("127.0.0.1", 9)):
        try:
            socket.socket(socket.AF_INET, kind).connect(address)
        except OSError:
            pass
print(open("/proc/self/net/snmp").read())
"""


def attempts(snmp: str) -> int:
    names, values = (line.split()[1:] for line in snmp.splitlines() if line.startswith("Ip:"))
    told = dict(zip(names, map(int, values), strict=True))
    return told["OutRequests"] + told["OutNoRoutes"]


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Callable[..., tuple[Client, Path]]]:
    """Starts a server on the shop in a namespace of its own; the file that the hook writes comes along."""
    log = tmp_path / "attempts"
    (tmp_path / "site").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(GUARD.format(log=str(log)))
    root = make_shop(tmp_path / "shop")
    git(root, "commit", "--allow-empty", "-qm", "see https://192.0.2.1/x")
    git(root, "remote", "add", "origin", "https://192.0.2.1/x.git")
    git(root, "config", "remote.origin.promisor", "true")  # a partial clone, which fetches what it lacks
    git(root, "config", "extensions.partialClone", "origin")
    said = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "site")}
    alone = ["env", "-i", *(f"{name}={value}" for name, value in said.items())]  # nothing tells of tests, as "CI" would
    client = Client(tmp_path / "home" / "none", command=[*alone, *UNSHARE, sys.executable, "-m", "promptls", "serve"])

    def run(**options: object) -> tuple[Client, Path]:
        client.initialize(root, **options)
        return client, log

    yield run
    client.kill()


def tried(client: Client) -> int:
    """What the kernel has counted in the server's namespace."""
    its, ours = (Path(f"/proc/{who}/ns/net").readlink() for who in (client.process.pid, "self"))
    assert its != ours
    return attempts(Path(f"/proc/{client.process.pid}/net/snmp").read_text())


def test_the_counter_counts() -> None:
    """Else the test below could not fail."""
    done = subprocess.run([*UNSHARE, sys.executable, "-c", KNOCK], capture_output=True, text=True, check=True)
    assert attempts(done.stdout) == 4


def test_what_the_user_has_asked_for_is_counted(offline: Callable[..., tuple[Client, Path]]) -> None:
    """The one way out there is; else the next test could pass because nothing can be seen."""
    model = {"use": "endpoint", "endpoint": "http://192.0.2.1/v1", "model": "m", "timeoutS": 20}
    client, log = offline(options={"languageModel": model})
    assert client.build("How is a discount applied?")["prompt"]
    assert tried(client) > 0 and "192.0.2.1" in log.read_text()


def test_nothing_that_can_be_asked_needs_or_tries_a_network(offline: Callable[..., tuple[Client, Path]]) -> None:
    client, log = offline()
    assert client.wait_indexed()["state"] == "ready"
    mentions = [f'@{k.name}:"cart"' if k.argument != "none" else f"@{k.name}" for k in BUILT_IN]
    profiles = [p["name"] for p in client.request("promptls/profiles")["profiles"]]
    for message in ("How is a discount applied? See https://192.0.2.1/issue/7", " ".join(mentions)):
        for profile in profiles:
            assert client.build(message, profile=profile, budget={"tokens": 20_000, "model": "gpt-4o"})["prompt"]
    refused = 0
    for method, params in fields.requests().items():
        for given in (params, {**params, "message": "cart", "query": "cart", "action": "list", "symbol": None}):
            try:
                client.request(method, given)
                command = {"command": method.replace("/", "."), "arguments": [given]}
                client.request("workspace/executeCommand", command)
            except ResponseError as error:
                assert error.code == -32602
                refused += 1
    assert refused < 2 * len(fields.requests()) + 20
    for counter in ("auto", "o200k_base", "cl100k_base", "estimate", "chars4"):
        client.build("cart", budget={"tokens": 4000, "counter": counter})
    assert client.build("@commit:0123456789abcdef0123456789abcdef01234567")["mentions"][0]["status"] == "unresolved"
    assert tried(client) == 0
    assert not log.exists(), log.read_text()
    client.stop()
    home = log.parent / "home"
    kept = {file.relative_to(home).as_posix() for file in home.rglob("*") if file.is_file()}
    assert kept
    assert not [name for name in kept if "/promptls/" not in name and not name.startswith("stderr-")]
