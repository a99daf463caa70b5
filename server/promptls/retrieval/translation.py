"""Translation of questions in other human languages, by the service "translation" if it is installed."""

from __future__ import annotations

from msgspec import Struct

from promptls.util.entry_points import service

MIN_CONFIDENCE = 0.5
"""Share of translated words below which a warning asks for another language."""


class Translation(Struct, frozen=True):
    """A question in English terms."""

    language: str  # its code
    language_name: str  # in English
    gloss: str  # English terms in the order of the question, with everything that stays as it is
    words: tuple[str, ...]  # words of the question that may be search terms: without function words
    translated: int  # number of words that were translated
    total: int  # number of words without function words

    @property
    def confidence(self) -> float:
        """Share of the words that were translated."""
        return self.translated / self.total if self.total else 1.0


def translate(text: str) -> Translation | None:
    """Return the translation of a question; None if it is in English, or in a language that cannot be translated."""
    translator = service("translation")
    return translator(text) if translator is not None else None
