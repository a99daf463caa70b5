"""TOML."""

from __future__ import annotations

from promptls.languages.language import Language

TOML = Language(
    name="toml",
    extensions=("toml",),
    file_names=("cargo.lock", "poetry.lock", "uv.lock", "pipfile"),
    pack_grammar="toml",
    legacy_grammar="toml",
    query_files=("toml",),
    line_comments=("#",),
)
