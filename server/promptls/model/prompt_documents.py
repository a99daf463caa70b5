"""Recognition of prompt documents by language ID or file name."""

from __future__ import annotations

from collections.abc import Collection

PROMPT_LANGUAGE = "promptls"
"""LSP language ID of prompt documents."""
PROMPT_SUFFIX = ".prompt.md"
"""File name suffix of prompt documents; Markdown, so that editors without the language ID highlight them."""


def is_prompt_document(name: str, language: str = "", extra_languages: Collection[str] = ()) -> bool:
    """Return whether a document is a prompt document.

    Args:
        name: URI or path of the document.
        language: LSP language ID, "" if unknown.
        extra_languages: Language IDs that the setting `documents.languages` adds.
    """
    return language == PROMPT_LANGUAGE or language in extra_languages or name.endswith(PROMPT_SUFFIX)
