"""JSON."""

from __future__ import annotations

from promptls.languages.language import Language

JSON = Language(
    name="json",
    aliases=("jsonc",),
    extensions=("json", "jsonc", "json5", "webmanifest", "geojson"),
    pack_grammar="json",
    legacy_grammar="json",
    query_files=("json",),
    line_comments=("//",),
    block_comments=(("/*", "*/"),),
)
