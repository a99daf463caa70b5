"""PHP."""

from __future__ import annotations

from promptls.languages.language import Language

PHP = Language(
    name="php",
    extensions=("php", "phtml", "php5"),
    shebangs=("php",),
    pack_grammar="php",
    legacy_grammar="php",
    query_files=("php",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
    doc_tags="phpdoc",
    name_separators=("\\",),
    constructor="__construct",
    visibility="not_private",
    has_decorators=True,
    strips_annotations=True,
    arrow_members=True,
    declaration_syntax="php",
    return_syntax="colon",
    import_syntax="php",
    import_resolution="php",
    imports_are_paths=True,
    import_binds_last_part=True,
    implicit_scope="namespace",
    names_without_import=True,
    capitalized_types=True,
)
