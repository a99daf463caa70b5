"""promptls index, status and doctor: updates the index, prints what it contains, and checks the installation."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.command_workspace import (
    add_workspace_arguments,
    started_engine,
    wait_for_index,
    workspace_paths,
)
from promptls.cli.output import FAILURE, SUCCESS, print_error, print_json, print_text
from promptls.util.text.display import plural


def add_parsers(commands: Any) -> None:
    """Declare the commands."""
    index = commands.add_parser("index", help="update the index")
    index.add_argument("--full", action="store_true", help="rebuild the index from scratch")
    add_workspace_arguments(index)
    index.set_defaults(run=_index)

    status = commands.add_parser("status", help="print the size of the index and the number of stale files")
    add_workspace_arguments(status)
    status.set_defaults(run=_status)


def _index(options: argparse.Namespace) -> int:
    from promptls.index import prestart_worker

    prestart_worker()
    from promptls.api.index_requests import status
    from promptls.api.messages.params import NoParams
    from promptls.model import CancelToken

    with started_engine(options) as engine:
        if options.full:
            engine.indexer.workspace.rescan(reindex=True)
        wait_for_index(engine, stored=True)
        result = status(engine, NoParams(), CancelToken())
    if options.json:
        print_json(result)
    else:
        _print_roots(result)
    if result["state"] == "degraded":
        print_error(result["message"])
        return FAILURE
    return SUCCESS


def _status(options: argparse.Namespace) -> int:
    from promptls.engine import inspect_index

    results = [inspect_index(root) for root in workspace_paths(options)]
    if options.json:
        print_json({"roots": results})
        return SUCCESS
    for r in results:
        print_text(
            f"{r['path']}: {plural(r['files'], 'file')}, {r['upToDate']:,} up to date, {r['stale']:,} to be indexed"
        )
        print_text(f"  index: {r['bytes'] / 1e6:.1f} MB in {r['folder']}")
        _print_ignore_files(r)
    return SUCCESS


def _print_ignore_files(root: dict[str, Any]) -> None:
    if root["ignoreFiles"]:
        print_text(f"  ignore files: .gitignore, {', '.join(root['ignoreFiles'])}")


def _print_roots(status: dict[str, Any]) -> None:
    for r in status["roots"]:
        files = f"{plural(r['files'], 'file')} ({r['skipped']:,} by name only)"
        print_text(f"{r['name']}: {files}, {plural(r['symbols'], 'symbol')}, {plural(r['chunks'], 'chunk')}")
        _print_ignore_files(r)
        for reason, count in r["skipReasons"].items():
            print_text(f"  by name only: {count:,} {reason}")
        if links := r["linkedFolders"]:
            print_text(f"  not followed, links to folders outside: {', '.join(links)}; open these folders as well")
        if count := r["undecodableNames"]:
            print_text(
                f"  left out: {plural(count, 'file or folder', 'files and folders')} whose name is not valid UTF-8"
            )
    print_text(f"{status['disk']['bytes'] / 1e6:.1f} MB on disk, model {status['embedder']['model']}")


# ---------------------------------------------------------------- doctor


def add_doctor_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("doctor", help="check the installation and suggest fixes")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from promptls.doctor import run_checks

    results = run_checks()
    if options.json:
        print_json({"findings": [{"ok": r.ok, "message": r.message, "fix": r.fix} for r in results]})
    else:
        for result in results:
            print_text(f"{'ok ' if result.ok else 'BAD'}  {result.message}")
            if not result.ok and result.fix:
                print_text(f"     {result.fix}")
    return SUCCESS if all(r.ok for r in results) else FAILURE
