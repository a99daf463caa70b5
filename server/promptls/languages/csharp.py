"""C#."""

from __future__ import annotations

from promptls.languages.language import ClassImports, Language

CSHARP = Language(
    name="csharp",
    aliases=("cs", "c#", "csh"),
    extensions=("cs", "csx"),
    pack_grammar="csharp",
    legacy_grammar="c_sharp",
    query_files=("csharp",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
    root_names=frozenset({"global"}),
    visibility="public",
    strips_annotations=True,
    declaration_syntax="type_first",
    return_syntax="type_first",
    primitive_types=frozenset(
        "bool byte char decimal double float int long object sbyte short string uint ulong ushort".split()
    ),
    methods_in_other_files=True,
    extension_methods="this_parameter",
    import_syntax="csharp",
    import_resolution=ClassImports((".cs",)),
    implicit_scope="namespace",
    names_without_import=True,
    implicit_self=True,
    nested_types_need_owner=True,
)
