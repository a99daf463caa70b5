"""What was probably meant: the nearest path or symbol name to one that names nothing.

Names that hold what was written (or its letters in order) come first, then names within a few typing
errors by RapidFuzz's ratio, compared on the last segment and then on as much of the path as was written.
"""

from __future__ import annotations

from heapq import nlargest

from rapidfuzz import fuzz

from promptls.index.snapshot import Snapshot
from promptls.mentions.completion.fuzzy import Tier
from promptls.mentions.completion.index import fold, paths_of, symbols_of
from promptls.mentions.context import Request
from promptls.mentions.format import spell
from promptls.mentions.path_lookup import name_for, nearest_first, spellings
from promptls.model import Root

_NAME = 75  # ratio of last segments from which on a path is looked at
_PATH = 72  # mean of both ratios from which on it is worth a suggestion
_SURVIVORS = 50  # names whose whole paths are compared


def near_path(request: Request, target: str, roots: tuple[Root, ...], sure: bool = False) -> str:
    """A mention of the path nearest to the target, or of the deepest folder of it that exists; "" for none.

    `sure`: only what is almost the same; for text that may not have been meant as a path at all.
    """
    snapshot = request.snapshot
    way = next(iter(spellings(target.replace("\\", "/"))), "")
    if not way:
        return ""
    catalog = paths_of(snapshot)
    base = fold(way.rsplit("/", 1)[-1])
    # Shortest first, so what one letter was added to or taken from is found among the few that hold it.
    pool = [key for _, key in catalog.search(base, _SURVIVORS, Tier.INSIDE)]
    pool += [key for _, key in nlargest(_SURVIVORS, catalog.alike(base, _NAME))]
    scored: list[tuple[float, str]] = []
    for key in dict.fromkeys(pool):
        if snapshot.root_of(key.rstrip("/")) not in roots:
            continue
        label = fold(snapshot.label(key.rstrip("/")))
        above, _, last = label.rpartition("/")
        score = _likeness(base, last)
        if "/" in way:
            score = (score + _above(fold(way).rpartition("/")[0], above)) / 2
        scored.append((score, key))
    best = max((score for score, _ in scored), default=0.0)
    if best >= (90 if sure else _PATH):
        first = nearest_first(request, [key for score, key in scored if score == best])[0]
        return name_for(snapshot, first.rstrip("/"), folder=first.endswith("/")) or ""
    return _deepest_folder(snapshot, way, roots)


def stem_path(request: Request, word: str) -> str:
    """A mention of the file whose name up to its ending is the word exactly ("utils" → utils.py); "" for none."""
    paths = [
        key
        for tier, key in paths_of(request.snapshot).search(word, _SURVIVORS, Tier.STEM)
        if tier == Tier.STEM and key.rsplit("/", 1)[-1].startswith(word + ".")
    ]
    return (name_for(request.snapshot, nearest_first(request, paths)[0]) or "") if paths else ""


def near_symbol(request: Request, name: str) -> str:
    """A mention of the symbol name nearest to this one; "" for none."""
    catalog = symbols_of(request.snapshot)
    errors = 1 if len(name) <= 4 else 2 if len(name) <= 8 else 3
    found = ((distance, layer.keys[index]) for layer in catalog.layers for distance, index in layer.near(name, errors))
    best = min((pair for pair in found if snapshot_has(request.snapshot, pair[1])), default=None)
    if best is not None:
        return spell(symbol=best[1]) or ""
    if len(name) < 3:
        return ""
    for _, key in catalog.search(name, 5, Tier.WORD):
        if snapshot_has(request.snapshot, key):
            return spell(symbol=key) or ""
    return ""


def snapshot_has(snapshot: Snapshot, name: str) -> bool:
    """Whether a symbol of this name is still there: a catalog may know names that have gone."""
    return bool(snapshot.names.get(name.lower()))


def _likeness(name: str, other: str) -> float:
    """Ratio of two last segments; an ending that both have says nothing, one that was left out little."""
    if other.rpartition(".")[0] == name:
        return 95
    stem, dot, ending = name.rpartition(".")
    if dot and stem and other.endswith(dot + ending):
        return fuzz.ratio(stem, other[: -len(ending) - 1])
    return fuzz.ratio(name, other)


def _above(written: str, there: str) -> float:
    """Ratio of the folders before two last segments; those that were not written count nothing."""
    return fuzz.partial_ratio(written, there) if len(there) > len(written) else fuzz.ratio(written, there)


def _deepest_folder(snapshot: Snapshot, way: str, roots: tuple[Root, ...]) -> str:
    catalog = paths_of(snapshot)
    folder = way.lstrip("/")
    while "/" in folder:
        folder = folder.rsplit("/", 1)[0]
        for root in roots:
            if catalog.is_folder(f"{root.path}/{folder}"):
                return name_for(snapshot, f"{root.path}/{folder}", folder=True) or ""
    return ""
