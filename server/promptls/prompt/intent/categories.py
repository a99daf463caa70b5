"""Categories of a question: authentication, database, testing and ten others, by their keywords.

A keyword matches exactly, by its stem, as a phrase, as a substring (scripts without spaces) or with a typo.
Identifiers are split first.  A strong keyword makes its category likely; weak ones need company; words of an
excluded clause count a quarter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

from promptls.index import STOP_WORDS, split_identifier, stem
from promptls.prompt.intent import GENERAL, Category, KeywordMatch
from promptls.prompt.intent.lexicon import (
    Lexicon,
    TokenizedQuestion,
    closest_keyword,
    common_words,
    load_data,
    split_entries,
    substring_entries,
)
from promptls.prompt.intent.negation import Exclusion

STRONG_WEIGHT, WEAK_WEIGHT = 2.0, 0.8
"""Weight of a strong and a weak keyword; see `confidence_of_weight`."""

TYPO_FACTOR = 0.8
"""Factor for the weight of a misspelled keyword."""

EXCLUDED_FACTOR = 0.25
"""Factor for the weight of a keyword in an excluded clause."""


def confidence_of_weight(weight: float) -> float:
    """Return 1 - e^(-0.55 w) of a sum of weights: 0.67 for a strong keyword, 0.59 for two weak ones, 0.36 for one."""
    return 1 - math.exp(-0.55 * weight)


@cache
def category_names() -> tuple[str, ...]:
    """Return the names of all categories, in the order of categories.toml."""
    return tuple(load_data("categories"))


@cache
def _lexicon(strength: str) -> Lexicon:
    return Lexicon({name: split_entries(lists[strength]) for name, lists in load_data("categories").items()})


@cache
def _cjk_keywords() -> tuple[tuple[str, str], ...]:
    """Return (keyword, category) of the keywords that are matched as substrings."""
    return tuple(
        (word, name) for name in category_names() for word in substring_entries("categories", name, "cjk") if word
    )


@cache
def _typo_keywords() -> dict[str, tuple[tuple[str, bool], ...]]:
    """Return the keywords that are matched with typos: (category, strong) of each."""
    out: dict[str, list[tuple[str, bool]]] = {}
    for strength in ("strong", "weak"):
        for word, category in _lexicon(strength).single_words():
            if len(word) >= 5 and word.isascii() and word.isalpha() and category != GENERAL:
                out.setdefault(word, []).append((category, strength == "strong"))
    return {word: tuple(categories) for word, categories in out.items()}


@lru_cache(maxsize=1 << 14)
def word_categories(word: str) -> tuple[tuple[str, str, bool, str], ...]:
    """Return (category, keyword, strong, kind of match) of a lower-case word."""
    if word in STOP_WORDS:
        return ()
    out: dict[str, tuple[str, str, bool, str]] = {}
    for strength in ("strong", "weak"):
        for category, keyword in _lexicon(strength).match_word(word):
            kind = "exact" if keyword == word else "stem"
            out.setdefault(category, (category, keyword, strength == "strong", kind))
    return tuple(out.values())


@lru_cache(maxsize=1 << 14)
def typo_categories(word: str) -> tuple[tuple[str, str, bool, str], ...]:
    """Return (category, keyword, strong, "typo") for the keyword that a word misspells; () for none."""
    keyword = closest_keyword(word, _typo_keywords(), common_words()) if word not in STOP_WORDS else ""
    return (
        tuple((category, keyword, strong, "typo") for category, strong in _typo_keywords()[keyword]) if keyword else ()
    )


def find_categories(
    question: TokenizedQuestion, exclusion: Exclusion, is_defined: Callable[[str], bool]
) -> tuple[Category, ...]:
    """Return the categories of a question, most likely first.

    Args:
        question: The question.
        exclusion: Its excluded words.
        is_defined: Whether the workspace defines a name; such a name is not a typo.
    """
    found: dict[str, dict[str, KeywordMatch]] = {}
    claimed: set[tuple[int, str]] = set()

    def add(category: str, word: str, keyword: str, strong: bool, kind: str, factor: float) -> None:
        weight = (STRONG_WEIGHT if strong else WEAK_WEIGHT) * factor * (TYPO_FACTOR if kind == "typo" else 1.0)
        key = stem(keyword) if keyword.isascii() and keyword.isalpha() else keyword
        old = found.setdefault(category, {}).get(key)
        if old is None or old.weight < weight:
            found[category][key] = KeywordMatch(word, keyword, round(weight, 2), strong, kind)

    for i, token in enumerate(question.tokens):
        factor = EXCLUDED_FACTOR if i in exclusion.token_indexes else 1.0
        for strength in ("strong", "weak"):
            for match in _lexicon(strength).match_phrases(question.lower_words, i):
                if (i, match.group) not in claimed:
                    claimed.update((j, match.group) for j in range(i, i + match.length))
                    typed = " ".join(question.lower_words[i : i + match.length])
                    add(match.group, typed, match.entry, strength == "strong", "phrase", factor)
        for word, category, keyword, strong, kind in _token_matches(token.word, token.lower, is_defined):
            if (i, category) not in claimed:
                add(category, word, keyword, strong, kind, factor)
    if question.has_stack_trace:
        add("error handling", "stack trace", "stack trace", True, "trace", 1.0)
    if question.has_cjk:
        for word, category in _cjk_keywords():
            if word in question.prose:
                excluded = any(word in part for part in exclusion.substrings)
                add(category, word, word, category != GENERAL, "inside", EXCLUDED_FACTOR if excluded else 1.0)
    categories = (_build_category(name, matches) for name, matches in found.items())
    return tuple(sorted(categories, key=lambda c: (-c.confidence, c.name)))


def _token_matches(word: str, lower: str, is_defined: Callable[[str], bool]) -> list[tuple[str, str, str, bool, str]]:
    """Return (matched word, category, keyword, strong, kind) of a token."""
    matches = [(lower, *match) for match in word_categories(lower)]
    if matches:
        return matches
    parts = [part for part in split_identifier(word) if part != lower]
    if parts:
        return [(part, *match) for part in dict.fromkeys(parts) for match in word_categories(part)]
    typos = typo_categories(lower)
    return [(lower, *match) for match in typos] if typos and not is_defined(word) else []


def _build_category(name: str, matches: dict[str, KeywordMatch]) -> Category:
    ordered = tuple(sorted(matches.values(), key=lambda m: -m.weight))
    confidence = round(min(0.99, confidence_of_weight(sum(m.weight for m in ordered))), 2)
    words = tuple(dict.fromkeys(m.word for m in ordered))
    return Category(name, confidence, words, ordered, any(m.strong for m in ordered))
