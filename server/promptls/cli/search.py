"""promptls search: prints ranked regions for a query."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.output import SUCCESS, print_error, print_json
from promptls.cli.workspace import add_workspace_arguments, request


def add_parser(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("search", help="print ranked regions of code for a query")
    parser.add_argument("query", help="a question or keywords")
    parser.add_argument("--limit", type=int, default=10, help="maximum number of results (default: 10)")
    add_workspace_arguments(parser)
    parser.set_defaults(run=_search)


def _search(options: argparse.Namespace) -> int:
    from promptls.api.team import team_place

    params = {"query": options.query, "limit": options.limit}
    with request(options, "promptls/search", params) as result:
        if options.json:
            print_json(result)
            return SUCCESS
        for hit in result["hits"]:
            place = f"{hit['path']}:{hit['range']['start']['line'] + 1}-{hit['range']['end']['line']}"
            print(f"{hit['score']:.3f}  {place}  {hit['kind']} {hit.get('symbol', '')}".rstrip())
        team = result.get("team", {"hits": [], "message": ""})
        for hit in team["hits"]:
            print(f"{hit['score']:.3f}  {team_place(hit)}  {hit['kind']} {hit['symbol']}".rstrip())
        if team["message"]:
            print_error(team["message"])
    return SUCCESS
