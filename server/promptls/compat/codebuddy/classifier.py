"""How CodeBuddy and prompto read a question without a language model: pure functions of its text.

Constants and orders of decision are theirs.  Where the code falls short of what its document says, the
document holds: short words match exactly or not at all, the window of a negation has the same length
everywhere and is looked through by whole words, and an action is a word, not a part of one.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct
from rapidfuzz.distance import Levenshtein

from promptls.index.search.analyzer import stem
from promptls.prompt.intent.lexicon import data, entries
from promptls.prompt.intent.tokenize import READ

PATTERN, KEYWORD, STRONG = 3, 1, 2
"""CodeBuddy: what a pattern, a keyword, a strong indicator adds to the score."""

HIGH, MEDIUM = 5, 3
"""CodeBuddy: scores from which confidence is high, medium; below it is low."""

CONFIDENCE = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""CodeBuddy: what its words are worth."""

WINDOW = 4
"""CodeBuddy: words behind a negation that it speaks of."""

DISTANCE = 2
"""CodeBuddy: Levenshtein distance of a word that counts as misspelled."""

LEAST_FUZZY = 6
"""Letters below which a word is not taken for another; CodeBuddy has no such limit, so "tell me a joke" was code."""

CODEBUDDY_KEYWORDS, CODEBUDDY_LONGER_THAN = 10, 2
PROMPTO_KEYWORDS, PROMPTO_LONGER_THAN = 5, 3

GENERAL_INQUIRY = "General Inquiry"


class Classified(Struct, frozen=True):
    """CodeBuddy's reading."""

    codebase: bool
    categories: tuple[tuple[str, tuple[str, ...]], ...]  # (name, its keywords in the question), most of them first
    score: int
    label: str  # high, medium, low
    confidence: float
    decided: str  # which rule decided: empty, negation, pattern, keywords, strong, nothing


class Fallback(Struct, frozen=True):
    """prompto's reading."""

    action: str
    keywords: tuple[str, ...]


# ---------------------------------------------------------------- CodeBuddy


def classify(question: str) -> Classified:
    """CodeBuddy's keyword classifier."""
    question = question[:READ]
    words = _words(question)
    patterns = sum(bool(p.search(question)) for p in _patterns())
    found = {name: _found(words, keywords) for name, keywords in _categories().items()}
    categories = tuple(sorted(((n, f) for n, f in found.items() if f), key=lambda c: (-len(c[1]), c[0])))
    strong = [w for w in entries(data("parity")["codebuddy"]["strong"]) if any(_alike(word, w) for word in words)]
    score = PATTERN * patterns + KEYWORD * sum(len(f) for _, f in categories) + STRONG * len(strong)
    label = confidence_label(score)
    decided = _decided(words, patterns, len(strong))
    codebase = decided in ("pattern", "keywords", "strong")
    return Classified(codebase, categories, score, label, CONFIDENCE[label], decided)


def confidence_label(score: int) -> str:
    """CodeBuddy's word for a score."""
    return "high" if score >= HIGH else "medium" if score >= MEDIUM else "low"


def _decided(words: list[str], patterns: int, strong: int) -> str:
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
    """Whether a keyword, as a whole word or by its stem, stands within the window of a negation."""
    negations = set(entries(data("parity")["codebuddy"]["negation"]))
    keywords = {k for ks in _categories().values() for k in ks}
    stems = {stem(k) for k in keywords}
    for i, word in enumerate(words):
        window = words[i + 1 : i + 1 + WINDOW] if word in negations or word.endswith("n't") else []
        if any(w in keywords or stem(w) in stems for w in window):
            return True
    return False


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.IGNORECASE) for p in data("parity")["codebuddy"]["patterns"])


@cache
def _categories() -> dict[str, tuple[str, ...]]:
    return {name: tuple(entries(words)) for name, words in data("parity")["codebuddy"]["categories"].items()}


def _found(words: list[str], keywords: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(k for k in keywords if any(_alike(word, k) for word in words))


@lru_cache(maxsize=1 << 12)
def _is_keyword(word: str) -> bool:
    return any(_alike(word, k) for keywords in _categories().values() for k in keywords)


@lru_cache(maxsize=1 << 15)
def _alike(word: str, keyword: str) -> bool:
    """Equal, of one stem, or for long words: stems that contain each other, or a distance of at most two."""
    if word == keyword:
        return True
    if len(word) < 4 or len(keyword) < 4:
        return False
    a, b = stem(word), stem(keyword)
    if a == b:
        return True
    if min(len(word), len(keyword)) < LEAST_FUZZY:
        return False
    return a in b or b in a or Levenshtein.distance(word, keyword, score_cutoff=DISTANCE) <= DISTANCE


def question_types(question: str) -> tuple[str, ...]:
    """CodeBuddy's five flags by its keyword fallback; whole words or stems (as parts of words "add" was in "address")."""
    stems = {stem(w) for w in _words(question)}
    lists = data("parity")["codebuddy"]["types"]
    return tuple(name for name, words in lists.items() if any(stem(w) in stems for w in entries(words)))


def type_label(types: tuple[str, ...]) -> str:
    """What CodeBuddy shows of them."""
    labels = data("parity")["codebuddy"]["labels"]
    return " + ".join(labels[t] for t in types) or GENERAL_INQUIRY


def keywords(question: str) -> tuple[str, ...]:
    """CodeBuddy's extractor: lower case, ASCII letters, digits and "_", longer than 2, no stop words, the first 10."""
    stop = set(entries(data("parity")["codebuddy"]["keywords"]["stop"]))
    words = re.sub(r"[^a-z0-9_]", " ", question.lower()).split()
    kept = dict.fromkeys(w for w in words if len(w) > CODEBUDDY_LONGER_THAN and w not in stop)
    return tuple(kept)[:CODEBUDDY_KEYWORDS]


# ---------------------------------------------------------------- prompto


def fallback(question: str) -> Fallback:
    """prompto's reading when its model does not answer: the first action of its order that has a word here."""
    words = re.findall(r"\w+", question.lower())
    lists = data("parity")["prompto"]["actions"]
    action = next((name for name, verbs in lists.items() if set(entries(verbs)) & set(words)), "other")
    stop = set(entries(data("parity")["prompto"]["keywords"]["stop"]))
    kept = [w for w in words if len(w) > PROMPTO_LONGER_THAN and w not in stop]
    return Fallback(action, tuple(kept[:PROMPTO_KEYWORDS]))
