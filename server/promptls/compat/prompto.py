"""prompto: three legs weighted by the type of the query, and boosts by terms and by the action."""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptls.index.search.analyzer import stem
from promptls.prompt.scoring.fusion import RRF_K, fused
from promptls.prompt.scoring.region import Asked, Corpus, Region, Scored

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
    """prompto's symbol leg, for the best of the words: equal 1.0, equal stems 0.8, the name holds the word 0.5."""
    name = name.rpartition(".")[2].lower()
    best = 0.0
    for word in wanted if name else ():
        if word == name:
            return 1.0
        if stem(word) == stem(name):
            best = max(best, 0.8)
        elif word in name:
            best = max(best, 0.5)
    return best


def legs(regions: Sequence[Region], asked: Asked, corpus: Corpus) -> list[Scored]:
    """prompto's three legs, fused, and brought to 0…1.

    Its code compared the bare sums, which are at most 1/61, with a threshold of 0.30, so that only boosts
    decided; the document means a score between 0 and 1, so first place in every leg is 1 here.
    """
    weights = LEG_WEIGHTS[query_type(asked.text)]
    rankings = [
        [symbol_match(r.item.symbol, asked.keywords) for r in regions],
        [r.item.reasons.get("keyword", 0.0) for r in regions],
        [r.item.reasons.get("semantic", 0.0) for r in regions],
    ]
    best = sum(weights) / (RRF_K + 1)
    totals = [total / best for total in fused(rankings, weights)]
    return [Scored(r, total, {"fused": total}) for r, total in zip(regions, totals, strict=True)]


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
