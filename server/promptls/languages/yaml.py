"""YAML."""

from __future__ import annotations

from promptls.languages.language import Language

YAML = Language(
    name="yaml",
    aliases=("yml",),
    extensions=("yaml", "yml"),
    file_names=(".clang-format", ".clang-tidy"),
    pack_grammar="yaml",
    legacy_grammar="yaml",
    query_files=("yaml",),
    nests_in_one_line=True,
    line_comments=("#",),
)
