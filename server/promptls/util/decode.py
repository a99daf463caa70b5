"""Conversion of decoded data to msgspec types, safe for use from several threads.

msgspec builds the description of a type when the type is first used, and runs Python code while it does so.  Two threads
that use a type for the first time at once can crash the interpreter (seen with msgspec 0.22 on Python 3.11), so all
conversions share one lock.  The lock costs nothing otherwise: msgspec holds the global interpreter lock while it decodes.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.RLock()  # a type's `__post_init__` may convert another type


def convert(value: Any, kind: type[T], strict: bool = True) -> T:
    """Convert plain values to a type; if not `strict`, also "5" and 5.0 to 5.  Raises `msgspec.ValidationError`."""
    with _lock:
        return msgspec.convert(value, kind, strict=strict)  # noqa: TID251


def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON to a type.  Raises `msgspec.DecodeError`, of which `msgspec.ValidationError` is a subclass."""
    with _lock:
        return msgspec.json.decode(data, type=kind)  # noqa: TID251


def decode_msgpack(data: bytes | memoryview, kind: type[T]) -> T:
    """Decode MessagePack to a type.  Raises `msgspec.DecodeError`."""
    with _lock:
        return msgspec.msgpack.decode(data, type=kind)  # noqa: TID251
