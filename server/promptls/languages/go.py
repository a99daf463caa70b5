"""Go."""

from __future__ import annotations

from promptls.languages.language import Language

GO = Language(
    name="go",
    aliases=("golang", "golang.go"),
    extensions=("go",),
    pack_grammar="go",
    legacy_grammar="go",
    query_files=("go",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    test_calls=frozenset({"Run"}),
    visibility="capitalized",
    ignored_references=frozenset(
        "any append bool byte cap close copy delete error float64 int int32 int64 len make new panic string "
        "uint uint32 uint64".split()
    ),
    declaration_syntax="go",
    return_syntax="go",
    methods_in_other_files=True,
    definition_variants="folder",
    import_syntax="go",
    import_resolution="go",
    implicit_scope="folder",
)
