"""Julia."""

from __future__ import annotations

from promptls.languages.language import Language

JULIA = Language(
    name="julia",
    extensions=("jl",),
    shebangs=("julia",),
    pack_grammar="julia",
    legacy_grammar="julia",
    query_files=("julia",),
    line_comments=("#",),
    name_separators=(".",),
    definition_calls={"@enum": "enum"},
    test_calls=frozenset("@safetestset @testcase @testitem @testset".split()),
    visibility="no_underscore",
    definition_variants="methods",
    import_syntax="julia",
    import_resolution="julia",
    imports_are_paths=True,
    implicit_scope="manifest",
    package_manifest="Project.toml",
    names_without_import=True,
)
