"""Decoding of JSON, MessagePack and TOML, and conversion to msgspec types, safe for use from several threads.

msgspec builds the description of a type when the type is first used, and runs Python code while it does so.  Two threads
that use a type for the first time at once can crash the interpreter (seen with msgspec 0.22 on Python 3.11).  The first
use of each type therefore holds a lock; all later ones run without.

`tomllib` is the TOML parser of every Python; `parse_toml` is bounded in time, for untrusted files of a workspace.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MAX_LINE_CHARS", "convert", "decode_json", "decode_msgpack", "parse_toml", "tomllib"]

T = TypeVar("T")

_lock = threading.RLock()  # a type's `__post_init__` may convert another type
_described: set[Any] = set()  # types that were used before


def _first_use(kind: Any) -> AbstractContextManager[object]:
    """Return the lock for the first use of a type, and a context without effect afterwards."""
    return nullcontext() if kind in _described else _lock


def convert(value: Any, kind: type[T], strict: bool = True) -> T:
    """Convert plain values to a type; if not `strict`, also "5" and 5.0 to 5.  Raises `msgspec.ValidationError`."""
    with _first_use(kind):
        result = msgspec.convert(value, kind, strict=strict)  # noqa: TID251
    _described.add(kind)
    return result


def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON to a type.  Raises `msgspec.DecodeError`, of which `msgspec.ValidationError` is a subclass."""
    with _first_use(kind):
        result = msgspec.json.decode(data, type=kind)  # noqa: TID251
    _described.add(kind)
    return result


def decode_msgpack(data: bytes | memoryview, kind: type[T]) -> T:
    """Decode MessagePack to a type.  Raises `msgspec.DecodeError`."""
    with _first_use(kind):
        result = msgspec.msgpack.decode(data, type=kind)  # noqa: TID251
    _described.add(kind)
    return result


MAX_LINE_CHARS = 10_000
"""Maximum length of a line: the time for a dotted key grows with the square of its length."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError or RecursionError."""
    if max(map(len, text.split("\n"))) > MAX_LINE_CHARS:
        raise ValueError(f"a line has more than {MAX_LINE_CHARS:,} characters")
    tables: dict[str, Any] = tomllib.loads(text)
    return tables
