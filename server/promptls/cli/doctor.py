"""promptls doctor: checks the installation."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.output import FAILURE, SUCCESS, print_json


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("doctor", help="check the installation and suggest fixes")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from promptls.doctor import run_checks

    results = run_checks()
    if options.json:
        print_json({"findings": [{"ok": r.ok, "what": r.message, "mend": r.fix} for r in results]})
    else:
        for result in results:
            print(f"{'ok ' if result.ok else 'BAD'}  {result.message}")
            if not result.ok and result.fix:
                print(f"     {result.fix}")
    return SUCCESS if all(r.ok for r in results) else FAILURE
