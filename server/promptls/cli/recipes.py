"""promptls recipes: lists the recipes that `promptls prompt --recipe` accepts."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.output import SUCCESS, print_error, print_json
from promptls.cli.workspace import add_workspace_arguments, request


def add_parser(commands: Any) -> None:
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
            print(f"{recipe['name']:<20} {recipe['description']}{f' ({arguments})' if arguments else ''}")
        for warning in result["warnings"]:
            print_error(warning)
    return SUCCESS
