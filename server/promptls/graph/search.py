"""Nodes for a question: by name, tags, summary and language notes, with forgiveness for typing errors.

The four keys and their weights are Understand-Anything's (name .4, tags .3, summary .2, language notes .1, limit
15); of a summary the whole paragraph counts.  Unlike there, stop words match nothing, words that are everywhere count little, and no sign in a question is
an operator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from math import log2

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.graph.file_tables import MAX_TABLES
from promptls.graph.graph import GraphView
from promptls.graph.nodes import Node
from promptls.index.search.analyzer import STOP_WORDS, split_identifier, stem, find_words
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.model import CancelToken

NAME, TAGS, SUMMARY, NOTES = 0.4, 0.3, 0.2, 0.1
LIMIT = 15
FUZZY = 80.0  # percent of similarity from which a name is taken for a word with a typing error
THRESHOLD = 0.1
MAX_WORDS = 12  # of a question
MAX_CANDIDATES = 3_000  # nodes that are scored in full
_MOST_NAMES = 20
_TO_ASCII = ("\u0130".encode(), "\u212a".encode())
"""Letters beyond ASCII whose small form begins with one of ASCII."""


class Hit(Struct, frozen=True):
    """A node that a question speaks of."""

    place: OutlineRef
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
    roots = _roots(query)
    if not roots:
        return ()
    held, counts = _held(view, tuple(roots.values()), token)
    sought = _sought(roots, counts)
    candidates = _candidates(view, held, sought, token)
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


def _roots(query: str) -> dict[str, str]:
    """The words of a question, each with what its forms have in common."""
    found: dict[str, None] = {}
    for word in find_words(query):
        lower = word.lower().strip("_")
        pieces = [lower, *split_identifier(word)] if len(split_identifier(word)) > 1 else [lower]
        found.update(dict.fromkeys(p for p in pieces if p not in STOP_WORDS and (len(p) > 1 or not p.isascii())))
    return {word: _root(word) for word in list(found)[:MAX_WORDS]}


def _sought(roots: Mapping[str, str], counts: Sequence[int]) -> tuple[Sought, ...]:
    """The words with their weights: the rarer, the heavier.  `counts`: files that speak of each."""
    weights = [1 / log2(2 + count) for count in counts]
    total = sum(weights)
    each = zip(roots.items(), weights, counts, strict=True)
    return tuple(Sought(word, root, weight / total, count > 0) for (word, root), weight, count in each)


def _root(word: str) -> str:
    """What forms of a word have in common."""
    root = stem(word) if word.isascii() else word
    return root[:-1] if len(root) > 4 and root.endswith(("i", "e")) else root


def _held(view: GraphView, roots: Sequence[str], token: CancelToken | None) -> tuple[dict[OutlineRef, int], list[int]]:
    """(by node: where it holds the roots, two bits for each, 2 for its name and 1 for the rest; files that hold each)."""
    out: dict[OutlineRef, int] = {}
    counts = [0] * len(roots)
    unkept = len(view.snapshot.files) > MAX_TABLES and all(map(str.isascii, roots))
    raw = [root.encode() for root in roots] if unkept else None
    for at, (path, entry) in enumerate(view.snapshot.files.items()):
        if token is not None and at % 256 == 0:
            token.check()
        file = path.rpartition("/")[2].lower()
        facts = view.facts(path) if raw is None or _may_hold(entry.encoded_outline, raw) else None
        text = facts.all_words if facts is not None else ""
        for k, root in enumerate(roots):
            in_name, in_text = root in file, root in text
            counts[k] += in_name or in_text
            if in_name:
                out[path, -1] = out.get((path, -1), 0) | 2 << 2 * k
            for i, line in enumerate(text.split("\n") if in_text else ()):
                if root in line:
                    part = 2 if root in line.partition("\t")[0] else 1
                    out[path, i] = out.get((path, i), 0) | part << 2 * k
    return out, counts


def _may_hold(outlined: bytes, roots: Sequence[bytes]) -> bool:
    """Whether what an outline was packed to may hold one of these; where tables cannot be kept, most need not be made."""
    small = outlined.lower()
    return any(root in small for root in roots) or any(sign in outlined for sign in _TO_ASCII)


def _candidates(
    view: GraphView, held: Mapping[OutlineRef, int], sought: Sequence[Sought], token: CancelToken | None
) -> list[OutlineRef]:
    """Nodes that hold a word of the question, or have a name that is nearly one; those with most of them first."""
    worth = {bits: sum((bits >> 2 * k & 3) * one.weight for k, one in enumerate(sought)) for bits in set(held.values())}
    found = {place: worth[bits] for place, bits in held.items()}
    for one in sought:
        if token is not None:
            token.check()
        if one.known or len(one.word) < 4:
            continue
        names = list(view.snapshot.names)
        for name, _, _ in process.extract(one.word, names, scorer=fuzz.ratio, limit=_MOST_NAMES, score_cutoff=FUZZY):
            for place in view.snapshot.names[name][:_MOST_NAMES]:
                found[place] = found.get(place, 0.0) + 2 * one.weight
    return nsmallest(MAX_CANDIDATES, found, key=lambda place: (-found[place], place))


def _score(view: GraphView, node: Node, sought: tuple[Sought, ...]) -> float:
    """Sum over words and keys; 1 for a node that every word names in every key."""
    symbol = view.symbol(node.place)
    keys = (
        (NAME, [node.name.lower(), *split_identifier(node.name)]),
        (TAGS, [part for tag in node.tags for part in (tag, *tag.split("-"))]),
        (SUMMARY, [word.lower() for word in find_words(symbol.doc if symbol is not None and symbol.doc else node.summary)]),
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
