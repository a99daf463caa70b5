"""Agents and the shell on the engine of an editor's server: unsaved text, several editors, and the end of a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import mcpkit
from lsp import Client, Start
from processes import children, command_of, until

CART = "shop/cart.py"
UNSAVED = "shop/cart.py: unsaved in the editor."

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(tmp_path: Path, shop: Path) -> Shell:
    """Return a function that runs a command in the workspace."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "promptls", *arguments]
        return subprocess.run(
            command,
            cwd=shop,
            env=mcpkit.environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def open_with(client: Client, file: Path, added: str) -> None:
    """Open a file and append unsaved text."""
    client.open(file, file.read_text())
    edit(client, file, 2, f"{file.read_text()}{added}")


def edit(client: Client, file: Path, version: int, text: str) -> None:
    """Change an open document, and wait until the server has received it."""
    client.replace(file, version, text)
    client.request("promptls/mentionKinds")


def attached() -> bool:
    """Return whether the only agent's server has no engine, and so no worker process."""
    servers = [pid for pid in children(os.getpid()) if " promptls mcp" in command_of(pid)]
    assert len(servers) == 1
    return not children(servers[0])


def test_agents_and_the_shell_see_unsaved_text_and_name_its_file(
    start: Start, shell: Shell, shop: Path, tmp_path: Path
) -> None:
    editor = start(shop)
    editor.wait_indexed()
    with mcpkit.connect(tmp_path, cwd=shop) as agent:
        assert UNSAVED not in agent.tool("search_code", query="price of the cart")
        open_with(editor, shop / CART, "\n\ndef wrap_gift(cart):\n    return cart\n")
        assert attached()
        found = agent.tool("search_code", query="wrap gift")
        assert found.startswith(UNSAVED)
        assert "function wrap_gift" in found
        assert "def wrap_gift" in agent.tool("read_code", places=["#wrap_gift"])
        assert UNSAVED in agent.tool("explain_symbol", name="wrap_gift")
        assert UNSAVED in agent.tool("get_context", question="how are gifts wrapped?")
        assert UNSAVED not in agent.tool("read_code", places=["shop/money.py"])
    listed = shell("list", "wrap gift")
    assert "function wrap_gift" in listed.stdout
    assert UNSAVED in listed.stderr
    assert "def wrap_gift" in shell("prompt", "how are gifts wrapped? @#wrap_gift").stdout
    edit(editor, shop / CART, 3, (shop / CART).read_text())
    assert UNSAVED not in shell("read", CART).stderr


def test_saved_option_ignores_editors(start: Start, shop: Path, tmp_path: Path) -> None:
    editor = start(shop)
    editor.wait_indexed()
    open_with(editor, shop / CART, "\n\ndef wrap_gift(cart):\n    return cart\n")
    with mcpkit.connect(tmp_path, "--saved", cwd=shop) as agent:
        assert "wrap_gift" not in agent.tool("search_code", query="wrap gift cart")
        assert not attached()


def test_errors_of_requests_are_those_without_a_server(start: Start, shell: Shell, shop: Path) -> None:
    alone = shell("read", ""), shell("explain", "no_such_name"), shell("list", " ")
    start(shop).wait_indexed()
    with_server = shell("read", ""), shell("explain", "no_such_name"), shell("list", " ")
    assert [(one.returncode, one.stdout, one.stderr) for one in with_server] == [
        (one.returncode, one.stdout, one.stderr) for one in alone
    ]


def test_agent_fails_over_to_its_own_engine_and_back(start: Start, shop: Path, tmp_path: Path) -> None:
    editor = start(shop)
    editor.wait_indexed()
    with mcpkit.connect(tmp_path, cwd=shop) as agent:
        agent.tool("search_code", query="discount")
        assert attached()
        os.kill(editor.process.pid, signal.SIGKILL)
        assert "apply_discount" in agent.tool("search_code", query="discount")
        assert not attached()
        other = start(shop)
        other.wait_indexed()
        open_with(other, shop / CART, "\n\ndef wrap_gift(cart):\n    return cart\n")
        until(lambda: "wrap_gift" in agent.tool("search_code", query="wrap gift"), "the agent does not see the editor")
        assert attached()


def test_call_is_answered_when_its_server_is_killed(start: Start, shop: Path, tmp_path: Path) -> None:
    editor = start(shop)
    editor.wait_indexed()
    with mcpkit.connect(tmp_path, cwd=shop) as agent:
        agent.tool("search_code", query="discount")
        os.kill(editor.process.pid, signal.SIGSTOP)  # it has received the call, and never answers
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {editor.process.pid}"])
        assert "apply_discount" in agent.tool("search_code", query="discount")
        assert killer.wait() == 0


def test_each_editor_sees_its_own_text_and_agents_the_newest(
    start: Start, shell: Shell, shop: Path, tmp_path: Path
) -> None:
    first, second = start(shop), start(shop)
    for editor in (first, second):
        editor.wait_indexed()
    open_with(first, shop / CART, "\n\ndef wrapped_by_first(cart):\n    return cart\n")
    open_with(second, shop / "shop/money.py", "\n\ndef printed_by_second(money):\n    return money\n")
    with mcpkit.connect(tmp_path, cwd=shop) as agent:
        for name in ("wrapped_by_first", "printed_by_second"):
            assert f"function {name}" in agent.tool("search_code", query=name)
            assert f"function {name}" in shell("list", name).stdout
        assert "def printed_by_second" in second.build("@#printed_by_second")["prompt"]
        assert first.build("@#printed_by_second")["mentions"][0]["status"] == "unresolved"
        assert second.build("@#wrapped_by_first")["mentions"][0]["status"] == "unresolved"
        assert "printed_by_second" not in first.build("@shop/money.py")["prompt"].replace("@#printed_by_second", "")

        os.kill(first.process.pid, signal.SIGSTOP)  # as if it were too busy to answer
        assert "wrapped_by_first" in agent.tool("read_code", places=[CART])
        os.kill(first.process.pid, signal.SIGCONT)
        edit(first, shop / CART, 3, "def wrapped_by_first_again(cart):\n    return cart\n")
        assert "wrapped_by_first_again" in agent.tool("read_code", places=[CART])

        second.open(shop / CART, (shop / CART).read_text())
        time.sleep(0.01)  # the clock of the edits
        edit(second, shop / CART, 2, "def newest_text(cart):\n    return cart\n")
        text = agent.tool("read_code", places=[CART])
        assert "newest_text" in text
        assert "wrapped_by_first" not in text
        assert "wrapped_by_first" in first.build(f"@{CART}")["prompt"]
        second.kill()
        assert "wrapped_by_first" in agent.tool("read_code", places=[CART])
        assert "printed_by_second" not in agent.tool("search_code", query="printed by second")


def test_changed_folders_end_the_session(start: Start, shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pay.py").write_text("def pay_invoice(amount):\n    return amount\n")
    editor = start(shop)
    editor.wait_indexed()
    with mcpkit.connect(tmp_path, cwd=shop) as agent:
        assert "shop/" in agent.tool("search_code", query="discount")
        editor.folders_changed([(other, "other")])
        editor.wait_indexed()
        found = agent.tool("search_code", query="pay invoice or discount")
        assert "pay_invoice" not in found
        assert "shop-root:" not in found
