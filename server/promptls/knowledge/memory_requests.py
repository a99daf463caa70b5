"""Memory requests, and the relevance of memory entries to a question.

Rules always apply, other entries are ranked by evidence: BM25 over title, tags and content (Robertson and Zaragoza
2009, with weighted fields).  Generic terms of programming have a low weight.  A glob that matches an active file adds
evidence.  Entries with little evidence and expired entries are excluded.  The result is deterministic.

Requests are independent of the names in the protocol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import UNSET, Struct

from promptls.index import match_globs, tokenize
from promptls.knowledge.memory_store import (
    SCOPES,
    EntryDraft,
    InvalidEntry,
    MemoryEntry,
    MemoryResult,
    MemoryStore,
    parse_category,
)
from promptls.model import Root, SectionEntry
from promptls.util import bm25

TITLE_WEIGHT = 3.0
"""Weight of a term in the title, relative to 1 in the content."""
TAG_WEIGHT = 2.5
"""Weight of a term in a tag, relative to 1 in the content."""
BM25_K1 = 1.2
"""Term frequency saturation of BM25; the usual value."""
BM25_B = 0.6
"""Length normalization of BM25; lower than the usual 0.75, because all entries are short."""
GENERIC_TERM_WEIGHT = 0.25
"""Weight of terms that occur in most questions about code."""
GLOB_BONUS = 1.5
"""Evidence added for a glob that matches an active file."""
UNMATCHED_GLOB_FACTOR = 0.5
"""Factor for the evidence of an entry whose globs match no active file."""
MIN_EVIDENCE = 1.2
"""Minimum evidence of an entry; a specific term in content of average length counts 1, in a title more."""
MIN_SHARE_OF_BEST = 0.45
"""Minimum evidence of an entry as a share of the best evidence in its scope."""
MIN_STATISTICS = 8
"""Minimum number of entries for which the frequency of a term counts."""
MAX_GLOB_CHARACTERS = 10_000
"""Maximum number of glob characters matched for one question, newest entries first; bounds the time."""
MAX_RELEVANT = 30
"""Maximum number of entries in addition to rules."""

SOURCES = {"user": "memory (yours)", "workspace": "memory (workspace)"}

_GENERIC_TERMS = frozenset(
    tokenize(
        "add app application argument array bug build built call change check class client code command compile "
        "component config create data default define delete do error example exist explain explanation export fail "
        "feature field file find first fix flow folder function give good graph handle handler help implement "
        "implementation import improve index input issue job key kind know last line list live load local logic look "
        "main make mean method module name need new number object open option output overview page parameter parse "
        "part pass path place point problem process project property question read reason refactor remove rename "
        "request response result return run save script see send server set setting show source start state step "
        "string structure support system table take task tell test thing time tool tree try type understand update "
        "use user utility value variable version want way why work write wrong "
        "css go html java js json jsx md php py rb rs toml ts tsx yaml"
    )
)


class ScoredEntry(Struct, frozen=True):
    """An entry with its relevance."""

    entry: MemoryEntry
    score: float  # 0..1; 1 for rules


def rank_entries(
    entries: Sequence[MemoryEntry],
    question: Sequence[str],
    files: Sequence[str],
    now: datetime,
) -> list[ScoredEntry]:
    """Return the entries relevant to a question: first the rules, then the other entries by score.

    A rule with globs is excluded if files are active but none matches.  Rules of the user come before rules of a
    workspace, which are less trusted; rules with globs come before others, and newer rules before older ones.

    Args:
        question: Terms of the question (see `index.search.analyzer`).
        files: Names of the active files, relative to their roots.
        now: Entries expired at this time are excluded.
    """
    live = sorted((e for e in entries if not e.is_expired(now)), key=lambda e: (-e.updated.timestamp(), e.id))
    matched = _matching_globs(live, files)
    rules = [e for e in live if e.category == "rule" and (not e.paths or not files or _key(e) in matched)]
    rules.sort(key=lambda e: (e.scope == "workspace", not e.paths))
    rest = [e for e in live if e.category != "rule"]
    weights = {term: GENERIC_TERM_WEIGHT if term in _GENERIC_TERMS else 1.0 for term in question}
    evidence = _bm25_evidence(rest, weights)
    for i, entry in enumerate(rest):
        if _key(entry) in matched:
            evidence[i] += GLOB_BONUS
        elif entry.paths and files:
            evidence[i] *= UNMATCHED_GLOB_FACTOR
    best = {
        scope: max((v for e, v in zip(rest, evidence, strict=True) if e.scope == scope), default=0.0)
        for scope in SCOPES
    }
    found = [
        ScoredEntry(entry, _saturate(value))
        for entry, value in zip(rest, evidence, strict=True)
        if value >= max(MIN_EVIDENCE, MIN_SHARE_OF_BEST * best[entry.scope])
    ]
    found.sort(key=lambda scored: -scored.score)  # stable: of two equal scores the newer entry comes first
    return [*(ScoredEntry(entry, 1.0) for entry in rules), *found[:MAX_RELEVANT]]


def relevant_entries(
    entries: Sequence[MemoryEntry],
    question: Sequence[str],
    files: Sequence[str],
    now: datetime,
) -> tuple[SectionEntry, ...]:
    """Return prompt entries for the relevant memory entries, most important first; see `rank_entries`."""
    return tuple(
        SectionEntry(format_entry(scored.entry), SOURCES[scored.entry.scope], scored.score)
        for scored in rank_entries(entries, question, files, now)
    )


def search_entries(entries: Sequence[MemoryEntry], query: str) -> list[ScoredEntry]:
    """Return entries of any category that share a term with a query or contain it literally, best first."""
    phrase = " ".join(query.casefold().split())
    matches = []
    for entry, shared in zip(entries, _bm25_evidence(entries, dict.fromkeys(tokenize(query), 1.0)), strict=True):
        text = " ".join(" ".join((entry.title, *entry.tags, entry.content)).casefold().split())
        evidence = shared + (1.0 if phrase in text else 0.0)
        if evidence > 0:
            matches.append(ScoredEntry(entry, _saturate(evidence)))
    return sorted(matches, key=lambda scored: (-scored.score, -scored.entry.updated.timestamp(), scored.entry.id))


def format_entry(entry: MemoryEntry) -> str:
    """Format an entry as a list item."""
    content = entry.content.replace("\n", "\n  ")
    return f"- {entry.title} ({entry.category}): {content}"


def _saturate(evidence: float) -> float:
    return round(evidence / (evidence + 1.0), 4)


def _key(entry: MemoryEntry) -> tuple[str, str]:
    return entry.root, entry.id


def _matching_globs(entries: Sequence[MemoryEntry], files: Sequence[str]) -> set[tuple[str, str]]:
    """Return the keys of entries with a glob that matches one of the files."""
    found: set[tuple[str, str]] = set()
    remaining = MAX_GLOB_CHARACTERS if files else 0
    for entry in entries:
        remaining -= sum(map(len, entry.paths))
        if entry.paths and remaining >= 0 and match_globs(files, entry.paths):
            found.add(_key(entry))
    return found


def _bm25_evidence(entries: Sequence[MemoryEntry], term_weights: Mapping[str, float]) -> list[float]:
    """Return the BM25 score of each entry, scaled so that a specific term in average content counts 1."""
    if not term_weights or not entries:
        return [0.0] * len(entries)
    fields = [_term_frequencies(entry.title, entry.tags, entry.content) for entry in entries]
    mean_length = max(1.0, sum(length for _, length in fields) / len(fields))
    frequency = Counter(term for counts, _ in fields for term in term_weights if term in counts)
    largest = bm25.inverse_document_frequency(len(entries), 1)
    weights = {}
    for term, term_weight in term_weights.items():
        idf = bm25.inverse_document_frequency(len(entries), frequency[term]) / largest
        weights[term] = term_weight * (min(1.0, 1.5 * idf) if len(entries) >= MIN_STATISTICS else 1.0)
    out = []
    for counts, length in fields:
        norm = bm25.length_norm(length, mean_length, BM25_K1, BM25_B)
        shared = [(counts[term], weight) for term, weight in weights.items() if term in counts]
        out.append(sum(bm25.term_score(count, norm, BM25_K1, weight) for count, weight in shared))
    return out


@lru_cache(2048)
def _term_frequencies(title: str, tags: tuple[str, ...], content: str) -> tuple[dict[str, float], int]:
    """Return the weighted frequency of each term, and the number of terms in the content."""
    counts: dict[str, float] = {}
    content_terms = tokenize(content)
    for words, factor in (
        (tokenize(title), TITLE_WEIGHT),
        (tokenize(" ".join(tags)), TAG_WEIGHT),
        (content_terms, 1.0),
    ):
        for term in words:
            counts[term] = counts.get(term, 0.0) + factor
    return counts, len(content_terms)


# ---- requests

ACTIONS = ("add", "list", "remove", "search", "update")
MAX_LIMIT = 1_000


class MemoryRequest(EntryDraft, frozen=True, kw_only=True):
    """A memory request: the fields of an entry to add or to update, and the fields of other actions."""

    action: str
    id: str = ""  # update, remove
    scope: str = ""  # add: default "user"; list and search: default all
    root: str = ""  # add to a workspace: name, path or URI of a workspace folder, default the first one
    query: str = ""  # search
    limit: int = 100
    offset: int = 0
    include_expired: bool = False  # list and search


def perform(memory: MemoryStore, request: MemoryRequest, roots: Sequence[Root]) -> MemoryResult:
    """Execute a request.

    Raises:
        InvalidEntry: A field of the request is invalid.
    """
    if request.action not in ACTIONS:
        raise InvalidEntry(
            "action", f"unknown action {request.action!r}; must be one of {', '.join(ACTIONS)}.", ACTIONS
        )
    if request.scope and request.scope not in SCOPES:
        raise InvalidEntry("scope", f"unknown scope {request.scope!r}; must be one of {', '.join(SCOPES)}.", SCOPES)
    if request.action in ("update", "remove") and not request.id:
        raise InvalidEntry("id", "missing; must be the id of an entry.")
    if request.action in ("list", "search"):
        return _matching(memory, request, roots)
    if request.action == "add":
        return memory.add(request, _target_root(request, roots))
    if request.action == "update":
        return memory.update(request.id, request, roots)
    return memory.remove(request.id, roots)


def _target_root(request: MemoryRequest, roots: Sequence[Root]) -> Root | None:
    """Return the workspace folder to add an entry to, or None for user memory."""
    if (request.scope or "user") == "user":
        return None
    for root in roots:
        if not request.root or request.root.rstrip("/") in (root.name, root.path, root.uri.rstrip("/")):
            return root
    valid = tuple(sorted(root.name for root in roots))
    if not roots:
        raise InvalidEntry("scope", "no workspace folder is open; must be user.", ("user",))
    raise InvalidEntry("root", f"{request.root!r} is not a workspace folder; must be one of {', '.join(valid)}.", valid)


def _matching(memory: MemoryStore, request: MemoryRequest, roots: Sequence[Root]) -> MemoryResult:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidEntry("limit", f"must be between 1 and {MAX_LIMIT}.")
    if request.offset < 0:
        raise InvalidEntry("offset", "must not be negative.")
    content, now = memory.load(roots), memory.clock()
    category = parse_category(request.category) if request.category is not UNSET else None
    entries = [
        entry
        for entry in content.entries
        if (category is None or entry.category == category)
        and request.scope in ("", entry.scope)
        and (request.include_expired or not entry.is_expired(now))
    ]
    if request.action == "list":
        entries.sort(key=lambda entry: (-entry.updated.timestamp(), entry.id))
        matches = [ScoredEntry(entry, 1.0) for entry in entries]
    elif not request.query.strip():
        raise InvalidEntry("query", "blank; must contain search terms.")
    else:
        matches = search_entries(entries, request.query)
    page = matches[request.offset : request.offset + request.limit]
    scores = tuple(match.score for match in page) if request.action == "search" else ()
    return MemoryResult(tuple(match.entry for match in page), len(matches), scores, content.problems)
