"""Chunking: extents and texts of chunks."""

from __future__ import annotations

import pytest

from promptls.index.syntax.chunks import MAX_CHUNK_CHARS, MAX_CHUNK_LINES, WINDOW_LINES
from promptls.index.syntax.parse import ParseResult, parse_as_text, parse_source
from promptls.util.hashing import content_hash


def chunk_rows(parsed: ParseResult) -> list[str]:
    """Return each chunk as "lines qualified-name", "-" for text between definitions."""
    symbols = parsed.outline.symbols
    return [f"{c.span.label} {symbols[c.symbol].qualified if c.symbol >= 0 else '-'}" for c in parsed.outline.chunks]


def text_of(parsed: ParseResult, number: int) -> str:
    return parsed.chunk_texts[parsed.outline.chunks[number].key]


PYTHON = '''\
"""Pages of the site and where they are kept for an hour or two."""

import os
import sys

LIMIT = 10


# Counts bytes.
@cached
def size(page):
    """How large it is."""
    return len(page)


class Page(Entry):
    """One page."""

    ttl = 3600

    def __init__(self, url):
        self.url = url

    # Not more than once.
    def fetch(self):
        return get(self.url)


def main(): run()
'''


def test_definitions_types_and_text_between_them_are_chunks() -> None:
    parsed = parse_source(PYTHON, "python")
    assert chunk_rows(parsed) == [
        "1-6 -",
        "9-13 size",
        "16-19 Page",
        "21-22 Page.__init__",
        "24-26 Page.fetch",
        "29 main",
    ]


def test_chunk_text_begins_with_names_and_signature() -> None:
    parsed = parse_source(PYTHON, "python")
    assert text_of(parsed, 1) == (
        "size size size def size(page)\n"
        '# Counts bytes.\n@cached\ndef size(page):\n    """How large it is."""\n    return len(page)'
    )
    assert text_of(parsed, 4).startswith("Page.fetch fetch fetch def fetch(self)\n    # Not more than once.\n")
    assert text_of(parsed, 0).startswith('LIMIT\n"""Pages of')


def test_chunk_key_depends_on_text_only() -> None:
    parsed = parse_source(PYTHON, "python")
    for chunk in parsed.outline.chunks:
        assert chunk.key == content_hash(parsed.chunk_texts[chunk.key], person=b"chunk")
    moved = parse_source("\n\n\n" + PYTHON, "python")
    assert [c.key for c in moved.outline.chunks] == [c.key for c in parsed.outline.chunks]


def test_chunks_with_equal_text_share_a_key() -> None:
    parsed = parse_source("def a():\n    return 1\n\n\ndef a():\n    return 1\n", "python")
    first, second = parsed.outline.chunks
    assert first.key == second.key and first.span != second.span and len(parsed.chunk_texts) == 1


def test_nested_definitions_stay_in_a_short_function() -> None:
    text = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    assert chunk_rows(parse_source(text, "python")) == ["1-4 outer"]


def test_long_function_is_split_between_statements() -> None:
    body = "".join(f"    if a{i}:\n        b({i},\n\n{i})\n        c = '''\nx\n'''\n" for i in range(40))
    text = f"def long(a):\n{body}    return a\n"
    parsed = parse_source(text, "python")
    lines = text.splitlines()
    spans = [c.span for c in parsed.outline.chunks]
    assert len(spans) == 4 and {c.symbol for c in parsed.outline.chunks} == {0}
    assert all(len(span) <= MAX_CHUNK_LINES for span in spans)
    assert [lines[span.start][:6] for span in spans[1:]] == ["    if"] * 3
    assert all(text_of(parsed, i).startswith("long long long def long(a)\n") for i in range(4))
    assert spans[0].start == 0 and spans[-1].end == len(lines)


def test_long_nested_definitions_are_separate_chunks() -> None:
    inner = "".join(f"    def part{i}(x):\n" + "        x += 1\n" * 20 + "        return x\n\n" for i in range(5))
    parsed = parse_source(
        f"def outer(a):\n    b = a\n    small = lambda: 1\n{inner}    return part0(part1(b))\n", "python"
    )
    assert chunk_rows(parsed) == [
        "1-3 outer",
        *(f"{4 + 23 * i}-{25 + 23 * i} outer.part{i}" for i in range(5)),
    ]


def test_small_function_in_a_long_one_is_always_in_a_chunk() -> None:
    part = "    def part{0}(x):\n" + "        x += 1\n" * 40 + "        return x\n\n"
    tiny = "    def tiny(x):\n        return x\n\n"
    parsed = parse_source(f"def outer(a):\n{part.format(0)}{tiny}    b = 1\n{part.format(1)}    c = 1\n", "python")
    assert chunk_rows(parsed) == ["1 outer", "2-43 outer.part0", "45-48 outer", "49-90 outer.part1"]


def test_large_constant_is_one_chunk_and_small_ones_are_grouped() -> None:
    big = "TABLE = {\n" + "".join(f"    'key{i}': {i},\n" for i in range(10)) + "}\n"
    parsed = parse_source(
        "FIRST = 'one of the constants at the top'\nSECOND = 'another of these constants'\n\n" + big, "python"
    )
    assert chunk_rows(parsed) == ["1-2 -", "4-15 TABLE"]
    assert text_of(parsed, 0).startswith("FIRST SECOND\nFIRST = ")


@pytest.mark.parametrize(
    ("language", "function", "statement"),
    [
        ("python", "def {}(x):\n    return x\n", "JOB_RETRIES = 7"),
        ("python", "def {}(x):\n    return x\n", "if debug:\n    run()"),
        ("python", "def {}(x):\n    return x\n", "class JamError(Exception): ..."),
        ("go", "func {}(x int) int {{\n\treturn x\n}}\n", "type BayID string"),
        ("rust", "pub fn {}(x: u32) -> u32 {{\n    x\n}}\n", "pub const LANES: usize = 12;"),
        ("typescript", "export function {}(x: number) {{\n  return x;\n}}\n", "export type Id = string;"),
        ("javascript", "function {}(x) {{\n  return x;\n}}\n", 'app.get("/health", ok);'),
        ("c", "int {}(int x)\n{{\n    return x;\n}}\n", "#define PORT 0x3F8"),
        ("java", "class {} {{\n  int x() {{\n    return 1;\n  }}\n}}\n", "enum Color {{ RED }}"),
        ("ruby", "def {}(x)\n  x\nend\n", "LANES = %w[north south].freeze"),
        ("bash", "{}() {{\n  echo 1\n}}\n", "PORT=9137"),
        ("lua", "function {}(x)\n  return x\nend\n", "retries = 3"),
        ("kotlin", "fun {}(x: Int): Int {{\n    return x\n}}\n", "const val LIMIT = 3"),
    ],
)
def test_short_statement_between_definitions_is_a_chunk(language: str, function: str, statement: str) -> None:
    text = "\n\n".join([function.format("first"), statement.format(), function.format("second")])
    parsed = parse_source(text, language)
    first_line = statement.format().split("\n")[0]
    assert any(first_line in text for text in parsed.chunk_texts.values())


@pytest.mark.parametrize("text", ["// ---- helpers ----", "}", "// end of first"])
def test_comment_or_bracket_between_definitions_is_not_a_chunk(text: str) -> None:
    functions = [f"function {name}() {{\n  return 1;\n}}\n" for name in ("a", "b")]
    parsed = parse_source(f"\n\n{text}\n\n".join(functions), "javascript")
    assert [row.split()[-1] for row in chunk_rows(parsed)] == ["a", "b"]


def test_legal_notices_are_excluded() -> None:
    notice = "/*\n * Copyright (c) Somebody.\n * All rights reserved, as far as they go, to the holder.\n */\n"
    parsed = parse_source(notice + "\n#include <stdio.h>\n\nint main(void)\n{\n    return 0;\n}\n", "c")
    assert chunk_rows(parsed) == ["8-11 main"]
    adjoining = parse_source("# Copyright Somebody, all rights reserved, see the file\ndef a():\n    pass\n", "python")
    assert chunk_rows(adjoining) == ["2-3 a"]


def test_methods_of_an_impl_belong_to_the_type() -> None:
    text = "impl<T> Timer<T> {\n    /// Makes one.\n    pub fn new() -> Self {\n        Timer {}\n    }\n}\n"
    parsed = parse_source(text, "rust")
    assert chunk_rows(parsed) == ["2-5 Timer.new"]
    assert text_of(parsed, 0).startswith("Timer.new new new pub fn new() -> Self\n    /// Makes one.\n")


def test_items_in_a_wrapper_macro_are_found() -> None:
    text = "cfg_rt! {\n    /// Waits.\n    pub fn park(a: A) {\n        b(a)\n    }\n\n    impl C {\n        fn d(&self) {}\n    }\n}\n"
    parsed = parse_source(text, "rust")
    assert chunk_rows(parsed) == ["2-5 park", "8 C.d"]
    assert {use.name: use.line for use in parsed.outline.references()} == {"A": 2, "b": 3, "C": 6}


def test_shared_line_belongs_to_the_first_definition() -> None:
    text = "function a() {\n  b()\n} function c() {\n  d()\n}\nclass E { f() { return 1 } }\n"
    assert chunk_rows(parse_source(text, "javascript")) == ["1-3 a", "4-5 c", "6 E"]


def test_markdown_sections_are_chunks() -> None:
    long = "word after word\n\n" * 30
    text = f"# One\n\nshort\n\n## Two\n\n{long}## Three\n\nalso rather short, yet long enough to be worth keeping\n"
    assert chunk_rows(parse_source(text, "markdown")) == ["5-34 One.Two", "35-65 One.Two", "67-69 One.Three"]


def test_yaml_keys_are_chunks() -> None:
    deep = "".join(f"  job{i}:\n    runs-on: linux\n    steps:\n" + "      - run: make\n" * 20 for i in range(4))
    parsed = parse_source(f"name: build\n# All of them.\njobs:\n{deep}env:\n  a: 1\n  b: 2\n", "yaml")
    assert chunk_rows(parsed) == [
        "1 -",
        "4-26 jobs.job0",
        "27-49 jobs.job1",
        "50-72 jobs.job2",
        "73-95 jobs.job3",
        "96-98 env",
    ]


def test_plain_text_is_split_at_blank_lines() -> None:
    text = ("a line of prose, one of several\n" * 9 + "\n") * 12
    assert chunk_rows(parse_as_text(text, "text")) == ["1-40 -", "41-80 -", "81-119 -"]
    uneven = ("a line of prose, one of several\n" * 6 + "\n") * 12
    assert chunk_rows(parse_as_text(uneven, "text")) == ["1-28 -", "29-56 -", "57-83 -"]
    assert WINDOW_LINES == 40


def test_long_lines_are_shortened_in_the_text_of_a_chunk() -> None:
    data = parse_as_text(
        "x" * 50_000 + "\nrest of the file, a line long enough to be a chunk by itself, it is\n", "text"
    )
    assert [c.span.label for c in data.outline.chunks] == ["1-2"]
    assert "(50,000 characters)" in text_of(data, 0)
    assert text_of(data, 0).endswith("it is")
    prose = parse_as_text(
        "some words " * 5_000 + "\nrest of the file, a line long enough to be a chunk by itself\n", "text"
    )
    assert [c.span.label for c in prose.outline.chunks] == ["1", "2"]
    assert len(text_of(prose, 0)) == MAX_CHUNK_CHARS
