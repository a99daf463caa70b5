"""Nix."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

NIX = Language(
    name="nix",
    extensions=("nix",),
    pack_grammar="nix",
    query_files=("nix",),
    name_separators=(".",),
    line_comments=("#",),
    import_syntax="nix",
    import_resolution=PathImports(("", ".nix", "/default.nix"), as_module=True),
    imports_are_paths=True,
)
