"""Nodes for a question: by name, tags, summary and language notes, with forgiveness for typing errors.

The four keys and their weights are Understand-Anything's (name .4, tags .3, summary .2, language notes .1, limit
15); of a summary the whole paragraph counts.  Unlike there, stop words match nothing, words that are everywhere count little, and no sign in a question is
an operator.
"""

from __future__ import annotations

from collections.abc import Collection
from math import log2

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.context.graph.nodes import Node
from promptls.context.graph.view import GraphView
from promptls.index.snapshot import Place
from promptls.index.syntax.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.index.terms import STOP_WORDS, parts, stem, words
from promptls.model import CancelToken

NAME, TAGS, SUMMARY, NOTES = 0.4, 0.3, 0.2, 0.1
LIMIT = 15
FUZZY = 80.0  # percent of similarity from which a name is taken for a word with a typing error
THRESHOLD = 0.1
MAX_WORDS = 12  # of a question
MAX_CANDIDATES = 3_000  # nodes that are scored in full
_MOST_NAMES = 20


class Hit(Struct, frozen=True):
    """A node that a question speaks of."""

    place: Place
    score: float  # 0..1


def search(
    view: GraphView,
    query: str,
    limit: int = LIMIT,
    types: Collection[str] = (),
    token: CancelToken | None = None,
) -> tuple[Hit, ...]:
    """At most `limit` nodes, best first, ties by place; `types` keeps only nodes of these types.

    A blank question, or one of stop words alone, finds nothing.
    """
    sought = _sought(view, query)
    if not sought:
        return ()
    candidates = _candidates(view, sought, token)
    hits: list[Hit] = []
    for at, place in enumerate(candidates):
        if token is not None and at % 256 == 0:
            token.check()
        node = view.node(place)
        if node is None or (types and node.type not in types):
            continue
        score = _score(view, node, sought)
        if score >= THRESHOLD:
            hits.append(Hit(place, score))
    hits.sort(key=lambda hit: (-hit.score, hit.place))
    return tuple(hits[:limit])


class Sought(Struct, frozen=True):
    """A word of a question."""

    word: str  # lower case
    root: str  # what its forms have in common
    weight: float  # all of a question's sum to 1
    known: bool  # the workspace has it, so it is no typing error


def _sought(view: GraphView, query: str) -> tuple[Sought, ...]:
    """The words of a question: the rarer, the heavier."""
    found: dict[str, None] = {}
    for word in words(query):
        lower = word.lower().strip("_")
        pieces = [lower, *parts(word)] if len(parts(word)) > 1 else [lower]
        found.update(dict.fromkeys(p for p in pieces if p not in STOP_WORDS and (len(p) > 1 or not p.isascii())))
    kept = list(found)[:MAX_WORDS]
    counts = dict.fromkeys(kept, 0)
    for path in view.snapshot.files:
        facts = view.facts(path)
        text = facts.all_words if facts is not None else ""
        label = path.rpartition("/")[2].lower()
        for word in kept:
            if _root(word) in text or _root(word) in label:
                counts[word] += 1
    weights = {word: 1 / log2(2 + counts[word]) for word in kept}
    total = sum(weights.values())
    return tuple(Sought(word, _root(word), weights[word] / total, counts[word] > 0) for word in kept)


def _root(word: str) -> str:
    """What forms of a word have in common."""
    root = stem(word) if word.isascii() else word
    return root[:-1] if len(root) > 4 and root.endswith(("i", "e")) else root


def _candidates(view: GraphView, sought: tuple[Sought, ...], token: CancelToken | None) -> list[Place]:
    """Nodes that hold a word of the question, or have a name that is nearly one; those with most of them first."""
    found: dict[Place, float] = {}
    for path in view.snapshot.files:
        facts = view.facts(path)
        file = path.rpartition("/")[2].lower()
        for one in sought:
            if one.root in file:
                found[path, -1] = found.get((path, -1), 0.0) + 2 * one.weight
            if facts is None or one.root not in facts.all_words:
                continue
            for i, line in enumerate(facts.all_words.split("\n")):
                if one.root in line:
                    part = 2.0 if one.root in line.partition("\t")[0] else 1.0
                    found[path, i] = found.get((path, i), 0.0) + part * one.weight
    for one in sought:
        if token is not None:
            token.check()
        if one.known or len(one.word) < 4:
            continue
        names = list(view.snapshot.names)
        for name, _, _ in process.extract(one.word, names, scorer=fuzz.ratio, limit=_MOST_NAMES, score_cutoff=FUZZY):
            for place in view.snapshot.names[name][:_MOST_NAMES]:
                found[place] = found.get(place, 0.0) + 2 * one.weight
    ranked = sorted(found, key=lambda place: (-found[place], place))
    return ranked[:MAX_CANDIDATES]


def _score(view: GraphView, node: Node, sought: tuple[Sought, ...]) -> float:
    """Sum over words and keys; 1 for a node that every word names in every key."""
    symbol = view.symbol(node.place)
    keys = (
        (NAME, [node.name.lower(), *parts(node.name)]),
        (TAGS, [part for tag in node.tags for part in (tag, *tag.split("-"))]),
        (SUMMARY, [word.lower() for word in words(symbol.doc if symbol is not None and symbol.doc else node.summary)]),
        (NOTES, [word for note in node.language_notes for word in note.split()]),
    )
    total = sum(one.weight * weight * _best(one, among) for one in sought for weight, among in keys)
    return total * _standing(node)


def _best(one: Sought, among: list[str]) -> float:
    """How well the best of some words fits: 1 the same, .9 another form, .7 the same beginning, less for a typing error."""
    best = 0.0
    for other in among:
        if other == one.word:
            return 1.0
        if len(one.root) > 2 and other.startswith(one.root[:3]):
            if _root(other) == one.root:
                best = max(best, 0.9)
            elif other.startswith(one.root):
                best = max(best, 0.7)
        if not one.known and len(one.word) > 3 and abs(len(other) - len(one.word)) < 3:
            ratio = fuzz.ratio(one.word, other)
            if ratio >= FUZZY:
                best = max(best, 0.8 * ratio / 100)
    return best


def _standing(node: Node) -> float:
    """Definitions that do something go before values, tests after what they test."""
    if node.type in REPEATED_KINDS | {"key", "target"}:
        return 0.8
    base = 1.0 if node.type in TYPE_KINDS | CALLABLE_KINDS or node.type == "file" else 0.95
    return base * (0.8 if "test" in node.tags or node.layer == "Test" else 1.0)
