"""promptls verify: checks the citations in a model's answer against the prompt that it answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_json, read_stdin
from promptls.cli.workspace import add_workspace_arguments, request
from promptls.util.text.plural import plural

DESCRIPTION = """\
Check the citations in a model's answer: labels such as [P1], and places such as src/a.py:10-20.

  promptls prompt --variant citation --json "How does login work?" > prompt.json
  (send the prompt to a model and save the answer as answer.md)
  promptls verify answer.md prompt.json

Prints each invalid citation with its reason. The exit status is 1 if a citation is invalid.
"""


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        help="check the citations in a model's answer",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answer", metavar="ANSWER_FILE", help='the answer; "-" reads it from stdin')
    parser.add_argument("prompt", metavar="PROMPT_FILE", help="the output of promptls prompt --json")
    add_workspace_arguments(parser)
    parser.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    answer = read_stdin() if options.answer == "-" else _read(options.answer)
    params = {"answer": answer, "items": _items(options.prompt)}
    with request(options, "promptls/verifyCitations", params) as result:
        invalid = [c for c in result["citations"] if c["status"] != "ok" or c.get("missing")]
        if options.json:
            print_json(result)
        else:
            _print_report(result, invalid, answer)
    return FAILURE if invalid else SUCCESS


def _print_report(result: dict[str, Any], invalid: list[dict[str, Any]], answer: str) -> None:
    from promptls.api.messages.results import code_point_offset

    for citation in invalid:
        line = answer.count("\n", 0, code_point_offset(answer, citation["offset"])) + 1
        if citation["status"] == "ok":
            problem = f"does not contain {', '.join(citation['missing'])}"
        else:
            problem = f"{citation['status']}: {citation.get('reason', '')}".rstrip(": ")
        print(f"line {line}: {citation['text']}: {problem}")
    print(f"{plural(len(result['citations']), 'citation')}, {len(invalid)} invalid")
    print(f"{result['citedShare']:.0%} of the statements have a valid citation")
    if result["unused"]:
        print(f"not cited: {', '.join(result['unused'])}")


def _read(name: str) -> str:
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"cannot read {name!r}: {reason}.") from None


def _items(name: str) -> list[Any]:
    """Return the items of a prompt that was saved as JSON."""
    try:
        prompt = json.loads(_read(name))
    except ValueError:
        prompt = None
    items = prompt.get("items") if isinstance(prompt, dict) else None
    if not isinstance(items, list):
        raise UsageError(f"{name!r} is not the output of promptls prompt --json.")
    return items
