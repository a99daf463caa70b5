"""The glossary: forms of words in eight languages, and the English terms that they stand for.

glossary.tsv has one row per concept: its English terms, then the forms of each language, separated by commas.  Words
of languages with inflection match by their stem, accents aside.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct
from py_rust_stemmers import SnowballStemmer

from promptls.util.decode import tomllib

LANGUAGES = {
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "es": "Spanish",
    "pt": "Portuguese",
    "fr": "French",
    "de": "German",
}
"""Names of the languages by their codes, in the order of the columns of glossary.tsv."""

_STEMMERS = {"ru": "russian", "es": "spanish", "pt": "portuguese", "fr": "french", "de": "german"}
_FOLDED = {ord("ß"): "ss", ord("œ"): "oe", ord("æ"): "ae"}
_UMLAUTS = {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"}
_VOWELS = "аеёиоуыэюя"
_MAX_TERMS = 4
"""Maximum number of English terms of one form; a form of several concepts collects the terms of all."""


class Glossary(Struct, frozen=True):
    """The glossary of one language."""

    exact: dict[str, tuple[str, ...]]  # English terms by form: folded, words separated by single spaces
    stemmed: dict[str, tuple[str, ...]]  # English terms by the stems of the form's words
    spelled: frozenset[str]  # forms as written, with accents
    function_words: frozenset[str]  # as written and without accents
    longest: int  # of all forms, in words; for scripts without spaces, in characters


def fold(word: str) -> str:
    """Return a word in lower case without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.lower().translate(_FOLDED))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=1 << 12)
def stem(word: str, language: str) -> str:
    """Return the stem of a word without accents; the word if the language has no stemmer."""
    stemmer = _stemmer(language)
    return fold(stemmer.stem_word(word.lower())) if stemmer is not None else word


@cache
def _stemmer(language: str) -> SnowballStemmer | None:
    return SnowballStemmer(_STEMMERS[language]) if language in _STEMMERS else None


@cache
def function_words(name: str) -> frozenset[str]:
    """Return a list of function_words.toml: those of a language by its code, or another list by its name."""
    data = tomllib.loads(files(__package__).joinpath("function_words.toml").read_text("utf-8"))
    return frozenset(data[name].split())


@cache
def glossary(language: str) -> Glossary:
    """Return the glossary of a language."""
    column = 1 + list(LANGUAGES).index(language)
    is_spaced = language in _STEMMERS
    exact: dict[str, tuple[str, ...]] = {}
    stemmed: dict[str, tuple[str, ...]] = {}
    spelled: set[str] = set()
    for row in files(__package__).joinpath("glossary.tsv").read_text("utf-8").splitlines()[1:]:
        cells = row.split("\t")
        terms = tuple(cells[0].split())
        for form in filter(None, cells[column].split(",")):
            spellings = _spellings(form, language)
            spelled |= spellings
            for spelling in spellings:
                _add(exact, fold(spelling) if is_spaced else spelling, terms)
                if is_spaced:
                    parts = spelling.split()
                    _add(stemmed, " ".join(stem(word, language) for word in parts), terms)
                    _add(stemmed, " ".join(stem(fold(word), language) for word in parts), terms)
    listed = function_words(language)
    longest = max(form.count(" ") + 1 if is_spaced else len(form) for form in (*exact, *listed))
    words = listed | frozenset(map(fold, listed)) if is_spaced else listed
    return Glossary(exact, stemmed, frozenset(spelled), words, longest)


def _spellings(form: str, language: str) -> set[str]:
    """Return the spellings of a form: simplified characters, German umlauts, and Russian inflections.

    These have a stem of their own: the present tense of verbs in -овать and the genitive plural of nouns in -ка.
    """
    if language == "zh":
        return {form.translate(simplified())}
    if language == "de":
        return {form, form.translate(_UMLAUTS)}
    if language == "ru" and form.endswith("овать"):
        return {form, *(form[: -len("овать")] + ending for ending in ("ует", "уют", "уется", "уются"))}
    if language == "ru" and len(form) > 4 and form.endswith("ка") and form[-3] not in _VOWELS:
        return {form, f"{form[:-3]}ек" if form[-3] == "й" else f"{form[:-2]}{'ек' if form[-3] in 'жшч' else 'ок'}"}
    return {form}


def _add(table: dict[str, tuple[str, ...]], key: str, terms: tuple[str, ...]) -> None:
    table[key] = tuple(dict.fromkeys((*table.get(key, ()), *terms)))[:_MAX_TERMS]


@cache
def simplified() -> dict[int, str]:
    """Return the simplified Chinese character by the code point of the traditional one, for the glossary's characters."""
    pairs = files(__package__).joinpath("traditional.txt").read_text("utf-8").split()
    return {ord(pair[0]): pair[1] for pair in pairs}


@cache
def english_terms() -> frozenset[str]:
    """Return the English words of the glossary and the English function words."""
    rows = files(__package__).joinpath("glossary.tsv").read_text("utf-8").splitlines()[1:]
    return function_words("english").union(*(row.split("\t")[0].split() for row in rows))
