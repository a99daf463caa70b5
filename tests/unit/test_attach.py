"""Access to the socket of a language server, and the search for running servers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Client, address_type
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from promptls.attach.client import MCP, REQUESTS, attach
from promptls.attach.listener import AttachListener
from promptls.attach.registry import ServerRecord, find_servers, pipe_name, publish
from promptls.engine import Engine
from promptls.index import Workspace
from promptls.model import Root
from promptls.settings import Settings

ROOT = "/shop"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runtime folder of the user."""
    monkeypatch.setenv("PROMPTLS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no-temporary-folder"))
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="run-"))  # a socket needs a short path
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def listener() -> Iterator[AttachListener]:
    """A listener of an engine that never starts."""
    workspace = Workspace()
    workspace.set_roots([Root(ROOT, "shop", f"file://{ROOT}")])
    engine = Engine(Settings(), workspace)
    listener = AttachListener(engine, {})
    yield listener
    listener.close()
    engine.close()


def only_server() -> ServerRecord:
    (record,) = find_servers([ROOT])
    return record


def is_served() -> bool:
    """Return whether a request is answered."""
    attached = attach([ROOT], REQUESTS)
    if attached is None:
        return False
    answer = attached.request("promptls/status", {})
    attached.close()
    return bool(answer.result["roots"] == [] and answer.unsaved == [])


def test_request_is_answered_until_the_listener_is_closed(folder: Path, listener: AttachListener) -> None:
    assert not is_served()
    listener.serve()
    assert is_served()
    assert is_served()
    listener.close()
    assert not is_served()
    assert [*folder.rglob("*.*")] == []


def test_only_the_same_folders_and_offered_sessions_are_served(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    assert attach([ROOT, "/other"], REQUESTS) is None
    assert attach([f"{ROOT}/src"], REQUESTS) is None
    assert attach([ROOT], MCP) is None


@pytest.mark.skipif(os.name == "nt", reason="access rights of Unix")
def test_only_the_user_can_read_the_files(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in (folder / "promptls", *folder.rglob("*.*"))}
    assert modes == {"": 0o700, ".json": 0o600, ".sock": 0o600}


def test_wrong_token_is_refused(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    record = only_server()
    publish(replace(record, token="0" * 64))
    assert not is_served()
    publish(record)
    assert is_served()


def test_connection_that_sends_something_else_does_not_disturb_others(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    with Client(only_server().address) as silent, Client(only_server().address) as loud:
        loud.send_bytes(b"GET / HTTP/1.1")
        assert is_served()
        assert not silent.closed


def test_server_of_another_version_is_not_used(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    publish(replace(only_server(), version="0.0.1"))
    assert not is_served()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 10_000, b"0" * 200_000])
def test_file_that_is_no_record_is_ignored(folder: Path, listener: AttachListener, content: bytes) -> None:
    listener.serve()
    record = Path(only_server().file)
    other = record.with_name(f"{record.name.partition('-')[0]}-000000000000.json")
    other.write_bytes(content)
    assert is_served()


def test_files_of_a_killed_server_are_removed(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    record = only_server()
    name = record.file.replace(".json", "x.json")
    publish(replace(record, file=name, address=record.address.replace(".sock", "x.sock")))
    assert len([*find_servers([ROOT])]) == 2
    assert is_served()
    assert is_served()
    assert [one.file for one in find_servers([ROOT])] == [record.file]


@pytest.mark.skipif(os.name == "nt", reason="access rights of Unix")
@pytest.mark.parametrize("problem", ["readable by others", "link", "too long", "missing"])
def test_unsuitable_runtime_folder_is_not_used(
    folder: Path, listener: AttachListener, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    temporary = Path(tempfile.mkdtemp(dir="/tmp", prefix="tmp-"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    if problem == "readable by others":
        (folder / "promptls").mkdir()
        (folder / "promptls").chmod(0o755)
    elif problem == "link":
        (folder / "other").mkdir(mode=0o700)
        (folder / "promptls").symlink_to(folder / "other")
    else:
        long = folder / ("x" * 100)
        if problem == "too long":
            long.mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    listener.serve()
    assert Path(only_server().file).parent == temporary / f"promptls-{os.getuid()}"
    assert is_served()


def test_without_any_folder_the_server_does_not_listen(
    folder: Path, listener: AttachListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "missing"))
    listener.serve()
    assert not is_served()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="needs root to become another user")
def test_process_of_another_user_is_refused(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    record = only_server()
    for path, mode in ((folder, 0o755), (folder / "promptls", 0o755), (Path(record.address), 0o666)):
        path.chmod(mode)
    code = (
        "import hashlib, hmac, os, sys\n"
        "from multiprocessing.connection import Client, answer_challenge\n"
        "os.setuid(65534)\n"
        "connection = Client(sys.argv[1])\n"
        "answer_challenge(connection, sys.argv[2].encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, record.address, record.token], capture_output=True, text=True, check=False
    )
    assert "EOFError" in done.stderr or "ConnectionResetError" in done.stderr
    (folder / "promptls").chmod(0o700)
    assert is_served()


def test_address_on_windows_is_a_named_pipe() -> None:
    assert address_type(pipe_name("0a1b-2c3d")) == "AF_PIPE"


def test_records_of_other_versions_may_have_other_fields(folder: Path, listener: AttachListener) -> None:
    listener.serve()
    record = only_server()
    Path(record.file).write_bytes(msgspec.json.encode({**msgspec.to_builtins(record), "new": 1}))
    assert is_served()
