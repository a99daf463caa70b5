"""References with kinds and receivers, declared types, and properties of definitions."""

from __future__ import annotations

import pytest

from promptls.index.syntax.parse import parse_source
from promptls.index.syntax.references import NUMBER_LITERAL, STRING_LITERAL, UNKNOWN_RECEIVER, receiver_of
from promptls.languages import LANGUAGES
from promptls.model import CALL, IMPLEMENT, INHERIT, PROSE, USE, Reference


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", ""),
        ("x = ", ""),
        ("self.", "self"),
        ("os.path.", "os.path"),
        ("a?.b!.", "a.b"),
        ("a::b::", "a.b"),
        ("this\n    .", "this"),
        ("Foo(1, (2)).", "Foo()"),
        ("a.b(c).", "a.b()"),
        ("super().", "super()"),
        ("a(b).c(d).", "a().c()"),
        ("a(b).c.d.", "a().c.d"),
        ("a().b().c().d().e().f().", UNKNOWN_RECEIVER),
        ("a[0].", UNKNOWN_RECEIVER),
        ("a[0].b.", UNKNOWN_RECEIVER),
        ("{}.", UNKNOWN_RECEIVER),
        ('", ".', STRING_LITERAL),
        ("'x'.", STRING_LITERAL),
        ("1.", NUMBER_LITERAL),
        ("...", ""),
        ("a..", ""),
        ("größe.", "größe"),
        ("x.\\\n", ""),
        ("not (", ""),
        ("d = {k: ", ""),
        ("d = {k:", ""),
        ("d = {'k':", ""),
        ("key = lambda:", ""),
        ("(" * 300 + ").", UNKNOWN_RECEIVER),
        ("Builder.new(" + "1" * 147 + ").", UNKNOWN_RECEIVER),
        ("New(" + "1" * 147 + ").", "New()"),
        ("Foo<A, B>(1).", "Foo()"),
        ("a::<Vec<B>>(1).", "a()"),
        ("a < b && c > (1).", UNKNOWN_RECEIVER),
        ("f()\n  // as said.\n", ""),
        ("# ends here.\n  ", ""),
        ("f() // why.\n  // and how\n  .", "f()"),
        ("f()  # why\n  .", "f()"),
        ("// the first.\n  t.framer.", "t.framer"),
        ("# the first.\n  t().", "t()"),
        ("t.\n  // the first.\n  framer.", "t.framer"),
    ],
)
def test_receiver_before_a_name(before: str, expected: str) -> None:
    data = before.encode()
    assert receiver_of(data, len(data)) == expected
    assert receiver_of(b"if x:\n    return " + data, 17 + len(data)) == expected


def test_arrows_separate_receivers_only_if_the_language_has_them() -> None:
    assert receiver_of(b"p->", 3, arrows=True) == "p"
    assert receiver_of(b"def f() -> ", 11) == ""
    assert receiver_of(b"object:", 7, colons=True) == "object"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "typescript",
            "operate((source, subscriber) => {",
            [("source", "operate(0,0)"), ("subscriber", "operate(0,1)")],
        ),
        ("typescript", "new Observable<A>(subscriber => {", [("subscriber", "Observable(0,0)")]),
        ("javascript", "app.get('/a', async function (req, res) {", [("req", "app.get(1,0)"), ("res", "app.get(1,1)")]),
        ("typescript", "each((a: A) => a)", []),
        ("typescript", "each(of(1), (a) => a)", []),
        ("python", "x = Foo(1)", [("x", "Foo()")]),
        ("python", "self.x = await pkg.make(1)", [("self.x", "pkg.make()")]),
        ("python", "x: Foo = None", [("x", "Foo")]),
        ("python", "x: 'Optional[a.Foo]'", [("x", "a.Foo")]),
        ("python", "x: Foo | None = None", [("x", "Foo")]),
        ("python", "x: Foo | Bar", []),
        ("python", "x: Annotated[Foo, 1]", [("x", "Foo")]),
        ("python", "*args: Foo", [("args", "Foo")]),
        ("python", "open(p) as f", [("f", "open()")]),
        ("python", "x = [Foo()]", []),
        ("typescript", "private readonly store: Store<T>", [("store", "Store")]),
        ("typescript", "x = new Foo(1)", [("x", "Foo")]),
        ("typescript", "x?: Foo | null", [("x", "Foo")]),
        ("typescript", "f: (a: B) => C", []),
        ("typescript", "x: Foo[]", []),
        ("javascript", "this.x = new a.Foo()", [("this.x", "a.Foo")]),
        ("javascript", "x = make()", [("x", "make()")]),
        ("java", "final List<Foo> xs = new ArrayList<>()", [("xs", "List")]),
        ("java", "Foo foo", [("foo", "Foo")]),
        ("csharp", "var x = new Foo(1)", [("x", "Foo")]),
        ("cpp", "auto x = make(1)", [("x", "make()")]),
        ("cpp", "ns::Foo* x", [("x", "ns.Foo")]),
        ("go", "s := &Server{}", [("s", "Server")]),
        ("go", "s := New(1)", [("s", "New()")]),
        ("go", "a, b *pkg.Server", [("a", "pkg.Server"), ("b", "pkg.Server")]),
        ("rust", "let mut x: Box<dyn Foo> = y", [("x", "Foo")]),
        ("rust", "let x = Foo::new(1)", [("x", "Foo.new()")]),
        ("kotlin", "val x = Foo(1)", [("x", "Foo()")]),
        ("swift", "var x: Foo?", [("x", "Foo")]),
        ("php", "$this->x = new \\App\\Foo(1)", [("$this.x", "App.Foo")]),
        ("ruby", "@x = Foo::Bar.new(1)", [("@x", "Foo.Bar")]),
        ("haskell", "x = Foo", []),
        # a call chain is part of the type expression
        ("python", "x = Foo(')', 1).bar(2)\ny", [("x", "Foo().bar()")]),
        ("python", "x = Foo(1).bar", []),
        ("python", "x = foo(1)[0]", []),
        ("python", "x = foo(" + "a, " * 100, [("x", "foo()")]),
        ("python", "x = foo(1).a().b().c().d().e().f()", []),
        ("typescript", "x = new Foo<A>(1).bar()", [("x", "Foo().bar()")]),
        ("typescript", "x = await foo(1)", [("x", "foo()")]),
        ("kotlin", "val x = Foo.Builder()\n  // why\n  .bar { 1 }\n  .build()", [("x", "Foo.Builder().bar().build()")]),
        ("kotlin", "val x = Foo(1).apply { start() }", [("x", "Foo()")]),
        ("java", "var x = new Foo(1).bar();", [("x", "Foo().bar()")]),
        ("csharp", "var x = Foo.Make<int>(1).Bar();", [("x", "Foo.Make().Bar()")]),
        ("cpp", "auto x = make(1)->bar();", [("x", "make().bar()")]),
        ("go", "x, err := foo(1).bar()", [("x", "foo().bar()")]),
        ("rust", "let x = Foo::new(1).unwrap();", [("x", "Foo.new().unwrap()")]),
        ("rust", "let x = foo(1).await?;", [("x", "foo()")]),
        ("ruby", "x = Foo.new(1).bar", []),
        ("ruby", "x = Foo.new.bar", []),
    ],
)
def test_declared_types(language: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert LANGUAGES[language].types.declarations(text) == expected


PYTHON = '''\
"""What it is about. And more."""
__all__ = ["Shop", "sell"]

@dataclass(frozen=True)
class Shop(store.Base, Sized, metaclass=Meta):
    def run(self, till: Till) -> None:
        for x in self.items:
            if x and till.open(x) or not x:
                ", ".join(x)

    def _hidden(self): pass

def sell():
    def inner():
        yield 1
    return [x for x in inner() if x]

def other(): pass
'''


def test_references_have_kinds_and_receivers() -> None:
    outline = parse_source(PYTHON, "python").outline
    assert list(outline.references()) == [
        Reference("dataclass", 3, CALL),
        Reference("Base", 4, INHERIT, "store"),
        Reference("Sized", 4, INHERIT),
        Reference("Meta", 4, USE),
        Reference("Till", 5, USE),
        Reference("open", 7, CALL, "till"),
        Reference("join", 8, CALL, STRING_LITERAL),
        Reference("inner", 15, CALL),
    ]
    assert [(use.name, use.line) for use in outline.references()] == [
        (use.name, use.line) for use in outline.references()
    ]
    assert list(outline.variables()) == [("till", "Till", 5)]


def test_receiver_is_read_for_each_occurrence() -> None:
    text = "\n" * 200 + "# by it:\npipe.close()\nif pipe:\n    pipe.close()\nx = 0xff.bit_length()\nout1.write(x)\n"
    assert [(use.name, use.receiver) for use in parse_source(text, "python").outline.references()] == [
        ("close", "pipe"), ("close", "pipe"), ("bit_length", NUMBER_LITERAL), ("write", "out1")
    ]  # fmt: skip


def test_properties_of_definitions() -> None:
    outline = parse_source(PYTHON, "python").outline
    assert [(s.qualified, s.complexity, s.exported, s.traits) for s in outline.symbols] == [
        ("__all__", 0, False, ""),
        ("Shop", 0, True, "@dataclass"),
        ("Shop.run", 5, True, ""),  # for, if, and, or
        ("Shop._hidden", 1, False, ""),
        ("sell", 3, True, ""),  # the comprehension and its condition
        ("sell.inner", 1, False, "yields"),
        ("other", 1, False, ""),
    ]
    assert outline.doc == "What it is about. And more."


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("python", "def f(a):\n    return a\n", 1),
        ("python", "def f(a):\n    try:\n        return a if a else 0\n    except E:\n        while a: pass\n", 4),
        ("python", "def f(a):\n    match a:\n        case 1: pass\n        case 2: pass\n", 3),
        ("javascript", "function f(a) { if (a && b || c) return a ? 1 : 2; for (;;) {} }\n", 6),
        ("typescript", "function f(a: X) { switch (a) { case 1: case 2: } try {} catch (e) {} return a ?? b }\n", 5),
        ("go", "func f(a int) {\n\tif a > 1 && a < 2 {\n\t}\n\tfor {\n\t}\n\tswitch a {\n\tcase 1:\n\t}\n}\n", 5),
        ("rust", "fn f(a: X) { if a || b {} match a { 1 => 2, _ => 3 } loop {} a?; }\n", 7),
        ("java", "class A { void f() { if (a) {} else if (b) {} while (c && d) {} } }\n", 5),
        ("c", "int f(int a) { return a ? 1 : 2; }\n", 2),
        ("cpp", "int f() { for (auto& x : y) { if (x) {} } }\n", 3),
        ("csharp", "class A { void F() { foreach (var x in y) { if (x && z) {} } } }\n", 4),
        ("php", "<?php function f($a) { foreach ($a as $b) { if ($b && $c) {} } }\n", 4),
        ("ruby", "def f(a)\n  return 1 if a && b\n  a ? 1 : 2\nend\n", 4),
        ("kotlin", "fun f(a: Int) { if (a > 1 && a < 2) { } \n for (x in y) { } }\n", 4),
        ("swift", "func f(a: Int) { guard a > 1 else { return }\n if a > 1 && a < 2 { } }\n", 4),
        ("bash", "f() {\n  if a; then b; fi\n  c || d\n}\n", 3),
    ],
)
def test_complexity_is_decisions_plus_one(language: str, text: str, number: int) -> None:
    outline = parse_source(text, language).outline
    assert max(symbol.complexity for symbol in outline.symbols) == number


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "python",
            "def a(): pass\ndef _b(): pass\nclass C:\n    def __init__(self): pass\n    def _d(self): pass\n",
            {"a", "C", "__init__"},
        ),
        ("python", "__all__ = ('a',)\ndef a(): pass\ndef b(): pass\n", {"a"}),
        ("javascript", "export function a() {}\nfunction b() {}\nfunction c() {}\nexport { c }\n", {"a", "c"}),
        ("javascript", "function a() {}\nfunction b() {}\nmodule.exports = { a }\n", {"a"}),
        ("javascript", "class A {}\nexport default A\n", {"A"}),
        ("typescript", "export class A { private b() {} c(private d: E) {} }\n", {"A", "c"}),
        ("go", "func A() {}\nfunc b() {}\n", {"A"}),
        ("rust", "pub fn a() {}\nfn b() {}\npub trait C { fn d(); }\n", {"a", "C", "d"}),
        ("java", "public class A { public void b() {} void c() {} }\n", {"A", "b"}),
        ("kotlin", "class A { private fun b() {} \n fun c() {} }\n", {"A", "c"}),
        ("c", "static int a() { return 1; }\nint b() { return 1; }\n", {"b"}),
        ("elixir", "defmodule A do\n  def b, do: 1\n  defp c, do: 1\nend\n", {"A", "b"}),
    ],
)
def test_exported_definitions(language: str, text: str, names: set[str]) -> None:
    symbols = parse_source(text, language).outline.symbols
    assert {s.name for s in symbols if s.exported and s.name != "__all__"} == names


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "typescript",
            "class A extends B<C> implements D, e.F {}\n",
            {("B", INHERIT), ("D", IMPLEMENT), ("F", IMPLEMENT)},
        ),
        ("typescript", "interface A extends B {}\n", {("B", INHERIT)}),
        ("javascript", "class A extends b.C {}\n", {("C", INHERIT)}),
        ("java", "class A extends B<X> implements C, D<E> {}\n", {("B", INHERIT), ("C", IMPLEMENT), ("D", IMPLEMENT)}),
        ("go", "type A struct {\n\tB\n\t*C\n\td D\n}\n", {("B", INHERIT), ("C", INHERIT)}),
        ("rust", "impl fmt::Display for A {}\n", {("Display", IMPLEMENT)}),
        ("rust", "trait A: B {}\n", {("B", INHERIT)}),
        ("cpp", "class A : public B, C {};\n", {("B", INHERIT), ("C", INHERIT)}),
        ("csharp", "class A : B, IC {}\n", {("B", INHERIT), ("IC", INHERIT)}),
        (
            "php",
            "<?php class A extends B implements C { use D; }\n",
            {("B", INHERIT), ("C", IMPLEMENT), ("D", INHERIT)},
        ),
        ("ruby", "class A < B\n  include C\nend\n", {("B", INHERIT), ("C", IMPLEMENT)}),
        ("kotlin", "class A : B(), C\n", {("B", INHERIT), ("C", IMPLEMENT)}),
        ("swift", "class A: B, C {}\n", {("B", INHERIT), ("C", INHERIT)}),
        ("scala", "class A extends B\n", {("B", INHERIT)}),
        ("dart", "class A extends B with C implements D {}\n", {("B", INHERIT), ("C", INHERIT), ("D", IMPLEMENT)}),
    ],
)
def test_inherited_and_implemented_types(language: str, text: str, expected: set[tuple[str, int]]) -> None:
    uses = parse_source(text, language).outline.references()
    assert {(use.name, use.kind) for use in uses if use.kind in (INHERIT, IMPLEMENT)} == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "def f(a):\n    x = a.field\n    a.call()\n    h(x)\n", {"a.call", "h"}),
        ("typescript", "function f(a) { const x = a.field; a.call(); a?.also(); h(g) }\n", {"a.call", "a.also", "h"}),
        ("go", "func f(a A) {\n\tx := a.field\n\ta.call()\n\th(g)\n}\n", {"a.call", "h"}),
        ("rust", "fn f(a: A) { let x = a.field; a.call(); h(g) }\n", {"a.call", "h"}),
        ("java", "class C { void f(A a) { int x = a.field; a.call(); h(g); } }\n", {"a.call", "h"}),
        ("kotlin", "fun f(a: A) {\n  val x = a.field\n  a.call()\n  h(g)\n}\n", {"a.call", "h"}),
        ("csharp", "class C { void F(A a) { var x = a.field; a.call(); h(g); } }\n", {"a.call", "h"}),
        ("swift", "func f(a: A) {\n  let x = a.field\n  a.call()\n  h(g)\n}\n", {"a.call", "h"}),
        ("php", "<?php\nfunction f($a) { $x = $a->field; $a->call(); h($g); A::s(); }\n", {"$a.call", "h", "A.s"}),
        ("lua", "function f(a)\n  x = a.field\n  a.call()\n  a:also()\n  h(g)\nend\n", {"a.call", "a.also", "h"}),
        ("c", "void f(struct a *a) { int x = a->field; a->call(); h(g); }\n", {"a.call", "h"}),
        ("cpp", "void f(A a) { int x = a.field; a.call(); h(g); }\n", {"a.call", "h"}),
        ("zig", "fn f(a: A) void {\n  const x = a.field;\n  a.call();\n  h(g);\n}\n", {"a.call", "h"}),
        ("julia", "function f(a)\n  x = a.field\n  a.call()\n  h(g)\nend\n", {"a.call", "h"}),
        ("scala", "object O { def f(a: A) = { val x = a.field; a.call(); h(g) } }\n", {"a.call", "h"}),
        ("dart", "void f(A a) { var x = a.field; a.call(); a?.also(); h(g); }\n", {"a.call", "a.also", "h"}),
        ("dart", "void f(A a) { a..set(1)..field = 2; var b = new B.of(1); }\n", {"set", "B.of"}),
        ("elixir", "def f(a) do\n  x = a.b.field\n  a.call()\n  h(g)\nend\n", {"a.call", "h"}),
        ("elixir", "def f(a) do\n  M.one\n  :m.two\n  g &h/1, &M.i/2\nend\n", {"M.one", "m.two", "g", "h", "M.i"}),
        (
            "elisp",
            "(defun f (a b)\n  (let ((x (g a)) y)\n    (funcall (lambda (z) (h z)) x)))\n",
            {"g", "funcall", "h"},
        ),
    ],
)
def test_calls_are_distinguished_from_field_access(language: str, text: str, expected: set[str]) -> None:
    uses = parse_source(text, language).outline.references()
    calls = {f"{use.receiver}.{use.name}".lstrip(".") for use in uses if use.kind == CALL}
    assert calls == expected


def test_prose_references_names_and_paths() -> None:
    text = "# A\n\nSee `Shop.run()` in [the shop](src/shop.py#L3) or `till.py`; not `a b`, [x](https://x.y/z).\n\n```\n`no`\n```\n"
    uses = list(parse_source(text, "markdown").outline.references())
    assert uses == [
        Reference("run", 2, PROSE, "Shop"),
        Reference("shop.py", 2, PROSE, "src/"),
        Reference("till.py", 2, PROSE),
    ]


@pytest.mark.parametrize(
    ("language", "text", "doc"),
    [
        ("python", "#!/usr/bin/env python\n# Copyright X\n\n'''Does it.\n\nMore.'''\nimport a\n", "Does it."),
        ("python", "import a\n'''x'''\n", ""),
        (
            "go",
            "// Copyright 2020 X\n// License: MIT\n\n// Package foo does.\n// And so.\npackage foo\n",
            "Package foo does. And so.",
        ),
        ("javascript", "/**\n * Copyright me\n */\n\n/**\n * @file\n * Helps.\n */\n\nimport a from 'a'\n", "Helps."),
        ("javascript", "// of f\nfunction f() {}\n", ""),
        ("rust", "//! One.\n//! two\n\nuse a;\n", "One. two"),
        ("bash", "#!/bin/bash\n# Runs it.\n\nset -e\n", "Runs it."),
        ("c", "\n\n", ""),
    ],
)
def test_file_documentation(language: str, text: str, doc: str) -> None:
    assert parse_source(text, language).outline.doc == doc
