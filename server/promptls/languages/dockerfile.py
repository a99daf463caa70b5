"""Dockerfiles."""

from __future__ import annotations

from promptls.languages.language import Language

DOCKERFILE = Language(
    name="dockerfile",
    aliases=("docker",),
    extensions=("dockerfile",),
    file_names=("dockerfile", "containerfile"),
    pack_grammar="dockerfile",
    legacy_grammar="dockerfile",
    query_files=("dockerfile",),
    line_comments=("#",),
)
