"""Definitions that are found in lines, for unknown code and templates, and code of templates in its own language."""

from __future__ import annotations

import pytest

from promptls.index.syntax.parse import parse_source
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import language_of

UNKNOWN_CODE = {
    "braces": (
        "public class Cart extends Base {\n  function total(prices) {\n    return 1;\n  }\n}\n",
        "class Cart 1-5, method Cart.total 2-4",
    ),
    "end words": (
        "sub total(a, b)\nprint a\nend sub\nsub clear()\nend sub\n",
        "function total 1-3, function clear 4-5",
    ),
    "indentation": ("def total(a):\n    return a\n\nx = 1\n", "function total 1-2"),
    "brace on its own line": ("int total(int a)\n{\n    return a;\n}\n", "function total 1-4"),
    "braces without indentation": ("fn a() {\nif x {\ny\n}\n}\nfn b() {\n}\n", "function a 1-5, function b 6-7"),
    "parameters on several lines": ("func total(\n    a,\n    b\n) {\n    a\n}\n", "function total 1-6"),
    "lisp": ("(define (total a)\n  (+ a 1))\n(def limit 20)\n", "function total 1-2, constant limit 3-3"),
    "constants": ("const LIMIT = 20\n#define SIZE 3\n", "constant LIMIT 1-1, constant SIZE 2-2"),
    "assigned functions": (
        "total = (a) -> a\nlimit :: 20\nItem :: struct {\n  a\n}\n",
        "function total 1-1, function limit 2-2, struct Item 3-5",
    ),
    "comments": ("/*\nfunction no(a) {\n}\n*/\n// function no2() {\nfunction yes() {\n}\n", "function yes 6-7"),
    "unclosed comment": ("/* a\nfunction yes() {\n}\n", "function yes 2-3"),
}


@pytest.mark.parametrize("form", UNKNOWN_CODE)
def test_definitions_of_unknown_code(form: str) -> None:
    text, expected = UNKNOWN_CODE[form]
    symbols = parse_source(text, language_of("a.unknown", text)).outline.symbols
    assert ", ".join(f"{s.kind} {s.qualified} {s.span.start + 1}-{s.span.end}" for s in symbols) == expected


PROSE = [
    "The parser is small.\nfunction calls are cheap, and a\nclass of errors is gone.\n",
    "type of the value\nmodule for the parser\nconst is a keyword\nlet us go\n",
    "def is a keyword of Python.\nprocedure to follow when it fails\n",
    "interface to the outside world, with\nobject storage and a\nservice level.\n",
    "if (a) {\n  b();\n}\nreturn f(x) {\nfor (;;) {\n",
    "2024-01-01 ERROR function f failed\nmodule x loaded (3 ms)\n",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_and_statements_are_not_definitions(text: str) -> None:
    assert parse_source(text, "code").outline.symbols == ()


@pytest.mark.parametrize("path", ["LICENSE", "notes.txt", "build.log", "data.csv", "CHANGES.rst", "a.conf"])
def test_files_of_prose_and_data_are_not_scanned(path: str) -> None:
    text = "function total(a) {\n}\n"
    assert parse_source(text, language_of(path, text)).outline.symbols == ()


TEMPLATES = {
    "a.astro": (
        "---\nexport function title() {\n  return 1;\n}\n---\n<p>function no() {}</p>\n<script>\nfunction copy() {\n}\n</script>\n",
        "function title 2-4, function copy 8-9",
    ),
    "a.vue": (
        '<template>\n</template>\n<script type="application/json">\n{"a": 1}\n</script>\n<script>\nfunction a() {}\n</script>\n',
        "function a 7-7",
    ),
    "a.cshtml": (
        '@model A\n@functions {\n  string Badge(int n) => n > 9 ? "}" : "";\n}\n<p>@Badge(1)</p>\n@code {\n  public int N { get; set; }\n'
        "  // }\n  void Load()\n  {\n  }\n}\n",
        "function Badge 3-3, variable N 7-7, function Load 9-11",
    ),
    "a.razor": ("@code {\n  void Load()\n  {\n  }\n}\n", "function Load 2-4"),
    "a.html": (
        "{% block main %}\n<script>\nfunction open() {\n}\n</script>\n{% if a %}x{% endif %}\n{% endblock %}\n",
        "block main 1-7, section main.script 2-5, function main.script.open 3-4",
    ),
    "a.njk": ("{% macro row(a) %}\n{% endmacro %}\n", "macro row 1-2"),
    "a.gotmpl": ('{{ define "row" }}\n{{ if .A }}x{{ end }}\n{{ end }}\n', "block row 1-3"),
    "a.mako": ('<%def name="row(a)">\n</%def>\n', "function row 1-2"),
    "a.ftl": ("<#macro row a>\n</#macro>\n", "macro row 1-2"),
}


@pytest.mark.parametrize("path", TEMPLATES)
def test_code_of_templates_has_names_and_lines(path: str) -> None:
    text, expected = TEMPLATES[path]
    symbols = parse_source(text, language_of(path, text)).outline.symbols
    assert ", ".join(f"{s.kind} {s.qualified} {s.span.start + 1}-{s.span.end}" for s in symbols) == expected


@pytest.mark.parametrize("mask", ["markup", "front_matter", "razor", "objc_macros"])
def test_masked_source_keeps_offsets_and_lines(mask: str) -> None:
    text = (
        "---\nlet ß = 1\n---\n<script>a</script>\n@code {\n x\n}\n@functions {\n}\n<script>\n"
        "typedef NS_ENUM(NSInteger, A) { B };\nNS_ASSUME_NONNULL_BEGIN\n"
    )
    source = SourceText(text, mask)  # type: ignore[arg-type]
    assert len(source.code) == len(source.data)
    assert [i for i, byte in enumerate(source.code) if byte == 10] == [
        i for i, byte in enumerate(source.data) if byte == 10
    ]
