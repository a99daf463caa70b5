"""Scoring of CodeBuddy: keyword density in windows of the results of two searches.

The syntax search finds definitions by points, the semantic search the best five results.  The first 31 lines of each
are scored; a file without a score above 0.2 is represented by its first 50 lines with the score 0.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.model import Span
from promptls.prompt.scoring import (
    CorpusStatistics,
    RetrievedItem,
    ScoredItem,
    ScoringQuery,
    normalize_scores,
    weighted_sum,
)

WINDOW_LINES = 31
"""Lines of a definition that are scored and shown."""

MIN_SCORE = 0.2
"""A score must be above this."""

FIRST_LINES, FIRST_LINES_SCORE = 50, 0.3
"""Lines and score that represent a file that contains a keyword, but has no definition with a sufficient score."""

MAX_SEMANTIC_RESULTS = 5
MAX_ELEMENTS = 50
"""Maximum number of results of the syntax search."""


def density(text: str, keywords: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Return the uncapped score and its reasons: 0.1 + 5·matches/words + 0.2 for each declared keyword.

    Without keywords it is 0.5.  Keywords are plain text, so that "c++" counts; CodeBuddy uses them as patterns.
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


_KIND_WEIGHTS = {"class": 10.0, "method": 8.0, "function": 8.0, "variable": 4.0}
_KIND_ALIASES = {"constructor": "method", "constant": "variable", "field": "variable"}
MIN_POINTS = 10.0
"""Points from which a definition is relevant; it is important from 20 and critical from 30."""


def element_score(kind: str, name: str, text: str, children: int, keywords: Sequence[str]) -> float:
    """Return the points of a definition in the syntax search.

    - The weight of its kind: class 10, method and function 8, variable 4, others 2.
    - For each keyword a weight that falls from 10 to 1 by position: twice in the name, once in the body.
    - +2 for each child, +3 for a class or method, −2 above 1,000 characters.
    - +0.5 for each keyword if three or more are found.

    CodeBuddy's code tests the name where its documentation means the body; the documentation is followed.
    """
    name, body = name.lower(), text.lower()
    total = _KIND_WEIGHTS.get(kind, 2.0)
    last = max(1, len(keywords) - 1)
    count = 0
    for position, keyword in enumerate(keywords):
        weight = 10 - 9 * position / last
        total += 2 * weight * (keyword in name) + weight * (keyword in body)
        count += keyword in name or keyword in body
    total += 2 * children + 3 * (kind in ("class", "method")) - 2 * (len(text) > 1000)
    return total + (0.5 * count if count >= 3 else 0.0)


def window(retrieved: RetrievedItem) -> RetrievedItem:
    """Return the item cut to its first 31 lines."""
    span = retrieved.item.span
    if len(span) <= WINDOW_LINES:
        return retrieved
    text = "\n".join(retrieved.text.split("\n")[:WINDOW_LINES])
    return replace(retrieved, item=replace(retrieved.item, span=Span(span.start, span.start + WINDOW_LINES)), text=text)


def search_points(items: Sequence[RetrievedItem], keywords: Sequence[str]) -> list[float]:
    """Return the points of each item: those of the syntax search, 1 for the best five by similarity, else 0."""
    semantic = normalize_scores([r.item.reasons.get("semantic", 0.0) for r in items])
    keyword = normalize_scores([r.item.reasons.get("keyword", 0.0) for r in items])
    both = [weighted_sum(v, k) for v, k in zip(semantic, keyword, strict=True)]
    points = [0.0] * len(items)
    for i in _best(both, MAX_SEMANTIC_RESULTS):
        points[i] = 1.0
    syntax = [0.0] * len(items)
    for i, r in enumerate(items):
        if keywords and r.item.symbol:
            kind, name = _KIND_ALIASES.get(r.item.kind, r.item.kind), r.item.symbol.rpartition(".")[2]
            syntax[i] = element_score(kind, name, r.text, r.children, keywords)
    for i in _best([p if p >= MIN_POINTS else 0.0 for p in syntax], MAX_ELEMENTS):
        points[i] = max(points[i], syntax[i])
    return points


def _best(values: Sequence[float], count: int) -> list[int]:
    ranked = sorted(range(len(values)), key=lambda i: (-values[i], i))
    return [i for i in ranked[:count] if values[i] > 0]


def density_formula(items: Sequence[RetrievedItem], query: ScoringQuery, corpus: CorpusStatistics) -> list[ScoredItem]:
    """Score items (formula): keyword density of the windows of all items that one of the two searches finds."""
    points = search_points(items, query.keywords)
    scored: list[ScoredItem] = []
    by_file: dict[str, list[int]] = {}
    for i, retrieved in enumerate(items):
        if not points[i]:
            scored.append(ScoredItem(retrieved, 0.0, {}))
            continue
        shown = window(retrieved)
        total, reasons = density(shown.text, query.keywords)
        by_file.setdefault(retrieved.item.path, []).append(i)
        scored.append(
            ScoredItem(shown, total if total > MIN_SCORE else min(total, math.nextafter(MIN_SCORE, 0)), reasons)
        )
    for members in by_file.values():
        if all(scored[i].total < MIN_SCORE for i in members):
            first = _first_lines(items[members[0]], query.keywords)
            if first is not None:
                scored[members[0]] = ScoredItem(first, FIRST_LINES_SCORE, {"first lines": FIRST_LINES_SCORE})
    return scored


def _first_lines(retrieved: RetrievedItem, keywords: Sequence[str]) -> RetrievedItem | None:
    """Return the first lines of the item's file if the file has a keyword, of the item if the file is not loaded."""
    lines = retrieved.file_lines or tuple(retrieved.text.split("\n"))
    whole = "\n".join(lines).lower()
    if not any(keyword in whole for keyword in keywords):
        return None
    start = 0 if retrieved.file_lines else retrieved.item.span.start
    span = Span(start, start + min(FIRST_LINES, len(lines)))
    kind, symbol = ("text", "") if retrieved.file_lines else (retrieved.item.kind, retrieved.item.symbol)
    item = replace(retrieved.item, span=span, kind=kind, symbol=symbol)
    return replace(retrieved, item=item, text="\n".join(lines[:FIRST_LINES]))
