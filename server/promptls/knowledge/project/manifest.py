"""The manifest value, and helpers shared by the manifest parsers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from promptls.util.text.truncate import truncate_words

TextPairs = tuple[tuple[str, str], ...]


class ProjectManifest(Struct, frozen=True):
    """Data of one manifest; fields without data are empty."""

    ecosystem: str = ""  # table of libraries.toml that contains its dependencies
    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()  # normalized names: lower case, in Python "-" instead of "_"
    commands: TextPairs = ()  # (purpose or name, command line)
    entry_points: TextPairs = ()  # (kind, path or module as written)
    development: tuple[str, ...] = ()  # dependencies for development or for extras only
    main_files: tuple[str, ...] = ()  # npm: entry files of the package, as written
    exports: TextPairs = ()  # npm: (subpath, file as written)
    subpath_imports: TextPairs = ()  # npm: ("#name", file as written)
    namespaces: TextPairs = ()  # Composer: (namespace prefix, folder as written) of autoloaded classes
    versions: tuple[str, ...] = ()  # required versions of languages: "Python >=3.10", "Go 1.22"
    runtime: tuple[str, ...] | None = None  # dependencies of the program itself; None: `dependencies`


_JSON_EXTENSIONS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
"""Strings (kept), comments and trailing commas (removed)."""


def decode_json(text: str) -> Any:
    """Decode JSON with comments and trailing commas.

    Raises:
        ValueError: The text is not valid.
        RecursionError: The text is nested too deeply.
    """
    return json.loads(_JSON_EXTENSIONS.sub(lambda match: match[1] or "", text))


def clean_line(value: object, max_characters: int) -> str:
    """Return text as one line of visible characters, or "" for other values."""
    if not isinstance(value, str):
        return ""
    folded = " ".join("".join(c if c.isprintable() else " " for c in value[: 4 * max_characters]).split())
    return truncate_words(folded, max_characters)


def required_version(language: str, version: object) -> tuple[str, ...]:
    """Return the required version of a language as a tuple of one text, or () for a value that is not a version."""
    text = clean_line(version, 40)
    return (f"{language} {text}",) if re.search(r"\d", text) else ()


def get_table(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the table at a path of keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def only_strings(value: object) -> Iterator[str]:
    """Yield the strings in a list; nothing for other values."""
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else iter(())
