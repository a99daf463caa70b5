"""HTML."""

from __future__ import annotations

from promptls.languages.language import Language, PathImports

HTML = Language(
    name="html",
    extensions=("html", "htm", "xhtml"),
    pack_grammar="html",
    legacy_grammar="html",
    query_files=("html",),
    scanner="template",
    embedded=(("markup", "javascript"),),
    block_comments=(("<!--", "-->"),),
    definition_calls={"id": "section"},
    import_syntax="html",
    import_resolution=PathImports(as_module=True),
    imports_are_paths=True,
    family="web",
)
