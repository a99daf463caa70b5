"""The scores of the five systems: pure functions of a region, its text and the question.

`score` applies the formula that a profile names to what retrieval has found; the formulas stand below, each
with its source.  Where a system's code fell short of what its document says, the document holds.  The score
of our own profile is made in `context.retrieval`; `legs` leaves it as it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.terms import stem, terms, words
from promptls.model import Item

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009; prompto, Cody and attune all use it."""


class Region(Struct, frozen=True):
    """What was found, with all that a formula looks at."""

    item: Item
    text: str
    size: int = 0  # bytes of its file
    summary: str = ""  # first words of its documentation, or its signature
    age_days: float | None = None  # since the last change of its file, None if nobody knows


class Asked(Struct, frozen=True):
    """The question as the formulas see it."""

    text: str
    keywords: tuple[str, ...]  # as written, lower case
    action: str = "other"


class Corpus(Struct, frozen=True):
    """What is known of all texts together."""

    count: int  # texts
    frequency: Callable[[str], int]  # in how many of them a search term occurs


def score(formula: str, regions: Sequence[Region], asked: Asked, corpus: Corpus, cap: float) -> list[Region]:
    """The regions with the formula's scores, best first; reasons say what a score is made of."""
    scored = FORMULAS[formula](regions, asked, corpus)
    out = [
        replace(r, item=replace(r.item, score=min(cap, max(0.0, total)), reasons=rounded(reasons)))
        for r, (total, reasons) in zip(regions, scored, strict=True)
    ]
    return sorted(out, key=lambda r: (-r.item.score, r.item.path, r.item.span))


def rounded(reasons: Mapping[str, float]) -> dict[str, float]:
    """What of the reasons is worth telling."""
    return {name: round(value, 4) for name, value in reasons.items() if abs(value) > 1e-4}


Scored = list[tuple[float, dict[str, float]]]


# ---------------------------------------------------------------- CodeBuddy


def density(text: str, keywords: Sequence[str]) -> tuple[float, dict[str, float]]:
    """CodeBuddy's selector: 0.1 + 5·matches/words, + 0.2 for each keyword that is declared; 0.5 without keywords.

    Keywords are text, not patterns: "c++" counts (its code raised on it).  Uncapped; its cap is 0.9.
    """
    if not keywords:
        return 0.5, {"no keywords": 0.5}
    lower = text.lower()
    matches = sum(lower.count(keyword) for keyword in keywords)
    share = 5 * matches / max(1, len(text.split()))
    declared = 0.2 * sum(
        bool(re.search(rf"\b(?:function|class|interface|const|def)\s+\w*{re.escape(keyword)}", lower))
        for keyword in keywords
    )
    return 0.1 + share + declared, {"base": 0.1, "density": share, "declared": declared}


def hybrid(vector: float, keyword: float, weight: float = 0.7) -> float:
    """CodeBuddy's hybrid search: 0.7 of the vector score and 0.3 of the keyword score, both 0 to 1."""
    return weight * vector + (1 - weight) * keyword


class Element(Struct, frozen=True):
    """A definition as CodeBuddy's syntax search sees it."""

    kind: str
    name: str
    text: str
    children: int = 0


_WEIGHTS = {"class": 10.0, "method": 8.0, "function": 8.0, "variable": 4.0}
_TIERS = ((30.0, "critical"), (20.0, "important"), (10.0, "relevant"))


def element_score(element: Element, keywords: Sequence[str]) -> float:
    """CodeBuddy's syntax search.

    The kind's weight (class 10, method and function 8, variable 4, other 2); for each keyword a weight that falls
    from 10 to 1 by position, twice if the name has it, once if the body has it; +2 for each child; +3 for a class
    or method; −2 above 1,000 characters; +0.5 for each keyword where three or more are found.  (Its code
    tested the name's keywords for the body's score; the body's are meant.)
    """
    name, body = element.name.lower(), element.text.lower()
    total = _WEIGHTS.get(element.kind, 2.0)
    last = max(1, len(keywords) - 1)
    found = 0
    for position, keyword in enumerate(keywords):
        weight = 10 - 9 * position / last
        total += 2 * weight * (keyword in name) + weight * (keyword in body)
        found += keyword in name or keyword in body
    total += 2 * element.children + 3 * (element.kind in ("class", "method")) - 2 * (len(element.text) > 1000)
    return total + (0.5 * found if found >= 3 else 0.0)


def tier(points: float) -> str:
    """CodeBuddy's tiers: critical from 30, important from 20, relevant from 10, "" below."""
    return next((name for least, name in _TIERS if points >= least), "")


def _density(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> Scored:
    return [density(r.text, asked.keywords) for r in regions]


# ---------------------------------------------------------------- prompto


LEG_WEIGHTS = {
    "path": (0.8, 0.2, 0.0),
    "question": (0.1, 0.2, 0.7),
    "code": (0.1, 0.6, 0.3),
    "word": (0.7, 0.2, 0.1),
    "other": (0.2, 0.4, 0.4),
}
"""prompto's weights of the symbol, text and semantic legs by the type of a query."""

_CODE_WORDS = re.compile(r"\b(?:function|class|struct|enum|interface|impl|fn|def|const|let|var|import|return|async)\b")


def query_type(text: str) -> str:
    """prompto's five types of queries: path, question, code, word, other."""
    text = text.strip().lower()
    if re.search(r"[/\\]|\w\.(?:rs|tsx?|jsx?|py|go|java|json|toml|md)\b", text):
        return "path"
    if text.startswith(("how", "what", "why", "where", "when")):
        return "question"
    if _CODE_WORDS.search(text):
        return "code"
    return "word" if len(text.split()) == 1 else "other"


def symbol_match(name: str, wanted: Sequence[str]) -> float:
    """prompto's symbol leg, for the best of the words: equal 1.0, equal stems 0.8, one holds the other 0.5."""
    name = name.rpartition(".")[2].lower()
    best = 0.0
    for word in wanted if name else ():
        if word == name:
            return 1.0
        if stem(word) == stem(name):
            best = max(best, 0.8)
        elif word in name or name in word:
            best = max(best, 0.5)
    return best


def fused(rankings: Sequence[Sequence[float]], weights: Sequence[float], first: int = 1) -> list[float]:
    """Weighted reciprocal rank fusion: Σ w/(60 + rank), ranks from `first`; a score of 0 is no rank.

    Each ranking gives one score for each region.  Equal scores have the better rank in common.
    """
    totals = [0.0] * (len(rankings[0]) if rankings else 0)
    for scores, weight in zip(rankings, weights, strict=True):
        ranks: dict[float, int] = {}
        for rank, value in enumerate(sorted((v for v in scores if v > 0), reverse=True), first):
            ranks.setdefault(value, rank)
        for i, value in enumerate(scores):
            if value > 0:
                totals[i] += weight / (RRF_K + ranks[value])
    return totals


def _rrf(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> Scored:
    """prompto's three legs, fused, and brought to 0…1.

    Its code compared the bare sums, which are at most 1/61, with a threshold of 0.30, so that only boosts
    decided; the document means a score between 0 and 1, so first place in every leg is 1 here.
    """
    weights = LEG_WEIGHTS[query_type(asked.text)]
    legs = [
        [symbol_match(r.item.symbol, asked.keywords) for r in regions],
        [r.item.reasons.get("keyword", 0.0) for r in regions],
        [r.item.reasons.get("semantic", 0.0) for r in regions],
    ]
    best = sum(weights) / (RRF_K + 1)
    return [(total / best, {"fused": total / best}) for total in fused(legs, weights)]


def term_boost(text: str, path: str, wanted: Sequence[str], most: float = 0.3) -> float:
    """prompto: 0.3 times the share of distinct terms that the text or the path holds."""
    distinct = dict.fromkeys(wanted)
    haystack = f"{text}\n{path}".lower()
    return most * sum(term in haystack for term in distinct) / len(distinct) if distinct else 0.0


_ERRORS = re.compile(r"error|catch|throw|validate", re.I)
_STRUCTURE = re.compile(r"(?:class|function|interface|export) ")


def action_boost(text: str, action: str) -> float:
    """prompto: fix + 0.2 for error handling, create + 0.15 for structure, refactor + 0.1 above 500 characters."""
    if action == "fix":
        return 0.2 if _ERRORS.search(text) else 0.0
    if action == "create":
        return 0.15 if _STRUCTURE.search(text) else 0.0
    return 0.1 if action == "refactor" and len(text) > 500 else 0.0


def boosted(regions: Sequence[Region], boosts: Sequence[str], asked: Asked, cap: float) -> list[Region]:
    """The regions with prompto's boosts added, best first."""
    out = []
    for region in regions:
        item = region.item
        more: dict[str, float] = {}
        if "terms" in boosts:
            more["terms"] = term_boost(region.text, item.path, asked.keywords)
        if "action" in boosts:
            more[f"to {asked.action}"] = action_boost(region.text, asked.action)
        total = min(cap, item.score + sum(more.values()))
        out.append(replace(region, item=replace(item, score=total, reasons={**item.reasons, **rounded(more)})))
    return sorted(out, key=lambda r: (-r.item.score, r.item.path, r.item.span))


# ---------------------------------------------------------------- Cody


LARGE_FILE = 10_000
"""Bytes above which Cody's keyword search counts a file a tenth."""


def tfidf(frequencies: Mapping[str, int], corpus: Corpus, size: int = 0) -> float:
    """Cody's local keyword search: Σ idf·(1 + log10 tf) with idf = ln(N/df); a tenth for a file over 10,000 bytes."""
    total = sum(
        math.log(corpus.count / df) * (1 + math.log10(tf))
        for term, tf in frequencies.items()
        if tf > 0 and (df := corpus.frequency(term)) > 0
    )
    return 0.1 * total if size > LARGE_FILE else total


def _tfidf(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> Scored:
    wanted = dict.fromkeys(terms(" ".join(asked.keywords)))
    raw: list[float] = []
    for region in regions:
        counted = Counter(terms(region.text))
        raw.append(tfidf({t: counted[t] for t in wanted}, corpus, region.size))
    best = max(raw, default=0.0) or 1.0
    return [(value / best, {"tf·idf": value}) for value in raw]


# ---------------------------------------------------------------- attune


OVERLAP_LEAST = 2.0
"""attune's least score of a hit that counts."""

GATE = 8.0
"""Keyword score from which attune's hybrid retriever does not ask the embeddings; calibrated for its corpus,
here: path, summary and four words of the text agree."""


def overlap(wanted: set[str], path: set[str], summary: set[str], text: set[str]) -> float:
    """attune's token sets: 2 for each shared with the path (at most 3), 1.5 with the summary, 1 with the text."""
    return 2 * min(3, len(wanted & path)) + 1.5 * len(wanted & summary) + len(wanted & text)


def confidence(top: float, least: float = OVERLAP_LEAST) -> float:
    """attune: how far the best hit is above what counts at all, min(top/(2·least), 1)."""
    return min(top / (2 * least), 1.0)


def _overlap(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> Scored:
    """attune's hybrid: keywords alone where they are sure, else fused with the vectors, two to one."""
    wanted = {stem(w.lower()) for w in words(asked.text)} & {stem(k) for k in asked.keywords}
    raw = [
        overlap(
            wanted,
            {stem(w.lower()) for w in words(r.item.path)},
            {stem(w.lower()) for w in words(r.summary)},
            {stem(w.lower()) for w in words(r.text[:500])},
        )
        for r in regions
    ]
    if max(raw, default=0.0) >= GATE:
        return [(confidence(v), {"overlap": v}) if v >= OVERLAP_LEAST else (0.0, {"overlap": v}) for v in raw]
    semantic = [r.item.reasons.get("semantic", 0.0) for r in regions]
    best = 3 / (RRF_K + 1)
    both = fused([[v if v >= OVERLAP_LEAST else 0.0 for v in raw], semantic], (2, 1))
    return [(total / best, {"overlap": v, "fused": total / best}) for total, v in zip(both, raw, strict=True)]


# ---------------------------------------------------------------- ours


def _legs(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> Scored:
    return [(r.item.score, dict(r.item.reasons)) for r in regions]


FORMULAS: dict[str, Callable[[Sequence[Region], Asked, Corpus], Scored]] = {
    "legs": _legs,
    "density": _density,
    "rrf": _rrf,
    "tfidf": _tfidf,
    "overlap": _overlap,
}
