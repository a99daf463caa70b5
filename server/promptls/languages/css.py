"""CSS and SCSS."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

CSS = Language(
    name="css",
    extensions=("css",),
    pack_grammar="css",
    legacy_grammar="css",
    query_files=("css",),
    block_comments=(("/*", "*/"),),
    ignored_references=frozenset({"calc", "url", "var"}),
    import_syntax="quoted",
    import_resolution=PathImports(("", ".scss", ".css", "/_index.scss"), as_module=True, partials=True),
    imports_are_paths=True,
    family="web",
    names_without_import=True,
)

SCSS = Language(
    name="scss",
    dialect_of="css",
    extensions=("scss",),
    pack_grammar="scss",
    query_files=("css",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    import_syntax="quoted",
    import_resolution=PathImports(("", ".scss", ".css", "/_index.scss"), as_module=True, partials=True),
    imports_are_paths=True,
    family="web",
)
