"""Zig."""

from __future__ import annotations

from promptls.languages.language import Language

ZIG = Language(
    name="zig",
    extensions=("zig", "zon"),
    pack_grammar="zig",
    query_files=("zig",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility="no_underscore",
    declaration_syntax="zig",
    return_syntax="zig",
    file_is_type=True,
    import_syntax="zig",
    import_resolution="zig",
    imports_are_paths=True,
)
