"""Rust."""

from __future__ import annotations

from promptls.languages.language import Language

RUST = Language(
    name="rust",
    aliases=("rs",),
    extensions=("rs",),
    pack_grammar="rust",
    legacy_grammar="rust",
    query_files=("rust",),
    mask="macros",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    root_names=frozenset({"crate"}),
    name_prefixes=("r#",),
    name_suffix="!",
    visibility="pub",
    has_decorators=True,
    has_lifetimes=True,
    ignored_references=frozenset("Err None Ok Self Some".split()),
    declaration_syntax="rust",
    return_syntax="arrow",
    transparent_members=frozenset(
        "as_mut() as_ref() await borrow() borrow_mut() clone() expect() lock() to_owned() unwrap()".split()
    ),
    methods_in_other_files=True,
    import_syntax="rust",
    import_resolution="rust",
    imports_in_functions=True,
    capitalized_types=True,
)
