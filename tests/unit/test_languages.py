"""Language registry, and language detection by file name, extension, shebang line, and content of C headers and notebooks."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from promptls.languages import (
    LANGUAGES,
    PLAIN_TEXT,
    language_by_alias,
    language_named,
    language_of,
    read_query_file,
)

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
    flake.nix nix           notes.txt text          LICENSE text          a.cob cobol          a.cobol cobol
    a.ipynb python          a.ipy text              ipynb text             b.IPYNB python
    .gitignore text         archive.tar.gz text     py text               .py python           .h c
    CMakeLists.txt cmake    BUILD starlark          BUILD.bazel starlark  build text           Jenkinsfile groovy
    a.groovy groovy         build.gradle groovy     a.ps1 powershell      a.bat batch          a.m objc
    a.astro astro           a.cshtml razor          a.twig twig           a.html.erb erb       a.pkb sql
    a.unknown text
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

NOTEBOOKS = {
    "# Jupyter notebook (python)\n": "python",
    "# Jupyter notebook (julia)\n\n# %% cell 1\n": "julia",
    "(* Jupyter notebook (ocaml) *)": "ocaml",
    "-- Jupyter notebook (sql)": "sql",
    "# Jupyter notebook (text)": "text",
    "# Jupyter notebook (unknown)": "text",
    '{"cells": [': "json",
    "<<<<<<< HEAD\n{": "json",
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
    "#!/usr/bin/awk -f": "awk",
    "import os": "text",
}


@pytest.mark.parametrize(("path", "language"), list(zip(PATHS[::2], PATHS[1::2], strict=True)))
def test_language_by_path(path: str, language: str) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize("text", HEADERS)
def test_c_header_by_content(text: str) -> None:
    assert language_of("include/a.h", text) == HEADERS[text]


SHARED_EXTENSIONS = [
    ("a.m", "@implementation A\n@end\n", "objc"),
    ("a.m", "% Adds the prices.\nx = 1;\n", "matlab"),
    ("a.m", "function y = f(x)\n", "matlab"),
    ("a.h", "#import <Foundation/Foundation.h>\n", "objc"),
    ("a.v", "module m(input a);\nendmodule\n", "verilog"),
    ("a.v", "module main\n\nfn main() {\n}\n", "vlang"),
    ("a.v", "Require Import List.\n", "coq"),
    ("a.pp", "class a { }\n", "puppet"),
    ("a.pp", "unit a;\n", "pascal"),
    ("a.cls", "public class A {\n}\n", "apex"),
    ("a.cls", 'VERSION 1.0 CLASS\nAttribute VB_Name = "A"\n', "vb"),
    ("a.cls", "\\ProvidesClass{a}\n", "text"),
    ("a.unknown", "def f()\nend\n", "code"),
    ("a.log", "function f failed\n", "text"),
]


@pytest.mark.parametrize(("path", "text", "language"), SHARED_EXTENSIONS)
def test_content_decides_on_shared_and_unknown_extensions(path: str, text: str, language: str) -> None:
    assert language_of(path, text) == language


LANGUAGE_IDS = {
    "python": "python", "javascriptreact": "jsx", "typescriptreact": "tsx", "shellscript": "bash", "sh": "bash",
    "csharp": "csharp", "cs": "csharp", "dockerfile": "dockerfile", "makefile": "make", "make": "make", "cuda-cpp": "cpp",
    "objective-c": "objc", "objcpp": "objc", "jsonc": "json", "plsql": "sql", "vim": "vim", "viml": "vim",
    "emacs-lisp": "elisp", "golang": "go", "ps1": "powershell", "terraform": "hcl", "fsharp": "fsharp", "c++": "cpp",
}  # fmt: skip
"""Language IDs of LSP, VS Code, Vim and Emacs."""


@pytest.mark.parametrize("language_id", LANGUAGE_IDS)
def test_language_ids_of_editors_are_known(language_id: str) -> None:
    found = language_by_alias(language_id)
    assert found is not None and found.name == LANGUAGE_IDS[language_id]


@pytest.mark.parametrize("text", NOTEBOOKS)
def test_notebook_by_content(text: str) -> None:
    assert language_of("a.ipynb", text) == NOTEBOOKS[text]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("Python3", "python"),
        ("c++17", "cpp"),
        ("julia-1.9", "julia"),
        ("ruby 3.1", "ruby"),
        ("R", "r"),
        (".jl", "julia"),
    ],
)
def test_language_by_alias(name: str, language: str) -> None:
    found = language_by_alias(name)
    assert found is not None and found.name == language
    assert language_by_alias("") is language_by_alias("jl") is language_by_alias("gap4") is None


@pytest.mark.parametrize("line", FIRST_LINES)
def test_language_by_shebang(line: str) -> None:
    assert language_of("bin/tool", line + "\nrest\n") == FIRST_LINES[line]
    assert language_of("a.go", line + "\n") == "go"


def test_only_the_last_part_of_a_path_counts() -> None:
    assert language_of("/a.py/b.js/README") == "text"
    assert language_of("Makefile/x.go") == "go"


def test_each_extension_file_name_and_shebang_belongs_to_one_language() -> None:
    for field in ("extensions", "file_names", "shebangs", "aliases"):
        values = Counter(value for language in LANGUAGES.values() for value in getattr(language, field))
        assert [value for value, count in values.items() if count > 1] == []


def test_references_to_other_languages_and_query_files_are_valid() -> None:
    for language in LANGUAGES.values():
        assert not language.dialect_of or language.dialect_of in LANGUAGES
        assert language.query_files or language.scanner
        assert all(map(read_query_file, language.query_files))


def test_unknown_name_is_plain_text() -> None:
    assert language_named("klingon") is PLAIN_TEXT and language_named("go") is LANGUAGES["go"]


@pytest.mark.process
def test_naming_a_language_loads_no_grammar() -> None:
    code = (
        "import sys; from promptls.languages import language_of;"
        "assert language_of('a.py') == 'python';"
        "assert not {m for m in sys.modules if m.startswith(('promptls.index', 'numpy'))};"
        "from promptls.index.syntax import parse;"
        "from promptls.index.syntax.tree_sitter import grammars;"
        "parse.parse_as_text('x = 1\\n' * 50, 'python', 'why');"
        "print([m for m in sys.modules if m.startswith('tree_sitter')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
