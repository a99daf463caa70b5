"""promptls graph and promptls explain: the knowledge graph as Markdown."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.output import FAILURE, SUCCESS, print_json
from promptls.cli.workspace import add_workspace_arguments, request


def add_parsers(commands: Any) -> None:
    """Declare the commands."""
    graph = commands.add_parser("graph", help="print the knowledge graph around a question or symbol")
    graph.add_argument("query", nargs="?", help="a question")
    graph.add_argument("--symbol", help="show the graph around this symbol")
    graph.add_argument("--from", dest="from_", metavar="SYMBOL", help="show call paths from this symbol (needs --to)")
    graph.add_argument("--to", metavar="SYMBOL", help="show call paths to this symbol (needs --from)")
    graph.add_argument("--limit", type=int, default=15, help="maximum number of nodes (default: 15)")
    add_workspace_arguments(graph)
    graph.set_defaults(run=_graph)

    explain = commands.add_parser("explain", help="describe a file or symbol: callers, callees, types, tests")
    explain.add_argument("symbol", help="a path, path:name or Class.method")
    add_workspace_arguments(explain)
    explain.set_defaults(run=_explain)


def _graph(options: argparse.Namespace) -> int:
    arguments = {"query": options.query, "symbol": options.symbol, "from": options.from_, "to": options.to}
    params = {"limit": options.limit, **{k: v for k, v in arguments.items() if v is not None}}
    with request(options, "promptls/graph", params) as result:
        print_json(result) if options.json else print(result["markdown"])
    return SUCCESS


def _explain(options: argparse.Namespace) -> int:
    with request(options, "promptls/explain", {"symbol": options.symbol}) as result:
        print_json(result) if options.json else print(result["markdown"])
    return SUCCESS if result["found"] else FAILURE
