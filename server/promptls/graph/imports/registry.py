"""The way that the imports of each language go."""

from __future__ import annotations

from promptls.graph.imports.by_name import dotted, elixir, go, haskell, lua, ocaml, perl, php
from promptls.graph.imports.by_path import c, dart, file_at, julia, ruby, zig
from promptls.graph.imports.python import python
from promptls.graph.imports.rust import rust
from promptls.graph.imports.script import script
from promptls.graph.imports.types import Way

_JVM = (".java", ".kt", ".kts", ".scala", ".groovy")

WAYS: dict[str, Way] = {
    "python": python,
    **dict.fromkeys(("javascript", "jsx", "typescript", "tsx", "vue", "svelte"), script),
    "go": go,
    "rust": rust,
    **dict.fromkeys(("java", "kotlin", "scala"), dotted(_JVM, members=True)),
    **dict.fromkeys(("c", "cpp"), c),
    "csharp": dotted((".cs",)),
    "ruby": ruby,
    "php": php,
    "lua": lua,
    "bash": file_at(("", ".sh")),
    "elixir": elixir,
    "haskell": haskell,
    **dict.fromkeys(("ocaml", "ocaml_interface"), ocaml),
    "r": file_at(("", ".R", ".r")),
    **dict.fromkeys(("css", "scss"), file_at(("", ".scss", ".css", "/_index.scss"), "", partial=True)),
    "html": file_at(("",), ""),
    "dart": dart,
    "zig": zig,
    "julia": julia,
    "make": file_at(),
    "proto": file_at(anywhere=True),
    "elisp": file_at((".el", ""), anywhere=True),
    "vim": file_at(("", ".vim"), anywhere=True),
    "perl": perl,
    "nix": file_at(("", ".nix", "/default.nix"), ""),
}
"""By language."""
