"""Lists of words, compiled: data files in, look-ups by word and by phrase out.

An entry is a word, a phrase ("log_in"), or a beginning ("deploy*").  English words are found by their stem
too, but for those marked "=", whose stem is that of another word ("production", "product").  Words of scripts that do not part words by blanks stand in lists of their own and are found inside the text.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct
from rapidfuzz.distance import DamerauLevenshtein

from promptls.index.search.analyzer import stem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LEAST_STEMMED = 4  # letters of a word that is looked up by its stem
_BEGINNING = 2  # letters by which beginnings are filed


class Found(Struct, frozen=True, array_like=True, gc=False):
    """A word or phrase of a table in a text."""

    group: str
    entry: str  # as the table has it, with blanks
    at: int  # index of its first token
    count: int  # tokens


class Table:
    """Entries by group."""

    __slots__ = ("_beginnings", "_exact", "_phrases", "_stems")

    def __init__(self, groups: Mapping[str, Iterable[str]], stems: bool = True) -> None:
        self._exact: dict[str, list[tuple[str, str]]] = {}
        self._stems: dict[str, list[tuple[str, str]]] = {}
        self._beginnings: dict[str, list[tuple[str, str, str]]] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
        for group, entries in groups.items():
            for entry in entries:
                self._enter(group, entry, stems)
        for phrases in self._phrases.values():
            phrases.sort(key=lambda p: -len(p[0]))

    def _enter(self, group: str, entry: str, stems: bool) -> None:
        shown, stems = (entry[:-1], False) if entry.endswith("=") else (entry, stems)
        shown = shown.replace("_", " ").strip()
        words = tuple(shown.split())
        if len(words) > 1:
            self._phrases.setdefault(words[0], []).append((words, group, shown))
        elif shown.endswith("*"):
            self._beginnings.setdefault(shown[:_BEGINNING], []).append((shown[:-1], group, shown))
        else:
            self._exact.setdefault(shown, []).append((group, shown))
            if stems and len(shown) >= _LEAST_STEMMED and shown.isascii() and shown.isalpha():
                self._stems.setdefault(stem(shown), []).append((group, shown))

    def word(self, word: str) -> list[tuple[str, str]]:
        """(group, entry) of a lower-case word: as it is, else by its stem, else by its beginning."""
        found = self._exact.get(word)
        if found is None and len(word) >= _LEAST_STEMMED and word.isascii():
            found = self._stems.get(stem(word))
        if found is None:
            found = [(g, e) for start, g, e in self._beginnings.get(word[:_BEGINNING], ()) if word.startswith(start)]
        return found

    def phrases(self, words: Sequence[str], at: int) -> list[Found]:
        """Phrases that begin at a word, longest first."""
        return [
            Found(group, entry, at, len(phrase))
            for phrase, group, entry in self._phrases.get(words[at], ())
            if _fits(phrase, words, at)
        ]

    def at(self, words: Sequence[str], at: int) -> list[Found]:
        """What begins at a word, phrases first."""
        return self.phrases(words, at) + [Found(group, entry, at, 1) for group, entry in self.word(words[at])]

    def find(self, words: Sequence[str]) -> list[Found]:
        """All of a text."""
        return [found for i in range(len(words)) for found in self.at(words, i)]

    def single(self) -> Iterable[tuple[str, str]]:
        """(word, group) of the entries that are one plain word."""
        return [(word, group) for word, entries in self._exact.items() for group, _ in entries]


def distance_allowed(word: str) -> int:
    """Typing errors that a word may have: none below 4 letters, 1 up to 6, 2 from 7 on."""
    return 0 if len(word) < 4 else 1 if len(word) < 7 else 2


def nearest(word: str, keywords: Iterable[str], never: Container[str] = ()) -> str:
    """The keyword that a word is with a typing error (Damerau-Levenshtein), "" for none.

    The first letter is right, or changed places with the second; of several the nearest, then the first.
    Words of `never` are spelled as they are meant.
    """
    best, found = distance_allowed(word), ""
    if not best or not word.isascii() or not word.isalpha() or word in never:
        return ""
    for keyword in keywords:
        if keyword[0] != word[0] and keyword[:2] != word[1::-1]:
            continue
        limit = min(best, distance_allowed(keyword))
        if abs(len(word) - len(keyword)) > limit:
            continue
        distance = DamerauLevenshtein.distance(word, keyword, score_cutoff=limit)
        if distance <= limit and (distance < best or not found):
            best, found = distance, keyword
    return found


@cache
def ordinary() -> frozenset[str]:
    """English words that look like a keyword with a typing error, and are none: those of a list of the 50,000
    most usual ones (Debian's wamerican-small).  `scripts/evaluate intent --ordinary LIST` tells what is missing."""
    return frozenset(files(__package__).joinpath("ordinary.txt").read_text("utf-8").split())


def _fits(phrase: tuple[str, ...], words: Sequence[str], at: int) -> bool:
    if at + len(phrase) > len(words):
        return False
    for i, wanted in enumerate(phrase):
        have = words[at + i]
        if have != wanted and not (wanted.endswith("*") and have.startswith(wanted[:-1])):
            return False
    return True


@cache
def data(name: str) -> dict[str, Any]:
    """A data file of this package."""
    table: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
    return table


def entries(text: str) -> list[str]:
    """Entries of a list in a data file, each once, in order."""
    return list(dict.fromkeys(text.split()))


@cache
def table(name: str, *path: str, stems: bool = True) -> Table:
    """One list of a data file, or a table of lists, as a table; the groups are the lists' names."""
    node: Any = data(name)
    for key in path:
        node = node[key]
    if isinstance(node, str):
        return Table({path[-1]: entries(node)}, stems)
    return Table({key: entries(value) for key, value in node.items() if isinstance(value, str)}, stems)


@cache
def inside(name: str, *path: str) -> tuple[str, ...]:
    """A list whose entries are looked for inside the text, longest first."""
    node: Any = data(name)
    for key in path:
        node = node[key]
    return tuple(sorted((e.replace("_", " ") for e in entries(node)), key=lambda e: (-len(e), e)))
