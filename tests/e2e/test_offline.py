"""Offline use: indexing and building prompts make no network access."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lsp import Client

GUARD = """
import sys

def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open({log!r}, "a") as stream:
            stream.write(f"{{event}} {{arguments!r}}\\n")
        raise OSError("the network is blocked in this test")

sys.addaudithook(guard)
"""


def test_index_and_prompt_without_network_access(start: Callable[..., Client], shop: Path, tmp_path: Path) -> None:
    log = tmp_path / "attempts"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(GUARD.format(log=str(log)))
    client = start(shop, env={"PYTHONPATH": str(tmp_path / "site")})
    status = client.wait_indexed()
    assert status["state"] == "ready"
    result = client.build("how is the discount computed? @shop/cart.py @#Money.times")
    assert {m["status"] for m in result["mentions"]} == {"included"}
    assert "semantic" in client.search("price reduction")[0]["reasons"]
    client.stop()
    assert not log.exists(), log.read_text()


def test_guard_blocks_network_access(start: Callable[..., Client], tmp_path: Path) -> None:
    """Without a working guard the test above could not fail."""
    import subprocess
    import sys

    log = tmp_path / "attempts"
    (tmp_path / "sitecustomize.py").write_text(GUARD.format(log=str(log)))
    code = "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert "the network is blocked" in done.stderr
    assert log.exists()
