"""Counted nouns for messages: "1 file", "1,234 files"."""

from __future__ import annotations


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return the count with the noun in singular or plural; the plural defaults to the noun with an "s"."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"
