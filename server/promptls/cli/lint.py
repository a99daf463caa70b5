"""promptls lint-instructions: checks AGENTS.md, rules and skills for names that do not exist any more."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from promptls import __version__
from promptls.cli.command_workspace import add_workspace_arguments, request
from promptls.cli.output import FAILURE, SUCCESS, print_json, print_text
from promptls.util.text.display import plural

DESCRIPTION = """\
Check the instruction files of coding agents (AGENTS.md, CLAUDE.md, SKILL.md, .cursor/rules, *.instructions.md, …): the
files, scripts and make targets that they name must exist.

The exit status is 1 if one of them does not. A name of code that occurs nowhere in the workspace is only a note.
"""

_RULES = {
    "import": "An imported file does not exist.",
    "link": "The target of a link does not exist.",
    "path": "A file or folder does not exist.",
    "glob": "No file matches a glob.",
    "command": "A make target or a script of a package does not exist.",
    "symbol": "Nothing in the workspace has this name.",
}


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "lint-instructions",
        help="check instruction files of agents for names that do not exist",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders, relative to the workspace folder")
    parser.add_argument("--sarif", action="store_true", help="print a SARIF 2.1.0 log, which code hosts display")
    add_workspace_arguments(parser)
    parser.set_defaults(run=_lint)


def _lint(options: argparse.Namespace) -> int:
    with request(options, "promptls/lintInstructions", {"paths": options.paths}) as result:
        files = result["files"]
        if options.json or options.sarif:
            print_json(_sarif(files) if options.sarif else result)
        else:
            print_text("\n".join(_lines(files)))
    warnings = [one for file in files for one in file["findings"] if one["severity"] == "warning"]
    return FAILURE if warnings else SUCCESS


def _lines(files: list[Any]) -> Iterator[str]:
    for file in files:
        for finding in file["findings"]:
            start = finding["range"]["start"]
            place = f"{file['path']}:{start['line'] + 1}:{start['character'] + 1}"
            yield f"{place}: {finding['severity']}: {finding['message']} [{finding['kind']}]"
    tokens = sum(file["tokens"] for file in files)
    problems = sum(len(file["findings"]) for file in files)
    yield f"{plural(len(files), 'instruction file')}, {tokens:,} tokens, {plural(problems, 'finding')}"


def _sarif(files: list[Any]) -> Any:
    """Return a SARIF log; columns count UTF-16 units, as those of the protocol."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    results = [
        {
            "ruleId": finding["kind"],
            "level": finding["severity"],
            "message": {"text": finding["message"]},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": file["path"], "uriBaseId": "%SRCROOT%"},
                        "region": _region(finding["range"]),
                    }
                }
            ],
        }
        for file in files
        for finding in file["findings"]
    ]
    driver = {"name": "promptls", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}],
    }


def _region(span: Any) -> dict[str, int]:
    start, end = span["start"], span["end"]
    return {
        "startLine": start["line"] + 1,
        "startColumn": start["character"] + 1,
        "endLine": end["line"] + 1,
        "endColumn": end["character"] + 1,
    }
