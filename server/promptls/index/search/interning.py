"""Interned runs: texts as arrays of run ids, so that each distinct run is tokenized once.

Code is repetitive: of seventy runs in a chunk thirty are distinct, and nearly all occur in other chunks. Neither
search terms nor tokens of the bundled model span two runs. For one thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import (
    compound_term,
    is_ascii_word,
    is_data,
    split_identifiers,
    split_runs,
    stem_part,
    tokenize_run,
)
from promptls.index.search.row_batch import RowBatch, compact_ids

MAX_RUNS, MAX_CHARACTERS = 1 << 17, 4_000_000
"""Interned runs and their characters above which the interner starts again: a bound on its memory."""

MapRuns = Callable[[Sequence[str]], tuple[list[Sequence[int]], list[int]]]
"""Returns the ids for each part of many runs, as `split_identifiers` splits them, and the index of each run's end."""


class _Interner(dict[str, int]):
    """Ids of strings, in order of first occurrence."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        id = self[text] = len(self.texts)
        self.texts.append(text)
        return id


class RunBatch(Struct, frozen=True):
    """Texts as arrays of run ids."""

    texts: tuple[str, ...]
    runs: Sequence[str]  # runs by id; may grow
    run_ids: NDArray[np.int32]  # runs of all texts, one text after the other
    text_ends: NDArray[np.int64]  # end of each text in `run_ids`


class RunInterner:
    """Assigns ids to runs."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._ids = _Interner()
        self._counted_runs, self._characters = 0, 0

    def intern(self, texts: Sequence[str]) -> RunBatch:
        """Return texts as run ids."""
        if self._is_full():
            self._start()
        id_of = self._ids.__getitem__
        run_ids: list[int] = []
        text_ends = []
        for text in texts:
            run_ids += map(id_of, split_runs(text))
            text_ends.append(len(run_ids))
        return RunBatch(tuple(texts), self._ids.texts, np.array(run_ids, np.int32), np.array(text_ends, np.int64))

    def _is_full(self) -> bool:
        runs = self._ids.texts
        self._characters += sum(map(len, runs[self._counted_runs :]))
        self._counted_runs = len(runs)
        return self._counted_runs > MAX_RUNS or self._characters > MAX_CHARACTERS


class RunTable:
    """Cache of a list of ids for each run. `create_mapper` is called again whenever the interner has started again."""

    def __init__(self, create_mapper: Callable[[], MapRuns]) -> None:
        self._create_mapper = create_mapper
        self._runs: Sequence[str] | None = None

    def gather(self, batch: RunBatch) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (concatenated lists of the runs of a batch, end of each text)."""
        if batch.runs is not self._runs:
            self._runs, self._map_runs = batch.runs, self._create_mapper()
            self._values, self._bounds = array("i"), array("q", [0])
        if new := batch.runs[len(self._bounds) - 1 :]:
            lists, ends = self._map_runs(new)
            counts = np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)))
            self._bounds.frombytes((counts[ends] + len(self._values)).tobytes())
            self._values.extend(chain.from_iterable(lists))
        bounds = np.frombuffer(self._bounds, np.int64)
        starts = bounds[batch.run_ids]
        lengths = bounds[batch.run_ids + 1] - starts
        ends_out = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(starts - ends_out[:-1], lengths) + np.arange(ends_out[-1])
        values = np.frombuffer(self._values, np.int32)[places] if len(places) else np.zeros(0, np.int32)
        return values, ends_out[batch.text_ends]


class _PartTermIds(dict[str, tuple[int, ...]]):
    """Cache of the term ids of word parts."""

    def __init__(self, terms: _Interner) -> None:
        self._terms = terms

    def __missing__(self, part: str) -> tuple[int, ...]:
        term = stem_part(part)
        ids = self[part] = (self._terms[term],) if term else ()
        return ids


class TermExtractor:
    """Extracts the terms of texts, as `tokenize` does, into row batches."""

    def __init__(self) -> None:
        self._terms = _Interner()
        self._table = RunTable(self._create_mapper)

    def _create_mapper(self) -> MapRuns:
        self._terms = _Interner()
        self._part_ids = _PartTermIds(self._terms)
        return self._map_runs

    def _map_runs(self, runs: Sequence[str]) -> tuple[list[Sequence[int]], list[int]]:
        parts = split_identifiers([run if is_ascii_word(run) and not is_data(run) else "" for run in runs])
        ids: list[Sequence[int]] = list(map(self._part_ids.__getitem__, parts))
        ends = [at for at, part in enumerate(parts) if not part]
        start = 0
        for run, end in zip(runs, ends, strict=True):
            if end == start:
                ids[end] = [self._terms[term] for term in tokenize_run(run)]
            elif end > start + 1:
                ids[end] = (self._terms[compound_term(run)],)
            start = end + 1
        return ids, ends

    def extract(self, keys: Sequence[bytes], batch: RunBatch) -> RowBatch:
        """Return a row without a vector for each text.

        Args:
            keys: Key of each text.
            batch: Interned texts.
        """
        term_ids, ends = self._table.gather(batch)
        terms = self._terms.texts
        used, compacted = compact_ids(term_ids, len(terms))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        used_terms = tuple([terms[i] for i in used.tolist()])
        return RowBatch(tuple(keys), used_terms, compacted.tobytes(), offsets.tobytes())
