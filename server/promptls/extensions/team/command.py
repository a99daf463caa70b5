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

from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_error, print_json, print_text
from promptls.util.packages import extra_command
from promptls.util.text.display import plural

if TYPE_CHECKING:
    from promptls.extensions.team.team_config import TeamConfig
    from promptls.extensions.team.write_index import Report

PACKAGES = ("ray", "lance")
"""Import names of the packages that the extra adds."""
MAX_LISTED = 20
"""Repositories that a report lists."""


def missing_packages() -> str:
    """Return the error for an installation without the packages of a team index."""
    return f"the team index needs the packages ray and pylance; run `{extra_command('team')}`."


def add_parser(commands: Any) -> None:
    """Declare the commands."""
    team = commands.add_parser("team", help="build and update the index of many repositories on shared storage")
    subcommands = team.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("build", _write, "rebuild the index of all repositories"),
        ("update", _write, "index the repositories that have changed"),
        ("status", _status, "print the repositories, their commits and their age"),
    ):
        parser = subcommands.add_parser(name, help=text)
        parser.add_argument("config", metavar="CONFIG.toml", type=Path, help="storage and repositories")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.set_defaults(run=run, name=name)


def _write(options: argparse.Namespace) -> int:
    """Run a command that writes the index, and print its report."""
    if not _has_packages():
        return FAILURE
    from promptls.extensions.team import write_index
    from promptls.extensions.team.storage import storage_problem
    from promptls.extensions.team.table import TeamError
    from promptls.settings import cache_directory, user_settings

    config = _config(options.config)
    run = write_index.build if options.name == "build" else write_index.update
    cache = cache_directory(user_settings()[0]) / "team"
    try:
        with _progress(options.name) as on_progress:
            report = run(config, str(cache), on_progress)
    except TeamError as error:
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
    """Print the state of the published version."""
    if not _has_packages():
        return FAILURE
    import msgspec

    from promptls.extensions.team import indices
    from promptls.extensions.team.storage import storage_problem
    from promptls.extensions.team.table import identity_of, open_table, published_version, states_of

    storage = _config(options.config).storage
    try:
        table = open_table(storage)
        version = published_version(table) if table is not None else 0
        table = open_table(storage, version) if version else None
        states = sorted(states_of(table).values(), key=lambda state: state.name) if table is not None else []
    except (OSError, ValueError) as error:
        print_error(storage_problem(error, storage))
        return FAILURE
    if table is None:
        print_error(f"{storage.uri} has no team index; run `promptls team build`.")
        return FAILURE
    identity, unindexed = identity_of(table), indices.unindexed_rows(table)
    size = sum(file.file_size_bytes or 0 for fragment in table.get_fragments() for file in fragment.data_files())
    if options.json:
        state = {"uri": storage.uri, "version": version, "identity": identity, "repositories": states}
        print_json(msgspec.to_builtins({**state, "unindexedRows": unindexed, "bytes": size}))
        return SUCCESS
    chunks = sum(state.chunks for state in states)
    model = identity.model if identity is not None else "unknown"
    print_text(f"{storage.uri}: version {version}, {plural(len(states), 'repository', 'repositories')}")
    print_text(f"  {plural(chunks, 'chunk')}, {size / 1e6:,.1f} MB, model {model}")
    print_text(f"  rows without index: {', '.join(f'{n} {c:,}' for n, c in unindexed.items()) or 'none'}")
    for one in states:
        age = f"indexed {_days(one.indexed_at)}, commit of {_days(one.committed_at)}"
        print_text(f"  {one.name}@{one.commit[:10]}: {plural(one.files, 'file')}, {age}")
    return SUCCESS


def _has_packages() -> bool:
    if all(importlib.util.find_spec(name) is not None for name in PACKAGES):
        return True
    print_error(missing_packages())
    return False


def _config(file: Path) -> TeamConfig:
    """Read the configuration.

    Raises:
        UsageError: The configuration is invalid.
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
        print_text(f"{state.name}@{state.commit[:10]}: {plural(state.files, 'file')}, {plural(state.chunks, 'chunk')}")
    if len(states) > MAX_LISTED:
        print_text(f"and {len(states) - MAX_LISTED} more")
    for name in report.removed:
        print_text(f"{name}: removed")
    done = f"{len(states):,} indexed, {report.unchanged:,} unchanged, {len(report.removed):,} removed"
    print_text(f"{done}; {plural(report.embedded, 'chunk')} embedded in {report.seconds:.1f} s")
    print_text(f"version {report.version}, {report.freed_bytes / 1e6:,.1f} MB of old versions removed")


def _days(timestamp: float) -> str:
    days = max(0, int((time.time() - timestamp) / 86_400))
    return "today" if not days else f"{plural(days, 'day')} ago"
