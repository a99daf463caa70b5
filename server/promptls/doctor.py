"""What is installed, whether it works, and how to mend what does not: each a finding of one line."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

from promptls import __version__
from promptls.settings import Settings, cache_folder, config_file, log_file, user_settings

PACKAGES = (
    "fastembed",
    "filelock",
    "immutables",
    "lancedb",
    "lsprotocol",
    "msgspec",
    "numpy",
    "platformdirs",
    "py-rust-stemmers",
    "pygls",
    "rapidfuzz",
    "regex",
    "simsimd",
    "tqdm",
    "tree-sitter",
    "tree-sitter-language-pack",
)
"""What promptls depends on, wherever it runs; each is imported under its own name."""
TRIAL = "def ping(server):\n    return server.pong()\n"


class Finding(Struct, frozen=True):
    """One thing looked at."""

    ok: bool
    what: str
    mend: str = ""


def examine() -> list[Finding]:
    """Look at everything promptls needs."""
    settings, problems = user_settings()
    packages = [_package(name) for name in PACKAGES]
    findings = [
        Finding(True, f"promptls {__version__} on Python {platform.python_version()}, {platform.platform()}"),
        *packages,
        _git(),
        *[Finding(False, p.message, f"Edit {config_file()}.") for p in problems],
        _settings_file(),
        _cache(settings),
        Finding(True, f"log: {log_file()}"),
    ]
    return findings + _worker(settings) if all(package.ok for package in packages) else findings


def _package(name: str) -> Finding:
    try:
        version = importlib.metadata.version(name)
        importlib.import_module(name.replace("-", "_"))
    except importlib.metadata.PackageNotFoundError:
        return Finding(False, f"{name} is not installed", f"{sys.executable} -m pip install {name}")
    except Exception as error:  # whatever a package's own start may raise
        return Finding(
            False,
            f"{name} {version} cannot be imported: {error}",
            f"{sys.executable} -m pip install --force-reinstall {name}=={version}",
        )
    return Finding(True, f"{name} {version}")


def _git() -> Finding:
    git = shutil.which("git")
    if git is None:
        return Finding(True, "git is not installed: ignore files are read by promptls itself")
    shown = subprocess.run([git, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    return Finding(True, f"{shown} ({git})")


def _settings_file() -> Finding:
    file = config_file()
    return Finding(True, f"settings: {file}" + ("" if file.exists() else " (not there: defaults)"))


def _cache(settings: Settings) -> Finding:
    folder = cache_folder(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding(
            False,
            f"the cache folder {folder} cannot be written: {error.strerror}",
            "Name another folder in cache.folder of the settings or in PROMPTLS_CACHE.",
        )
    used = sum(_size(f) for f in folder.rglob("*"))
    free = shutil.disk_usage(folder).free
    what = f"cache: {folder} holds {used / 1e6:,.1f} MB, {free / 1e9:,.1f} GB are free"
    return Finding(free > 500e6, what, "Make room, or name another folder in cache.folder of the settings.")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


def _worker(settings: Settings) -> list[Finding]:
    """Start a real worker, outline a file with it and embed it."""
    from promptls.index.config import config_of
    from promptls.index.scan import jobs
    from promptls.index.workers.messages import ScanFiles, Scanned
    from promptls.index.workers.pool import Channel, WorkerFailed
    from promptls.model import unpack

    channel = Channel(config_of(settings).configure(), background=False)
    handle, name = tempfile.mkstemp(suffix=".py")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(TRIAL)
        answer = channel.call(ScanFiles((name,)), 60.0)
        scans = answer.files if isinstance(answer, Scanned) else ()
        symbols = [s.name for scan in scans if scan.outlined for s in unpack(scan.outlined).symbols]
        known = jobs.Known(lambda _: False)
        rows = jobs.embed(channel, jobs.find_terms(channel, scans, known.made), known).rows
        return [
            Finding("ping" in symbols, "tree-sitter outlines a file", "Reinstall tree-sitter and the language pack."),
            Finding(
                bool(rows.vectors),
                channel.problem or f"embedding model {settings.embedding.model}: {channel.dimension} dimensions",
                "Set embedding.model to a model that is on this machine.",
            ),
        ]
    except WorkerFailed as error:
        return [Finding(False, f"the worker process does not work: {error}", f"See the log: {log_file()}")]
    finally:
        channel.stop()
        Path(name).unlink(missing_ok=True)
