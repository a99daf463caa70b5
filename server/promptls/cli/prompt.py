"""promptls prompt: builds a prompt and prints it, with a summary on stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from promptls.cli.output import SUCCESS, UsageError, print_json, read_stdin
from promptls.cli.workspace import add_workspace_arguments, request


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("prompt", help="build the prompt for a question and print it")
    parser.add_argument("message", help='the question, including @-mentions; "-" reads it from stdin')
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="maximum number of tokens of the prompt")
    parser.add_argument("--model", help="use the token budget of this model")
    parser.add_argument("--counter", help="token counter: auto, estimate or chars4")
    parser.add_argument("--fill", help="relevant: only code that the answer probably needs; full: fill the budget")
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
    message = read_stdin() if options.message == "-" else options.message
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
            print("\n".join(_summary(result)), file=sys.stderr)
        if options.explain:
            print("\n".join(_explanation(result)), file=sys.stderr)
    return SUCCESS


def _summary(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about budget, items, mentions that are not included, trace and warnings."""
    tokens = result["tokens"]
    yield f"{tokens['used']:,} of {tokens['budget']:,} tokens ({tokens['counter']})"
    for item in result["items"]:
        place = f"{item['path']}:{_lines(item['range'])}"
        probability = f"{item['score']:.2f}" if item["score"] < 1 else ""
        row = f"  {item['tokens']:>6,}  {item['form']:<9} {item['origin']:<8} {probability:<4}  {place}  "
        yield row + item.get("symbol", "")
    for mention in result["mentions"]:
        if mention["status"] != "included":
            yield f"  {mention['text']}: {mention['status']}. {mention['reason']}".rstrip()
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
