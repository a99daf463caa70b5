"""Conversion of decoded data to msgspec types, safe for use from several threads.

msgspec builds the description of a type when the type is first used, and runs Python code while it does so.  Two threads
that use a type for the first time at once can crash the interpreter (seen with msgspec 0.22 on Python 3.11).  The first
use of each type therefore holds a lock; all later ones run without.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import msgspec

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
