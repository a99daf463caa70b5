"""Text of at most so many characters, with no word cut in two.

Heads, documentation and summaries are cut long before anybody looks for secrets in them, and half a secret is no
longer known as one.
"""

from __future__ import annotations

_OF_WORDS = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in "\"'`()[]{}<>,;|\\")
"""What tokens, passwords and addresses are made of.  Scripts that put no blanks between words are cut anywhere."""


def clipped(text: str, most: int) -> str:
    """The text, or its first words and "…"."""
    return text if len(text) <= most else text[:most].rstrip(_OF_WORDS)[: most - 1].rstrip() + "…"
