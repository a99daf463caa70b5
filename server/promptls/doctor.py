"""Installation checks of `promptls doctor`: packages, git, settings, cache, mention kinds, token counter, parser and model."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from msgspec import Struct

from promptls import __version__
from promptls.settings import Settings, cache_directory, config_file, log_file, user_settings
from promptls.util.packages import install_command

IMPORT_NAMES = {"google-re2": "re2"}
"""Import names that differ from the package name with underscores."""
MIN_FREE_BYTES = 500e6
"""Free disk space below which the cache check fails, in bytes: room for the index of a large workspace."""
WORKER_TIMEOUT_S = 60.0
"""Maximum time for the first answer of the test worker, in seconds; loading the model from a slow disk takes longest."""
GIT_TIMEOUT_S = 10.0
TEAM_TIMEOUT_S = 30.0
"""Maximum time for opening the team index, in seconds."""
TEST_SOURCE = "def ping(server):\n    return server.pong()\n"


class CheckResult(Struct, frozen=True):
    """Result of one check."""

    ok: bool
    message: str
    fix: str = ""  # what to do if it failed


def run_checks() -> list[CheckResult]:
    """Run all checks; the worker is started only if all packages can be imported."""
    settings, problems = user_settings()
    declared = importlib.metadata.requires("promptls") or ()
    required = sorted(re.split(r"[^\w.-]", one)[0] for one in declared if ";" not in one)  # on all platforms
    packages = [_check_package(name) for name in required]
    file = config_file()
    results = [
        CheckResult(True, f"promptls {__version__} on Python {platform.python_version()}, {platform.platform()}"),
        *packages,
        _check_git(),
        *[CheckResult(False, p.message, f"Edit {file}.") for p in problems],
        CheckResult(True, f"settings: {file}" + ("" if file.exists() else " (does not exist; using defaults)")),
        _check_cache(settings),
        CheckResult(True, f"log: {log_file()}"),
    ]
    if all(package.ok for package in packages):
        results += [
            *_check_mention_kinds(),
            _check_counter(settings),
            *_check_worker(settings),
            *_check_team(settings),
        ]
    return results


def _check_package(name: str) -> CheckResult:
    try:
        version = importlib.metadata.version(name)
        importlib.import_module(IMPORT_NAMES.get(name, name.replace("-", "_")))
    except importlib.metadata.PackageNotFoundError:
        return CheckResult(False, f"{name} is not installed", install_command([name]))
    except Exception as error:  # the package's own code runs here and may raise anything
        return CheckResult(
            False,
            f"{name} {version} cannot be imported: {error}",
            install_command([f"{name}=={version}"], "--force-reinstall "),
        )
    return CheckResult(True, f"{name} {version}")


def _check_git() -> CheckResult:
    git = shutil.which("git")
    if git is None:
        return CheckResult(True, "git is not installed; promptls interprets ignore files itself")
    process = subprocess.run([git, "--version"], capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=False)
    return CheckResult(True, f"{process.stdout.strip()} ({git})")


def _check_cache(settings: Settings) -> CheckResult:
    directory = cache_directory(settings)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory):
            pass
    except OSError as error:
        return CheckResult(
            False,
            f"cannot write to the cache folder {directory}: {error.strerror}",
            "Set cache.folder in the settings, or PROMPTLS_CACHE, to another folder.",
        )
    used = sum(_file_size(f) for f in directory.rglob("*"))
    free = shutil.disk_usage(directory).free
    message = f"cache: {directory} uses {used / 1e6:,.1f} MB, {free / 1e9:,.1f} GB free"
    return CheckResult(free > MIN_FREE_BYTES, message, "Free disk space, or set cache.folder to another folder.")


def _check_mention_kinds() -> list[CheckResult]:
    from promptls.mentions.registry import registry  # imports packages that are checked before

    kinds = registry()
    return [
        CheckResult(True, f"{len(kinds.kinds)} mention kinds"),
        *(CheckResult(False, problem.message, problem.suggestion) for problem in kinds.problems),
    ]


def _check_counter(settings: Settings) -> CheckResult:
    """Report how tokens are counted, and why a configured tokenizer is not used."""
    from promptls.prompt.budget import counter_status  # imports packages that are checked before

    status = counter_status(settings.budget)
    how = "exactly" if status.exact else "by an estimate"
    message = f"tokens are counted {how}: {status.name}"
    if not status.problem:
        return CheckResult(True, message)
    fix = f"Correct budget.counter and budget.tokenizer in {config_file()}."
    return CheckResult(False, f"{message}, because {status.problem}", fix)


def _file_size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


def _check_team(settings: Settings) -> list[CheckResult]:
    """Open the team index, if the settings name one."""
    if not settings.team.index:
        return []
    from promptls.index import index_config, store_identity
    from promptls.util.entry_points import service

    connect = service("team")
    if connect is None:
        return [CheckResult(False, "The package promptls.extensions.team is missing.", "Reinstall promptls.")]
    config = index_config(settings)
    client = connect(settings.team, lambda dimension: store_identity(config, dimension))
    try:
        client.wait_until_open(TEAM_TIMEOUT_S)
        status = client.status()
    finally:
        client.close()
    size = f"{status['repositories']:,} repositories, {status['chunks']:,} chunks, {status['unindexed']:,} without vector index"
    message = f"team index {status['index']}: version {status['version']}, {size}, commits up to {status['age']}"
    if status["state"] == "ready":
        return [CheckResult(not status["message"], status["message"] or message, "Run `promptls team build` again.")]
    problem = status["message"] or f"The team index {status['index']} did not open in {TEAM_TIMEOUT_S:g} s."
    return [CheckResult(False, problem, "Check team.index, team.storage and team.storageEnv in the settings.")]


def _check_worker(settings: Settings) -> list[CheckResult]:
    """Start a worker, parse a test file and embed it."""
    from promptls.index import WorkerError, check_worker, index_config

    handle, name = tempfile.mkstemp(suffix=".py")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(TEST_SOURCE)
        result = check_worker(index_config(settings), name, WORKER_TIMEOUT_S)
        return [
            CheckResult(
                "ping" in result.symbols, "tree-sitter parses a file", "Reinstall tree-sitter and the language pack."
            ),
            CheckResult(
                result.embedded,
                result.problem or f"embedding model {settings.embedding.model}: {result.dimension} dimensions",
                "Set embedding.model to a model that is installed on this machine.",
            ),
        ]
    except WorkerError as error:
        return [CheckResult(False, f"the worker process failed: {error}", f"See the log: {log_file()}.")]
    finally:
        Path(name).unlink(missing_ok=True)
