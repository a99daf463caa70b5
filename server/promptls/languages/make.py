"""Makefiles."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

MAKE = Language(
    name="make",
    aliases=("makefile",),
    extensions=("mk", "mak"),
    file_names=("makefile", "gnumakefile"),
    shebangs=("make",),
    pack_grammar="make",
    legacy_grammar="make",
    query_files=("make",),
    line_comments=("#",),
    import_calls=("include", "-include", "sinclude"),
    import_resolution=PathImports(),
    imports_are_paths=True,
    names_without_import=True,
)
