"""Outlines of a sample file per language, from both grammar sources, compared with expected tables.

`python tests/unit/test_syntax_outline.py` rewrites the tables; review the diff before committing it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from promptls.index.syntax.parse import parse_source
from promptls.languages import LANGUAGES, language_of
from promptls.languages.kinds import SYMBOL_KINDS
from promptls.model import CALL, IMPLEMENT, INHERIT, PROSE, Outline, Reference, Span

SAMPLES = Path(__file__).parent.parent / "fixtures" / "syntax"
FILES = {language_of(file.name, file.read_text("utf-8")): file for file in sorted(SAMPLES.iterdir()) if file.is_file()}

REQUIRED = (
    "python javascript jsx typescript tsx go rust java c cpp csharp ruby php kotlin swift scala lua bash elixir haskell "
    "ocaml ocaml_interface r sql html css scss markdown json yaml toml"
).split()

SAME_IN_BOTH = "python typescript go rust java cpp csharp ruby php json".split()
"""Languages that show that a grammar of tree-sitter-languages works with the same queries."""


def render_outline(outline: Outline) -> str:
    """Render an outline as text, one line per symbol, import, line with references, and declaration."""
    out = []
    for symbol in outline.symbols:
        depth, parent = 0, symbol.parent
        while parent >= 0:
            depth, parent = depth + 1, outline.symbols[parent].parent
        where = f"{symbol.span.label} doc {symbol.doc_start + 1} body {symbol.body_start + 1}"
        properties = f"{'+' if symbol.exported else '-'}{symbol.complexity or ''} {symbol.traits}".rstrip()
        row = f"{'  ' * depth}{symbol.kind} {symbol.name or '-'} = {symbol.qualified} {where} {properties} | {symbol.signature}"
        out.append(row + (f" | {symbol.doc}" if symbol.doc else ""))
    for i in outline.imports:
        renamed = f" as ({', '.join(i.local_names)})" if i.local_names else ""
        out.append(f"import {i.module} ({', '.join(i.names)}){renamed} {i.line + 1}")
    out += [
        f"ref {n + 1}: {' '.join(map(render_reference, g))}" for n, g in groupby(outline.references(), lambda r: r.line)
    ]
    out += [f"typed {line + 1}: {variable}: {of}" for variable, of, line in outline.variables()]
    return "\n".join(out) + "\n"


def render_reference(use: Reference) -> str:
    """Render a reference: "a.b()" is called, "^b" inherited, "~b" implemented, "b" used, "=b" mentioned in prose."""
    name = f"{use.receiver}.{use.name}" if use.receiver else use.name
    return {CALL: f"{name}()", INHERIT: f"^{name}", IMPLEMENT: f"~{name}", PROSE: f"={name}"}.get(use.kind, name)


def sample(language: str) -> str:
    return FILES[language].read_text("utf-8")


def test_every_language_has_a_sample() -> None:
    assert sorted(FILES) == sorted(LANGUAGES)
    assert set(REQUIRED) <= set(FILES)


@pytest.mark.parametrize("language", sorted(FILES))
def test_outline_of_sample_matches_expected_table(language: str) -> None:
    outline = parse_source(sample(language), language).outline
    assert render_outline(outline) == (SAMPLES / "expected" / f"{language}.txt").read_text("utf-8")
    assert (outline.language, outline.problem) == (language, "")
    assert {symbol.kind for symbol in outline.symbols} <= SYMBOL_KINDS


@pytest.mark.parametrize("language", SAME_IN_BOTH)
def test_legacy_grammar_yields_the_same_symbols(language: str) -> None:
    pytest.importorskip("tree_sitter_languages", reason="not made for this Python")
    first, second = (
        parse_source(sample(language), language, grammar_sources=(source,)).outline for source in ("pack", "legacy")
    )
    assert second.problem == ""
    assert [(s.kind, s.qualified, s.span) for s in second.symbols] == [
        (s.kind, s.qualified, s.span) for s in first.symbols
    ]
    assert second.imports == first.imports


def rewrite_expected() -> None:
    for language in FILES:
        (SAMPLES / "expected" / f"{language}.txt").write_text(
            render_outline(parse_source(sample(language), language).outline), "utf-8"
        )


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("# [1.2.0](https://example.com/1.2.0) - today", "1.2.0 - today"),
        ("# Use [`parse()`][api] and [#12]", "Use parse() and [#12]"),
        ("# ![logo](logo.png) Name <a id='name'></a> {#name}", "Name"),
        ("Vec<u8> and `Box<T>`, array[i]\n====", "Vec<u8> and Box<T>, array[i]"),
    ],
)
def test_name_of_a_heading_is_what_readers_see(heading: str, name: str) -> None:
    assert [symbol.name for symbol in parse_source(f"{heading}\n\ntext\n", "markdown").outline.symbols] == [name]


def test_empty_key_is_not_a_symbol() -> None:
    assert all(s.name for s in parse_source('{"": {"x": 1}, "a": {"b": 2}}\n', "json").outline.symbols)


def test_body_begins_after_the_head() -> None:
    """A line that begins with a comment marker may contain code: a block comment of Lua can end in the line."""
    text = "local M\n--[[ of a date ]] function parse(s)\n  return self:match(s)\nend\n"
    symbol = parse_source(text, "lua").outline.symbols[-1]
    assert (symbol.span, symbol.body_start) == (Span(1, 4), 2)


@pytest.mark.parametrize(
    ("language", "text", "parameter", "end"),
    [
        ("python", "def f(...) -> Engine:\n    pass\n", 'p: Map[[int], str] = ")},, ->"', ", …) -> Engine"),
        ("swift", "func f(...) throws -> Engine { e }\n", 'p: Map<Int, Any> = ")},, ->"', ", …) throws -> Engine"),
        ("rust", "fn f<'a>(...) -> Engine { e }\n", "p: Map<&'a str, [A; 2]>", ", …) -> Engine"),
        ("go", "func (s *S) f(...) (Engine, error) {\n}\n", "p map[string]func(a, b int)", ", …) (Engine, error)"),
    ],
)
def test_long_signature_keeps_the_return_type(language: str, text: str, parameter: str, end: str) -> None:
    head = text.replace("...", ", ".join([parameter] * 12))
    symbol = parse_source(head, language).outline.symbols[0]
    assert symbol.signature.endswith(f"{parameter}{end}")
    assert head.startswith(symbol.signature.removesuffix(end))
    assert len(symbol.signature) <= 240


if __name__ == "__main__":
    rewrite_expected()
