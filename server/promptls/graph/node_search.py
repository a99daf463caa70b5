"""Graph search: nodes that match a question by name, tags, summary or language notes, tolerant of typing errors.

Stop words match nothing, frequent words have low weight, and a question contains no operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from math import log2

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.graph.graph import GraphView
from promptls.graph.nodes import Node
from promptls.graph.resolution.file_tables import MAX_CACHED_FILES
from promptls.index import STOP_WORDS, OutlineRef, find_words, split_identifier, stem
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.model import CancelToken

NAME_WEIGHT, TAGS_WEIGHT, SUMMARY_WEIGHT, NOTES_WEIGHT = 0.4, 0.3, 0.2, 0.1
MAX_RESULTS = 15
MIN_SIMILARITY = 80.0  # percent; minimum similarity of a name to a misspelled word
MIN_SCORE = 0.1
MAX_WORDS = 12  # of a question; bounds the time
MAX_CANDIDATES = 1_200  # nodes that are scored completely; bounds the time
_MAX_NAMES = 20
_TO_ASCII = ("\u0130".encode(), "\u212a".encode())
"""Non-ASCII letters whose lower case begins with an ASCII letter."""


class ScoredNode(Struct, frozen=True):
    """A node that matches a question."""

    ref: OutlineRef
    score: float  # 0..1


def search_nodes(
    view: GraphView, query: str, limit: int = MAX_RESULTS, token: CancelToken | None = None
) -> tuple[ScoredNode, ...]:
    """Return at most `limit` nodes, best first.

    A question without words, or with stop words only, has no matches.
    """
    pieces: dict[str, None] = {}
    for word in find_words(query):
        parts = split_identifier(word)
        candidates = [word.lower().strip("_"), *(parts if len(parts) > 1 else [])]
        pieces |= dict.fromkeys(p for p in candidates if p not in STOP_WORDS and (len(p) > 1 or not p.isascii()))
    roots = {word: _root(word) for word in list(pieces)[:MAX_WORDS]}
    if not roots:
        return ()
    matches_by_ref, counts = _scan_files(view, tuple(roots.values()), token)
    weights = [1 / log2(2 + count) for count in counts]  # rare words count more
    words = tuple(
        QueryWord(word, root, weight / sum(weights), count > 0)
        for (word, root), weight, count in zip(roots.items(), weights, counts, strict=True)
    )
    scored: list[ScoredNode] = []
    for i, ref in enumerate(_candidates(view, matches_by_ref, words, token)):
        if token is not None and i % 256 == 0:
            token.check()
        node = view.node(ref)
        if node is None:
            continue
        score = _score(view, node, words)
        if score >= MIN_SCORE:
            scored.append(ScoredNode(ref, score))
    scored.sort(key=lambda scored_node: (-scored_node.score, scored_node.ref))
    return tuple(scored[:limit])


class QueryWord(Struct, frozen=True):
    """A word of a question with its weight."""

    word: str  # lower case
    root: str  # common prefix of its inflected forms
    weight: float  # the weights of a question sum to 1
    known: bool  # occurs in the workspace, so it is not misspelled


def _root(word: str) -> str:
    """Return the common prefix of the inflected forms of a word."""
    root = stem(word) if word.isascii() else word
    return root[:-1] if len(root) > 4 and root.endswith(("i", "e")) else root


def _scan_files(
    view: GraphView, roots: Sequence[str], token: CancelToken | None
) -> tuple[dict[OutlineRef, int], list[int]]:
    """Find the roots in all nodes.

    Returns:
        Two bits per root for each matching node (2 for its name, 1 for other text), and the number of matching files
        per root.
    """
    out: dict[OutlineRef, int] = {}
    counts = [0] * len(roots)
    exceeds_cache = len(view.snapshot.files) > MAX_CACHED_FILES and all(map(str.isascii, roots))
    encoded_roots = [root.encode() for root in roots] if exceeds_cache else []
    for visited, (path, entry) in enumerate(view.snapshot.files.items()):
        if token is not None and visited % 256 == 0:
            token.check()
        file = path.rpartition("/")[2].lower()
        lower = entry.encoded_outline.lower() if exceeds_cache else b""
        may_match = not exceeds_cache or any(root in lower for root in encoded_roots)  # else it is not decoded
        may_match = may_match or any(letter in entry.encoded_outline for letter in _TO_ASCII)
        file_symbols = view.file_symbols(path) if may_match else None
        text = file_symbols.search_text if file_symbols is not None else ""
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


def _candidates(
    view: GraphView, matches_by_ref: Mapping[OutlineRef, int], words: Sequence[QueryWord], token: CancelToken | None
) -> list[OutlineRef]:
    """Return nodes that contain a word of the question, or have a similar name, best matches first."""
    score_of_bits = {
        bits: sum((bits >> 2 * k & 3) * word.weight for k, word in enumerate(words))
        for bits in set(matches_by_ref.values())
    }
    scores = {ref: score_of_bits[bits] for ref, bits in matches_by_ref.items()}
    for word in words:
        if token is not None:
            token.check()
        if word.known or len(word.word) < 4:
            continue
        names = list(view.snapshot.names)
        for name, _, _ in process.extract(
            word.word, names, scorer=fuzz.ratio, limit=_MAX_NAMES, score_cutoff=MIN_SIMILARITY
        ):
            for ref in view.snapshot.names[name][:_MAX_NAMES]:
                scores[ref] = scores.get(ref, 0.0) + 2 * word.weight
    return nsmallest(MAX_CANDIDATES, scores, key=lambda ref: (-scores[ref], ref))


def _score(view: GraphView, node: Node, words: tuple[QueryWord, ...]) -> float:
    """Return the weighted sum over words and fields, 1 if every word matches every field exactly."""
    symbol = view.symbol(node.ref)
    fields = (
        (NAME_WEIGHT, [node.name.lower(), *split_identifier(node.name)]),
        (TAGS_WEIGHT, [part for tag in node.tags for part in (tag, *tag.split("-"))]),
        (
            SUMMARY_WEIGHT,
            [word.lower() for word in find_words(symbol.doc if symbol is not None and symbol.doc else node.summary)],
        ),
        (NOTES_WEIGHT, [word for note in node.language_notes for word in note.split()]),
    )
    total = 0.0
    for weight, field_words in fields:
        beginnings = {other[:3] for other in field_words}
        total += weight * sum(
            word.weight * _match_word(word, field_words)
            for word in words
            if not word.known or not beginnings.isdisjoint((word.word[:3], word.root[:3]))  # else nothing matches
        )
    return total * _kind_factor(node)


def _match_word(word: QueryWord, field_words: list[str]) -> float:
    """Return the quality of the best match: 1 same word, 0.9 same root, 0.7 same prefix, less for similar words."""
    best = 0.0
    for other in field_words:
        if other == word.word:
            return 1.0
        if len(word.root) > 2 and other.startswith(word.root[:3]):
            if _root(other) == word.root:
                best = max(best, 0.9)
            elif other.startswith(word.root):
                best = max(best, 0.7)
        if not word.known and len(word.word) > 3 and abs(len(other) - len(word.word)) < 3:
            ratio = fuzz.ratio(word.word, other)
            if ratio >= MIN_SIMILARITY:
                best = max(best, 0.8 * ratio / 100)
    return best


def _kind_factor(node: Node) -> float:
    """Return a factor that ranks callables and types before values, and tests lower."""
    if node.type in REPEATED_KINDS | {"key", "target"}:
        return 0.8
    base = 1.0 if node.type in TYPE_KINDS | CALLABLE_KINDS or node.type == "file" else 0.95
    return base * (0.8 if "test" in node.tags or node.layer == "Test" else 1.0)
