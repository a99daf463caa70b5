"""Every field of every request, read off the types of `promptls.api.params`.

`requests()` gives for each method of the wire a set of params that fits it; `places(params)` the ways to its strings,
`put(params, place, value)` the same params with another string there.  A field that is added to the protocol is
in here by itself.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from promptls.api import params as protocol
from promptls.lsp import CUSTOM_REQUESTS, LSP_FEATURES

Json = dict[str, Any]
Place = tuple["str | int", ...]

ENTRY = "some string"
"""Stands in each string field until a test puts something else there."""


def requests() -> dict[str, Json]:
    """Method → params with every field filled in, the optional ones too."""
    kinds = {method: entry[0] for table in (CUSTOM_REQUESTS, LSP_FEATURES) for method, entry in table.items()}
    return {method: _filled(kind) for method, kind in kinds.items()}


def _filled(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        wanted = [k for k in get_args(kind) if k not in (type(None), msgspec.UnsetType)]
        return _filled(str if str in wanted else wanted[0])
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return [_filled(get_args(kind)[0])]
    if get_origin(kind) is dict:
        return {"name": ENTRY}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        return {f.encode_name: _filled(hints[f.name]) for f in msgspec.structs.fields(kind)}
    simple: dict[Any, Any] = {str: ENTRY, Any: ENTRY, int: 1, float: 1.0, bool: True}
    return simple[kind]


def places(params: Any, way: Place = ()) -> Iterator[Place]:
    """The ways to all strings that are not of a fixed set."""
    if params == ENTRY:
        yield way
    items = params.items() if isinstance(params, dict) else enumerate(params) if isinstance(params, list) else ()
    for key, value in items:
        yield from places(value, (*way, key))


def put(params: Json, place: Place, value: Any) -> Json:
    """A copy of the params with `value` at a place."""
    out = copy.deepcopy(params)
    at: Any = out
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return out


def uses(name: str) -> bool:
    """Whether a type of the protocol is a part of some request."""
    return any(issubclass(k, getattr(protocol, name)) for k, *_ in [*CUSTOM_REQUESTS.values(), *LSP_FEATURES.values()])
