"""promptls prompt, verify, recipes and memory: prompts, the citations of their answers, and what prompts are made from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptls.cli.command_workspace import add_workspace_arguments, request
from promptls.cli.output import FAILURE, SUCCESS, UsageError, print_error, print_json, print_text
from promptls.util.text.display import plural


def add_prompt_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("prompt", help="build the prompt for a question and print it")
    parser.add_argument("message", help='the question, including @-mentions; "-" reads it from stdin')
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="maximum number of tokens of the prompt")
    parser.add_argument("--model", help="use the token budget of this model")
    parser.add_argument("--counter", help="token counter: auto, estimate or chars4")
    parser.add_argument("--fill", help="relevant: leave a part of a large budget free; full: fill it")
    parser.add_argument("--variant", help="instruction style: baseline, strict, citation or anti_prior")
    parser.add_argument("--profile", help="set of pipeline constants (default: the setting retrieval.profile)")
    parser.add_argument("--recipe", help="named task to put before the message (see promptls recipes)")
    parser.add_argument(
        "--argument", action="append", default=[], metavar="NAME=TEXT", help="argument of the recipe; repeatable"
    )
    parser.add_argument("--output", default="text", help="text or messages (default: text)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also print to stderr how the prompt was made: question type, tokens by section, omitted items, "
        "recommended model parameters",
    )
    add_workspace_arguments(parser)
    parser.set_defaults(run=_prompt)


def _prompt(options: argparse.Namespace) -> int:
    message = sys.stdin.read() if options.message == "-" else options.message
    budget = {"tokens": options.budget, "model": options.model, "counter": options.counter, "fill": options.fill}
    params: dict[str, Any] = {
        "message": message,
        "budget": {k: v for k, v in budget.items() if v is not None},
        "output": options.output,
    }
    params |= {k: v for k in ("variant", "profile", "recipe") if (v := getattr(options, k))}
    for pair in options.argument:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"--argument needs NAME=TEXT, not {pair!r}.")
        params.setdefault("arguments", {})[name] = text
    with request(options, "promptls/buildPrompt", params) as result:
        if options.json:
            print_json(result)
        else:
            messages = result.get("messages")
            print(json.dumps(messages, indent=2, ensure_ascii=False) if messages else result["prompt"], flush=True)
            print_text("\n".join(_summary(result)), file=sys.stderr)
        if options.explain:
            print_text("\n".join(_explanation(result)), file=sys.stderr)
    return SUCCESS


def _summary(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about budget, items, mentions that are not included, trace and warnings."""
    from promptls.api.pages import item_row, token_usage
    from promptls.prompt.sanitize import one_line

    yield token_usage(result["tokens"])
    yield from (f"  {one_line(item_row(item))}" for item in result["items"])
    for mention in result["mentions"]:
        if mention["status"] != "included":
            hint = f"Did you mean {mention['suggestion']}?" if "suggestion" in mention else ""
            yield f"  {mention['text']}: {mention['status']}. {mention['reason']} {hint}".rstrip()
    yield result["trace"]["line"]
    for warning in result["warnings"]:
        yield f"warning: {warning}"


def _explanation(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of `--explain`."""
    intent, hints = result["intent"], result["modelHints"]
    yield f"question type: {', '.join(intent['types']) or 'general'} (action: {intent['action']})"
    yield "tokens by section:"
    for name, count in result["tokens"]["sections"].items():
        yield f"  {count:>6,}  {name}"
    if result["omitted"]:
        yield "omitted items:"
    for item in result["omitted"]:
        yield f"  {item['tokens']:>6,}  {item['uri']}:{_lines(item['range'])}: {item['reason']}"
    temperature = "model default" if hints["temperature"] is None else hints["temperature"]
    yield f"recommended temperature: {temperature}"
    yield f"recommended maximum of output tokens: {hints['maxTokens']:,}"
    yield f"techniques: {', '.join(hints['practices'])}"


def _lines(span: dict[str, Any]) -> str:
    """Return the first and last line of a range, counted from 1."""
    return f"{span['start']['line'] + 1}-{span['end']['line']}"


# ---------------------------------------------------------------- recipes


def add_recipes_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("recipes", help="list the recipes (named tasks)")
    add_workspace_arguments(parser)
    parser.set_defaults(run=_recipes)


def _recipes(options: argparse.Namespace) -> int:
    with request(options, "promptls/recipes", {}) as result:
        if options.json:
            print_json(result)
            return SUCCESS
        for recipe in result["recipes"]:
            arguments = " ".join(f"{a['name']}{'' if a['required'] else '?'}" for a in recipe["arguments"])
            print_text(f"{recipe['name']:<20} {recipe['description']}{f' ({arguments})' if arguments else ''}")
        for warning in result["warnings"]:
            print_error(warning)
    return SUCCESS


# ---------------------------------------------------------------- verify


DESCRIPTION = """\
Check the citations in a model's answer: labels such as [P1], and places such as src/a.py:10-20.

  promptls prompt --variant citation --json "How does login work?" > prompt.json
  (send the prompt to a model and save the answer as answer.md)
  promptls verify answer.md prompt.json

Prints each invalid citation with its reason. The exit status is 1 if a citation is invalid.
"""


def add_verify_parser(commands: Any) -> None:
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
    answer = sys.stdin.read() if options.answer == "-" else _read(options.answer)
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
        print_text(f"line {line}: {citation['text']}: {problem}")
    print_text(f"{plural(len(result['citations']), 'citation')}, {len(invalid)} invalid")
    print_text(f"{result['citedShare']:.0%} of the statements have a valid citation")
    if result["unused"]:
        print_text(f"not cited: {', '.join(result['unused'])}")


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


# ---------------------------------------------------------------- memory


MAX_TITLE_LENGTH = 120
"""Characters of the title that is made from the content."""


def add_memory_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("memory", help="list, search, add, update or remove memory entries")
    parser.add_argument("action", choices=("add", "list", "remove", "search", "update"))
    parser.add_argument("text", nargs="?", default="", help="add, update: the content; search: the query")
    parser.add_argument("--id", default="", help="ID of the entry to update or remove")
    parser.add_argument("--title", help="title (default for add: the first line of the content)")
    parser.add_argument("--category", help="knowledge, rule or experience (default for add: knowledge)")
    parser.add_argument("--scope", default="", help="user or workspace")
    parser.add_argument("--expires", help="number of days, or a date such as 2030-01-31")
    add_workspace_arguments(parser)
    parser.set_defaults(run=_memory)


def _memory(options: argparse.Namespace) -> int:
    action, text = options.action, options.text
    params: dict[str, Any] = {"action": action, "id": options.id, "scope": options.scope}
    if action == "search":
        params["query"] = text
    elif text:
        params["content"] = text
    if action == "add":
        params |= {"title": text.strip().split("\n", 1)[0][:MAX_TITLE_LENGTH], "category": "knowledge"}
    params |= {k: v for k in ("title", "category") if (v := getattr(options, k)) is not None}
    if options.expires is not None:
        is_number = options.expires.isascii() and options.expires.isdecimal()
        params["expires"] = int(options.expires) if is_number else options.expires
    with request(options, "promptls/memory", params, needs_index=False) as result:
        if options.json:
            print_json(result)
            return SUCCESS
        for entry in result["entries"]:
            print_text(f"{entry['id']}  {entry['scope']:<9} [{entry['category']}] {entry['title']}: {entry['content']}")
        for warning in result["warnings"]:
            print_error(warning)
    return SUCCESS
