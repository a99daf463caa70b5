"""C++."""

from __future__ import annotations

from promptls.languages.language import Language

CPP = Language(
    name="cpp",
    aliases=("c++", "cplusplus", "cuda", "cuda-cpp"),
    extensions=("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp", "cu", "cuh"),
    pack_grammar="cpp",
    legacy_grammar="cpp",
    query_files=("cpp", "c"),
    mask="cpp",
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    name_separators=("::",),
    reserved_names=frozenset("case defined do else for if return sizeof switch while".split()),
    constructor_named_after_type=True,
    assignment_defines_method=True,
    visibility="not_static",
    arrow_members=True,
    declaration_syntax="cpp",
    return_syntax="type_first",
    methods_in_other_files=True,
    import_syntax="include",
    import_resolution="c",
    imports_are_paths=True,
    family="c",
    names_without_import=True,
    implicit_self=True,
)
