"""Words of code and questions, as the keyword index sees them.

An identifier gives its stemmed parts (camelCase, snake_case, digits) and, if it has several,
itself in lower case; prose gives stemmed words.  Pure functions; the same ones serve index and
query, so both sides always agree.  Stems are Snowball's English (Porter 2), cached by word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

from py_rust_stemmers import SnowballStemmer

TERMS_VERSION = 1
"""Part of the store's identity: a change of the rules below rebuilds it."""

STOP_WORDS = frozenset(
    "a an and any are as at be been but by can could did do does for from get had has have how i if in into is it its "
    "just like me my no not of on or our should so some than that the their them then there these they this to "
    "up us use used using was we were what when where which who why will with would you your".split()
)
"""Words that carry no topic in a question; "get", "use", "not" name half of all code as well."""

_WORD = re.compile(r"[^\W\d_][\w]*|_+[^\W_]\w*|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART_OR_END = re.compile(_PART.pattern + r"|\n")
_SMALL_PART = re.compile(r"[a-z]+|[0-9]+")
_WIDE_PART = re.compile(r"\d+|[^\W\d_]+")
_STEMMER = SnowballStemmer("english")
_APART = bytes(i if i > 127 or chr(i).isalnum() or chr(i) == "_" else 32 for i in range(256))
_MOST_RUNS, _MOST_STEMS = 1 << 17, 1 << 16
_MAX_WORD = 64  # longer runs are data (base64, hashes), not names
_ONE_WORD = re.compile(rf"[A-Za-z_]\w{{0,{_MAX_WORD - 1}}}|\d{{1,{_MAX_WORD}}}", re.ASCII)


@lru_cache(maxsize=1 << 12)
def stem(word: str) -> str:
    """Stem of a lower-case word."""
    return str(_STEMMER.stem_word(word))


@lru_cache(maxsize=1 << 12)
def parts(identifier: str) -> tuple[str, ...]:
    """Parts of an identifier, lower case: "parseHTTPRequest2" → parse, http, request, 2."""
    if identifier.isascii():
        lower = identifier.lower()
        if identifier == lower or identifier.isupper():
            return tuple(_SMALL_PART.findall(lower))
        return tuple([part.lower() for part in _PART.findall(identifier)])
    return tuple([part.lower() for run in _WIDE_PART.findall(identifier) for part in _at_capitals(run)])


def apart(words: Sequence[str]) -> list[str]:
    """The `parts` of many words of ASCII letters, digits and underscores, and "" behind those of each word."""
    if not words:
        return []
    found = _PART_OR_END.findall("\n".join([*words, ""]))
    return " ".join(found).lower().replace("\n", "").split(" ")


def _at_capitals(run: str) -> list[str]:
    """A run of letters of any script, cut where a capital follows a small letter."""
    cuts = [0, *(i for i in range(1, len(run)) if run[i].isupper() and not run[i - 1].isupper()), len(run)]
    return [run[a:b] for a, b in pairwise(cuts)]


class _Stems(dict[str, str]):
    """Parts of words → their stems, "" for those that say nothing, learned as they are asked for.

    Any thread: at the worst two learn the same.
    """

    def __missing__(self, part: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        silent = part in STOP_WORDS or (len(part) == 1 and part.isascii())
        found = self[part] = "" if silent else str(_STEMMER.stem_word(part))
        return found


_STEMS = _Stems()


def part_term(part: str) -> str:
    """The term that a part of a word gives, "" for none."""
    return _STEMS[part]


def whole_term(word: str) -> str:
    """The term that a word of several parts gives besides theirs."""
    return word.lower().strip("_")


def word_terms(word: str) -> list[str]:
    """Terms of one word or identifier, in order; none for stop words and data."""
    if len(word) > _MAX_WORD:
        return []
    pieces, stems = parts(word), _STEMS
    terms = [found for piece in pieces if (found := stems[piece])]
    if len(pieces) > 1:
        terms.append(whole_term(word))
    return terms


def words(text: str) -> list[str]:
    """Identifiers, words and numbers of a text, as written."""
    return _WORD.findall(text)


def runs(text: str) -> list[str]:
    """What stands between ASCII's spaces and signs: no word of a text reaches over these."""
    data = text.encode("utf-8", "surrogatepass").translate(_APART)  # of bytes: far faster than of characters
    return data.decode("utf-8", "surrogatepass").split()


def is_word(run: str) -> bool:
    """Whether one of the `runs` of a text is a word, number or name as a whole, and ASCII."""
    return _ONE_WORD.fullmatch(run) is not None


def run_terms(run: str) -> list[str]:
    """Search terms of one of the `runs` of a text."""
    if run.isascii() and run[:1].isalpha():
        return word_terms(run)  # one word, whatever follows
    return list(chain.from_iterable(map(word_terms, _WORD.findall(run))))


def terms(text: str) -> list[str]:
    """Search terms of a text, in order, with repetitions."""
    return list(chain.from_iterable(map(_RUNS.__getitem__, runs(text))))


class _Runs(dict[str, list[str]]):
    """Runs → their terms, learned as they are asked for.

    Any thread: at the worst two learn the same.
    """

    def __missing__(self, run: str) -> list[str]:
        if len(self) >= _MOST_RUNS:
            self.clear()
        found = self[run] = run_terms(run)
        return found


_RUNS = _Runs()
