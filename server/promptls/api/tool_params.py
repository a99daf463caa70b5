"""Parameters of the tools for language models, their JSON schemas, and a lenient decoder of arguments.

Language models make small mistakes, and some clients remove bounds and defaults from schemas.  So the descriptions
contain the bounds, numbers out of range are clamped, a single string stands for a list, and an unknown field is answered
with the valid ones.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs

from promptls.api.messages import params as protocol
from promptls.api.messages.params import InvalidParams, Json, Params
from promptls.prompt.region_list import LIST_BUDGET

RELATIONS = ("definition", "callers", "callees", "imports", "overrides", "tests", "mentions")
"""Parts of an explanation."""


def _bounds(description: str, low: int, high: int) -> Meta:
    """Return the metadata of a number: its description, and the bounds that `decode_arguments` clamps it to."""
    return Meta(description=f"{description}, {low:,} to {high:,}.", extra={"bounds": (low, high)})


class ToolParams(Params, frozen=True, kw_only=True, rename="lower", forbid_unknown_fields=True):
    """Base class of the parameters of all tools."""


class SearchCodeParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of search_code."""

    query: Annotated[str, Meta(description="A whole question, or a few names and words of the code.")]
    paths: Annotated[
        tuple[str, ...], Meta(description='Globs of the files: "src/**/*.py", "docs/", or "!tests/" to exclude.')
    ] = ()
    budget_tokens: Annotated[int, _bounds("Maximum size of the list in tokens", 200, 8_000)] = LIST_BUDGET
    snippets: Annotated[int, _bounds("Lines shown around the matching lines of each region", 0, 20)] = 0
    include_tests: Annotated[
        bool, Meta(description="List tests, docs, examples and generated files without a limit.")
    ] = False


class ReadCodeParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of read_code."""

    places: Annotated[
        tuple[str, ...], Meta(description='What to read: "src/a.py:10-60", "src/a.py#Class.method", "src/a.py".')
    ]
    budget_tokens: Annotated[int, _bounds("Maximum size of the text in tokens", 200, 50_000)] = 6_000
    repeat: Annotated[bool, Meta(description="Return text again that was returned before and has not changed.")] = False


class ExplainSymbolParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of explain_symbol."""

    name: Annotated[
        str, Meta(description='"name", "Class.method", "path#name" if several places define it, or the path of a file.')
    ]
    relations: Annotated[
        tuple[str, ...], Meta(description=f"Parts of the answer, by default all: {', '.join(RELATIONS)}.")
    ] = ()


class GetContextParams(ToolParams, frozen=True, kw_only=True):
    """Parameters of get_context."""

    question: Annotated[
        str, Meta(description="The task or question; @src/a.py, @#name, @src/a.py:10-20 or @diff add what they name.")
    ]
    budget_tokens: Annotated[int, _bounds("Maximum size of the context in tokens", 200, 200_000)] = 4_000


P = TypeVar("P", bound=ToolParams)


def decode_arguments(kind: type[P], arguments: Any) -> P:
    """Decode the arguments of a tool.

    Raises:
        InvalidParams: A field is unknown, missing or has the wrong type; the error names the valid fields.
    """
    arguments = {} if arguments is None else arguments
    hints = get_type_hints(kind, include_extras=True)
    if isinstance(arguments, dict):
        for name in arguments:
            if name not in hints:
                raise InvalidParams(f"{name[:80]}: unknown field; valid: {', '.join(hints)}.", name, tuple(hints))
        arguments = {name: _as_list(value) if _is_list(hints[name]) else value for name, value in arguments.items()}
    params = protocol.decode(kind, arguments)
    return structs.replace(params, **{name: _clamp(getattr(params, name), hint) for name, hint in hints.items()})


def _is_list(hint: Any) -> bool:
    return getattr(get_args(hint)[0], "__origin__", None) is tuple


def _as_list(value: Any) -> Any:
    """Return a list of strings for one string, which may also be a list as JSON."""
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return decoded if isinstance(decoded, list) else [value]
    return [value]


def _clamp(value: Any, hint: Any) -> Any:
    """Return a number within the bounds of its field; other values stay as they are."""
    bounds = next((meta.extra["bounds"] for meta in get_args(hint)[1:] if isinstance(meta, Meta) and meta.extra), None)
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])


def json_schema(kind: type[Struct]) -> Json:
    """Return the JSON schema of parameters, without references, which not all clients resolve."""
    _, definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    return {key: value for key, value in definitions[kind.__name__].items() if key not in ("title", "description")}
