"""promptls memory: lists, searches, adds, updates and removes memory entries."""

from __future__ import annotations

import argparse
from typing import Any

from promptls.cli.output import SUCCESS, print_error, print_json
from promptls.cli.workspace import add_workspace_arguments, request

MAX_TITLE_LENGTH = 120
"""Characters of the title that is made from the content."""


def add_parser(commands: Any) -> None:
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
            print(f"{entry['id']}  {entry['scope']:<9} [{entry['category']}] {entry['title']}: {entry['content']}")
        for warning in result["warnings"]:
            print_error(warning)
    return SUCCESS
