"""Catalog of the tools for language models: names, descriptions, parameters and functions.

The MCP server declares them to agents, and `promptls/callTool` calls them for chats in editors.  Language models choose
tools by the descriptions.  The catalog is constant, so that the prompt caches of clients work.  Results are text; the
first line says if the index is incomplete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from promptls.api.build_prompt import build_prompt
from promptls.api.explain import explain_as_text
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of
from promptls.api.messages.params import InvalidParams, Json
from promptls.api.regions import first_line, list_regions, read, unsaved_line
from promptls.api.search import render_team_hits, start_team_search
from promptls.api.tool_params import (
    ExplainSymbolParams,
    GetContextParams,
    ReadCodeParams,
    SearchCodeParams,
    ToolParams,
    decode_arguments,
)
from promptls.engine import Engine
from promptls.index import Snapshot
from promptls.model import CancelToken
from promptls.prompt.sanitize import one_line
from promptls.redaction.secrets import redact
from promptls.retrieval.query import parse_query

MAX_OMITTED = 10
"""Maximum number of omitted regions that get_context lists, best first; all are counted."""
MAX_TEAM_HITS = 10
"""Maximum number of regions of other repositories in a list, with a team index."""
_SECTIONS = protocol.Sections(instructions=False, rules=False)
"""Sections left out of a context: agents have instructions and read the rule files of the workspace themselves."""


class Tool(Struct, frozen=True):
    """A tool; its function takes the engine, the parameters, the name of the session ("" for none) and a token."""

    name: str
    title: str
    description: str
    params: type[ToolParams]
    call: Callable[[Engine, Any, str, CancelToken], tuple[Json, str]]  # returns the result as JSON and as text


def call_tool(engine: Engine, name: str, arguments: Any, session: str, token: CancelToken) -> tuple[Json, str]:
    """Call a tool on an index that is up to date with the disk.

    Raises:
        InvalidParams: The tool does not exist, or its arguments are invalid.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidParams(f"unknown tool {name[:80]!r}; valid: {', '.join(TOOLS)}.", "name", tuple(TOOLS))
    params = decode_arguments(tool.params, arguments)
    engine.index.refresh(token)
    result, text = tool.call(engine, params, session, token)
    return result, "\n".join(filter(None, [unsaved_line(engine, result), text]))


def handle_call_tool(engine: Engine, params: protocol.CallToolParams, token: CancelToken) -> Json:
    """Handle `promptls/callTool`."""
    return {"text": call_tool(engine, params.name, params.arguments, params.session, token)[1]}


def _search_code(engine: Engine, params: SearchCodeParams, session: str, token: CancelToken) -> tuple[Json, str]:
    request = protocol.ListParams(
        params.query,
        params.paths,
        budget=protocol.Budget(tokens=params.budget_tokens),
        snippets=params.snippets,
        all_marked=params.include_tests,
    )
    team = start_team_search(engine, parse_query(params.query), engine.index.snapshot(token))
    result = list_regions(engine, request, token)
    others = render_team_hits(team(MAX_TEAM_HITS, ()))
    return result, _join(result["text"], redact(others)[0])


def _read_code(engine: Engine, params: ReadCodeParams, session: str, token: CancelToken) -> tuple[Json, str]:
    budget = protocol.Budget(tokens=params.budget_tokens)
    result = read(engine, protocol.ReadParams(params.places, budget, session, params.repeat), token)
    is_repeated = any(region["repeated"] for region in result["regions"])
    return result, _join(result["text"], "(repeat=true returns unchanged text again)" if is_repeated else "")


def _explain_symbol(engine: Engine, params: ExplainSymbolParams, session: str, token: CancelToken) -> tuple[Json, str]:
    try:
        result, text = explain_as_text(engine, params, token)
    except InvalidParams as error:  # the name may be in a file that is not indexed yet
        note = first_line(engine.index.state(), 0)
        raise InvalidParams(f"{note}\n{error}" if note else str(error), error.field, error.valid) from None
    return result, _join(first_line(engine.index.state(), 0), text)


def _get_context(engine: Engine, params: GetContextParams, session: str, token: CancelToken) -> tuple[Json, str]:
    budget = protocol.Budget(tokens=params.budget_tokens)
    request = protocol.BuildPromptParams(params.question, budget=budget, output="context", sections=_SECTIONS)
    try:
        built = build_prompt(engine, request, token)
    except InvalidParams as error:
        message = str(error).replace("message:", "question:", 1).replace("the message", "the question")
        raise InvalidParams(message.replace("budget.tokens", "budget_tokens"), "question", error.valid) from None
    mentions = [
        f"{m['text']}: {m['status']}. {m['reason']} {' '.join(m.get('candidates', ()))}".rstrip()
        for m in built["mentions"]
        if m["reason"]
    ]
    left_out = [one for one in built["omitted"] if one["tokens"] > 0]  # the others scored too low to be useful
    snapshot = engine.index.snapshot(token)
    places = [f"- {_place(one, snapshot)}" for one in left_out[:MAX_OMITTED]]
    text = _join(
        first_line(engine.index.state(), 0),
        "\n".join([*mentions, *built["warnings"]]),
        built["prompt"],
        f"({built['tokens']['used']:,} of {built['tokens']['budget']:,} tokens)",
        "\n".join([f"Left out ({len(left_out)}), read_code returns them:", *places]) if places else "",
    )
    return built, text


def _place(omitted: Json, snapshot: Snapshot) -> str:
    """Return path and lines of a region that the budget left out."""
    start, end = omitted["range"]["start"]["line"], omitted["range"]["end"]["line"]
    path = one_line(snapshot.label(path_of(omitted["uri"], snapshot)))
    return f"{path}:{start + 1}-{max(start + 1, end)} ({omitted['tokens']:,} tokens)"


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


_TOOLS = (
    Tool(
        "search_code",
        "Search code",
        "Use first to find code and docs by meaning or by names; the list is current and needs no second search by "
        "other means. Returns about 100 ranked regions, one line each: lines, kind, name and what it does. "
        "Read the ones that matter with read_code. Use grep for exact strings.",
        SearchCodeParams,
        _search_code,
    ),
    Tool(
        "read_code",
        "Read code",
        "Use to read any number of places in one call; the text has the line numbers of the file, so it can be edited "
        "without reading it again. Returns whole definitions with the imports that they use, callers, callees and "
        "tests.",
        ReadCodeParams,
        _read_code,
    ),
    Tool(
        "explain_symbol",
        "Explain symbol",
        "Use before you change a definition, to see what breaks; no search for its usages is needed. Returns its text, "
        "callers, callees, imports and re-exports, overrides, tests direct and through callers, and mentions in docs "
        "and strings.",
        ExplainSymbolParams,
        _explain_symbol,
    ),
    Tool(
        "get_context",
        "Get context",
        "Use for a one-shot answer: the code for a question within a token budget, chosen for you, with no need to read "
        "it again. Mentions in the question add what they name. Prefer search_code and read_code where everything that "
        "matters must be seen.",
        GetContextParams,
        _get_context,
    ),
)

TOOLS = {tool.name: tool for tool in _TOOLS}
"""All tools by name, in the order in which clients list them."""
