"""The project's own queries, compiled for whatever grammar was found.

A language's patterns are compiled all together where the grammar knows every node they name, else
one by one, and those that the grammar rejects are left out: two generations of a grammar share one
file.  Patterns that capture a reference (`@ref`, `@call`, `@base`, `@iface`), a name that is none (`@bound`),
a decision (`@fork`), a declaration with a type (`@typed`) or a mark (`@yields` …) make the reference query, all
others the structure query.
Compiled once per language and order of sources; any thread may use the result.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax.grammars import SOURCES, Source, grammars
from promptls.index.syntax.languages import BY_NAME

if TYPE_CHECKING:
    import tree_sitter

_PARTS = frozenset({"name", "body", "owner", "inner", "verb", "doc", "declarator", "clause", "tail", "ref"})
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
    structure: tree_sitter.Query | None
    roles: tuple[str, ...]  # by pattern of `structure`: the capture that says what the pattern finds
    references: tree_sitter.Query | None
    single: bool  # every pattern has one root: what it finds in a node does not depend on what is around it
    rejected: tuple[str, ...]  # patterns that the grammar does not know


@cache
def tags(language: str, order: tuple[Source, ...] = SOURCES) -> Tags | None:
    """The queries of a language, None if no source has a grammar for it."""
    grammar = grammars(order).grammar(language)
    if grammar is None:
        return None
    found = [pattern for name in BY_NAME[language].queries for pattern in patterns(_source(name))]
    structure, known = _compile(grammar, [pattern for pattern in found if not _REF.search(pattern)])
    references, more = _compile(grammar, [pattern for pattern in found if _REF.search(pattern)])
    accepted = {*known, *more}
    return Tags(
        grammar=grammar,
        structure=structure,
        roles=tuple(_role(pattern) for pattern in known),
        references=references,
        single=_rooted(structure) and _rooted(references),
        rejected=tuple(pattern for pattern in found if pattern not in accepted),
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
    return (resources.files("promptls.index.syntax") / "queries" / f"{name}.scm").read_text("utf-8")


def _role(pattern: str) -> str:
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


def _rooted(query: tree_sitter.Query | None) -> bool:
    return query is None or all(query.is_pattern_rooted(at) for at in range(query.pattern_count))


def _accepts(grammar: tree_sitter.Language, pattern: str) -> bool:
    try:
        _query(grammar, [pattern])
    except ValueError:
        return False
    return True


def _query(grammar: tree_sitter.Language, found: list[str]) -> tree_sitter.Query | None:
    import tree_sitter

    return tree_sitter.Query(grammar, "\n".join(found)) if found else None
