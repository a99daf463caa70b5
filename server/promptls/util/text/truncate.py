"""Truncation of text at word boundaries.

Signatures, documentation and summaries are truncated long before they are scanned for secrets, and half a secret is
not recognized.
"""

from __future__ import annotations

_WORD_CHARACTERS = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in "\"'`()[]{}<>,;|\\")
"""Characters of tokens, passwords and URLs. Scripts without spaces between words are cut anywhere."""


def truncate_words(text: str, max_length: int) -> str:
    """Return the text, or its first words and "…", of at most `max_length` characters."""
    if len(text) <= max_length:
        return text
    return text[:max_length].rstrip(_WORD_CHARACTERS)[: max_length - 1].rstrip() + "…"
