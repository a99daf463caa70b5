"""Which language a file is in, by name, extension, first line and, for C headers, by its text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promptls.index.syntax.grammars import Grammars
from promptls.index.syntax.queries import patterns, tags
from promptls.languages.table import LANGUAGES, language_of

PATHS = """
    src/app.py python       types.pyi python        SConstruct python     a/b.JS javascript    x.mjs javascript
    Panel.jsx jsx           a.ts typescript         a.mts typescript      a.tsx tsx            main.go go
    lib.rs rust             A.java java             a.c c                 a.cc cpp             a.hpp cpp
    a.cs csharp             a.rb ruby               Rakefile ruby         Gemfile ruby         x.gemspec ruby
    index.php php           a.kt kotlin             build.gradle.kts kotlin a.swift swift      a.scala scala
    a.lua lua               run.sh bash             .bashrc bash          a.ex elixir          mix.exs elixir
    A.hs haskell            a.ml ocaml              a.mli ocaml_interface a.R r                q.sql sql
    a.html html             a.css css               a.scss scss           README.md markdown   a.json json
    a.yml yaml              Cargo.toml toml         Cargo.lock toml       a.dart dart          a.zig zig
    a.jl julia              a.vue vue               a.svelte svelte       Dockerfile dockerfile Dockerfile.dev dockerfile
    app.dockerfile dockerfile Makefile make         rules.mk make         Makefile.am make     main.tf hcl
    a.proto proto           a.graphql graphql       init.el elisp         a.vim vim            a.pl perl
    flake.nix nix           notes.txt text          LICENSE text          a.cob text           a.cobol text
    .gitignore text         archive.tar.gz text     py text               .py python           .h c
""".split()

HEADERS = {
    "int add(int a, int b);\n": "c",
    "struct node { struct node *next; };\n": "c",
    '#ifdef __cplusplus\nextern "C" {\n#endif\nvoid f(void);\n': "c",
    "/* see std::vector and class Foo {\n * a::b */\nint class_of(int);\n": "c",
    "// std::string is not used here\nint f(void);\n": "c",
    "class Shape {\n};\n": "cpp",
    "  class Shape : public Base {\n": "cpp",
    "namespace geo {\n": "cpp",
    "namespace geo\n{\n": "cpp",
    "template <typename T>\nT f(T);\n": "cpp",
    "std::string name();\n": "cpp",
    "using Names = int;\n": "cpp",
    " public:\n  int x;\n": "cpp",
}

FIRST_LINES = {
    "#!/bin/sh": "bash",
    "#!/usr/bin/env bash": "bash",
    "#!/usr/bin/env python3": "python",
    "#!/usr/bin/python3.11 -u": "python",
    "#! /usr/bin/env -S node --test": "javascript",
    "#!/usr/bin/env -S LANG=C ruby": "ruby",
    "#!/usr/bin/Rscript": "r",
    "#!/usr/bin/env": "text",
    "#!": "text",
    "#!/usr/bin/awk -f": "text",
    "import os": "text",
}


@pytest.mark.parametrize(("path", "language"), list(zip(PATHS[::2], PATHS[1::2], strict=True)))
def test_by_path(path: str, language: str) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize("text", HEADERS)
def test_headers_by_their_text(text: str) -> None:
    assert language_of("include/a.h", text) == HEADERS[text]


@pytest.mark.parametrize("line", FIRST_LINES)
def test_by_first_line(line: str) -> None:
    assert language_of("bin/tool", line + "\nrest\n") == FIRST_LINES[line]
    assert language_of("a.go", line + "\n") == "go"


def test_a_path_has_forward_slashes_and_only_its_last_part_counts() -> None:
    assert language_of("/a.py/b.js/README") == "text"
    assert language_of("Makefile/x.go") == "go"


def test_grammars_come_from_the_first_source_that_has_one() -> None:
    pytest.importorskip("tree_sitter_languages", reason="not made for this Python")
    pack, legacy = Grammars(["pack"]), Grammars(["legacy"])
    assert Grammars(["pack", "legacy"]).grammar("go") == pack.grammar("go")
    assert Grammars(["legacy", "pack"]).grammar("go") == legacy.grammar("go") != pack.grammar("go")
    assert legacy.grammar("swift") is None
    assert Grammars(["legacy", "pack"]).grammar("swift") == pack.grammar("swift")


def test_unknown_languages_have_no_grammar() -> None:
    assert [Grammars().grammar(name) for name in ("cobol", "text", "", "../etc")] == [None] * 4
    assert tags("cobol") is None


@pytest.mark.parametrize("language", [language.name for language in LANGUAGES])
def test_every_language_has_a_grammar_and_queries(language: str) -> None:
    found = tags(language, ("pack",))
    assert found is not None and found.query is not None
    assert found.query.pattern_count == len(found.roles)


def test_patterns_are_split_at_the_top_level() -> None:
    source = '; a (comment\n(a "(" @x) @b\n[(c) (d)] @e ; and\n\n((f)\n  .\n  (g)) @h @i'
    assert patterns(source) == ['(a "(" @x) @b', "[(c) (d)] @e", "((f)\n  .\n  (g)) @h @i"]


def test_naming_a_language_loads_no_grammar() -> None:
    code = (
        "import sys; from promptls.languages.table import language_of; from promptls.index.syntax import grammars, parse;"
        "assert language_of('a.py') == 'python'; parse.plain('x = 1\\n' * 50, 'python', 'why');"
        "print([m for m in sys.modules if m.startswith('tree_sitter')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
