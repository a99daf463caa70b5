"""SQL."""

from __future__ import annotations

from promptls.languages.language import Language

SQL = Language(
    name="sql",
    extensions=("sql", "ddl", "pgsql"),
    pack_grammar="sql",
    legacy_grammar="sql",
    query_files=("sql",),
    line_comments=("--",),
    block_comments=(("/*", "*/"),),
    name_separators=(".",),
    names_without_import=True,
)
