"""Protocol Buffers."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

PROTO = Language(
    name="proto",
    aliases=("protobuf",),
    extensions=("proto",),
    pack_grammar="proto",
    query_files=("proto",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    import_syntax="go",
    import_resolution=PathImports(anywhere=True),
    imports_are_paths=True,
    names_without_import=True,
)
