"""Suggestions for unresolved mentions: the most similar path or symbol name.

Candidates are names that contain the written name (or its letters in order), then names within a few typing
errors.  Similarity is RapidFuzz's ratio of the last path segments and of the folders as far as they were written.
"""

from __future__ import annotations

from heapq import nlargest

from rapidfuzz import fuzz

from promptls.index import Snapshot
from promptls.mentions.completion.fuzzy import MatchTier
from promptls.mentions.completion.index import fold_case
from promptls.mentions.context import ResolveContext
from promptls.mentions.format import format_mention
from promptls.mentions.path_lookup import mention_for, path_variants, sort_by_proximity
from promptls.model import Root

MIN_NAME_RATIO = 75
"""Minimum ratio (0 to 100) of the last segments for a path to become a candidate."""

MIN_PATH_RATIO = 72
"""Minimum mean ratio of name and folders for a suggestion."""

MIN_CONFIDENT_RATIO = 90
"""The same for text that may not be a path at all."""

MAX_CANDIDATES = 50
"""Candidates whose whole paths are compared."""

SAME_STEM_RATIO = 95.0
"""Ratio of names that differ only in a missing extension."""


def suggest_path(context: ResolveContext, target: str, roots: tuple[Root, ...], confident: bool = False) -> str:
    """Return a mention of the most similar path, or of its deepest existing folder; "" for none.

    `confident` requires near equality, for text that may not be a path.
    """
    snapshot = context.snapshot
    written = next(iter(path_variants(target.replace("\\", "/"))), "")
    if not written:
        return ""
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
        return mention_for(snapshot, first.rstrip("/"), folder=first.endswith("/")) or ""
    return _deepest_folder(context, written, roots)


def suggest_by_stem(context: ResolveContext, word: str) -> str:
    """Return a mention of the file whose name without extension is the word ("utils" → utils.py); "" for none."""
    paths = [
        key
        for tier, key in context.path_index.search(word, MAX_CANDIDATES, MatchTier.STEM)
        if tier == MatchTier.STEM and key.rsplit("/", 1)[-1].startswith(word + ".")
    ]
    return (mention_for(context.snapshot, sort_by_proximity(context, paths)[0]) or "") if paths else ""


def suggest_symbol(context: ResolveContext, name: str) -> str:
    """Return a mention of the most similar symbol name; "" for none."""
    index = context.symbol_index
    max_edits = 1 if len(name) <= 4 else 2 if len(name) <= 8 else 3
    similar = ((edits, layer.keys[row]) for layer in index.layers for edits, row in layer.within_edits(name, max_edits))
    best = min((pair for pair in similar if symbol_exists(context.snapshot, pair[1])), default=None)
    if best is not None:
        return format_mention(symbol=best[1]) or ""
    if len(name) < 3:
        return ""
    for _, key in index.search(name, 5, MatchTier.WORD):
        if symbol_exists(context.snapshot, key):
            return format_mention(symbol=key) or ""
    return ""


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
