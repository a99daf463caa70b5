"""Markdown."""

from __future__ import annotations

from promptls.languages.language import Language

MARKDOWN = Language(
    name="markdown",
    aliases=("md",),
    extensions=("md", "markdown", "mdx", "mkd"),
    pack_grammar="markdown",
    legacy_grammar="markdown",
    query_files=("markdown",),
    nests_in_one_line=True,
    block_comments=(("<!--", "-->"),),
)
