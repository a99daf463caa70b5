"""Outlines of the sample of every language, from both sources of grammars, against tables to read.

`python tests/unit/test_syntax_outline.py` writes the tables anew; look at the difference before keeping it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from promptls.index.syntax.parse import scan
from promptls.languages.kinds import SYMBOL_KINDS
from promptls.languages.table import LANGUAGES, language_of
from promptls.model import CALL, IMPLEMENT, INHERIT, MENTION, Outline, Reference, Span

SAMPLES = Path(__file__).parent.parent / "fixtures" / "syntax"
FILES = {language_of(file.name): file for file in sorted(SAMPLES.iterdir()) if file.is_file()}

REQUIRED = (
    "python javascript jsx typescript tsx go rust java c cpp csharp ruby php kotlin swift scala lua bash elixir haskell "
    "ocaml ocaml_interface r sql html css scss markdown json yaml toml"
).split()

SAME_IN_BOTH = (
    "python javascript jsx typescript tsx go rust java c cpp csharp ruby php kotlin scala bash elixir ocaml r sql html css "
    "json yaml toml vue svelte dockerfile make hcl elisp"
).split()
"""Languages of which both sources of grammars give the same symbols."""

OLDER = {
    "haskell": set[str](),
    "julia": set[str](),
    "markdown": set[str](),
    "perl": {"Shop.Cart.LIMIT"},
}
"""Languages where some extents or kinds differ, and the names that the second source does not find."""


def table(outline: Outline) -> str:
    """An outline as text: kind, qualified name, lines, first lines of comment and body, head, documentation."""
    out = []
    for symbol in outline.symbols:
        depth, parent = 0, symbol.parent
        while parent >= 0:
            depth, parent = depth + 1, outline.symbols[parent].parent
        where = f"{symbol.span.label} doc {symbol.doc_start + 1} body {symbol.body_start + 1}"
        facts = f"{'+' if symbol.exported else '-'}{symbol.complexity or ''} {symbol.marks}".rstrip()
        row = f"{'  ' * depth}{symbol.kind} {symbol.name or '-'} = {symbol.qualified} {where} {facts} | {symbol.signature}"
        out.append(row + (f" | {symbol.doc}" if symbol.doc else ""))
    for i in outline.imports:
        renamed = f" as ({', '.join(i.locals)})" if i.locals else ""
        out.append(f"import {i.module} ({', '.join(i.names)}){renamed} {i.line + 1}")
    out += [f"ref {n + 1}: {' '.join(map(written, g))}" for n, g in groupby(outline.uses(), lambda r: r.line)]
    out += [f"typed {line + 1}: {variable}: {of}" for variable, of, line in outline.variables()]
    return "\n".join(out) + "\n"


def written(use: Reference) -> str:
    """A reference as text: "a.b()" a call, "^b" inherited, "~b" implemented, "b" used, "=b" spoken of."""
    name = f"{use.receiver}.{use.name}" if use.receiver else use.name
    return {CALL: f"{name}()", INHERIT: f"^{name}", IMPLEMENT: f"~{name}", MENTION: f"={name}"}.get(use.kind, name)


def sample(language: str) -> str:
    return FILES[language].read_text("utf-8")


def test_every_language_has_a_sample() -> None:
    assert sorted(FILES) == sorted(language.name for language in LANGUAGES)
    assert set(REQUIRED) <= set(FILES)


@pytest.mark.parametrize("language", sorted(FILES))
def test_outline_of_sample(language: str) -> None:
    outline = scan(sample(language), language).outline
    assert table(outline) == (SAMPLES / "expected" / f"{language}.txt").read_text("utf-8")
    assert (outline.language, outline.problem) == (language, "")
    assert {symbol.kind for symbol in outline.symbols} <= SYMBOL_KINDS


@pytest.mark.parametrize("language", SAME_IN_BOTH)
def test_second_source_gives_the_same_symbols(language: str) -> None:
    pytest.importorskip("tree_sitter_languages", reason="not made for this Python")
    first, second = (scan(sample(language), language, order=(source,)).outline for source in ("pack", "legacy"))
    assert second.problem == ""
    assert [(s.kind, s.qualified, s.span) for s in second.symbols] == [
        (s.kind, s.qualified, s.span) for s in first.symbols
    ]
    assert second.imports == first.imports


@pytest.mark.parametrize("language", sorted(OLDER))
def test_second_source_lacks_little(language: str) -> None:
    pytest.importorskip("tree_sitter_languages", reason="not made for this Python")
    first, second = (scan(sample(language), language, order=(source,)).outline for source in ("pack", "legacy"))
    assert {s.qualified for s in first.symbols} - {s.qualified for s in second.symbols} == OLDER[language]


def write() -> None:
    for language in FILES:
        (SAMPLES / "expected" / f"{language}.txt").write_text(table(scan(sample(language), language).outline), "utf-8")


def test_an_empty_key_is_no_symbol() -> None:
    assert all(s.name for s in scan('{"": {"x": 1}, "a": {"b": 2}}\n', "json").outline.symbols)


def test_a_body_does_not_begin_before_its_head() -> None:
    """A line that begins as a comment does need not be one: Lua's may end in it."""
    text = "local M\n--[[ of a date ]] function parse(s)\n  return self:match(s)\nend\n"
    symbol = scan(text, "lua").outline.symbols[-1]
    assert (symbol.span, symbol.body_start) == (Span(1, 4), 2)


if __name__ == "__main__":
    write()


@pytest.mark.parametrize(
    ("language", "text", "parameter", "end"),
    [
        ("python", "def f(...) -> Engine:\n    pass\n", 'p: Map[[int], str] = ")},, ->"', ", …) -> Engine"),
        ("swift", "func f(...) throws -> Engine { e }\n", 'p: Map<Int, Any> = ")},, ->"', ", …) throws -> Engine"),
        ("rust", "fn f<'a>(...) -> Engine { e }\n", "p: Map<&'a str, [A; 2]>", ", …) -> Engine"),
        ("go", "func (s *S) f(...) (Engine, error) {\n}\n", "p map[string]func(a, b int)", ", …) (Engine, error)"),
    ],
)
def test_a_long_head_keeps_what_it_returns(language: str, text: str, parameter: str, end: str) -> None:
    head = text.replace("...", ", ".join([parameter] * 12))
    symbol = scan(head, language).outline.symbols[0]
    assert symbol.signature.endswith(f"{parameter}{end}")
    assert head.startswith(symbol.signature.removesuffix(end))
    assert len(symbol.signature) <= 240
