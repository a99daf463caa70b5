"""Command line of scripts/bench."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path


def main() -> None:
    """Run the selected benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default=str(Path(os.__file__).parent),
        help="a folder, or one of: agents, report",
    )
    parser.add_argument("folder", nargs="?", type=Path, help="agents: the workspace (default: the standard library)")
    parser.add_argument("--write", action="store_true", help="agents: store the figures for the documentation")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="report: measure only these workspaces, or completion, growth",
    )
    parser.add_argument(
        "--kept",
        type=Path,
        default=Path(tempfile.gettempdir()) / "promptls-bench",
        help="folder of the benchmark workspaces",
    )
    parser.add_argument("--into", type=Path, help="report: folder for page, plot and figures")
    parser.add_argument("--semble", metavar="PYTHON", help="report: a Python with semble 0.7.0")
    parser.add_argument("--semble-model", metavar="DIR", help="report: a model2vec folder for semble")
    options = parser.parse_args()
    if options.what == "agents":
        from benchmarks import agents

        figures = agents.measure((options.folder or Path(os.__file__).parent).resolve())
        print(agents.table(figures))
        if options.write:
            agents.write(figures)
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
