"""Which places of the workspace are looked at closely: chunks that are likely to be a part of the answer, that the
question names, that stand in the best files, or that the best of them refer to.

The columns propose rows; the snapshot says where their texts stand, and drops what stands nowhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from promptls.index.search.reader import IndexReader
from promptls.index.search.vectors import Looked
from promptls.index.snapshot import Place, Snapshot
from promptls.knowledge.project.file_kind import is_minor, sort_of
from promptls.model import AnyOutline, Chunk, FileEntry, OutlineView, Span, Symbol
from promptls.retrieval.query import Query, looks_like_code
from promptls.retrieval.scorers import Floats, Legs, Numbers, best, scale

WHOLE = 150
"""Lines up to which a part of a function stands for all of it."""
NAMED_FILES = 20
"""Files of one name that gain by being named."""
DEFINITIONS = 200
"""Definitions of one name that gain by being named."""
PAIR = 0.7
"""What two words of prose that are a name together count beside a name that is written as code."""
GLANCED = 4
"""Likely rows whose files' names are looked at, for each one that is taken."""
UNLIKELY = (1.8, 2.3, 3.3)
"""What it takes from a row's prospects that its file is of minor importance, a test, a document: logistic regression
beside `legs.LIKELY` on which rows came to be among the best 60, for 150 sentences of the documentation of Python's
standard library and 188 development questions.  With it the likeliest 200 hold what the likeliest 350 held without."""
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

    likely: int = 200  # rows with the best prospects
    files: int = 8  # with the most evidence, and of each …
    per_file: int = 12  # … its likeliest rows
    referrers: int = 20  # best units whose references are followed

    def for_regions(self, most: int) -> Reach:
        """Far enough to choose so many regions."""
        return replace(self, likely=max(self.likely, CHOICE * most))


CHOICE = 3
"""Likely rows for each region that is wanted; 2 cost .013 of the coverage at 20,000 tokens."""
FAR = Reach(likely=500, files=16, per_file=80, referrers=50)
"""For a search; 800 likely rows are worth nothing more."""


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


class Limits(Struct, frozen=True):
    """Files that a search is limited to."""

    paths: frozenset[str]
    rows: Numbers  # of their texts, ascending


def limits_of(paths: Iterable[str], snapshot: Snapshot, view: IndexReader) -> Limits:
    """The limits of a search in these files."""
    chosen = frozenset(paths)
    outlines = filter(None, map(snapshot.outline, chosen))
    rows = {row for outline in outlines for chunk in outline.chunks if (row := view.row(chunk.key)) >= 0}
    return Limits(chosen, np.array(sorted(rows), np.int64))


def units_for(
    query: Query, legs: Legs, snapshot: Snapshot, view: IndexReader, reach: Reach, limits: Limits | None = None
) -> list[Unit]:
    """Units by path and place."""
    gathered = _Gathered(snapshot, view, limits.paths if limits is not None else None)
    evident, likely = legs.evident, legs.likely
    if limits is not None:
        among = np.zeros(len(view), bool)
        among[limits.rows] = True
        evident, likely = evident[among[evident]], likely * legs.looked.pick(among)
    both = legs.both(evident)
    gathered.rows(_likeliest(likely, legs.looked, reach.likely, query, snapshot, view))
    names = _named_definitions(query, snapshot)
    for path, symbol in names:
        gathered.definition(path, symbol)
    paths = dict(_named_files(query, snapshot))
    for path in paths:
        gathered.chunk(path, 0)
    for number in _best_files(legs, evident, both, view, reach.files):
        rows = view.totals.rows_of(number)
        gathered.rows(rows[best(legs.looked.of(rows, likely), reach.per_file)])
    for at in evident[best(both, reach.referrers)].tolist():
        gathered.referred(at)
    return gathered.units(names, paths)


def _likeliest(likely: Floats, looked: Looked, most: int, query: Query, snapshot: Snapshot, view: IndexReader) -> Numbers:
    """The rows with the best prospects, what the names of their files say included.

    Names are looked at where the prospects are good already: in a large workspace they are many.
    """
    places = best(likely, GLANCED * most)
    rows = looked.row(places)
    files, file = np.unique(view.file[rows], return_inverse=True)
    minor, test, docs = UNLIKELY
    less = np.zeros(len(files), np.float32)
    for i, number in enumerate(files.tolist()):
        entry = snapshot.files.get(view.files[number])
        if entry is not None and (sort := sort_of(entry.name)).minor:
            less[i] += minor * is_minor(entry.name, query)
            less[i] += test * (sort.test and not query.seeks_tests) + docs * (sort.docs and not query.about_docs)
    return rows[best(likely[places] - less[file], most)]


def _best_files(legs: Legs, rows: Numbers, both: Floats, view: IndexReader, most: int) -> list[int]:
    """The numbers of the files with the most evidence: their best chunks, their words as a whole, their meaning."""
    top = best(both, 5 * most)
    if not len(top):
        return []
    worth = both[top]
    rank = np.searchsorted(np.sort(-worth), -worth)  # equal ones share it, whichever row comes first
    files, file = np.unique(view.file[rows[top]], return_inverse=True)
    found = np.bincount(file, worth / (1 + 0.1 * rank))
    score = found / found.max() + 0.5 * legs.whole[files] + 0.5 * scale(legs.meant, 20).of(legs.meant[files])
    order = sorted(zip(np.round(-score, 5).tolist(), (view.files[f] for f in files), files.tolist(), strict=True))
    return [number for _, _, number in order[:most]]


class _Gathered:
    """Places gathered so far.  Lives as long as one call of `units_for`."""

    def __init__(self, snapshot: Snapshot, view: IndexReader, within: frozenset[str] | None) -> None:
        self.snapshot, self.view, self.within = snapshot, view, within
        self.places: dict[str, set[int]] = defaultdict(set)  # path → indexes of chunks
        self.expected: dict[str, dict[int, bytes]] = defaultdict(dict)  # path → index → key, as the columns have it

    def rows(self, rows: Numbers) -> None:
        view, keys, within, expected = self.view, self.view.keys, self.within, self.expected
        for row, first in zip(rows.tolist(), view.first(rows), strict=True):
            for path, index in (first,) if first else view.places(row)[:PLACES]:
                if within is None or path in within:
                    expected[path][index] = keys[row]

    def chunk(self, path: str, index: int) -> None:
        if self.within is None or path in self.within:
            self.places[path].add(index)

    def definition(self, path: str, symbol: int) -> None:
        outline = self.snapshot.outline(path)
        assert outline is not None
        at = outline.chunk_of(symbol)
        if at >= 0:
            self.chunk(path, at)

    def referred(self, row: int) -> None:
        """Definitions that the code of a row refers to by names that few definitions have."""
        for path, index in self.view.places(row):
            outline = self.snapshot.outline(path)
            index = _at(outline, index, self.view.keys[row])
            if outline is None or index < 0:
                continue
            for name in sorted(names_used(outline, (outline.chunks[index].span,))[0]):
                found = self.snapshot.names.get(name.lower(), ())
                if len(found) <= FEW:
                    for place in found:
                        self.definition(*place)
            return

    def units(self, names: dict[Place, tuple[float, float]], paths: dict[str, float]) -> list[Unit]:
        out = []
        for path in sorted(self.places.keys() | self.expected.keys()):
            entry = self.snapshot.files.get(path)
            outline = entry.outline if entry is not None else None
            if entry is None or outline is None:
                continue
            indexes = self.places.get(path, set())
            indexes.update(_at(outline, index, key) for index, key in self.expected.get(path, {}).items())
            chunks, symbols, by_path = outline.chunks, outline.symbols, paths.get(path, 0.0)
            for index in sorted(indexes):
                if not 0 <= index < len(chunks):
                    continue
                chunk = chunks[index]
                span, number = chunk.span, chunk.symbol
                symbol = symbols[number] if number >= 0 else None
                if symbol is not None and symbol.kind in _WHOLE_KINDS and len(symbol.span) <= WHOLE:
                    span = symbol.span
                named, spelled = names.get((path, number), (0.0, 0.0)) if names else (0.0, 0.0)
                out.append(Unit(entry, index, self.view.row(chunk.key), chunk, symbol, span, named, spelled, by_path))
        return out


def _at(outline: AnyOutline | None, index: int, key: bytes) -> int:
    """The index of the chunk with this key, which may be another one where the columns are of a later moment; or -1."""
    chunks = outline.chunks if outline is not None else ()
    if index < len(chunks) and chunks[index].key == key:
        return index
    return next((i for i, chunk in enumerate(chunks) if chunk.key == key), -1)


_WHOLE_KINDS = frozenset({"function", "method", "constructor"})


def names_used(outline: OutlineView, spans: Sequence[Span]) -> list[set[str]]:
    """For each span the names that the code in it refers to."""
    (used, lines), names = outline.used(), outline.ref_names
    starts = lines.searchsorted(np.array([span.start for span in spans], np.uint32)).tolist()
    ends = lines.searchsorted(np.array([span.end for span in spans], np.uint32)).tolist()
    return [{names[n] for n in used[a:b].tolist()} for a, b in zip(starts, ends, strict=True)]


def _named_definitions(query: Query, snapshot: Snapshot) -> dict[Place, tuple[float, float]]:
    """Definitions that the question names, with what being named and being written as code is worth."""
    best: dict[Place, tuple[float, float]] = {}
    for name in query.names:
        last = re.split(r"\.|::|->", name)[-1]
        matched = [place for place in snapshot.names.get(last.lower(), ()) if snapshot.defines(place)]
        if not matched:
            continue
        if last != name:
            qualified = "." + name.replace("::", ".").replace("->", ".").lower()
            fits = [p for p, s in _symbols(matched, snapshot) if f".{s.qualified}".lower().endswith(qualified)]
            matched = fits or matched
        elif looks_like_code(name):
            matched = [p for p, s in _symbols(matched, snapshot) if s.name == name] or matched
        factor = 1.0 if name in query.spelled else PAIR if name in query.pairs else 0.0
        for place in matched[:DEFINITIONS]:
            worth = len(matched) ** -0.5
            named, spelled = best.get(place, (0.0, 0.0))
            best[place] = max(named, worth), max(spelled, worth * factor)
    return best


def _symbols(places: Iterable[Place], snapshot: Snapshot) -> Iterator[tuple[Place, Symbol]]:
    for place in places:
        if (symbol := snapshot.symbol(place)) is not None:
            yield place, symbol


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
