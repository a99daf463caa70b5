"""Texts as runs of letters, digits and underscores, and what follows from each run, worked out once.

Code repeats itself: of seventy runs in a chunk thirty are distinct, and nearly all stand in other chunks, too.  Search
terms and the tokens of the bundled model never reach over what is between two runs, so that both are lists of numbers,
looked up for whole batches by the numbers of the runs.  For one thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import apart, is_word, part_term, run_terms, runs, whole_term
from promptls.index.search.row_batch import Rows, renumbered

MOST_RUNS, MOST_CHARACTERS = 1 << 17, 4_000_000
"""What is remembered; then it begins anew."""

Learn = Callable[[Sequence[str]], tuple[list[Sequence[int]], list[int]]]
"""Numbers for each part of many runs as `apart` gives them, and at which places the runs end."""


class _Numbers(dict[str, int]):
    """Numbers of texts, in the order in which these are met."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number


class Batch(Struct, frozen=True):
    """Texts as runs."""

    texts: tuple[str, ...]
    known: Sequence[str]  # runs by their numbers; may grow
    run: NDArray[np.int32]  # the runs of all texts, one text after the other
    ends: NDArray[np.int64]  # of each text in `run`


class Runs:
    """Runs that were met."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._numbers = _Numbers()
        self._measured, self._characters = 0, 0

    def read(self, texts: Sequence[str]) -> Batch:
        """The texts as runs."""
        if self._full():
            self._begin()
        number = self._numbers.__getitem__
        found: list[int] = []
        ends = []
        for text in texts:
            found += map(number, runs(text))
            ends.append(len(found))
        return Batch(tuple(texts), self._numbers.texts, np.array(found, np.int32), np.array(ends, np.int64))

    def _full(self) -> bool:
        known = self._numbers.texts
        self._characters += sum(map(len, known[self._measured :]))
        self._measured = len(known)
        return self._measured > MOST_RUNS or self._characters > MOST_CHARACTERS


class Lists:
    """A list of numbers for each run; `begin` gives what learns them, anew when the runs have begun anew."""

    def __init__(self, begin: Callable[[], Learn]) -> None:
        self._begin = begin
        self._known: Sequence[str] | None = None

    def of(self, batch: Batch) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """(the lists of a batch's runs as one, where the part of each text ends)."""
        if batch.known is not self._known:
            self._known, self._learn = batch.known, self._begin()
            self._values, self._bounds = array("i"), array("q", [0])
        if new := batch.known[len(self._bounds) - 1 :]:
            found, last = self._learn(new)
            counts = np.cumsum(np.fromiter(map(len, found), np.int64, len(found)))
            self._bounds.frombytes((counts[last] + len(self._values)).tobytes())
            self._values.extend(chain.from_iterable(found))
        bounds = np.frombuffer(self._bounds, np.int64)
        starts = bounds[batch.run]
        lengths = bounds[batch.run + 1] - starts
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
        values = np.frombuffer(self._values, np.int32)[places] if len(places) else np.zeros(0, np.int32)
        return values, ends[batch.ends]


class _OfParts(dict[str, tuple[int, ...]]):
    """Parts of words → the numbers of their terms."""

    def __init__(self, words: _Numbers) -> None:
        self._words = words

    def __missing__(self, part: str) -> tuple[int, ...]:
        term = part_term(part)
        found = self[part] = (self._words[term],) if term else ()
        return found


class TermReader:
    """Rows of texts: their terms, as `terms` tells them."""

    def __init__(self) -> None:
        self._words = _Numbers()
        self._lists = Lists(self._begin)

    def _begin(self) -> Learn:
        self._words = _Numbers()
        self._of_parts = _OfParts(self._words)
        return self._learn

    def _learn(self, runs: Sequence[str]) -> tuple[list[Sequence[int]], list[int]]:
        parts = apart([run if is_word(run) else "" for run in runs])
        found: list[Sequence[int]] = list(map(self._of_parts.__getitem__, parts))
        ends = [at for at, part in enumerate(parts) if not part]
        begin = 0
        for run, end in zip(runs, ends, strict=True):
            if end == begin:
                found[end] = [self._words[term] for term in run_terms(run)]
            elif end > begin + 1:
                found[end] = (self._words[whole_term(run)],)
            begin = end + 1
        return found, ends

    def rows(self, keys: Sequence[bytes], batch: Batch) -> Rows:
        """Rows without vectors, a key for each text."""
        term, ends = self._lists.of(batch)
        words = self._words.texts
        used, place = renumbered(term, len(words))
        starts = np.concatenate([[0], ends]).astype(np.int32)
        return Rows(tuple(keys), tuple([words[i] for i in used.tolist()]), place.tobytes(), starts.tobytes())
