"""From a question to ranked regions: the legs (semantic, keyword, symbol, path) and their fusion.

The stores and the rows not written yet propose chunk texts; the snapshot says where they stand, and drops
what stands nowhere.  All candidates are then scored by the same formulas, whichever leg brought them.
Knows nothing of prompts, budgets or LSP.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.context.query import Query, looks_like_code
from promptls.index.snapshot import Snapshot
from promptls.index.store import Hit, Store
from promptls.index.terms import terms as terms_of
from promptls.index.vocabulary import Vocabulary
from promptls.model import CancelToken, Chunk, FileEntry, Item, Origin, Span


class Index(Protocol):
    """What retrieval needs of the index beside the snapshot."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    def stores(self) -> tuple[Store, ...]: ...
    def query_vector(self, text: str) -> NDArray[np.float32] | None: ...
    def damaged(self, store: Store, error: BaseException) -> None: ...


class Weights(Struct, frozen=True):
    """How the legs are fused; values found on development questions."""

    semantic: float = 0.55
    keyword: float = 0.45
    name: float = 0.5  # a definition that the question names, shared by those of one name
    path: float = 0.2  # a file that the question names, shared by those of one name
    file: float = 0.25  # evidence of the other chunks of its file
    unnamed: float = 0.85  # factor for text that is no definition
    minor: float = 0.55  # factor for tests, examples, vendored code, docs unless asked for
    candidates: int = 300  # proposals a leg
    scale: int = 100  # the score of this rank is 0 on a leg's scale, the best one 1
    files: int = 60  # candidates that count as evidence for their file
    whole: int = 150  # lines up to which a hit stands for its whole definition
    bm25_k1: float = 1.2
    bm25_b: float = 0.75


MINOR = re.compile(
    r"(^|/)(tests?|testing|testdata|specs?|__tests__|__mocks__|examples?|samples?|demos?|docs?|vendor|third_party"
    r"|deps|locales?|fixtures?|benchmarks?|benches)(/|$)"
    r"|(^|/)(test_|conftest)[^/]*$|_test\.\w+$|_spec\.\w+$|\.(test|spec|stories|d)\.\w+$|Tests?\.(java|cs|kt|swift|scala)$"
    r"|\.(md|mdx|rst|txt|adoc|json|jsonc|ya?ml|toml|ini|cfg|html?|css|scss|less|svg|xml|csv|lock)$|(^|/)CHANGE"
)
"""Files that seldom hold the answer to a question about code, unless the question is about them."""
_TEST = re.compile(r"(^|/)(tests?|testing|specs?|__tests__)(/|$)|test", re.I)
_DOC = re.compile(r"\.(md|mdx|rst|txt|adoc)$|(^|/)docs?(/|$)", re.I)


NAMED_ENDINGS = (
    *(".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs"),
    *(".rb", ".php", ".swift", ".scala", ".lua", ".sh", ".ex", ".hs", ".ml", ".sql", ".md", ".toml"),
)
"""Endings that a file name in a question may lack."""
NAMED_FILES = 20
"""Files of one name that gain by being named."""


class Retrieved(Struct, frozen=True):
    """Ranked regions, best first, and what each leg brought."""

    items: tuple[Item, ...]
    proposed: dict[str, int]


class _Candidate:
    __slots__ = ("key", "keyword", "legs", "places", "semantic", "terms")

    def __init__(self, key: bytes, terms: str, places: tuple[tuple[str, int], ...]) -> None:
        self.key = key
        self.terms = terms
        self.places = places
        self.semantic = 0.0
        self.keyword = 0.0
        self.legs: set[str] = set()


def retrieve(
    query: Query,
    snapshot: Snapshot,
    index: Index,
    weights: Weights,
    pool: ThreadPoolExecutor,
    token: CancelToken,
    within: Iterable[str] | None = None,
) -> Retrieved:
    """Regions for a question, best first.  `within` limits them to these paths.  Raises Cancelled."""
    allowed = None if within is None else set(within)
    vector = index.query_vector(query.text) if query.text.strip() else None
    token.check()
    found = _propose(query, vector, snapshot, index, weights, pool)
    token.check()
    if allowed is not None:
        for c in found.values():
            c.places = tuple(p for p in c.places if p[0] in allowed)
    candidates = [c for c in found.values() if c.places]
    _score_keywords(candidates, query, snapshot, index.vocabulary, weights)
    token.check()
    items = _fuse(candidates, query, snapshot, weights, allowed)
    proposed = {leg: sum(leg in c.legs for c in candidates) for leg in ("semantic", "keyword", "fresh")}
    return Retrieved(tuple(items), proposed)


def _propose(
    query: Query,
    vector: NDArray[np.float32] | None,
    snapshot: Snapshot,
    index: Index,
    weights: Weights,
    pool: ThreadPoolExecutor,
) -> dict[bytes, _Candidate]:
    """Candidates of the stores (asked side by side) and of the rows that are not written yet."""
    jobs = []
    for store in index.stores():
        limit = int(weights.candidates * max(1.0, len(store.keys) / max(1, len(snapshot.places))))
        jobs.append(("keyword", store, pool.submit(store.matching, query.terms, limit)))
        if vector is not None and vector.size == store.identity.dimension:
            jobs.append(("semantic", store, pool.submit(store.nearest, vector, limit)))
    found: dict[bytes, _Candidate] = {}
    vectors: dict[bytes, bytes] = {}

    def candidate(key: bytes, terms: str, leg: str) -> _Candidate | None:
        c = found.get(key)
        if c is None:
            places = snapshot.places.get(key)
            if not places:
                return None
            c = found[key] = _Candidate(key, terms, places)
        c.legs.add(leg)
        return c

    for key, row in snapshot.fresh.items():
        if candidate(key, row.terms, "fresh") is not None:
            vectors[key] = row.vector
    for leg, store, job in jobs:
        for hit in _hits(store, job, index):
            if candidate(hit.key, hit.terms, leg) is not None and hit.vector:
                vectors[hit.key] = hit.vector
    if vector is not None and vectors:
        keys = [key for key, v in vectors.items() if len(v) == 2 * vector.size]
        matrix = np.frombuffer(b"".join(vectors[k] for k in keys), dtype=np.float16).reshape(len(keys), vector.size)
        for key, similarity in zip(keys, matrix.astype(np.float32) @ vector, strict=True):
            found[key].semantic = float(similarity)
    return found


def _hits(store: Store, job: Future[list[Hit]], index: Index) -> list[Hit]:
    """What a leg brought; a store that cannot be read brings nothing and is made anew."""
    try:
        return job.result()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the library is no Exception
        index.damaged(store, error)
        return []


def _score_keywords(
    candidates: Sequence[_Candidate], query: Query, snapshot: Snapshot, vocabulary: Vocabulary, weights: Weights
) -> None:
    """BM25 over the chunk's terms and those of its path, for every candidate alike."""
    idf = {term: vocabulary.idf(term) for term in query.terms}
    mean = vocabulary.mean_length
    paths: dict[str, dict[str, int]] = {}
    for c in candidates:
        padded = f" {c.terms} "
        length = c.terms.count(" ") + 1
        path = c.places[0][0]
        if path not in paths:
            paths[path] = _counts(terms_of(snapshot.label(path)))
        in_path = paths[path]
        norm = weights.bm25_k1 * (1 - weights.bm25_b + weights.bm25_b * length / mean)
        for term, weight in idf.items():
            tf = padded.count(f" {term} ") + in_path.get(term, 0)
            if tf:
                c.keyword += weight * tf * (weights.bm25_k1 + 1) / (tf + norm)


def _counts(found: Iterable[str]) -> dict[str, int]:
    out: dict[str, int] = defaultdict(int)
    for term in found:
        out[term] += 1
    return out


class _Region:
    """One place of a candidate on its way to an item."""

    __slots__ = ("chunk", "entry", "reasons", "score")

    def __init__(self, entry: FileEntry, chunk: Chunk, reasons: dict[str, float]) -> None:
        self.entry = entry
        self.chunk = chunk
        self.reasons = reasons
        self.score = sum(reasons.values())


def _fuse(
    candidates: Sequence[_Candidate],
    query: Query,
    snapshot: Snapshot,
    weights: Weights,
    allowed: set[str] | None,
) -> list[Item]:
    semantic = _scaled([c.semantic for c in candidates], weights.scale)
    keyword = _scaled([c.keyword for c in candidates], weights.scale)
    regions: dict[tuple[str, int], _Region] = {}
    for i, c in enumerate(candidates):
        reasons = {"semantic": weights.semantic * semantic[i], "keyword": weights.keyword * keyword[i]}
        for path, index in c.places:
            _region(regions, snapshot, path, index, reasons)
    _add_named(regions, query, snapshot, weights, allowed)
    _add_of_named_files(regions, query, snapshot, weights, allowed)
    _add_file_evidence(regions, weights)
    best: dict[tuple[str, Span], Item] = {}
    for region in regions.values():
        item = _item(region, query, snapshot, weights)
        key = (item.path, item.span)
        if key not in best or item.score > best[key].score:
            best[key] = item
    return sorted(best.values(), key=lambda item: (-item.score, item.path, item.span.start))


def _region(
    regions: dict[tuple[str, int], _Region], snapshot: Snapshot, path: str, index: int, reasons: dict[str, float]
) -> _Region | None:
    region = regions.get((path, index))
    if region is None:
        entry = snapshot.files.get(path)
        if entry is None or entry.outline is None or index >= len(entry.outline.chunks):
            return None
        region = regions[path, index] = _Region(entry, entry.outline.chunks[index], dict(reasons))
    return region


def _add_named(
    regions: dict[tuple[str, int], _Region],
    query: Query,
    snapshot: Snapshot,
    weights: Weights,
    allowed: set[str] | None,
) -> None:
    """Definitions that the question names, found whether or not a leg proposed them."""
    for name in query.names:
        last = re.split(r"\.|::|->", name)[-1]
        places = [p for p in snapshot.names.get(last.lower(), ()) if allowed is None or p[0] in allowed]
        if not places:
            continue
        qualified = name.replace("::", ".").replace("->", ".")
        matched = [(p, s) for p in places if (s := snapshot.symbol(p)) is not None]
        if last != name:
            exact = [(p, s) for p, s in matched if ("." + s.qualified).lower().endswith("." + qualified.lower())]
            matched = exact or matched
        elif looks_like_code(name):
            matched = [(p, s) for p, s in matched if s.name == name] or matched
        bonus = weights.name / len(matched) ** 0.5
        for (path, symbol), _ in matched[:200]:
            entry = snapshot.files[path]
            assert entry.outline is not None
            for i, chunk in enumerate(entry.outline.chunks):
                if chunk.symbol == symbol:
                    region = _region(regions, snapshot, path, i, {})
                    if region is not None and region.reasons.get("symbol", 0.0) < bonus:
                        region.score += bonus - region.reasons.get("symbol", 0.0)
                        region.reasons["symbol"] = bonus
                    break


def _add_of_named_files(
    regions: dict[tuple[str, int], _Region],
    query: Query,
    snapshot: Snapshot,
    weights: Weights,
    allowed: set[str] | None,
) -> None:
    """What stands in files that the question names, by path, by file name or by the name without its ending."""
    for named in (query.paths, query.stems):
        for name in named:
            base = name.rsplit("/", 1)[-1].lower()
            endings = ("",) if "." in base else NAMED_ENDINGS
            paths = [
                p for e in endings for p in snapshot.basenames.get(base + e, ()) if allowed is None or p in allowed
            ]
            paths = [p for p in paths if ("/" + p.lower()).endswith("/" + name.lower())] if "/" in name else paths
            bonus = weights.path / max(1, len(paths)) ** 0.5
            for path in paths[:NAMED_FILES]:
                outline = snapshot.files[path].outline
                for i in range(len(outline.chunks) if outline is not None else 0):
                    region = regions.get((path, i)) or (_region(regions, snapshot, path, i, {}) if i == 0 else None)
                    if region is not None and "path" not in region.reasons:
                        region.reasons["path"] = bonus
                        region.score += bonus


def _add_file_evidence(regions: dict[tuple[str, int], _Region], weights: Weights) -> None:
    """A region gains from what else of its file was found."""
    ranked = sorted(regions.values(), key=lambda r: (-round(r.score, 6), r.entry.path, r.chunk.span))[: weights.files]
    evidence: dict[str, float] = defaultdict(float)
    for rank, region in enumerate(ranked):
        evidence[region.entry.path] += region.score / (1 + 0.1 * rank)
    top = max(evidence.values(), default=0.0)
    if top <= 0:
        return
    for region in regions.values():
        share = weights.file * evidence.get(region.entry.path, 0.0) / top
        if share and region.score > 0:
            region.reasons["file"] = share
            region.score += share


def _item(region: _Region, query: Query, snapshot: Snapshot, weights: Weights) -> Item:
    chunk, entry = region.chunk, region.entry
    assert entry.outline is not None
    symbol = entry.outline.symbols[chunk.symbol] if chunk.symbol >= 0 else None
    score = region.score * (1.0 if symbol is not None and symbol.name else weights.unnamed)
    if MINOR.search(entry.name) and not _asked_for(entry.name, query):
        score *= weights.minor
        region.reasons["minor"] = score - region.score
    span = chunk.span
    if (
        symbol is not None
        and symbol.kind in ("function", "method", "constructor")
        and len(symbol.span) <= weights.whole
    ):
        span = symbol.span
    legs = {
        "semantic": Origin.SEMANTIC,
        "keyword": Origin.KEYWORD,
        "symbol": Origin.SYMBOL,
        "path": Origin.PATH,
    }
    strongest = max(legs, key=lambda leg: region.reasons.get(leg, 0.0))
    total = weights.semantic + weights.keyword + weights.name + weights.path + weights.file
    return Item(
        entry.path,
        span,
        symbol.kind if symbol is not None else "text",
        legs[strongest],
        min(0.9, max(0.0, score / total)),
        symbol.qualified if symbol is not None else "",
        {k: round(v, 4) for k, v in region.reasons.items() if abs(v) > 1e-4},
    )


def _asked_for(name: str, query: Query) -> bool:
    if query.about_tests and _TEST.search(name):
        return True
    if query.about_docs and _DOC.search(name):
        return True
    return any(p.lower() in name.lower() for p in query.paths)


def _scaled(scores: Sequence[float], rank: int) -> NDArray[np.float64]:
    """Scores on 0…1: 1 for the best, 0 for the one at `rank` and all below."""
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    ordered = np.sort(values)[-rank:]
    low, high = float(ordered[0]), float(ordered[-1])
    if values.size < rank:
        low = min(low, 0.0)
    return np.clip((values - low) / (high - low + 1e-9), 0.0, 1.0)
