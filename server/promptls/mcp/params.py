"""Parameters and results of the tools; their JSON schemas, which clients show to the language model, come from here.

Lines are numbered from 1, and ranges include their last line, as in editors and in the output of grep.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from promptls.api.messages.params import Json, Params

RELATIONS = {
    "callers": "callers",
    "callees": "callees",
    "usages": "usages",
    "implementations": "implementations",
    "tests": "tests",
    "call path": "path",
}
"""Keyword of the mention that resolves each relation."""
MAX_HITS, MAX_SNIPPET_LINES = 50, 200
"""Maximum values of `limit` and `max_lines`: more would fill the context of an agent."""

_Symbol = Annotated[
    str,
    Meta(min_length=1, max_length=500, description="A name, Class.method, or path#name if several places define it."),
]


class ToolParams(Params, frozen=True, kw_only=True, rename="lower", forbid_unknown_fields=True):
    """Base class of the parameters of all tools."""

    root: Annotated[
        str, Meta(description="Absolute path of the workspace folder; by default the folders of the server.")
    ] = ""


class SearchCodeParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of search_code."""

    query: Annotated[str, Meta(description="A question or description in words, or names.")]
    paths: Annotated[
        tuple[str, ...], Meta(description='Globs that limit the files: "src/**/*.py", or "!tests/" to exclude.')
    ] = ()
    kinds: Annotated[
        tuple[str, ...], Meta(description='Kinds of regions, such as "function", "method", "class", "section", "text".')
    ] = ()
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="Maximum number of regions.")] = 8
    max_lines: Annotated[
        int, Meta(ge=0, le=MAX_SNIPPET_LINES, description="Maximum number of lines shown of each region.")
    ] = 20
    offset: Annotated[int, Meta(ge=0, le=900, description="Number of regions to skip, for the next page.")] = 0


class GetContextParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of get_context."""

    question: Annotated[
        str, Meta(description="The task or question; @src/a.py, @#name, @src/a.py:10-20 or @diff add what they name.")
    ]
    budget_tokens: Annotated[int, Meta(ge=1, le=2_000_000, description="Maximum size of the context in tokens.")] = 8000
    model: Annotated[str, Meta(description="Name of the model whose tokens are counted.")] = ""
    instructions: Annotated[
        bool, Meta(description="Return a complete prompt: instructions, rules, context and question.")
    ] = False


class ExplainSymbolParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of explain_symbol."""

    name: _Symbol
    path: Annotated[str, Meta(description="File that defines the symbol, if several do.")] = ""


class RelatedCodeParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of related_code."""

    symbol: _Symbol
    relation: Literal["callers", "callees", "usages", "implementations", "tests", "call path"]
    to: Annotated[str, Meta(description='Last symbol of a "call path"; required for it alone.')] = ""


class IndexFreshness(Struct, frozen=True):
    """State of the index during a call: it includes all files written before if `up_to_date` is true."""

    up_to_date: bool
    state: str
    complete: float
    message: str


class Region(Struct, frozen=True):
    """Lines of a file, in most cases a definition."""

    path: str
    start_line: int
    end_line: int
    kind: str
    symbol: str
    snippet: str


class Hit(Region, frozen=True):
    """A region that search_code found."""

    score: float


class SearchCodeResult(Struct, frozen=True):
    """Result of search_code."""

    hits: tuple[Hit, ...]
    next_offset: int | None
    index: IndexFreshness
    other_repositories: tuple[Hit, ...] = ()  # of the team index; paths begin with the repository and its commit
    message: str = ""  # why hits of the team index are missing


class ContextItem(Struct, frozen=True):
    """A region in the context; `form` is "full" or the name of a reduced form."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    form: str
    tokens: int
    mentioned: bool


class MentionResult(Struct, frozen=True):
    """The outcome of one @-mention."""

    mention: str
    status: str
    reason: str
    suggestion: str
    candidates: tuple[str, ...]


class OmittedRegion(Struct, frozen=True):
    """A region that the budget left out of the context."""

    path: str
    start_line: int
    end_line: int
    reason: str
    tokens: int


class GetContextResult(Struct, frozen=True):
    """Result of get_context."""

    context: str
    tokens: int
    budget_tokens: int
    items: tuple[ContextItem, ...]
    mentions: tuple[MentionResult, ...]
    omitted: tuple[OmittedRegion, ...]
    omitted_count: int
    warnings: tuple[str, ...]
    index: IndexFreshness


class Related(Struct, frozen=True):
    """A definition that is related to the explained one; `line` is where the relation is written, 0 if unknown."""

    path: str
    start_line: int
    end_line: int
    kind: str
    symbol: str
    line: int


class ExplainSymbolResult(Struct, frozen=True):
    """Result of explain_symbol."""

    definition: Region
    signature: str
    doc: str
    members: tuple[Related, ...]
    callers: tuple[Related, ...]
    callees: tuple[Related, ...]
    tests: tuple[Related, ...]
    implementations: tuple[Related, ...]
    supertypes: tuple[Related, ...]
    users: tuple[Related, ...]
    others: tuple[Related, ...]
    index: IndexFreshness


class RelatedCodeResult(Struct, frozen=True):
    """Result of related_code."""

    regions: tuple[Region, ...]
    summary: str
    index: IndexFreshness


def json_schema(kind: type[Struct]) -> Json:
    """Return the JSON schema of a struct without references, which not all clients resolve."""
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    expanded: Json = _expand(schema, definitions)
    return {key: value for key, value in expanded.items() if key not in ("title", "description")}


def _expand(schema: Any, definitions: Json) -> Any:
    if isinstance(schema, list):
        return [_expand(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = definitions[schema["$ref"]]
        return _expand({k: v for k, v in target.items() if k != "title"}, definitions)
    return {key: _expand(value, definitions) for key, value in schema.items()}
