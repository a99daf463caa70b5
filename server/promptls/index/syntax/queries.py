"""The project's own queries, compiled for whatever grammar was found.

A language's patterns are compiled all together where the grammar knows every node they name, else
one by one, and those that the grammar rejects are left out: two generations of a grammar share one
file.  Some capture a reference (`@ref`, `@call`, `@base`, `@iface`), a name that is none (`@bound`), a decision
(`@fork`), a declaration with a type (`@typed`) or a mark (`@yields` …); all others find definitions and what is
around them.  All are one query: to walk a tree takes most of the time of asking it.
Compiled once per language and order of sources; any thread may use the result.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax.grammars import SOURCES, Source, grammars
from promptls.languages.table import BY_NAME

if TYPE_CHECKING:
    import tree_sitter

_PARTS = frozenset({"name", "body", "owner", "inner", "verb", "doc", "declarator", "clause", "tail"})
"""Captures that are parts of what a pattern finds; the other one says what it is: a kind, "wrap", "import" …"""

_CAPTURE = re.compile(r"@(\w+)")
_REF = re.compile(r"@(?:ref|call|base|iface|fork|typed|yields|spawns|defers|awaits|bound)\b")
_NODE = re.compile(r"\((?!_\b)(\w+)")
_FIELD = re.compile(r"\b(\w+):")
_LITERAL = re.compile(r'"([^"]+)"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|@[\w.]+|[()\[\]]')


class Tags(NamedTuple):
    """The compiled queries of a language."""

    grammar: tree_sitter.Language
    query: tree_sitter.Query | None
    roles: tuple[str, ...]  # by pattern: the capture that says what the pattern finds, "" where each speaks for itself
    single: bool  # every pattern has one root: what it finds in a node does not depend on what is around it
    rejected: tuple[str, ...]  # patterns that the grammar does not know


@cache
def tags(language: str, order: tuple[Source, ...] = SOURCES) -> Tags | None:
    """The queries of a language, None if no source has a grammar for it."""
    grammar = grammars(order).grammar(language)
    if grammar is None:
        return None
    found = [pattern for name in BY_NAME[language].queries for pattern in patterns(_source(name))]
    query, known = _compile(grammar, found)
    return Tags(
        grammar=grammar,
        query=query,
        roles=tuple(_role(pattern) for pattern in known),
        single=query is None or all(query.is_pattern_rooted(at) for at in range(query.pattern_count)),
        rejected=tuple(pattern for pattern in found if pattern not in known),
    )


def patterns(source: str) -> list[str]:
    """The top-level patterns of a query file, comments removed, captures behind them included."""
    found: list[str] = []
    start = depth = 0
    for token in _TOKEN.finditer(source):
        text = token.group()
        if text in "([":
            if depth == 0:
                start = token.start()
            depth += 1
        elif text in ")]":
            depth -= 1
            if depth == 0:
                found.append(source[start : token.end()])
        elif text[0] == "@" and depth == 0:
            found[-1] += " " + text
    return found


def _source(name: str) -> str:
    return (resources.files("promptls.languages") / "queries" / f"{name}.scm").read_text("utf-8")


def _role(pattern: str) -> str:
    if _REF.search(pattern):
        return ""
    captures: list[str] = _CAPTURE.findall(pattern)
    return next(name for name in captures if name not in _PARTS)


def _compile(grammar: tree_sitter.Language, found: list[str]) -> tuple[tree_sitter.Query | None, list[str]]:
    """One query of the patterns that the grammar accepts, and those patterns."""
    good = [pattern for pattern in found if _knows(grammar, pattern)]
    try:
        return _query(grammar, good), good
    except ValueError:  # the names exist, but never in this arrangement
        good = [pattern for pattern in good if _accepts(grammar, pattern)]
        return _query(grammar, good), good


def _knows(grammar: tree_sitter.Language, pattern: str) -> bool:
    """Whether all names of a pattern exist in the grammar: far cheaper than an attempt to compile it."""
    return (
        all(grammar.id_for_node_kind(name, True) for name in _NODE.findall(pattern))
        and all(grammar.field_id_for_name(name) for name in _FIELD.findall(pattern))
        and all(grammar.id_for_node_kind(text, False) for text in _LITERAL.findall(pattern))
    )


def _accepts(grammar: tree_sitter.Language, pattern: str) -> bool:
    try:
        _query(grammar, [pattern])
    except ValueError:
        return False
    return True


def _query(grammar: tree_sitter.Language, found: list[str]) -> tree_sitter.Query | None:
    import tree_sitter

    return tree_sitter.Query(grammar, "\n".join(found)) if found else None
