"""CodeBuddy: what its two searches gather, cut to windows and scored by the density of keywords.

Its syntax search gives definitions of enough points, its semantic search the best five; the selector scores
their first 31 lines and keeps what is above 0.2, else the first 50 lines of the file at 0.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptls.model import Span
from promptls.prompt.scoring.fusion import hybrid, normalised
from promptls.prompt.scoring.region import Asked, Corpus, Region, Scored

WINDOW = 31
"""Lines of a definition that the selector looks at and shows."""

LEAST = 0.2
"""A score must be above this."""

FIRST_LINES, FIRST_SCORE = 50, 0.3
"""What stands for a file that has a keyword but no definition that is good enough."""

SEMANTIC = 5
"""Results of its semantic search."""

ELEMENTS = 50
"""Definitions of its syntax search, at most."""


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


class Element(Struct, frozen=True):
    """A definition as CodeBuddy's syntax search sees it."""

    kind: str
    name: str
    text: str
    children: int = 0


_WEIGHTS = {"class": 10.0, "method": 8.0, "function": 8.0, "variable": 4.0}
_AS = {"constructor": "method", "constant": "variable", "field": "variable"}
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


def window(region: Region) -> Region:
    """The first 31 lines of a region."""
    span = region.item.span
    if len(span) <= WINDOW:
        return region
    text = "\n".join(region.text.split("\n")[:WINDOW])
    return replace(region, item=replace(region.item, span=Span(span.start, span.start + WINDOW)), text=text)


def gathered(regions: Sequence[Region], keywords: Sequence[str]) -> list[float]:
    """Points of what either search brings, 0 for the rest: 1 for the best five by meaning, else those of the syntax."""
    semantic = normalised([r.item.reasons.get("semantic", 0.0) for r in regions])
    keyword = normalised([r.item.reasons.get("keyword", 0.0) for r in regions])
    both = [hybrid(v, k) for v, k in zip(semantic, keyword, strict=True)]
    points = [0.0] * len(regions)
    for i in _best(both, SEMANTIC):
        points[i] = 1.0
    defined = [_points(r, keywords) if keywords and r.item.symbol else 0.0 for r in regions]
    for i in _best([p if tier(p) else 0.0 for p in defined], ELEMENTS):
        points[i] = max(points[i], defined[i])
    return points


def _best(values: Sequence[float], count: int) -> list[int]:
    ranked = sorted(range(len(values)), key=lambda i: (-values[i], i))
    return [i for i in ranked[:count] if values[i] > 0]


def _points(region: Region, keywords: Sequence[str]) -> float:
    item = region.item
    kind, name = _AS.get(item.kind, item.kind), item.symbol.rpartition(".")[2]
    return element_score(Element(kind, name, region.text, region.children), keywords)


def select(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """CodeBuddy's smart context: windows of what was gathered, or the first lines of its file."""
    points = gathered(regions, asked.keywords)
    scored: list[Scored] = []
    by_file: dict[str, list[int]] = {}
    for i, region in enumerate(regions):
        if not points[i]:
            scored.append(Scored(region, 0.0, {}))
            continue
        seen = window(region)
        total, reasons = density(seen.text, asked.keywords)
        by_file.setdefault(region.item.path, []).append(i)
        scored.append(Scored(seen, total if total > LEAST else min(total, math.nextafter(LEAST, 0)), reasons))
    for members in by_file.values():
        if all(scored[i].total < LEAST for i in members):
            first = _first_lines(regions[members[0]], asked.keywords)
            if first is not None:
                scored[members[0]] = Scored(first, FIRST_SCORE, {"first lines": FIRST_SCORE})
    return scored


def _first_lines(region: Region, keywords: Sequence[str]) -> Region | None:
    """The head of the region's file if the file has a keyword; its first lines alone if the file is not known."""
    lines = region.file or tuple(region.text.split("\n"))
    whole = "\n".join(lines).lower()
    if not any(keyword in whole for keyword in keywords):
        return None
    start = 0 if region.file else region.item.span.start
    span = Span(start, start + min(FIRST_LINES, len(lines)))
    kind, symbol = ("text", "") if region.file else (region.item.kind, region.item.symbol)
    item = replace(region.item, span=span, kind=kind, symbol=symbol)
    return replace(region, item=item, text="\n".join(lines[:FIRST_LINES]))
