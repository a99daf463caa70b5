"""Scala."""

from __future__ import annotations

from promptls.languages.language import ClassImports, Language

SCALA = Language(
    name="scala",
    extensions=("scala", "sc", "sbt"),
    pack_grammar="scala",
    legacy_grammar="scala",
    query_files=("scala",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    constructor="this",
    visibility="not_private",
    has_decorators=True,
    strips_annotations=True,
    ignored_references=frozenset(
        "Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split()
    ),
    declaration_syntax="name_first",
    return_syntax="colon",
    import_syntax="dotted",
    import_resolution=ClassImports((".java", ".kt", ".kts", ".scala", ".groovy"), members=True),
    imports_in_functions=True,
    import_binds_last_part=True,
    family="jvm",
    implicit_scope="package",
    names_without_import=True,
    implicit_self=True,
    nested_types_need_owner=True,
    capitalized_types=True,
)
