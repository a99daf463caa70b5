"""Tree-sitter queries of each language, compiled for the installed grammar.

The patterns of a language are compiled together if the grammar knows every node that they name. Otherwise they are
compiled one by one, and those that the grammar rejects are left out. Two generations of a grammar can therefore share
one query file. All patterns form one query, because walking the tree takes most of the time.

Some patterns capture references and properties of code:

- `@ref`, `@call`, `@base`, `@implements`: a reference.
- `@bound`: a name that is not a reference.
- `@branch`: a decision, for the cyclomatic complexity.
- `@typed`: a declaration with a type.
- `@yields`, `@spawns`, `@defers`, `@awaits`: a trait of the enclosing function.

All others capture definitions and the nodes around them. Queries are compiled once per language and order of grammar
sources; any thread may use the result.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from promptls.index.syntax.tree_sitter.grammars import GRAMMAR_SOURCES, GrammarSource, grammar_loader
from promptls.languages import LANGUAGES, read_query_file

if TYPE_CHECKING:
    import tree_sitter

_PART_CAPTURES = frozenset({"name", "body", "head", "owner", "inner", "callee", "doc", "declarator", "clause", "tail"})
"""Captures of the parts of a match. The other capture of a pattern names its role: a kind, "wrap", "import" …"""

_CAPTURE = re.compile(r"@(\w+)")
_REFERENCE_CAPTURE = re.compile(r"@(?:ref|call|base|implements|branch|typed|yields|spawns|defers|awaits|bound)\b")
_NODE = re.compile(r"\((?!_\b)(\w+)")
_FIELD = re.compile(r"\b(\w+):")
_LITERAL = re.compile(r'"([^"]+)"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;[^\n]*|@[\w.]+|[()\[\]]')


class CompiledQueries(NamedTuple):
    """The compiled queries of a language."""

    grammar: tree_sitter.Language
    query: tree_sitter.Query | None
    roles: tuple[str, ...]
    """Role of each pattern; "" for a pattern whose captures each have a meaning of their own."""
    single_rooted: bool
    """Every pattern has one root: its matches in a node do not depend on the nodes around it."""
    rejected: tuple[str, ...]
    """Patterns that the grammar does not support."""


@cache
def compiled_queries(
    language: str, grammar_sources: tuple[GrammarSource, ...] = GRAMMAR_SOURCES
) -> CompiledQueries | None:
    """Return the queries of a language, None if no source has a grammar for it."""
    grammar = grammar_loader(grammar_sources).grammar(language)
    if grammar is None:
        return None
    patterns = [
        pattern for name in LANGUAGES[language].query_files for pattern in split_patterns(read_query_file(name))
    ]
    query, accepted = _compile_supported(grammar, patterns)
    return CompiledQueries(
        grammar=grammar,
        query=query,
        roles=tuple(_role(pattern) for pattern in accepted),
        single_rooted=query is None or all(query.is_pattern_rooted(i) for i in range(query.pattern_count)),
        rejected=tuple(pattern for pattern in patterns if pattern not in accepted),
    )


def split_patterns(source: str) -> list[str]:
    """Return the top-level patterns of a query file with their captures, without comments."""
    patterns: list[str] = []
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
                patterns.append(source[start : token.end()])
        elif text[0] == "@" and depth == 0:
            patterns[-1] += " " + text
    return patterns


def _role(pattern: str) -> str:
    if _REFERENCE_CAPTURE.search(pattern):
        return ""
    captures: list[str] = _CAPTURE.findall(pattern)
    return next(name for name in captures if name not in _PART_CAPTURES)


def _compile_supported(
    grammar: tree_sitter.Language, patterns: list[str]
) -> tuple[tree_sitter.Query | None, list[str]]:
    """Compile the patterns that the grammar accepts, and return the query with these patterns."""
    accepted = [pattern for pattern in patterns if _knows_names(grammar, pattern)]
    try:
        return _compile(grammar, accepted), accepted
    except ValueError:  # the names exist, but never in this arrangement
        accepted = [pattern for pattern in accepted if _accepts(grammar, pattern)]
        return _compile(grammar, accepted), accepted


def _knows_names(grammar: tree_sitter.Language, pattern: str) -> bool:
    """Return whether the grammar has all names of a pattern, which is far cheaper than compiling it."""
    return (
        all(grammar.id_for_node_kind(name, True) for name in _NODE.findall(pattern))
        and all(grammar.field_id_for_name(name) for name in _FIELD.findall(pattern))
        and all(grammar.id_for_node_kind(text, False) for text in _LITERAL.findall(pattern))
    )


def _accepts(grammar: tree_sitter.Language, pattern: str) -> bool:
    try:
        _compile(grammar, [pattern])
    except ValueError:
        return False
    return True


def _compile(grammar: tree_sitter.Language, patterns: list[str]) -> tree_sitter.Query | None:
    import tree_sitter

    return tree_sitter.Query(grammar, "\n".join(patterns)) if patterns else None
