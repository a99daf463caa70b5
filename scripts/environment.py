"""Create or update .venv for `scripts/setup`: a progress line, a lock, uv with the settings of pip, and pip as fallback.

Runs under a Python without any package. uv installs the packages in a fraction of pip's time, but does not read the
configuration of pip. Networks with their own package index or certificates have often configured pip alone.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
INSTALLING = VENV / ".installing"
"""Exists while packages are installed. If it is left over, the installation was interrupted and .venv is incomplete."""

UV_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "keyring-provider": ("UV_KEYRING_PROVIDER", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "proxy": ("ALL_PROXY", " "),
}
"""Option of pip → the variable that uv reads, and the separator of its values; pip separates values by white space."""

OLD_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}
"""Variables of uv → their former names, which uv still reads."""

PIP_WITH_TARGET = (22, 3)
"""First version of pip with the option `--python`, which installs into an environment that has no pip."""


class SetupError(Exception):
    """A failure with one sentence for the user."""


def pip_settings(listing: str) -> dict[str, str]:
    """Parse the output of `pip config list`: the value of each option that applies to `pip install`."""
    ranks = {"global": 0, "install": 1, ":env:": 2}
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        key, _, quoted = line.partition("=")
        section, _, option = key.partition(".")
        rank = ranks.get(section)
        if rank is None or rank < found.get(option, (0, ""))[0]:
            continue
        with contextlib.suppress(ValueError, SyntaxError):
            found[option] = (rank, str(ast.literal_eval(quoted)))
    return {option: value for option, (_, value) in found.items()}


def uv_environment(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make uv use the settings of pip. Variables that are set already keep their value."""
    variables = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}  # as pip does; older versions read the second name
    for option, (name, separator) in UV_VARIABLES.items():
        if values := settings.get(option, "").split():
            variables[name] = separator.join(values)
    if "UV_INDEX" in variables:
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip takes the best version of all indexes
    return {
        name: value
        for name, value in variables.items()
        if name not in environment and OLD_NAMES.get(name, name) not in environment
    }


def uv_options(settings: Mapping[str, str]) -> list[str]:
    """Return the options of `uv pip install` for settings of pip that uv reads from no variable."""
    return ["--no-index"] if settings.get("no-index", "").lower() in {"1", "true", "yes", "on"} else []


class Progress:
    """One line on a terminal that shows the elapsed time and the last message of the running command."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def show(self, message: str) -> None:
        """Replace the line."""
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{f'{self.seconds:3.0f} s  {message}'[:width]}", end="", file=self._stream, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._terminal:
            print("\r\033[K", end="", file=self._stream, flush=True)


def run(
    command: Sequence[str],
    progress: Progress,
    lock: IO[str],
    environment: Mapping[str, str] | None = None,
    message: str | None = None,
) -> str:
    """Run a command and show the message, or else its output, as progress.

    Return its output; raise SetupError with it if the command fails.

    The command inherits the lock: if this process is killed, the lock is held until the command has ended too.
    """
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=[lock.fileno()],
    )
    lines: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        lines.extend(line.rstrip() for line in process.stdout)

    reader = Thread(target=read, daemon=True)
    try:
        reader.start()
        while reader.is_alive():
            last = next((line.strip() for line in reversed(lines) if line.strip()), "Installing promptls")
            progress.show(message or last)
            reader.join(0.2)
        status = process.wait()
    finally:
        process.kill()
        process.wait()
    if status:
        raise SetupError("\n".join(lines))
    return "\n".join(lines)


def base_pip(progress: Progress, lock: IO[str]) -> list[str]:
    """Return the command of a pip that installs into .venv: the one of this Python, or one that is added to .venv."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError):
        version = importlib.metadata.version("pip")
        if tuple(map(int, version.split(".")[:2])) >= PIP_WITH_TARGET:
            return [sys.executable, "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check"]
    try:
        run([str(PYTHON), "-m", "ensurepip", "--default-pip"], progress, lock)
    except SetupError:
        hint = "on Debian and Ubuntu: install python3-venv"
        raise SetupError(f"{sys.executable} has no pip. Install uv or pip ({hint}).") from None
    return [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]


def install(requirement: str, progress: Progress, lock: IO[str]) -> None:
    """Install the repository into .venv with uv. If uv cannot be had or fails, install it with pip."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(PYTHON.parent))
    packages = ["pip", "--editable", requirement]  # pip: for users who add packages to .venv
    pip: list[str] = []
    settings: dict[str, str] = {}
    try:
        pip = base_pip(progress, lock)
        listing = [*pip, "config", "list"]  # its output is not shown: URLs can contain passwords
        settings = pip_settings(run(listing, progress, lock, message="Reading the configuration of pip"))
        if uv is None:
            run([*pip, "install", "uv"], progress, lock)
            uv = str(PYTHON.parent / "uv")
    except SetupError:
        if not pip and uv is None:
            raise
    if uv is not None:
        command = [uv, "pip", "install", "--python", str(PYTHON), *uv_options(settings), *packages]
        try:
            run(command, progress, lock, uv_environment(settings, os.environ))
            return
        except SetupError as failure:
            if not pip:
                raise
            progress.clear()
            print(f"{failure}\nuv failed. Installing with pip, which takes a minute …", file=sys.stderr)
    run([*pip, "install", *packages], progress, lock)


@contextlib.contextmanager
def locked() -> Iterator[IO[str]]:
    """Hold the lock of the repository: one process at a time changes .venv. The lock ends with its processes."""
    with (ROOT / "pyproject.toml").open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another scripts/setup …", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def stop(signum: int, _frame: object) -> NoReturn:
    """End on a signal; commands that run are ended first."""
    sys.exit(128 + signum)


def is_current(stamp: Path) -> bool:
    """Return whether .venv was installed after the last change of pyproject.toml."""
    return stamp.is_file() and stamp.stat().st_mtime_ns > (ROOT / "pyproject.toml").stat().st_mtime_ns


def is_complete() -> bool:
    """Return whether .venv has a Python that works and no interrupted installation."""
    if INSTALLING.exists() or not PYTHON.is_file():
        return False
    return subprocess.run([PYTHON, "-c", ""], capture_output=True, check=False).returncode == 0


def main(extra: str) -> int:
    """Bring .venv up to date for the named extra ("" for none); return the exit status."""
    signal.signal(signal.SIGTERM, stop)
    stamp = VENV / f".ready-{extra or 'run'}"
    with locked() as lock:
        if is_current(stamp):  # another process has installed it
            return 0
        progress = Progress(sys.stderr)
        if is_complete():
            print("Updating .venv …", file=sys.stderr)
        else:
            print("Creating .venv (10 to 60 s, once) …", file=sys.stderr)
            venv.EnvBuilder(clear=True, symlinks=True).create(VENV)
        INSTALLING.touch()
        try:
            install(f".[{extra}]" if extra else ".", progress, lock)
            stamp.touch()
            INSTALLING.unlink()
        except SetupError:  # uv and pip fail before they change packages, so that .venv remains usable
            INSTALLING.unlink()
            raise
        finally:
            progress.clear()
        print(f"Installed promptls in {progress.seconds:.0f} s.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
    except SetupError as failure:
        print(f"scripts/setup: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("scripts/setup: interrupted. Run it again to continue.", file=sys.stderr)
        sys.exit(130)
