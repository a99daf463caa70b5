"""Run an evaluation: the table of quality, or by name a module of scripts/evaluation that measures one part."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT = "table"


def main(arguments: list[str]) -> int:
    """Run the evaluation `[NAME] [arguments]`; without a name, print the table."""
    names = {file.stem: file for file in sorted((HERE / "evaluation").glob("*.py")) if not file.stem.startswith("_")}
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help")):
        arguments = [DEFAULT, *arguments]
    if arguments[0] not in names:
        is_help = arguments[0] in ("-h", "--help")
        if not is_help:
            print(f"Unknown evaluation {arguments[0]!r}.", file=sys.stderr)
        print(f"evaluations (default: {DEFAULT}; NAME --help lists the options of most):")
        for name, file in names.items():
            doc = file.read_text("utf-8").split('"""')
            print(f"  {name:10} {doc[1].strip().splitlines()[0] if len(doc) > 1 else ''}")
        return 0 if is_help else 2
    sys.path.insert(0, str(HERE))
    run = importlib.import_module(f"evaluation.{arguments[0]}").main
    return int(run(arguments[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
