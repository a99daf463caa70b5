"""Unicode normalization: "é" is one character or "e" with an accent, depending on the system that a text comes from.

Names in outlines are in form NFC; files keep their own form.
"""

from __future__ import annotations

from unicodedata import normalize


def nfc(text: str) -> str:
    """Return a text in form NFC."""
    return text if text.isascii() else normalize("NFC", text)


def spellings_of(text: str) -> list[str]:
    """Return a text as given and in the forms NFC and NFD, each once."""
    return [text] if text.isascii() else list(dict.fromkeys((text, normalize("NFC", text), normalize("NFD", text))))
