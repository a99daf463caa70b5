"""promptls search, list, read, graph and explain: what the index knows about a query, a place or a symbol."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.command_workspace import add_workspace_arguments, request
from promptls.cli.output import FAILURE, SUCCESS, print_error, print_json, print_text


def add_parsers(commands: Any) -> None:
    """Declare the commands."""
    search = commands.add_parser("search", help="print ranked regions of code for a query")
    search.add_argument("query", help="a question or keywords")
    search.add_argument("--limit", type=int, default=10, help="maximum number of results (default: 10)")
    add_workspace_arguments(search)
    search.set_defaults(run=_search)

    listed = commands.add_parser("list", help="print regions of code for a query in one line each, to choose from")
    listed.add_argument("query", help="a question, keywords or a name")
    listed.add_argument(
        "--path", action="append", default=[], metavar="GLOB", help='only files that match; "!GLOB" excludes'
    )
    listed.add_argument("--name", action="append", default=[], help="only definitions of this name or glob; repeatable")
    listed.add_argument("--snippets", type=int, default=0, metavar="N", help="show N lines around the matching line")
    listed.add_argument("--all-marked", action="store_true", help="do not limit tests, documents, examples and data")
    _add_budget(listed, "2200")
    add_workspace_arguments(listed)
    listed.set_defaults(run=_list)

    read = commands.add_parser("read", help="print regions of code with line numbers, imports and relations")
    read.add_argument("place", nargs="+", help="src/a.py, src/a.py:10-60, src/a.py#Name or #Name")
    _add_budget(read, "8000")
    add_workspace_arguments(read)
    read.set_defaults(run=_read)

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


def _add_budget(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--tokens", type=int, help=f"maximum size in tokens (default: {default})")
    parser.add_argument("--model", help="name of the model whose tokens are counted")


def _search(options: argparse.Namespace) -> int:
    params = {"query": options.query, "limit": options.limit}
    with request(options, "promptls/search", params) as result:
        if options.json:
            print_json(result)
            return SUCCESS
        for hit in result["hits"]:
            place = f"{hit['path']}:{hit['range']['start']['line'] + 1}-{hit['range']['end']['line']}"
            print_text(f"{hit['score']:.3f}  {place}  {hit['kind']} {hit.get('symbol', '')}".rstrip())
        team = result.get("team", {"hits": [], "message": ""})
        for hit in team["hits"]:
            from promptls.api.search import team_place

            print_text(f"{hit['score']:.3f}  {team_place(hit)}  {hit['kind']} {hit['symbol']}".rstrip())
        if team["message"]:
            print_error(team["message"])
    return SUCCESS


def _list(options: argparse.Namespace) -> int:
    params = {
        "query": options.query,
        "paths": options.path,
        "names": options.name,
        "snippets": options.snippets,
        "allMarked": options.all_marked,
        "budget": _budget(options),
    }
    with request(options, "promptls/list", params) as result:
        print_json(result) if options.json else print_text(result["text"])
    return SUCCESS


def _read(options: argparse.Namespace) -> int:
    params = {"places": options.place, "budget": _budget(options)}
    with request(options, "promptls/read", params) as result:
        print_json(result) if options.json else print_text(result["text"])
    return SUCCESS if result["regions"] else FAILURE


def _budget(options: argparse.Namespace) -> dict[str, Any]:
    return {"tokens": options.tokens, "model": options.model}


def _graph(options: argparse.Namespace) -> int:
    arguments = {"query": options.query, "symbol": options.symbol, "from": options.from_, "to": options.to}
    params = {"limit": options.limit, **{k: v for k, v in arguments.items() if v is not None}}
    with request(options, "promptls/graph", params) as result:
        print_json(result) if options.json else print_text(result["markdown"])
    return SUCCESS


def _explain(options: argparse.Namespace) -> int:
    with request(options, "promptls/explain", {"symbol": options.symbol}) as result:
        print_json(result) if options.json else print_text(result["markdown"])
    return SUCCESS if result["found"] else FAILURE
