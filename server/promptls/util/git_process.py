"""Runs git safely in untrusted repositories, bounded in time and output.

No hook, file-system monitor, pager or transport that the configuration of a repository names is started. git does not
write, fetch or prompt. Commands that can start more, such as filters or signature checks, pass options that disable it.
"""

# Paths are strings, exactly as git and the system return them.
# ruff: noqa: PTH113, PTH117, PTH118
from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from promptls.util.cancellation import CancelToken
from promptls.util.termination import cleanup_on_signal

log = logging.getLogger(__name__)

QUICK_TIMEOUT_S = 5.0
"""Time-out for commands that normally take milliseconds. Without output after this long, git counts as unresponsive."""
UNRESPONSIVE_S = 300.0
"""Seconds for which an unresponsive git is not started again."""
MAX_STDERR_BYTES = 4_000
"""Bytes of stderr that are kept: enough to recognize the error."""
SAFE_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),  # a partial clone would fetch missing objects
    *("-c", "safe.bareRepository=explicit"),  # a bare repository can be hidden inside a work tree
)
"""Options of every command: no pager, file-system monitor, hook, transport or hidden bare repository."""
_ALLOWED_VARIABLES = {
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_EXEC_PATH",
}
_POLL_S = 0.05
_unresponsive_until: dict[str, float] = {}  # git program → time.monotonic() before which it is not started


class GitResult(Struct, frozen=True):
    """Output and exit status of a git command."""

    stdout: bytes
    complete: bool = True  # False: git was stopped by a time-out, the output limit or cancellation
    exit_status: int = 0
    stderr: bytes = b""  # first MAX_STDERR_BYTES bytes


def run_git(
    git: str,
    arguments: Sequence[str],
    folder: str,
    *,
    timeout_s: float,
    max_bytes: int | None = None,
    token: CancelToken | None = None,
    data: bytes | None = None,
    capture_stderr: bool = False,
) -> GitResult:
    """Run a git command in a folder and return its output.

    On a time-out, on more than `max_bytes` of output, or when the token is cancelled, git and its child processes are
    killed and the output so far is returned.

    Args:
        git: Path of the program, see `git_program`.
        arguments: Arguments after `SAFE_OPTIONS`.
        folder: Working directory.
        timeout_s: Seconds before git is stopped.
        max_bytes: Limit of the output; None for no limit.
        token: Cancels the command.
        data: Input for stdin.
        capture_stderr: Whether to keep stderr.

    Raises:
        OSError: git cannot be started.
        ValueError: An argument contains a NUL character.
    """
    process = subprocess.Popen(
        [git, *SAFE_OPTIONS, *arguments],
        cwd=folder,
        env=safe_environment(),
        stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,  # the server's own stdin carries LSP
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if capture_stderr else subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=True,  # for `kill_process_group`
    )
    stdout, stderr = bytearray(), bytearray()
    stopped, done = threading.Event(), threading.Event()
    deadline = time.monotonic() + timeout_s
    watchdog = threading.Thread(target=_stop_when_due, args=(process, deadline, token, stopped, done), daemon=True)
    pipes = []
    if capture_stderr:
        pipes.append(threading.Thread(target=_read_stderr, args=(process, stderr), daemon=True))
    if data is not None:
        pipes.append(threading.Thread(target=_write_stdin, args=(process, data), daemon=True))
    try:
        with process, cleanup_on_signal(lambda: kill_process_group(process)):
            for thread in (watchdog, *pipes):
                thread.start()
            assert process.stdout is not None
            while block := process.stdout.read(1 << 16):
                stdout += block
                if max_bytes is not None and len(stdout) > max_bytes:
                    stopped.set()
                    kill_process_group(process)
                    break
            process.wait()
            for thread in pipes:  # the watchdog still runs: a child of git may hold the other ends of the pipes
                thread.join()
            done.set()
            watchdog.join()
    finally:
        done.set()
        if process.returncode is None:
            kill_process_group(process)
    if stopped.is_set():
        return GitResult(bytes(stdout[:max_bytes]), complete=False)
    return GitResult(bytes(stdout), exit_status=process.returncode, stderr=bytes(stderr))


def _stop_when_due(
    process: subprocess.Popen[bytes],
    deadline: float,
    token: CancelToken | None,
    stopped: threading.Event,
    done: threading.Event,
) -> None:
    while not done.wait(_POLL_S):
        if time.monotonic() > deadline or (token is not None and token.cancelled):
            stopped.set()
            kill_process_group(process)
            return


def _read_stderr(process: subprocess.Popen[bytes], stderr: bytearray) -> None:
    assert process.stderr is not None
    while block := process.stderr.read(1 << 12):
        stderr += block[: MAX_STDERR_BYTES - len(stderr)]


def _write_stdin(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    with suppress(OSError), process.stdin:  # git may exit before it has read everything
        process.stdin.write(data)


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own session, and its children, which may hold the pipes open."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def mark_unresponsive(git: str) -> None:
    """Record that git did not answer in time."""
    log.warning("git does not respond; not starting it again for %g s", UNRESPONSIVE_S)
    _unresponsive_until[git] = time.monotonic() + UNRESPONSIVE_S


def is_unresponsive(git: str) -> bool:
    """Return whether git did not answer in time during the last `UNRESPONSIVE_S` seconds."""
    return time.monotonic() < _unresponsive_until.get(git, 0.0)


def safe_environment() -> dict[str, str]:
    """Return the environment for git: no other repository, no prompts, locks or fetches."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or name.upper() in _ALLOWED_VARIABLES
    }
    return {
        **inherited,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # takes precedence over the configuration of the repository
        "LC_ALL": "C",
    }


def git_program() -> str:
    """Return the absolute path of git, or "" if it is not installed."""
    return _find_program(os.environ.get("PATH", ""))


@lru_cache(maxsize=4)
def _find_program(search_path: str) -> str:
    """Search absolute directories only: on Windows, the current directory may be an untrusted workspace."""
    for folder in search_path.split(os.pathsep):
        program = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return ""
