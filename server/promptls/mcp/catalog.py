"""Table of the tools: names, descriptions, parameters and results, in the order in which clients list them.

Language models choose tools by the descriptions.  The table is constant, so that the prompt caches of clients work.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from promptls.mcp import tools
from promptls.mcp.params import (
    ExplainSymbolParams,
    ExplainSymbolResult,
    GetContextParams,
    GetContextResult,
    RelatedCodeParams,
    RelatedCodeResult,
    SearchCodeParams,
    SearchCodeResult,
    ToolParams,
)


class Tool(Struct, frozen=True):
    """A tool of the server."""

    name: str
    title: str
    description: str
    params: type[ToolParams]
    result: type[Struct]
    call: Callable[..., tuple[Struct, str]]


TOOLS = (
    Tool(
        "search_code",
        "Search code",
        "Find code and documentation by meaning: ranked regions with path, lines, symbol, score and snippet. "
        'Use it when you do not know the name or the file: "where are failed uploads retried?". '
        "Prefer grep for an exact string, a regular expression, or every occurrence of a name. "
        "Files written before the call are included.",
        SearchCodeParams,
        SearchCodeResult,
        tools.search_code,
    ),
    Tool(
        "get_context",
        "Get context",
        "Collect the code that a task or question needs, within a token budget: instead of many searches and reads. "
        "Mentions in the question add what they name: @src/a.py, @src/a.py:10-20, @#Cart.total, @callers:total, @diff. "
        "Returns the context, the outcome of each mention and what was left out. "
        "Prefer grep or a file read if you know the exact string or file and need nothing around it.",
        GetContextParams,
        GetContextResult,
        tools.get_context,
    ),
    Tool(
        "explain_symbol",
        "Explain symbol",
        "Describe a function, method, class or file: its definition, callers, callees, tests and implementations. "
        "Found by syntactic analysis. Use it before you change a definition. "
        "Prefer grep for names in strings, comments or configuration.",
        ExplainSymbolParams,
        ExplainSymbolResult,
        tools.explain_symbol,
    ),
    Tool(
        "related_code",
        "Related code",
        "List the code with one relation to a symbol: callers, callees, usages, implementations, tests, or the call "
        "path to another symbol. Resolves imports and types, so other definitions of the same name are left out. "
        "Prefer grep for text occurrences, and in languages in which most calls are dynamic.",
        RelatedCodeParams,
        RelatedCodeResult,
        tools.related_code,
    ),
)
