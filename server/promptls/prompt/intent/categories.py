"""Topics: which of the thirteen a question is about, with the words that say so.

A word is found as it is, by its stem, by a phrase, inside a text without blanks, or with a typing error
(Damerau-Levenshtein, the distance by length).  Identifiers are taken apart first.  A strong word makes its
topic likely, a weak one needs company; words of an excluded clause count a quarter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

from msgspec import Struct

from promptls.index.search.analyzer import STOP_WORDS, stem
from promptls.prompt.intent.lexicon import Table, data, entries, inside, nearest, ordinary
from promptls.prompt.intent.negation import Exclusion
from promptls.prompt.intent.tokenize import Reading, pieces

GENERAL = "general"

STRONG, WEAK = 2.0, 0.8
"""Weight of a word; see `confidence`."""

TYPO = 0.8
"""What of its weight a word with a typing error keeps."""

EXCLUDED = 0.25
"""What of its weight a word in an excluded clause keeps."""

LIKELY = 0.5
"""Confidence from which a question is taken to be about a topic."""


class Match(Struct, frozen=True):
    """A word of the question that speaks for a topic."""

    word: str  # as typed, lower case
    keyword: str  # what it was taken for
    weight: float
    strong: bool
    how: str  # exact, stem, phrase, inside, typo, trace


class Category(Struct, frozen=True):
    """A topic with what spoke for it."""

    name: str
    confidence: float
    matched: tuple[str, ...]  # words of the question
    matches: tuple[Match, ...] = ()
    strong: bool = False  # whether a strong word is among them

    @property
    def likely(self) -> bool:
        return self.confidence >= LIKELY


def confidence(weight: float) -> float:
    """Of the sum of weights: 1 - e^(-0.55 w); a strong word gives 0.67, two weak ones 0.59, one 0.36."""
    return 1 - math.exp(-0.55 * weight)


@cache
def category_names() -> tuple[str, ...]:
    """The topics, in the order of the data."""
    return tuple(data("categories"))


@cache
def _table(strength: str) -> Table:
    return Table({name: entries(lists[strength]) for name, lists in data("categories").items()})


@cache
def _inside() -> tuple[tuple[str, str], ...]:
    return tuple((word, name) for name in category_names() for word in inside("categories", name, "cjk") if word)


@cache
def _spelled() -> dict[str, tuple[tuple[str, bool], ...]]:
    """Keywords that typing errors are measured against: (topic, strong) of each."""
    out: dict[str, list[tuple[str, bool]]] = {}
    for strength in ("strong", "weak"):
        for word, topic in _table(strength).single():
            if len(word) >= 5 and word.isascii() and word.isalpha() and topic != GENERAL:
                out.setdefault(word, []).append((topic, strength == "strong"))
    return {word: tuple(found) for word, found in out.items()}


@lru_cache(maxsize=1 << 14)
def meanings(word: str) -> tuple[tuple[str, str, bool, str], ...]:
    """(topic, keyword, strong, how) of a lower-case word."""
    if word in STOP_WORDS:
        return ()
    out: dict[str, tuple[str, str, bool, str]] = {}
    for strength in ("strong", "weak"):
        for topic, keyword in _table(strength).word(word):
            how = "exact" if keyword == word else "stem"
            out.setdefault(topic, (topic, keyword, strength == "strong", how))
    return tuple(out.values())


@lru_cache(maxsize=1 << 14)
def typo_of(word: str) -> tuple[tuple[str, str, bool, str], ...]:
    """The same for the keyword nearest to a word that is none; () where none is near enough."""
    near = nearest(word, _spelled(), ordinary()) if word not in STOP_WORDS else ""
    return tuple((topic, near, strong, "typo") for topic, strong in _spelled()[near]) if near else ()


def topics_of(reading: Reading, exclusion: Exclusion, known: Callable[[str], bool]) -> tuple[Category, ...]:
    """Topics of a question, most likely first.  `known`: names of the workspace, which are no typing errors."""
    found: dict[str, dict[str, Match]] = {}
    claimed: set[tuple[int, str]] = set()

    def add(topic: str, word: str, keyword: str, strong: bool, how: str, factor: float) -> None:
        weight = (STRONG if strong else WEAK) * factor * (TYPO if how == "typo" else 1.0)
        key = stem(keyword) if keyword.isascii() and keyword.isalpha() else keyword
        old = found.setdefault(topic, {}).get(key)
        if old is None or old.weight < weight:
            found[topic][key] = Match(word, keyword, round(weight, 2), strong, how)

    for i, token in enumerate(reading.tokens):
        factor = EXCLUDED if i in exclusion.tokens else 1.0
        for strength in ("strong", "weak"):
            for f in _table(strength).phrases(reading.lower, i):
                if (i, f.group) not in claimed:
                    claimed.update((j, f.group) for j in range(i, i + f.count))
                    typed = " ".join(reading.lower[i : i + f.count])
                    add(f.group, typed, f.entry, strength == "strong", "phrase", factor)
        for word, topic, keyword, strong, how in _of_token(token.word, token.lower, known):
            if (i, topic) not in claimed:
                add(topic, word, keyword, strong, how, factor)
    if reading.trace:
        add("error handling", "stack trace", "stack trace", True, "trace", 1.0)
    if reading.cjk:
        for word, topic in _inside():
            if word in reading.prose:
                add(
                    topic,
                    word,
                    word,
                    topic != GENERAL,
                    "inside",
                    EXCLUDED if any(word in part for part in exclusion.inside) else 1.0,
                )
    return tuple(sorted((_category(topic, found[topic]) for topic in found), key=lambda c: (-c.confidence, c.name)))


def _of_token(word: str, lower: str, known: Callable[[str], bool]) -> list[tuple[str, str, str, bool, str]]:
    found = [(lower, *hit) for hit in meanings(lower)]
    if found:
        return found
    split = [p for p in pieces(word) if p != lower]
    if split:
        return [(p, *hit) for p in dict.fromkeys(split) for hit in meanings(p)]
    hits = typo_of(lower)
    return [(lower, *hit) for hit in hits] if hits and not known(word) else []


def _category(topic: str, matches: dict[str, Match]) -> Category:
    ordered = tuple(sorted(matches.values(), key=lambda m: -m.weight))
    sure = round(min(0.99, confidence(sum(m.weight for m in ordered))), 2)
    return Category(topic, sure, tuple(dict.fromkeys(m.word for m in ordered)), ordered, any(m.strong for m in ordered))
