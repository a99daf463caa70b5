"""Java."""

from __future__ import annotations

from promptls.languages.language import ClassImports, Language

JAVA = Language(
    name="java",
    extensions=("java",),
    pack_grammar="java",
    legacy_grammar="java",
    query_files=("java",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    visibility="public",
    has_decorators=True,
    strips_annotations=True,
    ignored_references=frozenset(
        "Any Bool Boolean Double Float Int Integer Long Object Override String Unit Void".split()
    ),
    declaration_syntax="type_first",
    return_syntax="type_first",
    import_syntax="dotted",
    import_resolution=ClassImports((".java", ".kt", ".kts", ".scala", ".groovy"), members=True),
    import_binds_last_part=True,
    family="jvm",
    implicit_scope="package",
    implicit_self=True,
    nested_types_need_owner=True,
    capitalized_types=True,
)
