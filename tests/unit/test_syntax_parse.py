"""Parsing as a whole: line ends, limits, timeouts, and incremental parsing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promptls.index.syntax.parse import (
    MIN_READ_BYTES,
    READ_BYTES,
    changed_region,
    parse_as_text,
    parse_source,
    reader_of,
)
from promptls.index.syntax.tree_sitter import grammar_queries
from promptls.model import Outline, Span, Symbol

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
PYTHON = (
    '# Größe\n@cached\ndef größe(x: \'ü\') -> Maß:\n\t"""Misst es — 😀."""\n\treturn länge(x)\n\nclass Ä(B): pass\n'
)


def spans(outline: Outline) -> list[tuple[str, Span, int, int]]:
    return [(s.qualified, s.span, s.doc_start, s.body_start) for s in outline.symbols]


def only_symbol(text: str, language: str) -> Symbol:
    symbols = parse_source(text, language).outline.symbols
    assert len(symbols) == 1
    return symbols[0]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_change_nothing(end: str, mark: str) -> None:
    outline = parse_source(mark + PYTHON.replace("\n", end), "python").outline
    assert spans(outline) == [("größe", Span(1, 5), 0, 3), ("Ä", Span(6, 7), 6, 7)]
    assert [(use.name, use.line) for use in outline.references()] == [("cached", 1), ("Maß", 2), ("länge", 4), ("B", 6)]
    assert outline.symbols[0].doc == "Misst es — 😀."
    assert (outline.lines, outline) == (7, parse_source(PYTHON, "python").outline)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 1), ("\n", 1), ("\n\n", 2), ("a", 1), ("a\n", 1), ("a\r\rb", 3), ("a\x0cb\u2028c\x85d", 1)]
)
def test_lines_are_counted_as_editors_do(text: str, lines: int) -> None:
    assert parse_source(text, "python").outline.lines == parse_as_text(text, "text").outline.lines == lines


def test_tabs_and_long_columns() -> None:
    text = "class A:\n\tdef b(self):\n\t\tdef c(): return d('" + "ä" * 200 + "'); x = e()\n\t\treturn c\n"
    outline = parse_source(text, "python").outline
    assert [(s.qualified, s.span.label) for s in outline.symbols] == [("A", "1-4"), ("A.b", "2-4"), ("A.b.c", "3")]
    assert [(use.name, use.line) for use in outline.references()] == [("d", 2), ("e", 2)]


@pytest.mark.parametrize(
    ("language", "text", "doc"),
    [
        ("python", "def a():\n    '''One\n    two.\n\n    Three.'''\n", "One two."),
        ("python", "# One\n# two.\n#\n# Three.\ndef a():\n    pass\n", "One two."),
        ("python", "def a():\n    r'''One \\d.'''\n", "One \\d."),
        ("python", "def a():\n    'one'.b()\n", ""),
        ("javascript", "/**\n * One\n * two.\n *\n * Three.\n */\nfunction a() {}\n", "One two."),
        ("javascript", "/** One. @see b */\nfunction a() {}\n", "One. @see b"),
        ("javascript", "/**\n * One.\n * @param b\n */\nfunction a() {}\n", "One."),
        ("javascript", "// eslint-disable-next-line\n// One.\nfunction a() {}\n", "One."),
        ("javascript", "b() /* not\nthis */\nfunction a() {}\n", ""),
        ("javascript", "// not this\n\nfunction a() {}\n", ""),
        ("javascript", "// ---------\nfunction a() {}\n", ""),
        ("rust", "/// One.\n#[inline]\nfn a() {}\n", "One."),
        ("rust", "#[inline]\n/// One.\nfn a() {}\n", ""),
        ("go", "// A does one thing.\n//go:noinline\nfunc A() {}\n", "A does one thing."),
        ("csharp", "/// <summary>One.</summary>\nclass A { }\n", "One."),
        ("lua", "--[[ One\ntwo. ]]\nfunction a() end\n", "One two."),
        ("haskell", "-- | One.\na = 1\n", "One."),
        ("ocaml", "(** One. *)\nlet a b = b\n", "One."),
        ("bash", "#!/bin/sh\n# One.\na() { b; }\n", "One."),
        ("r", "#' One.\n#' @param b\na <- function(b) b\n", "One."),
        ("c", "/* Copyright Somebody. */\nint a(void) { return 1; }\n", ""),
        ("java", "/** " + "word " * 200 + "*/\nclass A { }\n", ("word " * 200)[:399] + "…"),
        ("java", "/** " + "word " * 75 + "§ */\nclass A { }\n", ("word " * 75)[:-1] + "…"),
    ],
)
def test_documentation_of_a_symbol(language: str, text: str, doc: str) -> None:
    assert only_symbol(text.replace("§", TOKEN), language).doc == doc


@pytest.mark.parametrize(
    ("language", "text", "signature"),
    [
        (
            "python",
            "def a(\n    b=1,  # one\n    c='#',\n) -> int:  # two\n    # three\n    pass\n",
            "def a(b=1, c='#') -> int",
        ),
        ("python", "@a(1)\n@b\nasync def c(): pass\n", "async def c()"),
        ("typescript", "@A({ b: (1) })\nexport class C<D> extends E {\n}\n", "export class C<D> extends E"),
        (
            "typescript",
            "export const a = async (b: B): Promise<C> => {\n  d()\n}\n",
            "export const a = async (b: B): Promise<C> =>",
        ),
        ("java", '@A @B("c")\npublic interface D extends E {\n}\n', "public interface D extends E"),
        ("c", "static int /* one */\na(int b) // two\n{\n}\n", "static int a(int b)"),
        ("cpp", "template <class T>\nauto a(T b) -> int {\n}\n", "template <class T> auto a(T b) -> int"),
        ("go", "type A struct {\n\tB int\n}\n", "type A struct"),
        ("ruby", "class A < B\nend\n", "class A < B"),
        ("scala", "def a(b: Int): Int = b\n", "def a(b: Int): Int"),
        ("python", "def a(" + "x, " * 70 + "key='§'): pass\n", "def a(" + "x, " * 70 + "…)"),
        ("python", "def a(" + "x, " * 77 + "key=1): pass\n", "def a(" + "x, " * 77 + "…)"),
        ("python", "class A(" + "b + " * 57 + "'§'): pass\n", "class A(" + "b + " * 57 + "'…"),
    ],
)
def test_signature_of_a_symbol(language: str, text: str, signature: str) -> None:
    assert only_symbol(text.replace("§", TOKEN), language).signature == signature


NESTED = {
    "brackets": ("python", "(\n" * 50_000 + ")\n" * 50_000),
    "calls": ("javascript", "f(\n" * 20_000 + ")\n" * 20_000),
    "braces": ("javascript", "function f() {\n" * 20_000 + "}\n" * 20_000),
    "unclosed": ("kotlin", 'val a = "${\n' * 2_000),
    "blocks": ("python", "".join(" " * i + f"def f{i}():\n" for i in range(400))),
    "mappings": ("yaml", "".join(" " * i + "a:\n" for i in range(1_000))),
    "quotes": ("markdown", "> " * 5_000 + "# x\n"),
    "chain": ("python", "x = (a\n" + ".b()\n" * 20_000 + ")\n"),
    "sum": ("javascript", "x = a\n" + "  + b(1)\n" * 20_000),
    "tokens": ("go", "&&\n" * 40_000),
}


@pytest.mark.parametrize("name", NESTED)
def test_pathological_nesting_is_limited(name: str) -> None:
    language, text = NESTED[name]
    outline = parse_source(text, language).outline
    assert outline.lines == text.count("\n")
    assert len(outline.symbols) <= 251  # brackets or indents below the limit


DEEP = {
    "sum": ("python", "X = (1" + "\n + 1" * 3_000 + ")\n"),
    "calls": ("javascript", "const x = db" + "\n .where(1)" * 3_000 + ";\n"),
    "chain of else": (
        "c",
        "int x(int n)\n{\n if (n == 0) return 0;\n" + " else if (n == 1) return 1;\n" * 3_000 + "}\n",
    ),
    "brackets": ("typescript", "const x = " + "(" * 3_000 + "1" + ")" * 3_000 + ";\n"),
    "indents": ("python", "def x():\n" + "".join(" " * (n + 1) + "if 1:\n" for n in range(200)) + " " * 201 + "pass\n"),
}
FUNCTIONS = {
    "python": "def {}():\n    pass\n",
    "javascript": "function {}() {{\n}}\n",
    "c": "int {}(void)\n{{\n}}\n",
    "typescript": "function {}(): void {{\n}}\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_part_hides_only_itself(name: str) -> None:
    language, deep = DEEP[name]
    text = FUNCTIONS[language].format("before") + deep + FUNCTIONS[language].format("after")
    found = {symbol.name: symbol.span for symbol in parse_source(text, language).outline.symbols}
    lines = text.count("\n")
    height = FUNCTIONS[language].count("\n")
    assert found["before"] == Span(0, height)
    assert found["after"] == Span(lines - height, lines)


def test_both_sides_of_a_conflict_have_names() -> None:
    text = (
        "fn a() -> u8 {\n    1\n}\n<<<<<<< HEAD\nfn ours() -> u8 {\n    2\n||||||| base\nfn base() -> u8 {{{\n=======\n"
        "fn theirs(x: u8) -> u8 {\n    3\n>>>>>>> topic\n}\n\nfn b() -> u8 {\n    4\n}\n"
    )
    names = [symbol.name for symbol in parse_source(text, "rust").outline.symbols]
    assert {"a", "ours", "theirs", "b"} <= set(names)
    assert "base" not in names
    heading = "Title\n=======\n\ntext\n"  # no conflict
    assert [s.name for s in parse_source(heading, "markdown").outline.symbols] == ["Title"]


def test_ordinary_nesting_is_parsed() -> None:
    depth = 60
    text = "".join("  " * i + f"function f{i}() {{\n" for i in range(depth)) + "}\n" * depth
    outline = parse_source(text, "javascript").outline
    assert outline.problem == "" and len(outline.symbols) == depth
    assert outline.symbols[-1].qualified == ".".join(f"f{i}" for i in range(depth))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\0\n", "it holds NUL characters"),
        ("var a=1;" * 10_000, "its lines are too long to be written by hand"),
    ],
)
def test_unparsable_text_has_a_problem(text: str, problem: str) -> None:
    outline = parse_source(text, "javascript").outline
    assert (outline.language, outline.problem, outline.symbols) == ("javascript", problem, ())
    assert outline.chunks != () or len(text) < 60


def test_timeout_falls_back_to_plain_text() -> None:
    text = "def f(x):\n    return [x, {x: (x)}]\n" * 5_000
    outline = parse_source(text, "python", timeout_s=0.001).outline
    assert outline.problem == "parsing took more than 0.001 s"
    assert outline.symbols == () and len(outline.chunks) > 100
    assert len(parse_source(text, "python", timeout_s=60).outline.symbols) == 5_000


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("perl", 'sub f { my ($self, $x) = @_; return $self->{a}->call("$x", @{$x}) if $x =~ /a b/; }\n' * 2500, 2500),
        (
            "scala",
            "object A {\n"
            + '  def f(x: Int): String = {\n    val y = s"a ${x + 1}"\n    x match {\n      case 1 => y\n    }\n  }\n'
            * 2000
            + "}\n",
            2001,
        ),
    ],
)
def test_long_file_is_outlined_despite_a_backtracking_scanner(language: str, text: str, count: int) -> None:
    outline = parse_source(text, language).outline
    assert (outline.problem, len(outline.symbols)) == ("", count)


def test_read_size_is_reduced_after_stepping_back() -> None:
    data = bytes(range(256)) * 1024
    read = reader_of(data)
    first = read(0, None)
    assert (len(first), first) == (READ_BYTES, data[:READ_BYTES])
    at, sizes = 1000, []
    while at < len(data):
        piece = read(at, None)
        assert data[at:].startswith(piece)
        assert piece
        sizes.append(len(piece))
        at += len(piece)
    assert sizes[:3] == [MIN_READ_BYTES, 2 * MIN_READ_BYTES, 4 * MIN_READ_BYTES]
    assert max(sizes) == READ_BYTES
    assert read(at, None) == b""


def test_excess_definitions_are_left_out() -> None:
    outline = parse_source("def f(): pass\n" * 21_000, "python").outline
    assert len(outline.symbols) == 20_000
    assert outline.problem == "only the first 20000 definitions are known"
    assert outline.chunks[-1].span.end > 20_900


def test_languages_without_a_grammar_are_plain_text() -> None:
    outline = parse_source("a line that is long enough to be worth being found again later\n", "text").outline
    assert (outline.language, outline.problem, len(outline.chunks)) == ("text", "", 1)
    other = parse_source("x = 1\n", "swift", grammar_sources=("legacy",)).outline
    assert other.problem == "no grammar for swift is installed"


def test_lone_surrogates_are_parsed() -> None:
    parsed = parse_source("def f():\n    return '\ud800'\n", "python")
    assert [s.name for s in parsed.outline.symbols] == ["f"]
    assert len(parsed.chunk_texts) == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("abc", "abc", (3, 3, 3)),
        ("abc", "axc", (1, 2, 2)),
        ("abab", "ababab", (4, 4, 6)),
        ("", "abc", (0, 0, 3)),
        ("abc", "", (0, 3, 0)),
        ("aäb", "aöb", (1, 3, 3)),  # the two differ in their second byte only
        ("aä", "aäö", (3, 3, 5)),
        ("é", "è", (0, 2, 2)),
        ("a\u00e9b", "a\u0129b", (1, 3, 3)),  # … and these in their first byte only
    ],
)
def test_changed_region(old: str, new: str, expected: tuple[int, int, int]) -> None:
    assert changed_region(old.encode(), new.encode()) == expected


def test_incremental_parse_equals_full_parse() -> None:
    before = parse_source(PYTHON, "python")
    text = PYTHON.replace("return länge(x)", "y = breite(x)\n\treturn länge(y)")
    after = parse_source(text, "python", before)
    assert after.outline == parse_source(text, "python").outline != before.outline
    assert after.chunk_texts == parse_source(text, "python").chunk_texts
    assert before.outline == parse_source(PYTHON, "python", after).outline, "the previous result is unchanged"
    assert parse_source(text, "javascript", before).outline == parse_source(text, "javascript").outline
    assert parse_source(text, "python", parse_as_text(PYTHON, "python")).outline == after.outline


def test_syntax_error_may_change_the_reading_of_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar_queries, "MAX_SUBTREE_BYTES", 60)
    whole = "function f(a) {\n  if (a) {\n    return 1\n  } else {\n    return 2\n  }\n}\n"
    tail = "\nexport const tail = <A>(self: List<A>): List<A> => {\n  return self.tail\n}\nvar x = <A>(b: C) => b\n"
    before = parse_source(whole + tail, "typescript", incremental=True)
    broken = whole.replace("else", "eelse") + tail
    after, fresh = parse_source(broken, "typescript", before), parse_source(broken, "typescript")
    assert after.tree is not None and before.tree is not None
    assert "type_assertion" in str(after.tree.root_node) and "type_assertion" not in str(before.tree.root_node)
    assert after.outline == fresh.outline
    assert [(s.name, s.kind) for s in after.outline.symbols] == [(s.name, s.kind) for s in before.outline.symbols]
    assert parse_source(whole + tail, "typescript", after).outline == before.outline


def test_node_with_many_children_is_queried_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"def f{n}(x):\n    return g{n}(x)\n" for n in range(40))
    expected = parse_source(text, "python").outline
    monkeypatch.setattr(grammar_queries, "MAX_CHILDREN", 30)
    monkeypatch.setattr(grammar_queries, "MAX_SUBTREE_BYTES", 20)
    assert parse_source(text, "python").outline == expected and len(expected.symbols) == 40


@pytest.mark.process
def test_characters_that_crash_a_scanner_are_masked() -> None:
    """The Bash scanner uses code points as table indexes; flags of regions have very high ones."""
    code = (
        "from promptls.index.syntax.parse import parse_source\n"
        "high = [chr(c) for plane in (1, 2, 14, 15, 16) for c in range(plane << 16, (plane << 16) + 0xFFFF, 0x1111)]\n"
        "text = 'f() { a; }\\n' + ''.join(f'-{c}{{\\n{c}({{\\n' for c in high) + '# ' + ''.join(high)\n"
        "for order in (('pack',), ('legacy',)):\n"
        "    assert parse_source(text, 'bash', grammar_sources=order).chunk_texts\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_masked_characters_are_in_documentation_and_chunks() -> None:
    parsed = parse_source('# 😀\ndef a():\n    """🏴 b."""\n    return c("𝐀").d()\n', "python")
    assert parsed.outline.symbols[0].doc == "🏴 b."
    assert "𝐀" in "".join(parsed.chunk_texts.values())


def test_symbol_in_broken_code_stays_within_its_parent() -> None:
    outline = parse_source("package A;\nsub f {\npackage B;\n  1;\n}\nsub g { 2 }\n", "perl").outline
    for symbol in outline.symbols:
        assert symbol.parent < 0 or outline.symbols[symbol.parent].span.contains(symbol.span)
    assert {s.name for s in outline.symbols} >= {"A", "B", "f"}
