"""Dart."""

from __future__ import annotations

from promptls.languages.language import Language

DART = Language(
    name="dart",
    extensions=("dart",),
    pack_grammar="dart",
    query_files=("dart",),
    mask="dart",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility="no_underscore",
    has_decorators=True,
    strips_annotations=True,
    declaration_syntax="type_first",
    return_syntax="type_first",
    extension_methods="extension_on",
    import_syntax="dart",
    import_resolution="dart",
    imports_are_paths=True,
    implicit_self=True,
    nested_types_need_owner=True,
    capitalized_types=True,
)
