"""What the readers of manifests share: the value they give, and how text and tables are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from promptls.util.truncate import clipped

Pairs = tuple[tuple[str, str], ...]


class Manifest(Struct, frozen=True):
    """What one manifest says; empty where it says nothing."""

    ecosystem: str = ""  # table of libraries.toml that its dependencies are in
    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()  # names as in that table: lower case, in Python "-" for "_"
    commands: Pairs = ()  # (what for or its name, what to type)
    entries: Pairs = ()  # (what it is, path or module as written)
    development: tuple[str, ...] = ()  # dependencies for its development or for extras alone


def line_of(value: object, most: int) -> str:
    """Text on one line without what cannot be seen, "" for anything but text."""
    if not isinstance(value, str):
        return ""
    folded = " ".join("".join(c if c.isprintable() else " " for c in value[: 4 * most]).split())
    return clipped(folded, most)


def table_at(value: object, *keys: str) -> Mapping[str, Any]:
    """The table at a path of keys, an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def texts_of(value: object) -> Iterator[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else iter(())
