"""Kotlin."""

from __future__ import annotations

from promptls.languages.language import ClassImports, Language

KOTLIN = Language(
    name="kotlin",
    aliases=("kt",),
    extensions=("kt", "kts"),
    pack_grammar="kotlin",
    legacy_grammar="kotlin",
    query_files=("kotlin",),
    mask="kotlin",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility="not_private",
    has_decorators=True,
    strips_annotations=True,
    ignored_references=frozenset(
        "Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split()
    ),
    declaration_syntax="name_first",
    return_syntax="colon",
    methods_in_other_files=True,
    extension_methods="receiver",
    definition_variants="package",
    import_syntax="dotted",
    import_resolution=ClassImports((".java", ".kt", ".kts", ".scala", ".groovy"), members=True),
    import_binds_last_part=True,
    family="jvm",
    implicit_scope="package",
    names_without_import=True,
    implicit_self=True,
    nested_types_need_owner=True,
    capitalized_types=True,
)
