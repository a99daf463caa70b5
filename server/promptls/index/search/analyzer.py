"""Analyzer of the keyword index: splits code and questions into terms.

An identifier yields its stemmed parts (camelCase, snake_case, digits) and, if it has several, itself in lower case.
Prose yields stemmed words. The index and queries use the same functions. Stemmer: Snowball's English (Porter 2).
Scripts that are written without spaces, and Korean, whose words carry particles, yield pairs of characters, as in
Lucene's CJK analyzer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

from py_rust_stemmers import SnowballStemmer

ANALYZER_VERSION = 3
"""Version of the rules below, a part of the store identity: a change rebuilds the store."""

STOP_WORDS = frozenset(
    "a an and any are as at be been but by can could did do does for from get had has have how i if in into is it its "
    "just like me my no not of on or our should so some than that the their them then there these they this to "
    "up us use used using was we were what when where which who why will with would you your".split()
)
"""Words without topical content; "get", "use" and "not" occur in half of all code as well."""

_MARKS = "".join(c for c in map(chr, range(0x300, 0x2000)) if unicodedata.category(c).startswith("M"))
"""Vowel signs and accents that follow their letter, as in Thai and Hindi; `\\w` does not match them."""
_WORD = re.compile(rf"[^\W\d_][\w{_MARKS}]*|_+[^\W_][\w{_MARKS}]*|\d+")
_WORD_IN_ASCII = re.compile(r"[A-Za-z]\w*|_+[A-Za-z0-9]\w*|\d+", re.ASCII)
"""The same in ASCII texts, where it takes two thirds of the time."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART_OR_END = re.compile(_PART.pattern + r"|\n")
_LOWER_PART = re.compile(r"[a-z]+|[0-9]+")
_UNICODE_PART = re.compile(rf"\d+|[^\W\d_](?:[^\W\d_]|[{_MARKS}])*")
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"  # Hangul
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_UNSPACED_RUN = re.compile(f"([{_UNSPACED}]+)")
_MAX_UNSPACED_NAME = 12
"""Maximum characters of a run that is a term as a whole too: a longer one is a sentence, not a name."""
_STEMMER = SnowballStemmer("english")
_RUN_SEPARATORS = bytes(i if i > 127 or chr(i).isalnum() or chr(i) == "_" else 32 for i in range(256))
_MAX_CACHED_RUNS, _MAX_CACHED_STEMS = 1 << 17, 1 << 16
_MAX_WORD_LENGTH = 64  # longer words are data (base64, hashes), not names
_MAYBE_DATA = re.compile(r"(?=[A-Za-z_]*[0-9])\w{16}|(?=[a-z_]*[A-Z])(?=[A-Z_]*[a-z])[A-Za-z_]{24}", re.ASCII)
"""A long word with a digit, or a longer one with letters of both cases."""
_HASH = re.compile(r"[0-9a-fA-F]{24}$")
_ASCII_WORD = re.compile(rf"[A-Za-z_]\w{{0,{_MAX_WORD_LENGTH - 1}}}|\d{{1,{_MAX_WORD_LENGTH}}}", re.ASCII)


@lru_cache(maxsize=1 << 12)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    return str(_STEMMER.stem_word(word))


@lru_cache(maxsize=1 << 12)
def split_identifier(identifier: str) -> tuple[str, ...]:
    """Return the parts of an identifier in lower case: "parseHTTPRequest2" → parse, http, request, 2."""
    if identifier.isascii():
        lower = identifier.lower()
        if identifier == lower or identifier.isupper():
            return tuple(_LOWER_PART.findall(lower))
        return tuple([part.lower() for part in _PART.findall(identifier)])
    return tuple([part.lower() for run in _UNICODE_PART.findall(identifier) for part in _split_at_capitals(run)])


def split_identifiers(words: Sequence[str]) -> list[str]:
    """Split many ASCII words as `split_identifier` does; an empty string follows the parts of each word."""
    if not words:
        return []
    parts = _PART_OR_END.findall("\n".join([*words, ""]))
    return " ".join(parts).lower().replace("\n", "").split(" ")


def _split_at_capitals(letters: str) -> list[str]:
    """Split letters of any script where a capital follows a small letter."""
    inner = (i for i in range(1, len(letters)) if letters[i].isupper() and not letters[i - 1].isupper())
    return [letters[a:b] for a, b in pairwise([0, *inner, len(letters)])]


class _StemCache(dict[str, str]):
    """Cache of the stems of word parts, "" for stop words. Thread-safe: a race computes a stem twice."""

    def __missing__(self, part: str) -> str:
        if len(self) >= _MAX_CACHED_STEMS:
            self.clear()
        is_stop_word = part in STOP_WORDS or (len(part) == 1 and part.isascii())
        term = self[part] = "" if is_stop_word else str(_STEMMER.stem_word(part))
        return term


_STEMS = _StemCache()


def stem_part(part: str) -> str:
    """Return the term of a word part, or "" for a stop word."""
    return _STEMS[part]


def compound_term(word: str) -> str:
    """Return the term of a whole word that has several parts."""
    return word.lower().strip("_")


def is_data(word: str) -> bool:
    """Return whether a word is data instead of a name: a key, a token or a hash.  The index on disk has no such terms."""
    if len(word) > _MAX_WORD_LENGTH:
        return True
    if not _MAYBE_DATA.match(word):
        return False
    from promptls.redaction.values import is_long_random  # not at the start of the server

    return _HASH.search(word) is not None or is_long_random(word)


def tokenize_word(word: str) -> list[str]:
    """Return the terms of one word or identifier, in order; none for stop words and data."""
    if not word.isascii() and _UNSPACED_RUN.search(word):
        return list(chain.from_iterable(map(_terms_of_script, filter(None, _UNSPACED_RUN.split(word)))))
    if is_data(word):
        return []
    parts, stems = split_identifier(word), _STEMS
    terms = [term for part in parts if (term := stems[part])]
    if len(parts) > 1:
        terms.append(compound_term(word))
    return terms


def _terms_of_script(run: str) -> list[str]:
    """Return the terms of a part of a word that is either in unspaced scripts or in others."""
    if not _UNSPACED_RUN.match(run):
        return tokenize_word(run)
    pairs = [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    return [*pairs, run] if 2 < len(run) <= _MAX_UNSPACED_NAME else pairs


def find_words(text: str) -> list[str]:
    """Return the identifiers, words and numbers of a text, as written."""
    return (_WORD_IN_ASCII if text.isascii() else _WORD).findall(text)


def split_runs(text: str) -> list[str]:
    """Split a text at ASCII white space and punctuation; no term spans two runs."""
    data = text.encode("utf-8", "surrogatepass").translate(_RUN_SEPARATORS)  # of bytes: far faster than of characters
    return data.decode("utf-8", "surrogatepass").split()


def is_ascii_word(run: str) -> bool:
    """Return whether a run is a single ASCII word, number or identifier."""
    return _ASCII_WORD.fullmatch(run) is not None


def tokenize_run(run: str) -> list[str]:
    """Return the terms of a run."""
    if run.isascii() and run[:1].isalpha():
        return tokenize_word(run)  # a single word
    return list(chain.from_iterable(map(tokenize_word, find_words(run))))


def tokenize(text: str) -> list[str]:
    """Return the terms of a text, in order, with repetitions."""
    return list(chain.from_iterable(map(_RUN_TERMS.__getitem__, split_runs(text))))


class _RunCache(dict[str, list[str]]):
    """Cache of the terms of runs. Thread-safe: a race computes the terms twice."""

    def __missing__(self, run: str) -> list[str]:
        if len(self) >= _MAX_CACHED_RUNS:
            self.clear()
        terms = self[run] = tokenize_run(run)
        return terms


_RUN_TERMS = _RunCache()
