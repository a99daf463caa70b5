"""R."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

R = Language(
    name="r",
    extensions=("r",),
    file_names=(".rprofile",),
    shebangs=("rscript",),
    pack_grammar="r",
    legacy_grammar="r",
    query_files=("r",),
    line_comments=("#",),
    definition_calls={
        "setClass": "class",
        "setRefClass": "class",
        "R6Class": "class",
        "setGeneric": "function",
        "setMethod": "method",
    },
    member_calls={"R6Class": "method", "setRefClass": "method"},
    test_calls=frozenset("describe it test_that".split()),
    visibility="no_underscore",
    import_calls=("library", "require", "requireNamespace", "source"),
    import_resolution=PathImports(("", ".R", ".r")),
    imports_are_paths=True,
    standard_libraries=frozenset("base grDevices graphics methods stats utils".split()),
    implicit_scope="manifest",
    package_manifest="DESCRIPTION",
    names_without_import=True,
    members_need_owner=True,
    functions_as_members=True,
)
