"""Which places of the workspace are looked at closely: chunks that a leg ranks high, that the question names,
that share a file with several such, or that the best of them refer to.

The columns propose rows; the snapshot says where their texts stand, and drops what stands nowhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.context.query import Query, looks_like_code
from promptls.context.retrieval.legs import Floats, Legs, scaled
from promptls.index.columns import View
from promptls.index.snapshot import Place, Snapshot
from promptls.model import Chunk, FileEntry, Span, Symbol

WHOLE = 150
"""Lines up to which a part of a function stands for all of it."""
NAMED_FILES = 20
"""Files of one name that gain by being named."""
DEFINITIONS = 200
"""Definitions of one name that gain by being named."""
PAIR = 0.7
"""What two words of prose that are a name together count beside a name that is written as code."""
PLACES = 20
"""Places of one text that are looked at."""
FEW = 3
"""Definitions of one name up to which a reference is followed."""

ENDINGS = (
    *(".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs"),
    *(".rb", ".php", ".swift", ".scala", ".lua", ".sh", ".ex", ".hs", ".ml", ".sql", ".md", ".toml"),
)
"""Endings that a file name in a question may lack."""


class Reach(Struct, frozen=True):
    """How many of each kind are looked at."""

    both: int = 800
    semantic: int = 300
    keyword: int = 300
    files: int = 16
    per_file: int = 80
    referrers: int = 50  # best units whose references are followed


class Unit(Struct, frozen=True):
    """A place that may be a part of the answer."""

    entry: FileEntry
    index: int  # of its chunk
    row: int  # of the columns, -1 while it has none
    chunk: Chunk
    symbol: Symbol | None
    span: Span  # what is shown: the chunk, or all of a function that it is a part of
    named: float = 0.0  # 1 for the only definition of a name in the question, 1/√n for one of n
    spelled: float = 0.0  # the same where the name is written as code (quoted, dotted, called, …) or as two words
    by_path: float = 0.0  # the same for a file that the question names


def units_for(
    query: Query, legs: Legs, snapshot: Snapshot, view: View, reach: Reach, within: frozenset[str] | None = None
) -> list[Unit]:
    """Units by path and place; `within` limits them to these files."""
    gathered = _Gathered(snapshot, view, within)
    both = legs.both
    if within is not None:
        both = np.full_like(both, -1)
        rows = gathered.rows_of(within)
        both[rows] = legs.both[rows]
    for scores, most in ((both, reach.both), (legs.similarity, reach.semantic), (legs.keyword, reach.keyword)):
        gathered.rows(_best(np.where(both < 0, 0, scores), most))
    names = _named_definitions(query, snapshot)
    for path, symbol in names:
        gathered.definition(path, symbol)
    paths = dict(_named_files(query, snapshot))
    for path in paths:
        gathered.chunk(path, 0)
    for path in _best_files(legs, both, view, reach.files):
        gathered.file(path, both, reach.per_file)
    for at in _best(both, reach.referrers):
        gathered.referred(int(at))
    return gathered.units(names, paths)


def _best(scores: Floats, most: int) -> NDArray[np.int64]:
    """Indexes of the best scores above 0; more than `most` only where several are equal to the last one."""
    found = np.flatnonzero(scores > 0)
    values = scores[found]
    return found if len(found) <= most else found[values >= np.partition(values, -most)[-most]]


def _best_files(legs: Legs, both: Floats, view: View, most: int) -> list[str]:
    """The files with the most evidence: their best chunks, their words as a whole, their meaning."""
    top = _best(both, 5 * most)
    rank = np.searchsorted(np.sort(-both[top]), -both[top])  # equal ones share it, whichever row comes first
    found = np.bincount(view.file[top], both[top] / (1 + 0.1 * rank), len(legs.whole))
    best = float(found.max(initial=0.0))
    if best <= 0:
        return []
    score = found / best + 0.5 * legs.whole + 0.5 * scaled(legs.meant, 20)
    order = sorted(np.flatnonzero(found > 0).tolist(), key=lambda f: (-round(float(score[f]), 5), view.files[f]))
    return [view.files[f] for f in order[:most]]


class _Gathered:
    """Places gathered so far.  Lives as long as one call of `units_for`."""

    def __init__(self, snapshot: Snapshot, view: View, within: frozenset[str] | None) -> None:
        self.snapshot, self.view, self.within = snapshot, view, within
        self.places: set[Place] = set()

    def rows_of(self, paths: Iterable[str]) -> list[int]:
        """Rows of all texts in these files."""
        out = []
        for path in paths:
            entry = self.snapshot.files.get(path)
            if entry is not None and entry.outline is not None:
                out += [row for c in entry.outline.chunks if (row := self.view.row(c.key)) >= 0]
        return out

    def rows(self, rows: Iterable[int]) -> None:
        for row in rows:
            for path, index in self._standing(row)[:PLACES]:
                self.chunk(path, index)

    def _standing(self, row: int) -> list[Place]:
        """Where the text of a row stands in the snapshot."""
        key = self.view.keys[row]
        out = []
        for path, index in self.view.places(row):
            entry = self.snapshot.files.get(path)
            chunks = entry.outline.chunks if entry is not None and entry.outline is not None else ()
            if index >= len(chunks) or chunks[index].key != key:  # the columns are of a later moment
                index = next((i for i, chunk in enumerate(chunks) if chunk.key == key), -1)
            if index >= 0:
                out.append((path, index))
        return out

    def chunk(self, path: str, index: int) -> None:
        if self.within is None or path in self.within:
            self.places.add((path, index))

    def definition(self, path: str, symbol: int) -> None:
        entry = self.snapshot.files[path]
        assert entry.outline is not None
        for i, chunk in enumerate(entry.outline.chunks):
            if chunk.symbol == symbol:
                self.chunk(path, i)
                return

    def file(self, path: str, scores: Floats, most: int) -> None:
        """The best chunks of a file."""
        entry = self.snapshot.files.get(path)
        if entry is None or entry.outline is None:
            return
        chunks = entry.outline.chunks
        order: Sequence[int] = range(len(chunks))
        if len(chunks) > most:
            value = [float(scores[row]) if (row := self.view.row(c.key)) >= 0 else 0.0 for c in chunks]
            order = sorted(order, key=lambda i: (-round(value[i], 5), i))[:most]
        for i in order:
            self.chunk(path, i)

    def referred(self, row: int) -> None:
        """Definitions that the code of a row refers to by names that few definitions have."""
        for path, index in self._standing(row)[:1]:
            outline = self.snapshot.files[path].outline
            assert outline is not None
            span = outline.chunks[index].span
            for name in sorted(names_used(self.snapshot.files[path], (span,))[0]):
                found = self.snapshot.names.get(name.lower(), ())
                if len(found) <= FEW:
                    for place in found:
                        self.definition(*place)

    def units(self, names: dict[Place, tuple[float, float]], paths: dict[str, float]) -> list[Unit]:
        out = []
        for path, index in sorted(self.places):
            entry = self.snapshot.files.get(path)
            if entry is None or entry.outline is None or index >= len(entry.outline.chunks):
                continue
            chunk = entry.outline.chunks[index]
            symbol = entry.outline.symbols[chunk.symbol] if chunk.symbol >= 0 else None
            span = chunk.span
            if symbol is not None and symbol.kind in _WHOLE_KINDS and len(symbol.span) <= WHOLE:
                span = symbol.span
            named, spelled = names.get((path, chunk.symbol), (0.0, 0.0))
            row = self.view.row(chunk.key)
            out.append(Unit(entry, index, row, chunk, symbol, span, named, spelled, paths.get(path, 0.0)))
        return out


_WHOLE_KINDS = frozenset({"function", "method", "constructor"})


def names_used(entry: FileEntry, spans: Sequence[Span]) -> list[set[str]]:
    """For each span the names that the code in it refers to."""
    assert entry.outline is not None
    refs = np.frombuffer(entry.outline.refs, np.uint32).reshape(-1, 3)
    order = np.argsort(refs[:, 1], kind="stable")
    lines, numbers = refs[order, 1], refs[order, 0]
    names, every = entry.outline.ref_names, numbers.tolist()
    starts = lines.searchsorted(np.array([span.start for span in spans], np.uint32)).tolist()
    ends = lines.searchsorted(np.array([span.end for span in spans], np.uint32)).tolist()
    return [{names[n] for n in every[a:b]} for a, b in zip(starts, ends, strict=True)]


def _named_definitions(query: Query, snapshot: Snapshot) -> dict[Place, tuple[float, float]]:
    """Definitions that the question names, with what being named and being written as code is worth."""
    best: dict[Place, tuple[float, float]] = {}
    for name in query.names:
        last = re.split(r"\.|::|->", name)[-1]
        matched = [(p, s) for p in snapshot.names.get(last.lower(), ()) if (s := snapshot.symbol(p)) is not None]
        if not matched:
            continue
        qualified = name.replace("::", ".").replace("->", ".")
        if last != name:
            exact = [(p, s) for p, s in matched if ("." + s.qualified).lower().endswith("." + qualified.lower())]
            matched = exact or matched
        elif looks_like_code(name):
            matched = [(p, s) for p, s in matched if s.name == name] or matched
        factor = 1.0 if name in query.spelled else PAIR if name in query.pairs else 0.0
        for place, _ in matched[:DEFINITIONS]:
            worth = len(matched) ** -0.5
            named, spelled = best.get(place, (0.0, 0.0))
            best[place] = max(named, worth), max(spelled, worth * factor)
    return best


def _named_files(query: Query, snapshot: Snapshot) -> Iterable[tuple[str, float]]:
    """Files that the question names, by path, by file name or by the name without its ending."""
    best: dict[str, float] = defaultdict(float)
    for name in (*query.paths, *query.stems):
        base = name.rsplit("/", 1)[-1].lower()
        endings = ("",) if "." in base else ENDINGS
        paths = [p for e in endings for p in snapshot.basenames.get(base + e, ())]
        paths = [p for p in paths if ("/" + p.lower()).endswith("/" + name.lower())] if "/" in name else paths
        for path in paths[:NAMED_FILES]:
            best[path] = max(best[path], len(paths) ** -0.5)
    return best.items()
