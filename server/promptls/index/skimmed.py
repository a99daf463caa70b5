"""What is known of files that still wait to be read: which of them hold the words of a question, or define a name.

Filled by the indexer's thread from what workers have skimmed, read by any, and emptied when nothing waits any more.
"""

from __future__ import annotations

import math
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.skim import Skims
from promptls.index.vocabulary import Vocabulary

MOST_WORDS = 2_000_000
"""Distinct words that are kept, some 40 MB; of files with others it is known only that they wait."""
K1, B = 1.2, 0.75
"""BM25's usual saturation and length normalisation; a word counts as standing once in a file."""
GOOD = 0.5
"""Of the best file's score, below which a file is not read for a question."""
_SHORT = 3
"""Letters up to which a term is a whole word; longer ones are stems."""
_PLACES = 20_000
"""Places in the list of words that are looked at for one term."""


class _Held(Struct, frozen=True):
    """All that was taken in: a word or a name is a number of the vocabulary, a file its place in `paths`."""

    paths: tuple[str, ...]
    words: NDArray[np.int32]
    starts: NDArray[np.int64]  # [paths + 1]
    names: NDArray[np.int32]
    name_starts: NDArray[np.int64]
    letters: bytes  # of all words, each behind an end of line
    lowered: bytes
    lines: NDArray[np.int64]  # where each word's line ends in them


class Skimmed:
    """The owner."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vocabulary = Vocabulary()
        self._parts: list[tuple[Skims, NDArray[np.int32]]] = []
        self._paths: set[str] = set()
        self._held: _Held | None = None
        self._named: tuple[_Held, list[tuple[str, str, str]]] | None = None

    def clear(self) -> None:
        """Forget everything: no file waits any more."""
        with self._lock:
            if self._parts:
                self._vocabulary, self._parts, self._paths = Vocabulary(), [], set()
                self._held = self._named = None

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def take(self, skims: Skims) -> bool:
        """Take in what a worker has seen; False when there is too much already."""
        with self._lock:
            if len(self._vocabulary) >= MOST_WORDS:
                return False
            self._parts.append((skims, self._vocabulary.learn(skims.words)))
            self._paths.update(skims.paths)
            self._held = None
            return True

    def defining(self, names: Collection[str]) -> list[str]:
        """The files that seem to define one of these names."""
        held = self._all()
        numbers = [number for name in names for number in self._number(name, held)]
        at = np.flatnonzero(np.isin(held.names, np.array(numbers, np.int32)))
        files = np.unique(held.name_starts.searchsorted(at, "right") - 1)
        return [held.paths[file] for file in files.tolist()]

    def named(self, start: str) -> Iterator[tuple[str, str]]:
        """(name, file) of what seems to be defined by names that begin so, letter case aside, in order."""
        held = self._all()
        if self._named is None or self._named[0] is not held:
            self._named = held, _in_order(held, self._vocabulary.texts())
        low = start.lower()
        found = self._named[1]
        for i in range(bisect_left(found, (low,)), len(found)):
            if not found[i][0].startswith(low):
                return
            yield found[i][1:]

    def holding(self, terms: Sequence[str], waits: Callable[[str], bool], most: int) -> list[str]:
        """The files among those that wait which hold most of what the search terms say, the best first."""
        held = self._all()
        count = np.diff(held.starts)
        some = np.flatnonzero(count)
        if not len(some):
            return []
        score = np.zeros(len(some), np.float32)
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * count[some] / count[some].mean()))
        for term in terms:
            means = np.zeros(len(held.lines), bool)
            means[self._words(held, term)] = True
            hit = np.logical_or.reduceat(means[held.words], held.starts[some])
            n = int(np.count_nonzero(hit))
            score += hit * norm * math.log(1 + (len(some) - n + 0.5) / (n + 0.5))
        best = np.argsort(-score, kind="stable")
        least = GOOD * float(score[best[0]])
        ranked = (held.paths[some[i]] for i in best.tolist() if score[i] > 0 and score[i] >= least)
        return list(islice(filter(waits, ranked), most))

    def _words(self, held: _Held, term: str) -> NDArray[np.int64]:
        """The words that a term may come from: those in which a part begins like it."""
        if len(term) <= _SHORT or not term.isascii():
            return np.array(self._number(term, held), np.int64)
        begins = re.finditer(re.escape(term[:-1].encode()), held.lowered)  # the last letter of a stem may be its own
        at = np.array([found.start() for found in islice(begins, _PLACES)], np.int64)
        if not len(at):
            return at
        letters = np.frombuffer(held.letters, np.uint8)
        here, before = letters[at], letters[at - 1] | 0x20
        apart = ((here >= 0x41) & (here <= 0x5A)) | (before < 0x61) | (before > 0x7A)
        return held.lines.searchsorted(at[apart])

    def _all(self) -> _Held:
        with self._lock:
            if self._held is None:
                self._held = _together(self._parts, self._vocabulary.texts())
            return self._held

    def _number(self, word: str, held: _Held) -> list[int]:
        """The number of a word, if it is among those that were taken in."""
        number = self._vocabulary.number(word)
        return [number] if 0 <= number < len(held.lines) else []


def _together(parts: Sequence[tuple[Skims, NDArray[np.int32]]], words: list[str]) -> _Held:
    letters = "".join(f"\n{word}" for word in words).encode("utf-8", "surrogatepass") + b"\n"
    lines = np.flatnonzero(np.frombuffer(letters, np.uint8) == 0x0A)[1:]
    paths = tuple(path for skims, _ in parts for path in skims.paths)
    found = _joined([(numbers, skims.word, skims.start) for skims, numbers in parts])
    names = _joined([(numbers, skims.name, skims.name_start) for skims, numbers in parts])
    return _Held(paths, *found, *names, letters, letters.lower(), lines)


def _in_order(held: _Held, words: Sequence[str]) -> list[tuple[str, str, str]]:
    """(name in lower case, name, file), sorted."""
    files = np.repeat(np.arange(len(held.paths)), np.diff(held.name_starts)).tolist()
    pairs = zip(held.names.tolist(), files, strict=True)
    return sorted((words[name].lower(), words[name], held.paths[file]) for name, file in pairs)


def _joined(
    parts: Sequence[tuple[NDArray[np.int32], bytes, bytes]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(the lists of all parts, in the vocabulary's numbers; where each begins, and the end)."""
    lists = [numbers[np.frombuffer(of, np.int32)] for numbers, of, _ in parts]
    sizes = [np.diff(np.frombuffer(starts, np.int32)) for _, _, starts in parts]
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64)
    return np.concatenate([np.zeros(0, np.int32), *lists]), ends
