"""Suggestions for unresolved mentions: the most similar path or symbol, and places where the text has the name.

Candidates are names that contain the written name (or its letters in order), then names within a few typing
errors.  Similarity is RapidFuzz's ratio of the last path segments and of the folders as far as they were written.
A file that was renamed is found by the renames in the git history, or by the text of the last commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from heapq import nlargest

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from promptls.git import diff
from promptls.index import OutlineRef, Snapshot, secret_reason, tokenize
from promptls.knowledge.project.file_kind import is_prose_path, is_test_path
from promptls.mentions.completion.fuzzy import MIN_SUBSEQUENCE_LENGTH, MatchTier
from promptls.mentions.completion.index import fold_case, max_edits
from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import mention_for, path_variants, sort_by_proximity
from promptls.mentions.syntax.grammar import format_mention
from promptls.model import FileText, Problem, Root, Span
from promptls.util.hashing import content_hash

MIN_NAME_RATIO = 75
"""Minimum ratio (0 to 100) of the last segments for a path to become a candidate."""

MIN_PATH_RATIO = 72
"""Minimum mean ratio of name and folders for a suggestion."""

MIN_CONFIDENT_RATIO = 90
"""The same for text that may not be a path at all."""

MAX_CANDIDATES = 50
"""Candidates whose whole paths are compared."""

MAX_HOLDER_DISTANCE = 4
"""Maximum edit distance that counts for one class or module of a qualified name; above it, it is another one."""

MAX_DISTANCE = 1_000
"""Rank of a definition that is gone; above every edit distance."""

SAME_STEM_RATIO = 95.0
"""Ratio of names that differ only in a missing extension."""


def suggest_path(
    context: ResolveContext,
    target: str,
    roots: tuple[Root, ...],
    confident: bool = False,
    lines: Span | None = None,
) -> str:
    """Return a mention of the most similar path, or of its deepest existing folder; "" for none.

    Args:
        context: The context of the message.
        target: Path as written.
        roots: Roots that it may be in.
        confident: Require near equality, for text that may not be a path.
        lines: Lines that are mentioned; the suggestion keeps them.
    """
    snapshot = context.snapshot
    written = next(iter(path_variants(target.replace("\\", "/"))), "")
    if not written:
        return ""
    moved = moved_path(context, written, roots)
    if moved:
        return mention_for(snapshot, moved, lines=lines) or ""
    index = context.path_index
    name = fold_case(written.rsplit("/", 1)[-1])
    # Shortest first: names that differ by one letter are among the few that contain the written name.
    candidates = [key for _, key in index.search(name, MAX_CANDIDATES, MatchTier.SUBSTRING)]
    candidates += [key for _, key in nlargest(MAX_CANDIDATES, index.similar(name, MIN_NAME_RATIO))]
    scored: list[tuple[float, str]] = []
    for key in dict.fromkeys(candidates):
        if snapshot.root_of(key.rstrip("/")) not in roots:
            continue
        label = fold_case(snapshot.label(key.rstrip("/")))
        folders, _, last = label.rpartition("/")
        score = _name_ratio(name, last)
        if "/" in written:
            score = (score + _folder_ratio(fold_case(written).rpartition("/")[0], folders)) / 2
        scored.append((score, key))
    best = max((score for score, _ in scored), default=0.0)
    if best >= (MIN_CONFIDENT_RATIO if confident else MIN_PATH_RATIO):
        first = sort_by_proximity(context, [key for score, key in scored if score == best])[0]
        if first.endswith("/"):
            return mention_for(snapshot, first.rstrip("/"), folder=True) or ""
        return mention_for(snapshot, first, lines=lines) or ""
    return _deepest_folder(context, written, roots)


def suggest_by_stem(context: ResolveContext, word: str) -> str:
    """Return a mention of the file whose name without extension is the word ("utils" → utils.py); "" for none."""
    paths = [
        key
        for (tier, _), key in context.path_index.search(word, MAX_CANDIDATES, MatchTier.STEM)
        if tier == MatchTier.STEM and key.rsplit("/", 1)[-1].startswith(word + ".")
    ]
    return (mention_for(context.snapshot, sort_by_proximity(context, paths)[0]) or "") if paths else ""


def suggest_exact_symbol(context: ResolveContext, target: str) -> str:
    """Return a mention of the definition in code that a word names exactly ("Cart", "Cart.add"); "" for none.

    A qualified name may begin with the name of the file or folder of the definition ("cart.add").
    """
    *holders, name = target.split(".")
    for path, index in context.snapshot.names.get(name.lower(), ())[:MAX_CANDIDATES]:
        symbol = context.snapshot.symbol((path, index))
        label = context.snapshot.label(path)
        if symbol is None or symbol.name != name or is_prose_path(label):
            continue
        modules = label.replace(":", "/").rpartition(".")[0].split("/")
        names = [*modules, *symbol.qualified.split(".")[:-1]]
        if not holders or names[-len(holders) :] == holders or modules[-1 - len(holders) : -1] == holders:
            return format_mention(symbol=target) or ""
    return ""


def suggest_symbol(
    context: ResolveContext, target: str, parts: Sequence[str], paths: Sequence[str] | None = None
) -> str:
    """Return a mention of the definition with the most similar qualified name; "" for none.

    Args:
        context: The context of the message.
        target: Qualified name as written.
        parts: Its parts: the names of classes or modules, then the own name.
        paths: Files that the definition must be in, None for all.
    """
    snapshot = context.snapshot
    *holders, name = parts or [target]
    allowed = None if paths is None else frozenset(paths)
    refs = _similar_definitions(context, name, holders, allowed)
    ranked = ((_distance(snapshot, ref, name, holders), ref) for ref in refs)
    (_, holder_distance, *_), ref = min(ranked, default=((0, 0), None))
    symbol = snapshot.symbol(ref) if ref is not None else None
    if ref is None or symbol is None:
        return ""
    if allowed is not None:
        return mention_for(snapshot, ref[0], symbol=symbol.qualified) or ""
    qualifier = target.removesuffix(name)
    kept = f"{qualifier}{symbol.name}" if holder_distance == 0 else symbol.qualified
    return format_mention(symbol=kept) or ""


def _similar_definitions(
    context: ResolveContext, name: str, holders: Sequence[str], paths: frozenset[str] | None
) -> Iterator[OutlineRef]:
    """Yield definitions whose own name is similar: members of the class that is named, then of all names."""
    snapshot, edits, folded = context.snapshot, max_edits(name), fold_case(name)
    files = dict.fromkeys(path for path in paths or () if len(paths or ()) <= MAX_CANDIDATES)
    if holders:
        files |= dict.fromkeys(path for path, _ in snapshot.names.get(fold_case(holders[-1]), ())[:MAX_CANDIDATES])
    for path in files:
        entry = snapshot.files.get(path)
        for i, symbol in enumerate(entry.outline.symbols if entry is not None and entry.outline is not None else ()):
            similar = OSA.distance(folded, fold_case(symbol.name), score_cutoff=edits) <= edits
            if symbol.name and similar and (paths is None or path in paths):
                yield path, i
    index = context.symbol_index
    names = sorted(
        (distance, layer.keys[row]) for layer in index.layers for distance, row in layer.within_edits(name, edits)
    )
    similar_names = [key for _, key in names[:MAX_CANDIDATES]]
    if not any(symbol_exists(snapshot, key) for key in similar_names) and len(name) >= MIN_SUBSEQUENCE_LENGTH:
        similar_names = [key for _, key in index.search(name, 5, MatchTier.WORD)]
    for key in similar_names:
        for ref in snapshot.names.get(key.lower(), ())[:MAX_CANDIDATES]:
            if paths is None or ref[0] in paths:
                yield ref


def _distance(
    snapshot: Snapshot, ref: OutlineRef, name: str, holders: Sequence[str]
) -> tuple[int, int, bool, bool, int]:
    """Return the rank of a definition for a misspelled name: edit distances, then code before prose and tests."""
    symbol = snapshot.symbol(ref)
    if symbol is None:
        return MAX_DISTANCE, MAX_DISTANCE, True, True, 0
    label = snapshot.label(ref[0])
    modules = fold_case(label).replace(":", "/").rpartition(".")[0].split("/")
    actual = [*modules, *fold_case(symbol.qualified).split(".")[:-1]]
    expected = [fold_case(holder) for holder in holders]
    pairs = zip(reversed(expected), reversed(actual), strict=False)
    missing = MAX_HOLDER_DISTANCE * max(0, len(expected) - len(actual))
    of_holders = missing + sum(min(MAX_HOLDER_DISTANCE, OSA.distance(a, b)) for a, b in pairs)
    of_name = OSA.distance(fold_case(name), fold_case(symbol.name))
    exact_case = OSA.distance(name, symbol.name)
    return of_name + of_holders, of_holders, is_prose_path(label), is_test_path(label), exact_case


def symbol_exists(snapshot: Snapshot, name: str) -> bool:
    """Return whether a symbol with this name exists; the index may contain removed names."""
    return bool(snapshot.names.get(name.lower()))


def _name_ratio(name: str, other: str) -> float:
    """Return the ratio of two last segments, ignoring a common extension and mostly a missing one."""
    if other.rpartition(".")[0] == name:
        return SAME_STEM_RATIO
    stem, dot, extension = name.rpartition(".")
    if dot and stem and other.endswith(dot + extension):
        return fuzz.ratio(stem, other[: -len(extension) - 1])
    return fuzz.ratio(name, other)


def _folder_ratio(written: str, actual: str) -> float:
    """Return the ratio of two folder paths; folders that were not written are ignored."""
    return fuzz.partial_ratio(written, actual) if len(actual) > len(written) else fuzz.ratio(written, actual)


def _deepest_folder(context: ResolveContext, written: str, roots: tuple[Root, ...]) -> str:
    index = context.path_index
    folder = written.lstrip("/")
    while "/" in folder:
        folder = folder.rsplit("/", 1)[0]
        for root in roots:
            if index.is_folder(f"{root.path}/{folder}"):
                return mention_for(context.snapshot, f"{root.path}/{folder}", folder=True) or ""
    return ""


# ---------------------------------------------------------------- renamed files

MAX_COMPARED_BYTES = 1_000_000
"""Maximum size of a file whose text is compared, in bytes; bounds the time of an answer."""


def moved_path(context: ResolveContext, name: str, roots: tuple[Root, ...]) -> str:
    """Return the current absolute path of a file that had this name relative to a root, or ""."""
    for root in roots:
        (history,) = context.services.git_history.histories([root.path])
        renamed = f"{root.path}/{history.former_names.get(name, '')}"
        if renamed in context.snapshot.files:
            return renamed
        if name not in history.files or f"{root.path}/{name}" in context.snapshot.files:
            continue
        committed = _committed_hash(root.path, history.head, name)
        same = (path for path, entry in context.snapshot.files.items() if entry.content_hash == committed)
        found = next((path for path in same if path.startswith(root.path + "/")), "") if committed else ""
        if found:
            return found
    return ""


@lru_cache(maxsize=64)
def _committed_hash(folder: str, head: str, name: str) -> bytes:
    """Return the content hash of a file in the last commit; `head` identifies the commit in the cache."""
    text = diff.text_at_head(folder, name, MAX_COMPARED_BYTES)
    return b"" if isinstance(text, Problem) else content_hash(text)


# ---------------------------------------------------------------- occurrences of a name without a symbol

MAX_OCCURRENCES = 3
"""Maximum number of places that are offered; keeps the message readable."""

MAX_SEARCHED_FILES = 20
"""Maximum number of files that are read; bounds the time for a word that many files have."""

_MAX_ROWS = 500
"""Maximum number of chunks whose files are determined."""


def find_occurrences(context: ResolveContext, word: str, paths: frozenset[str] | None = None) -> list[tuple[str, int]]:
    """Return (path, line) of the best places of a word, at most one for each file.

    Only the index is searched, so that the time does not depend on the size of the workspace. Lines that begin with
    the word, or have it after one other word, come first in a file, because definitions look like that.

    Args:
        context: The context of the message.
        word: The word, in its exact spelling.
        paths: Files that are searched, None for all.
    """
    index = context.services.index
    terms = list(dict.fromkeys(tokenize(word)))
    if index is None or not terms or len(word) < 2:
        return []
    reader = index.reader()
    rows = reduce(np.intersect1d, (reader.postings(term).rows for term in terms))[:_MAX_ROWS]
    found = dict.fromkeys(path for row in rows.tolist() for path, _ in reader.locations(int(row)))
    allowed = [path for path in found if (paths is None or path in paths) and not _is_hidden(context, path)]
    ranked = sorted(sort_by_proximity(context, allowed), key=lambda path: is_test_path(context.snapshot.label(path)))
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    places: list[tuple[str, int]] = []
    for path in ranked[:MAX_SEARCHED_FILES]:
        context.token.check()
        view = context.sources.read(path)
        line = _best_line(view, pattern, word) if isinstance(view, FileText) else -1
        if line >= 0:
            places.append((path, line))
            if len(places) == MAX_OCCURRENCES:
                break
    return places


def occurrence_mentions(context: ResolveContext, places: list[tuple[str, int]]) -> tuple[str, ...]:
    """Return a mention of each place."""
    mentions = (mention_for(context.snapshot, path, lines=Span(line, line + 1)) for path, line in places)
    return tuple(mention for mention in mentions if mention)


def _is_hidden(context: ResolveContext, path: str) -> bool:
    """Return whether a file may not be read, or is not in the snapshot any more."""
    entry = context.snapshot.files.get(path)
    if entry is None:
        return True
    return bool(secret_reason(entry.name)) and not context.sources.allow_secrets


def _best_line(view: FileText, pattern: re.Pattern[str], word: str) -> int:
    """Return the line that most probably defines the word, -1 if no line has it."""
    best, best_rank = -1, 4
    for i, line in enumerate(view.lines):
        if word not in line:
            continue
        match = pattern.search(line)
        if match is None:
            continue
        words_before = len(line[: match.start()].split())
        rank = 0 if words_before == 1 else 1 if words_before == 0 else 2 if words_before == 2 else 3
        if rank < best_rank:
            best, best_rank = i, rank
        if rank == 0:
            break
    return best
