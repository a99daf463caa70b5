"""Grammars and compiled queries of each language."""

from __future__ import annotations

import pytest

from promptls.index.syntax.tree_sitter.grammar_queries import compiled_queries, split_patterns
from promptls.index.syntax.tree_sitter.grammars import GrammarLoader
from promptls.languages import LANGUAGES


def test_grammar_comes_from_the_first_source_that_has_it() -> None:
    pytest.importorskip("tree_sitter_languages", reason="not made for this Python")
    pack, legacy = GrammarLoader(["pack"]), GrammarLoader(["legacy"])
    assert GrammarLoader(["pack", "legacy"]).grammar("go") == pack.grammar("go")
    assert GrammarLoader(["legacy", "pack"]).grammar("go") == legacy.grammar("go") != pack.grammar("go")
    assert legacy.grammar("swift") is None
    assert GrammarLoader(["legacy", "pack"]).grammar("swift") == pack.grammar("swift")


def test_unknown_languages_have_no_grammar() -> None:
    assert [GrammarLoader().grammar(name) for name in ("cobol", "text", "", "../etc")] == [None] * 4
    assert compiled_queries("cobol") is None


@pytest.mark.parametrize("language", sorted(name for name in LANGUAGES if LANGUAGES[name].query_files))
def test_every_language_has_a_grammar_and_queries(language: str) -> None:
    queries = compiled_queries(language, ("pack",))
    assert queries is not None and queries.query is not None
    assert queries.query.pattern_count == len(queries.roles)


def test_patterns_are_split_at_the_top_level() -> None:
    source = '; a (comment\n(a "(" @x) @b\n[(c) (d)] @e ; and\n\n((f)\n  .\n  (g)) @h @i'
    assert split_patterns(source) == ['(a "(" @x) @b', "[(c) (d)] @e", "((f)\n  .\n  (g)) @h @i"]
