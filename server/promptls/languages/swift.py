"""Swift."""

from __future__ import annotations

from promptls.languages.language import Language

SWIFT = Language(
    name="swift",
    extensions=("swift",),
    pack_grammar="swift",
    query_files=("swift",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility="not_private",
    has_decorators=True,
    strips_annotations=True,
    ignored_references=frozenset(
        "Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split()
    ),
    declaration_syntax="name_first",
    return_syntax="arrow",
    methods_in_other_files=True,
    extension_methods="extension",
    import_syntax="swift",
    implicit_scope="module",
    names_without_import=True,
    implicit_self=True,
    nested_types_need_owner=True,
    capitalized_types=True,
)
