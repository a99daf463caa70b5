"""promptls team: builds, updates and describes the index of many repositories on shared storage."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_error, print_json
from promptls.util.text.display import plural

if TYPE_CHECKING:
    from promptls.extensions.team.team_config import TeamConfig
    from promptls.extensions.team.write_index import Report

PACKAGES = ("ray", "lance")
"""Import names of the packages that the extra adds."""
MISSING_PACKAGES = "the team index needs the packages ray and pylance; run `pip install 'promptls[team]'`."
MAX_LISTED = 20
"""Repositories that a report lists."""


def add_parser(commands: Any) -> None:
    """Declare the commands."""
    team = commands.add_parser("team", help="build and update the index of many repositories on shared storage")
    subcommands = team.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("build", _build, "rebuild the index of all repositories"),
        ("update", _update, "index the repositories that have changed"),
        ("status", _status, "print the repositories, their commits and their age"),
    ):
        parser = subcommands.add_parser(name, help=text)
        parser.add_argument("config", metavar="CONFIG.toml", type=Path, help="storage and repositories")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.set_defaults(run=run)


def _build(options: argparse.Namespace) -> int:
    return _write(options, "build")


def _update(options: argparse.Namespace) -> int:
    return _write(options, "update")


def _write(options: argparse.Namespace, name: str) -> int:
    """Run a command that writes the index, and print its report."""
    if not _has_packages():
        return FAILURE
    from promptls.extensions.team import write_index as commands
    from promptls.extensions.team.storage import storage_problem
    from promptls.extensions.team.table import ConcurrentChange
    from promptls.index import ModelUnavailable
    from promptls.settings import cache_directory, user_settings

    config = _config(options.config)
    run = commands.build if name == "build" else commands.update
    cache = cache_directory(user_settings()[0]) / "team"
    try:
        with _progress(name) as on_progress:
            report = run(config, str(cache), on_progress)
    except (commands.TeamError, ConcurrentChange, ModelUnavailable) as error:
        print_error(str(error))
        return FAILURE
    except OSError as error:
        print_error(storage_problem(error, config.storage).replace("Cannot read", "Cannot write"))
        return FAILURE
    if options.json:
        import msgspec

        print_json(msgspec.to_builtins(report))
    else:
        _print_report(report)
    for problem in report.problems:
        print_error(problem)
    return FAILURE if report.problems else SUCCESS


def _status(options: argparse.Namespace) -> int:
    if not _has_packages():
        return FAILURE
    import msgspec

    from promptls.extensions.team.storage import storage_problem
    from promptls.extensions.team.team_status import read_status

    config = _config(options.config)
    try:
        status = read_status(config.storage)
    except (OSError, ValueError) as error:
        print_error(storage_problem(error, config.storage))
        return FAILURE
    if status is None:
        print_error(f"There is no team index in {config.storage.uri}; run `promptls team build`.")
        return FAILURE
    if options.json:
        print_json(msgspec.to_builtins(status))
        return SUCCESS
    chunks = sum(state.chunks for state in status.repositories)
    lines = sum(state.lines for state in status.repositories)
    model = status.identity.model if status.identity is not None else "unknown"
    print(f"{status.uri}: version {status.version}, {plural(len(status.repositories), 'repository', 'repositories')}")
    print(f"  {plural(lines, 'line')}, {plural(chunks, 'chunk')}, {status.bytes / 1e6:,.1f} MB, model {model}")
    print(f"  rows without index: {', '.join(f'{n} {c:,}' for n, c in status.unindexed_rows.items()) or 'none'}")
    for state in status.repositories:
        age = f"indexed {_days(state.indexed_at)}, commit of {_days(state.committed_at)}"
        print(f"  {state.name}@{state.commit[:10]}: {plural(state.files, 'file')}, {age}")
    return SUCCESS


def _has_packages() -> bool:
    if all(importlib.util.find_spec(name) is not None for name in PACKAGES):
        return True
    print_error(MISSING_PACKAGES)
    return False


def _config(file: Path) -> TeamConfig:
    """Read the configuration.

    Raises:
        UsageError: It is invalid.
    """
    from promptls.extensions.team.team_config import read_config
    from promptls.model import Problem

    config = read_config(file)
    if isinstance(config, Problem):
        raise UsageError(config.message)
    return config


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on a terminal, else one line for each repository."""
    if not sys.stderr.isatty():
        yield lambda done, total, repository: print_error(f"{done} of {total} repositories, {repository}")
        return
    from tqdm import tqdm

    with tqdm(total=0, desc=name, unit=" repositories", leave=False, file=sys.stderr) as bar:

        def show(done: int, total: int, repository: str) -> None:
            bar.total, bar.n = total, done
            bar.set_postfix_str(repository)

        yield show


def _print_report(report: Report) -> None:
    states = report.repositories
    for state in states[:MAX_LISTED]:
        size = f"{plural(state.files, 'file')}, {plural(state.lines, 'line')}, {plural(state.chunks, 'chunk')}"
        print(f"{state.name}@{state.commit[:10]}: {size}")
    if len(states) > MAX_LISTED:
        print(f"and {len(states) - MAX_LISTED} more")
    for name in report.removed:
        print(f"{name}: removed")
    done = f"{len(states):,} indexed, {report.unchanged:,} unchanged, {len(report.removed):,} removed"
    print(f"{done}; {plural(report.changed_files, 'changed file')}, {plural(report.embedded, 'chunk')} embedded")
    print(", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items()))
    print(f"version {report.version}, {report.freed_bytes / 1e6:,.1f} MB of old versions removed")


def _days(timestamp: float) -> str:
    days = max(0, int((time.time() - timestamp) / 86_400))
    return "today" if not days else f"{plural(days, 'day')} ago"
