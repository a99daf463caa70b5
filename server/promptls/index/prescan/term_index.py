"""What is known of files that still wait to be read: which of them hold the words of a question, or define a name.

Filled by the indexer's thread from what workers have skimmed, read by any, and emptied when nothing waits any more.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.prescan.lexer import LONGEST, Skims
from promptls.index.search.term_dictionary import Vocabulary

MOST_WORDS = 2_000_000
"""Distinct words that are kept, some 40 MB; of files with others it is known only that they wait."""
K1, B = 1.2, 0.75
"""BM25's usual saturation and length normalisation; a word counts as standing once in a file."""
GOOD = 0.5
"""Of the best file's score, below which a file is not read for a question."""
_SHORT = 3
"""Letters up to which a term is a whole word; longer ones are stems."""
_END = b"\n" * (LONGEST + 1)
"""Behind the last word: whoever compares letters need not look where they end."""


class _Held(Struct, frozen=True):
    """All that was taken in: a word or a name is a number of the vocabulary, a file its place in `paths`."""

    paths: tuple[str, ...]
    sizes: NDArray[np.int64]  # by file: how many words it holds
    files: NDArray[np.int32]  # that hold each word, one word after the other
    starts: NDArray[np.int64]  # [words + 1]
    names: NDArray[np.int32]
    name_starts: NDArray[np.int64]
    letters: NDArray[np.uint8]  # of all words in lower case, each behind an end of line
    lines: NDArray[np.int64]  # where each word's line ends in them
    heads: NDArray[np.uint32]  # the first four letters of each part of a word, as one number, ascending
    parts: NDArray[np.int64]  # where these parts begin in the letters

    def holding(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """The files that hold one of these words."""
        starts, sizes = self.starts[words], self.starts[words + 1] - self.starts[words]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
        found = np.zeros(len(self.paths), bool)
        found[self.files[places]] = True
        return np.flatnonzero(found)


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
        """The files that seem to define one of these names, then others that hold one."""
        held = self._all()
        numbers = np.array([number for name in names for number in self._number(name, held)], np.int64)
        at = np.flatnonzero(np.isin(held.names, numbers))
        certain = np.unique(held.name_starts.searchsorted(at, "right") - 1)
        files = dict.fromkeys([*certain.tolist(), *held.holding(numbers).tolist()])
        return [held.paths[file] for file in files]

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
        count = max(1, int(np.count_nonzero(held.sizes)))
        score = np.zeros(len(held.paths), np.float32)
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * held.sizes * count / max(1, held.sizes.sum())))
        for term in terms:
            files = held.holding(self._words(held, term))
            score[files] += norm[files] * math.log(1 + (count - len(files) + 0.5) / (len(files) + 0.5))
        least = GOOD * float(score.max(initial=0))
        good = np.flatnonzero((score >= least) & (score > 0))
        ranked = (held.paths[file] for file in good[np.argsort(-score[good], kind="stable")].tolist())
        return list(islice(filter(waits, ranked), most))

    def _words(self, held: _Held, term: str) -> NDArray[np.int64]:
        """The words that a term may come from: those in which a part begins like it."""
        if len(term) <= _SHORT or not term.isascii():
            return np.array(self._number(term, held), np.int64)
        start = term[:-1].encode()  # the last letter of a stem may be its own
        low, high = (int.from_bytes(start[:4].ljust(4, fill), "big") for fill in (b"\0", b"\xff"))
        first = int(held.heads.searchsorted(np.uint32(low)))
        at = held.parts[first : int(held.heads.searchsorted(np.uint32(high), "right"))]
        for i, letter in enumerate(start[4:], 4):
            at = at[held.letters[at + i] == letter]
        return np.unique(held.lines.searchsorted(at))

    def prepare(self) -> None:
        """Put together now what was taken in, which takes a fifth of a second for a million lines."""
        self._all()

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
    written = np.frombuffer("".join(f"\n{w}" for w in words).encode("utf-8", "surrogatepass") + _END, np.uint8)
    capital = (written >= 0x41) & (written <= 0x5A)
    letters = written + capital * np.uint8(0x20)
    lines = np.flatnonzero(written == 0x0A)[1 : len(words) + 1]
    plain = (letters >= 0x61) & (letters <= 0x7A)
    begins = plain & (capital | ~np.append(False, plain[:-1]))  # "lock" in "file_lock" and "fileLock", not in "clock"
    places = np.flatnonzero(begins)
    heads = sum(letters[places + i].astype(np.uint32) << np.uint32(24 - 8 * i) for i in range(4))
    order = np.argsort(heads, kind="stable")
    paths = tuple(path for skims, _ in parts for path in skims.paths)
    held, starts = _joined([(numbers, skims.word, skims.start) for skims, numbers in parts])
    sizes = np.diff(starts)
    files = np.repeat(np.arange(len(paths), dtype=np.int32), sizes)[np.argsort(held, kind="stable")]
    by_word = np.cumsum(np.append(0, np.bincount(held, minlength=len(words))), dtype=np.int64)
    names = _joined([(numbers, skims.name, skims.name_start) for skims, numbers in parts])
    return _Held(paths, sizes, files, by_word, *names, letters, lines, heads[order], places[order])


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
