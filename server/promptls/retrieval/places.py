"""Places of the names of a question: lines that contain a name in any spelling, as a text search finds them.

A ranking finds code that resembles a question.  The places of a rare name belong together although they do not resemble
it: where a setting is declared, read, documented and tested.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from heapq import merge
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import STOP_WORDS, IndexReader, Snapshot, SourceReader, split_identifier, stem
from promptls.knowledge.project.file_kind import is_changelog, is_test_path
from promptls.model import CancelToken, FileText, Item, Origin, Span
from promptls.model.files import is_prompt_document
from promptls.retrieval.candidates import is_data_file, is_translation
from promptls.retrieval.query import Query
from promptls.retrieval.question_names import MIN_CHARACTERS, Name, NameKind, question_names

MAX_NAMES = 8
"""Maximum number of names whose places are looked up; a pasted log has many."""
MAX_ROWS = 300
"""Maximum number of chunks with all words of a name; a name in more is not rare."""
MAX_LINES = {"sibling": 110, "mention": 45, "name": 45}
"""Maximum number of lines with a name: those of a feature that is compared with are wanted, others only if rare."""
MAX_LINES_BEFORE, MAX_LINES_AFTER = 6, 9
"""Maximum number of lines of a paragraph before and after a line with a name."""
LINES_BEFORE, LINES_AFTER = 2, 3
"""Lines shown before and after it instead if the paragraph is longer."""
MAX_DEFINITION = 30
"""Maximum number of lines of a definition that is shown whole instead."""

_UNTELLING_FILE = re.compile(
    r"\.(?:css|s[ac]ss|less|svg|snap|lock)$|-lock\.|\.min\.|(?:^|/)(?:vendor|node_modules|dist)/", re.I
)
_IMPORT = re.compile(
    r"\s*(?:(?:import|from|use|using|include|require|#include|package|@import)\b|(?:const|let|var) .*\brequire\()"
)

WEIGHTS = {"offset": 1.55, "sibling": 0.91, "mention": 0.72, "count": -0.51, "own file": -1.09, "region": 0.38}
"""Logistic regression of the share of needed lines: kind of the name, logarithm of the number of its places, whether the
file is named after it, and the log odds of the best ranked region that overlaps.

Fitted on 2,200 places of 123 tasks in 28 repositories.
"""
SOUGHT_LOG_ODDS = math.log(6)
"""Added to the log odds of places if the question asks for the uses of its names.

Chosen among log 1, 3, 6 and 20 on 126 questions such as "what breaks if I rename …" in seven repositories: prompts have
93 instead of 91 % of the lines with the name, and all of them in 77 instead of 68 % of the cases.
"""
MAX_MEANT, MEANT_KINDS = 3, frozenset(("class", "function", "method"))
"""Best ranked definitions of which a question about uses or tests asks for the places, and their kinds.

Chosen among 0, 1, 3 and 6.  Without naming a function, 152 questions such as "what calls the code that can …" ask for its
calls: prompts have 97 instead of 66 % of these lines.  116 ask for its tests: 81 instead of 72 %.
"""


class Place(Struct, frozen=True):
    """Lines around an occurrence of a name."""

    path: str
    span: Span
    kind: NameKind
    name: str
    count: int  # number of the places of the name
    symbol: str = ""  # qualified name of the definition, if the place is one
    symbol_kind: str = "text"
    meant: float = 1.0  # probability that the question is about the name


def find_places(
    names: Iterable[Name],
    with_tests: Sequence[bool],
    snapshot: Snapshot,
    reader: IndexReader,
    sources: SourceReader,
    token: CancelToken,
) -> list[Place]:
    """Return the places of rare names outside of translations and style sheets.

    `with_tests`: whether tests count; a name that is too frequent by the first value is looked up by the next one.

    Raises:
        Cancelled: The token is set.
    """
    places: list[Place] = []
    for name in islice(names, MAX_NAMES):
        for spelling in name.spellings:
            found_in = (
                _lines_with(spelling, name.kind, tests, snapshot, reader, sources, token) for tests in with_tests
            )
            if lines := next(filter(None, found_in), None):
                found = [
                    (path, span)
                    for path, (file, some) in lines.items()
                    for span in _windows(path, some, file, snapshot)
                ]
                places += (_place(path, span, name.kind, spelling, len(found), snapshot) for path, span in found)
                break
    return places


def _place(path: str, span: Span, kind: NameKind, name: str, count: int, snapshot: Snapshot) -> Place:
    outline = snapshot.files[path].outline
    symbols = outline.symbols if outline is not None else ()
    symbol = next((s for s in symbols if span in (s.span, Span(s.doc_start, s.span.end))), None)  # with its comment
    if symbol is None:
        return Place(path, span, kind, name, count)
    return Place(path, span, kind, name, count, symbol.qualified, symbol.kind)


def _lines_with(
    name: str,
    kind: NameKind,
    with_tests: bool,
    snapshot: Snapshot,
    reader: IndexReader,
    sources: SourceReader,
    token: CancelToken,
) -> dict[str, tuple[FileText, list[int]]]:
    """Return the lines with a name by path; none if the name is not rare."""
    parts = split_identifier(name)
    pattern = re.compile(r"[ _.-]?".join(map(re.escape, parts)), re.IGNORECASE)
    found: dict[str, tuple[FileText, list[int]]] = {}
    count = 0
    for path in _paths_with(parts, with_tests, MAX_LINES[kind], snapshot, reader):
        token.check()
        file = sources.read(path)
        if not isinstance(file, FileText):
            continue
        lines = _lines_in(file, pattern)
        count += len(lines)
        if count > MAX_LINES[kind]:
            return {}
        if lines:
            found[path] = file, lines
    return found


def _lines_in(file: FileText, pattern: re.Pattern[str]) -> list[int]:
    """Return the lines that contain a name, without imports."""
    found: list[int] = []
    line, at = 0, 0
    for match in pattern.finditer(file.text):
        line += file.text.count("\n", at, match.start())
        at = match.start()
        if (not found or found[-1] != line) and _is_name(match) and not _IMPORT.match(file.lines[line]):
            found.append(line)
    return found


def _is_wanted(label: str, with_tests: bool) -> bool:
    kinds = (_UNTELLING_FILE.search, is_changelog, is_translation, is_data_file)
    return not any(is_kind(label) for is_kind in kinds) and (with_tests or not is_test_path(label))


def _paths_with(
    parts: Sequence[str], with_tests: bool, limit: int, snapshot: Snapshot, reader: IndexReader
) -> Sequence[str]:
    """Return at most `limit` files that may contain a name: in words, else as one identifier; none if there are more."""

    def paths_of(rows: set[int]) -> list[str]:
        if len(rows) > MAX_ROWS:
            return []
        paths = {path for row in rows for path, _ in reader.locations(row) if path in snapshot.files}
        return sorted(path for path in paths if _is_wanted(snapshot.label(path), with_tests))

    words = [part for part in parts if part not in STOP_WORDS and len(part) > 1]
    in_words = set.intersection(*(set(reader.postings(stem(word)).rows.tolist()) for word in words)) if words else set()
    joined = {"".join(parts), stem("".join(parts)), "_".join(parts)} if len(parts) > 1 else set()
    as_one = {row for term in joined for row in reader.postings(term).rows.tolist()}
    candidates = (paths_of(rows) for rows in (in_words | as_one, as_one))
    return next((paths for paths in candidates if 0 < len(paths) <= limit), ())


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a match is a name, and not the inner letters of a longer word."""
    text, start, end = match.string, match.start(), match.end()
    before, after = text[start - 1 : start], text[end : end + 2]
    if before.islower() and text[start].islower():
        return False
    is_plural = after[:1] == "s" and not after[1:].islower()
    return is_plural or not (after[:1].islower() and text[end - 1].islower())


def _paragraph(line: int, lines: Sequence[str]) -> Span:
    """Return the lines around a line up to the next blank ones, or a few lines if these are far away."""
    start, end = line, line + 1
    while start > max(0, line - MAX_LINES_BEFORE) and lines[start - 1].strip():
        start -= 1
    while end < min(len(lines), line + 1 + MAX_LINES_AFTER) and lines[end].strip():
        end += 1
    if line - start == MAX_LINES_BEFORE:
        start = line - LINES_BEFORE
    if end - line - 1 == MAX_LINES_AFTER:
        end = line + 1 + LINES_AFTER
    return Span(start, end)


def _windows(path: str, lines: Sequence[int], file: FileText, snapshot: Snapshot) -> list[Span]:
    """Return the short definition around each line, else a few lines; neighbors are joined."""
    outline = snapshot.files[path].outline
    definitions = [s.span for s in outline.symbols if len(s.span) <= MAX_DEFINITION] if outline is not None else []
    spans: list[Span] = []
    for line in lines:
        around = [span for span in definitions if line in span]
        span = min(around, key=len) if around else _paragraph(line, file.lines)
        if spans and span.start <= spans[-1].end:
            span = Span(min(spans[-1].start, span.start), max(spans.pop().end, span.end))
        spans.append(span)
    return spans


def with_places(
    ranked: Sequence[Item],
    question: str,
    query: Query,
    mentioned: Iterable[str],
    snapshot: Snapshot,
    reader: IndexReader,
    sources: SourceReader,
    token: CancelToken,
    paths: Collection[str] | None = None,
) -> Sequence[Item]:
    """Return ranked items with the places of the names of a question and of mentioned symbols among them; only in `paths`.

    Raises:
        Cancelled: The token is set.
    """
    names = question_names(question, query, mentioned)
    with_tests = (True, False) if query.seeks_uses else (query.about_tests,)
    places = find_places(names, with_tests, snapshot, reader, sources, token)
    if query.seeks_tests or query.seeks_uses:
        meant = _meant_names(ranked, snapshot)
        found = find_places([Name((name,), "mention") for name in meant], with_tests, snapshot, reader, sources, token)
        places += [
            replace(place, meant=meant[place.name])
            for place in found
            if query.seeks_uses or is_test_path(snapshot.label(place.path))
        ]
    if paths is not None:
        within = {place.path for place in places}.intersection(paths)
        places = [place for place in places if place.path in within]
    else:  # prompt documents contain questions, not answers
        places = [place for place in places if not is_prompt_document(place.path)]
    return merge_places(ranked, places, snapshot, SOUGHT_LOG_ODDS if query.seeks_uses else 0.0)


def _meant_names(ranked: Iterable[Item], snapshot: Snapshot) -> dict[str, float]:
    """Return the names of the best ranked definitions outside of tests, with their probabilities."""
    definitions = (
        item
        for item in ranked
        if item.symbol and item.kind in MEANT_KINDS and not is_test_path(snapshot.label(item.path))
    )
    names = [(item.symbol.rpartition(".")[2], item.score) for item in islice(definitions, MAX_MEANT)]
    return {name: score for name, score in reversed(names) if len(name) >= MIN_CHARACTERS}


def merge_places(ranked: Sequence[Item], places: Sequence[Place], snapshot: Snapshot, log_odds: float) -> list[Item]:
    """Insert places into ranked items by their scores, which depend on those of the items that they overlap.

    `log_odds` are added to those of each place.
    """
    by_path: dict[str, list[Item]] = defaultdict(list)
    for item in ranked:
        by_path[item.path].append(item)
    best: dict[tuple[str, Span], float] = {(item.path, item.span): item.score for item in ranked}
    scored = [_scored(place, by_path[place.path], snapshot, log_odds) for place in places]
    scored = [item for item in scored if item.score > best.get((item.path, item.span), 0.0)]
    replaced = {(item.path, item.span) for item in scored}
    rest = (item for item in ranked if (item.path, item.span) not in replaced)
    return list(merge(rest, sorted(scored, key=_descending), key=_descending))


def _descending(item: Item) -> float:
    return -item.score


def _scored(place: Place, ranked: Iterable[Item], snapshot: Snapshot, log_odds: float) -> Item:
    """Return a place as an item; its score is the probability that an answer needs it."""
    best = max((item.score for item in ranked if item.span.overlaps(place.span)), default=0.0)
    best = min(max(best, 1e-5), 1 - 1e-5)
    file_name = "".join(split_identifier(snapshot.label(place.path).rpartition("/")[2]))
    log_odds += (
        WEIGHTS["offset"]
        + WEIGHTS.get(place.kind, 0.0)
        + WEIGHTS["count"] * math.log(place.count)
        + WEIGHTS["own file"] * ("".join(split_identifier(place.name)) in file_name)
        + WEIGHTS["region"] * math.log(best / (1 - best))
    )
    score = round(place.meant / (1 + math.exp(-log_odds)), 6)
    return Item(place.path, place.span, place.symbol_kind, Origin.KEYWORD, score, place.symbol, {"places": score})
