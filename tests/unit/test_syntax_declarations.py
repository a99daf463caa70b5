"""Definitions in forms beside the ordinary one: several names per declaration, exports, calls, blocks and macros."""

from __future__ import annotations

import pytest

from promptls.index.syntax.parse import parse_source


def symbols(text: str, language: str) -> list[str]:
    """Return each symbol as "kind qualified-name"."""
    outline = parse_source(text, language).outline
    assert not outline.problem
    return [f"{symbol.kind} {symbol.qualified}" for symbol in outline.symbols]


SEVERAL_NAMES = [
    ("c", "int a = 1, b = 2, *c, d = 3, e;\nextern int f;", "variable a|variable b|variable c|variable d|variable e"),
    ("csharp", "class A { int a, b = 2, c; const int D = 1, E = 2; }", "class A|field A.a|field A.b|field A.c|field A.D|field A.E"),
    ("go", "package a\nvar a, b, c = 1, 2, 3\nconst (\n\td, e = 1, 2\n)", "variable a|variable b|variable c|constant d|constant e"),
    ("java", "class A { int a, b = 2, c; }\ninterface B { int D = 1, E = 2; }",
     "class A|field A.a|field A.b|field A.c|interface B|constant B.D|constant B.E"),
    ("kotlin", "val (a, b) = c", "variable a|variable b"),
    ("lua", "local a, b, c = 1, 2", "variable a|variable b|variable c"),
    ("php", "<?php class A { public $a, $b = 1, $c; const D = 1, E = 2; }",
     "class A|property A.a|property A.b|property A.c|constant A.D|constant A.E"),
    ("python", "a, b = 1, 2\n(c, d) = a\nclass E:\n    x, y = 1, 2\n", "variable a|variable b|variable c|variable d|class E|field E.x|field E.y"),
    ("scala", "class A { val a, b = 1; val (c, d) = e }", "class A|field A.a|field A.b|field A.c|field A.d"),
    ("swift", "class A { var a = 1, b: Int, c = 3 }", "class A|property A.a|property A.b|property A.c"),
    ("javascript", "const a = 1, b = 2;\nconst { c, d: e, f = 3, ...g } = h;\nconst { r } = require('r');",
     "variable a|variable b|variable c|variable e|variable f|variable g"),
    ("typescript", "export const { a, b: c } = d;\nexport const [e] = f;", "variable a|variable c|variable e"),
]  # fmt: skip
"""Language, text, symbols."""

FORMS = [
    ("javascript", "exports.a = wrap();\nmodule.exports.b = 3;\nfunction c() {}\nmodule.exports = { c, d: wrap(), e: 1 };",
     "variable a|variable b|function c|variable d|variable e"),
    ("javascript", "app.a = function a() {};\nroute.all(function b() {});\nconst c = function c() {};", "method app.a|function b|function c"),
    ("javascript", "it.each([1])('a', () => {});\ndescribe.each`x`('b', function () {});\ntest.only('c', () => {});\n"
     "test.describe.only('d', () => {});", "test a|test b|test c|test d"),
    ("hcl", 'variable "a" { type = number, default = 2 }\nlocals {\n  b = 1\n  c = 2\n}\ndata "t" "n" {}\nresource "t" "n" {}\nmodule "m" {}',
     "block var.a|block local|variable local.b|variable local.c|block data.t.n|block t.n|block module.m"),
    ("graphql", "type A { b(c: Int): D }\ninput E { f: Int }\nenum G { H }\nextend type A { i: Int }\ninterface J { k: ID }",
     "class A|field A.b|struct E|field E.f|enum G|constant G.H|impl A|field A.i|interface J|field J.k"),
    ("kotlin", "class A {\n    context(Logger) fun b(c: D) {}\n    context(log: Logger, Raise<E>)\n    val f: Int get() = 1\n}",
     "class A|method A.b|property A.f"),
    ("kotlin", "enum class A {\n    B(1) { override fun c() = D },\n    D(2) { override fun c() = B };\n    companion object { fun e() = 1 }\n}",
     "enum A|method A.c|method A.c|method A.e"),
    ("dart", "class A {\n  final int a;\n  static const b = 1;\n  A operator +(A o) => o;\n}\nenum C { d, e }\nvar f = 1;\nint get g => 1;",
     "class A|field A.a|constant A.b|method A.+|enum C|constant C.d|constant C.e|variable f|function g"),
    ("dart", "extension type const A(int v) implements int {\n  bool get b => v > 0;\n}\nint c() => 1;", "class A|method A.b|function c"),
    ("svelte", "<script>\n  function a() {}\n</script>\n{#snippet row(item)}\n  <li>{item.x}</li>\n{/snippet}\n<p>{#if a}b{/if}</p>",
     "function a|function row"),
    ("rust", "lazy_static! {\n    /// Doc.\n    static ref A: Map = Map::new();\n    pub static ref B: u8 = 1;\n}\nfn c() {}",
     "variable A|variable B|function c"),
    ("rust", "bitflags! {\n    pub struct A: u32 {\n        const B = 0b1;\n        const C = Self::B.bits() | 2;\n    }\n}\nfn d() {}",
     "struct A|constant A.B|constant A.C|function d"),
    ("rust", "cfg_if::cfg_if! {\n    if #[cfg(unix)] {\n        fn a() { if x {} else {} }\n    } else if #[cfg(windows)] {\n        mod b {}\n"
     "    } else {\n        struct C;\n    }\n}\nfn d() {}", "function a|module b|struct C|function d"),
]  # fmt: skip
"""Language, text, symbols."""


@pytest.mark.parametrize(("language", "text", "expected"), SEVERAL_NAMES)
def test_each_name_of_a_declaration_is_a_symbol(language: str, text: str, expected: str) -> None:
    assert sorted(symbols(text, language)) == sorted(expected.split("|"))


@pytest.mark.parametrize(("language", "text", "expected"), FORMS)
def test_other_forms_of_definitions(language: str, text: str, expected: str) -> None:
    assert symbols(text, language) == expected.split("|")
