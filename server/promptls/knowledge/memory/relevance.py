"""Which entries belong to a question: rules always, the rest by what they share with it.

BM25 over title, tags and content (Robertson and Zaragoza 2009: one weighted frequency a term), with words
that say little about any code counted a quarter; globs that a file in play matches are evidence too.
What has too little evidence stays out, what has expired never comes.  Deterministic; reads nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from promptls.index import files as disk
from promptls.index.search.analyzer import terms
from promptls.knowledge.memory.entries import SCOPES, Entry
from promptls.model import Note

TITLE = 3.0
TAGS = 2.5
K1 = 1.2
B = 0.6
GENERIC = 0.25
"""What a word counts that is in most questions about code."""
PATH = 1.5
"""Evidence of a glob that a file in play matches."""
ELSEWHERE = 0.5
"""Factor for an entry about files of which none is in play."""
LEAST = 1.2
"""Evidence below which an entry stays out: a telling word in an average content is 1, in a title more."""
BESIDE = 0.45
"""Share of the best entry's evidence below which another one of its scope stays out."""
MOST_GLOBS = 10_000
"""Characters of globs that are looked at for one question, those of the newest entries first."""
MOST = 30
"""Entries beside rules."""

SOURCES = {"user": "memory (yours)", "workspace": "memory (workspace)"}

_GENERIC = frozenset(
    terms(
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


class Hit(Struct, frozen=True):
    """An entry that belongs to a question."""

    entry: Entry
    score: float  # 0..1; 1 for rules


def telling(term: str) -> float:
    """How much a term tells, 0..1, where nothing else is known."""
    return GENERIC if term in _GENERIC else 1.0


def ranked(
    entries: Sequence[Entry],
    question: Sequence[str],
    files: Sequence[str],
    now: datetime,
    weight: Callable[[str], float] = telling,
) -> list[Hit]:
    """The entries that belong to a question, rules first, best first.

    `question`: its terms (`index.terms`); `files`: names of the files in play, relative to their roots;
    `weight`: how much a term tells, 0..1.  A rule about certain files stays out when others are in play.
    The user's own rules come before a workspace's, which anybody may have written, those about certain files
    before those about all, newer ones before older ones.
    """
    live = sorted((e for e in entries if not e.expired(now)), key=lambda e: (-e.updated.timestamp(), e.id))
    about = _about(live, files)
    rules = [e for e in live if e.category == "rule" and (not e.paths or not files or _key(e) in about)]
    rules.sort(key=lambda e: (e.scope == "workspace", not e.paths))
    rest = [e for e in live if e.category != "rule"]
    evidence = [
        _with_paths(shared, entry, _key(entry) in about, bool(files))
        for entry, shared in zip(rest, _evidence(rest, question, weight), strict=True)
    ]
    best = {
        scope: max((v for e, v in zip(rest, evidence, strict=True) if e.scope == scope), default=0.0)
        for scope in SCOPES
    }
    found = [
        Hit(entry, _score(value))
        for entry, value in zip(rest, evidence, strict=True)
        if value >= max(LEAST, BESIDE * best[entry.scope])
    ]
    found.sort(key=lambda hit: -hit.score)  # of two alike the newer one stays first
    return [*(Hit(entry, 1.0) for entry in rules), *found[:MOST]]


def relevant(
    entries: Sequence[Entry],
    question: Sequence[str],
    files: Sequence[str],
    now: datetime,
    weight: Callable[[str], float] = telling,
) -> tuple[Note, ...]:
    """What the entries say that belong to a question, most important first; see `ranked`."""
    return tuple(
        Note(line(hit.entry), SOURCES[hit.entry.scope], hit.score)
        for hit in ranked(entries, question, files, now, weight)
    )


def search(entries: Sequence[Entry], query: str) -> list[Hit]:
    """Entries of any category that share a word with a query or hold it as it stands, best first."""
    asked = tuple(terms(query))
    plain = " ".join(query.casefold().split())
    hits = []
    for entry, shared in zip(entries, _evidence(entries, asked, lambda _: 1.0), strict=True):
        text = " ".join(" ".join((entry.title, *entry.tags, entry.content)).casefold().split())
        evidence = shared + (1.0 if plain in text else 0.0)
        if evidence > 0:
            hits.append(Hit(entry, _score(evidence)))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.entry.updated.timestamp(), hit.entry.id))


def line(entry: Entry) -> str:
    """An entry as an item of a list."""
    return f"- {entry.title} ({entry.category}): {_indented(entry.content)}"


def codebuddy_block(entries: Sequence[Entry]) -> str:
    """Entries as CodeBuddy lays them out: grouped by whose they are, `- [category] title: content`."""
    groups = []
    for scope, heading in (("user", "User memory"), ("workspace", "Project memory")):
        lines = [
            f"- [{e.category.capitalize()}] {e.title}: {_indented(e.content)}" for e in entries if e.scope == scope
        ]
        if lines:
            groups.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join(groups)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _score(evidence: float) -> float:
    return round(evidence / (evidence + 1.0), 4)


def _key(entry: Entry) -> tuple[str, str]:
    return entry.root, entry.id


def _about(entries: Sequence[Entry], files: Sequence[str]) -> set[tuple[str, str]]:
    """Those of the entries that are about one of the files."""
    found: set[tuple[str, str]] = set()
    left = MOST_GLOBS if files else 0
    for entry in entries:
        left -= sum(map(len, entry.paths))
        if entry.paths and left >= 0 and disk.matching(files, entry.paths):
            found.add(_key(entry))
    return found


def _with_paths(shared: float, entry: Entry, about: bool, playing: bool) -> float:
    if about:
        return shared + PATH
    return shared * ELSEWHERE if entry.paths and playing else shared


def _evidence(entries: Sequence[Entry], question: Sequence[str], weight: Callable[[str], float]) -> list[float]:
    """What each entry shares with a question: BM25, scaled so that a telling word in an average content is 1."""
    asked = {term: weight(term) for term in question}
    if not asked or not entries:
        return [0.0] * len(entries)
    fields = [_fields(entry.title, entry.tags, entry.content) for entry in entries]
    mean = max(1.0, sum(length for _, length in fields) / len(fields))
    frequency = Counter(term for counts, _ in fields for term in asked if term in counts)
    out = []
    for counts, length in fields:
        norm = K1 * (1 - B + B * length / mean)
        out.append(
            sum(
                told * _rarity(frequency[term], len(entries)) * counts[term] * (K1 + 1) / (counts[term] + norm)
                for term, told in asked.items()
                if term in counts
            )
        )
    return out


def _rarity(frequency: int, count: int) -> float:
    """BM25's idf as a share of the largest there is; 1 where few entries tell nothing, and for a term of few."""
    if count < 8:
        return 1.0
    top = math.log(1 + (count - 0.5) / 1.5)
    return min(1.0, 1.5 * math.log(1 + (count - frequency + 0.5) / (frequency + 0.5)) / top)


@lru_cache(2048)
def _fields(title: str, tags: tuple[str, ...], content: str) -> tuple[dict[str, float], int]:
    """Weighted frequency of each term, and the number of terms of the content."""
    counts: dict[str, float] = {}
    inside = terms(content)
    for words, factor in ((terms(title), TITLE), (terms(" ".join(tags)), TAGS), (inside, 1.0)):
        for term in words:
            counts[term] = counts.get(term, 0.0) + factor
    return counts, len(inside)
