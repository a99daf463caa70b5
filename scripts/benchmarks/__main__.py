"""The command behind scripts/bench."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path


def main() -> None:
    """Measure what was asked for, and print it."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "what", nargs="?", default=str(Path(os.__file__).parent), help="a folder, completion, growth, report"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="report: these workspaces, the others as they were"
    )
    parser.add_argument(
        "--kept", type=Path, default=Path(tempfile.gettempdir()) / "promptls-bench", help="where workspaces are kept"
    )
    parser.add_argument("--into", type=Path, help="report: write page, plot and figures into this folder instead")
    parser.add_argument("--semble", metavar="PYTHON", help="report: a Python that has semble 0.7.0")
    parser.add_argument("--semble-model", metavar="DIR", help="a model2vec folder for it")
    options = parser.parse_args()
    if options.what == "completion":
        from benchmarks import completion

        print(completion.table())
    elif options.what == "growth":
        from benchmarks import growth

        print(growth.table(growth.measure()))
    elif options.what == "report":
        from benchmarks import report

        report.write(options.kept, options.only, options.into, options.semble, options.semble_model)
    else:
        from benchmarks import driven

        print("| measure | value |\n| --- | --- |")
        for name, value in driven.rows_of(driven.measure(Path(options.what).resolve())):
            print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
