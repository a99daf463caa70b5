"""Import statements: the parsed form, and parsers that several languages share.

A parser takes the text of a statement and yields its imports; none for a statement that imports nothing. Parsing text
instead of nodes makes the result independent of the version of a grammar. Parsers of one language are in its module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from promptls.util.text.regex import lazy_pattern

Names = tuple[str, ...]


class ParsedImport(NamedTuple):
    """One import as written."""

    module: str
    names: Names = ()
    """Imported names; "*" stands for all names, "default" for the default export."""
    local_names: Names = ()
    """Names in this file: one per imported name, or one for the module; () if they are the same."""


Imports = Iterator[ParsedImport]
ImportParser = Callable[[str], Imports]

QUOTED = lazy_pattern(r"""["'<`]([^"'>`\n]+)["'>`]""")
IDENTIFIER = lazy_pattern(r"[^\W\d][\w$]*")


def split_aliases(pieces: list[list[str]]) -> tuple[Names, Names]:
    """Return (names, local names) of pieces such as [["a"], ["b", "as", "c"]]."""
    names = tuple(words[0] for words in pieces)
    local_names = tuple(words[2] if len(words) > 2 and words[1] in ("as", "=>") else words[0] for words in pieces)
    return names, local_names if local_names != names else ()


def split_arrows(names: list[str]) -> tuple[Names, Names]:
    """Return (names, local names) of items such as "a" and "b=>c"."""
    return split_aliases([list(name.partition("=>")) if "=>" in name else [name] for name in names])


def parse_quoted(text: str) -> Imports:
    """Parse a statement that imports each quoted string, as in CSS."""
    for module in QUOTED.finditer(text):
        yield ParsedImport(module.group(1))


def parse_aliased(text: str) -> Imports:
    """Parse a statement that imports quoted strings with optional names before them, as in Go and Protocol Buffers."""
    for module in QUOTED.finditer(text):
        alias = IDENTIFIER.search(text[: module.start()])
        yield ParsedImport(module.group(1), (), (alias.group(),) if alias and alias.group() != "import" else ())


def call_parser(*functions: str) -> ImportParser:
    """Return a parser of calls or commands such as require("x"), source x, library(x)."""
    function = lazy_pattern(rf"(?:{'|'.join(map(re.escape, functions))})(?=[\s(\"'])")

    def parse_call(text: str) -> Imports:
        match = function.match(text)
        if match is None:
            return
        argument = text[match.end() :].strip(" \t\n(),;")
        if quoted := QUOTED.match(argument):
            yield ParsedImport(quoted.group(1))
        elif word := re.match(r"[^\s,;()'\"]+", argument):
            yield ParsedImport(word.group())

    return parse_call


def last_part(module: str) -> str:
    """Return the last part of a module's name, which an import without names binds in many languages."""
    return module.replace("::", ".").replace("\\", ".").rpartition(".")[2]
