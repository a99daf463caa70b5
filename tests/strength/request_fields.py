"""String fields of all requests, derived from the parameter types of `promptls.api.messages.params`.

`example_requests()` returns valid params for each method. `string_paths(params)` yields the paths of the string fields,
and `with_value(params, path, value)` replaces one of them. New fields of the protocol are included automatically.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from promptls.lsp import CUSTOM_REQUESTS, LSP_FEATURES

Json = dict[str, Any]
FieldPath = tuple["str | int", ...]

PLACEHOLDER = "some string"
"""Value of every string field before a test replaces it."""


def example_requests() -> dict[str, Json]:
    """Return params with all fields, including optional ones, by method."""
    types_by_method = {method: entry[0] for table in (CUSTOM_REQUESTS, LSP_FEATURES) for method, entry in table.items()}
    return {method: _example_value(kind) for method, kind in types_by_method.items()}


def _example_value(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        members = [k for k in get_args(kind) if k not in (type(None), msgspec.UnsetType)]
        return _example_value(str if str in members else members[0])
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return [_example_value(get_args(kind)[0])]
    if get_origin(kind) is dict:
        return {"name": PLACEHOLDER}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        return {f.encode_name: _example_value(hints[f.name]) for f in msgspec.structs.fields(kind)}
    simple: dict[Any, Any] = {str: PLACEHOLDER, Any: PLACEHOLDER, int: 1, float: 1.0, bool: True}
    return simple[kind]


def string_paths(params: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of all string fields that accept any value."""
    if params == PLACEHOLDER:
        yield path
    items = params.items() if isinstance(params, dict) else enumerate(params) if isinstance(params, list) else ()
    for key, value in items:
        yield from string_paths(value, (*path, key))


def with_value(params: Json, path: FieldPath, value: Any) -> Json:
    """Return a copy of the params with `value` at a path."""
    out = copy.deepcopy(params)
    parent: Any = out
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return out
