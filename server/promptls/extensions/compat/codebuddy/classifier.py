"""Keyword classifier of CodeBuddy: relevance, categories, question types and keywords, without a language model.

Where its code falls short of its documentation, the documentation is followed: short words match exactly, the
window of a negation always has the same length and is matched by whole words.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz.distance import Levenshtein

from promptls.index import stem
from promptls.prompt.intent import Category, Intent
from promptls.prompt.intent.lexicon import MAX_QUESTION_CHARACTERS
from promptls.prompt.profile import Classification
from promptls.util.decode import tomllib

PATTERN_SCORE, KEYWORD_SCORE, STRONG_SCORE = 3, 1, 2
"""Score of a pattern, a keyword and a strong indicator."""

HIGH, MEDIUM = 5, 3
"""Scores from which the confidence is "high" or "medium"; below that it is "low"."""

CONFIDENCE = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""Confidence by its label."""

NEGATION_WINDOW = 4
"""Number of words after a negation that it applies to."""

MAX_DISTANCE = 2
"""Maximum Levenshtein distance of a misspelled keyword."""

MIN_FUZZY_LENGTH = 6
"""Minimum letters for fuzzy matching.  CodeBuddy has no such limit, so that "tell me a joke" is about code."""

MAX_KEYWORDS, MIN_KEYWORD_LENGTH = 10, 3


class KeywordClassification(Struct, frozen=True):
    """Result of the keyword classifier."""

    codebase: bool
    categories: tuple[tuple[str, tuple[str, ...]], ...]  # (name, its keywords in the question), most keywords first
    score: int
    label: str  # high, medium, low
    confidence: float
    rule: str  # the rule that decided: empty, negation, pattern, keywords, strong, nothing


@cache
def _data() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(files(__package__).joinpath("classifier.toml").read_text("utf-8"))
    return table


def classify(intent: Intent, question: str) -> Classification:
    """Replace relevance, categories and types of the intent."""
    result = classify_keywords(question)
    intent = replace(
        intent,
        about_codebase=result.codebase,
        categories=tuple(Category(name, result.confidence, matched) for name, matched in result.categories),
        types=question_types(question),
        confidence=result.confidence,
        confidence_label=result.label,
    )
    return Classification(intent, extract_keywords(question))


def classify_keywords(question: str) -> KeywordClassification:
    """Classify a question by patterns, category keywords and strong indicators."""
    question = question[:MAX_QUESTION_CHARACTERS]
    words = _words(question)
    patterns = sum(bool(p.search(question)) for p in _patterns())
    matches = {name: _matching(words, keywords) for name, keywords in _categories().items()}
    categories = tuple(sorted(((n, f) for n, f in matches.items() if f), key=lambda c: (-len(c[1]), c[0])))
    strong = [w for w in dict.fromkeys(_data()["strong"].split()) if any(_similar(word, w) for word in words)]
    keyword_count = sum(len(f) for _, f in categories)
    score = PATTERN_SCORE * patterns + KEYWORD_SCORE * keyword_count + STRONG_SCORE * len(strong)
    label = confidence_label(score)
    rule = _deciding_rule(words, patterns, len(strong))
    codebase = rule in ("pattern", "keywords", "strong")
    return KeywordClassification(codebase, categories, score, label, CONFIDENCE[label], rule)


def confidence_label(score: int) -> str:
    """Return the label of a score: high, medium or low."""
    return "high" if score >= HIGH else "medium" if score >= MEDIUM else "low"


def _deciding_rule(words: list[str], patterns: int, strong: int) -> str:
    if not words:
        return "empty"
    if _negated(words):
        return "negation"
    if patterns:
        return "pattern"
    if sum(_is_keyword(word) for word in words) >= 2:
        return "keywords"
    return "strong" if strong else "nothing"


def _words(question: str) -> list[str]:
    return re.findall(r"[\w'-]+", question.lower())


def _negated(words: list[str]) -> bool:
    """Return whether a keyword, as a whole word or by its stem, occurs in the window of a negation."""
    negations = set(_data()["negation"].split())
    keywords = {keyword for category in _categories().values() for keyword in category}
    stems = {stem(keyword) for keyword in keywords}
    for i, word in enumerate(words):
        window = words[i + 1 : i + 1 + NEGATION_WINDOW] if word in negations or word.endswith("n't") else []
        if any(w in keywords or stem(w) in stems for w in window):
            return True
    return False


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.IGNORECASE) for p in _data()["patterns"])


@cache
def _categories() -> dict[str, tuple[str, ...]]:
    return {name: tuple(dict.fromkeys(words.split())) for name, words in _data()["categories"].items()}


def _matching(words: list[str], keywords: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(keyword for keyword in keywords if any(_similar(word, keyword) for word in words))


@lru_cache(maxsize=1 << 12)
def _is_keyword(word: str) -> bool:
    return any(_similar(word, keyword) for keywords in _categories().values() for keyword in keywords)


@lru_cache(maxsize=1 << 15)
def _similar(word: str, keyword: str) -> bool:
    """Return whether words are equal, share a stem or, if long, contain each other's stem or differ by two edits."""
    if word == keyword:
        return True
    if len(word) < 4 or len(keyword) < 4:
        return False
    a, b = stem(word), stem(keyword)
    if a == b:
        return True
    if min(len(word), len(keyword)) < MIN_FUZZY_LENGTH:
        return False
    return a in b or b in a or Levenshtein.distance(word, keyword, score_cutoff=MAX_DISTANCE) <= MAX_DISTANCE


def question_types(question: str) -> tuple[str, ...]:
    """Return the question's types by whole words or stems; CodeBuddy matches parts of words ("add" in "address")."""
    stems = {stem(word) for word in _words(question)}
    types = _data()["types"]
    return tuple(name for name, words in types.items() if any(stem(word) in stems for word in words.split()))


def extract_keywords(question: str) -> tuple[str, ...]:
    """Return the first ten distinct words of at least 3 ASCII letters, digits or "_", without stop words."""
    stop_words = set(_data()["keywords"]["stop"].split())
    words = re.sub(r"[^a-z0-9_]", " ", question.lower()).split()
    keywords = dict.fromkeys(w for w in words if len(w) >= MIN_KEYWORD_LENGTH and w not in stop_words)
    return tuple(keywords)[:MAX_KEYWORDS]
