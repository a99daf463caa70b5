"""Prescan: words and probable definitions of files that wait to be outlined, without a grammar.

A prescan takes a tenth of the time of outlines.  The words and names of a whole workspace are therefore available
soon, and select the waiting files that should be read first for a question.  Their exact symbols are known once they
are parsed.  Workers run `prescan`.  The indexer's thread merges the results into a `PrescanIndex`, which any thread may
query, and which is cleared when no file is waiting.  `find_definitions` searches files that are not prescanned yet.
"""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, compress, islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.files.read import FileLimits, UnreadableFile, read_text
from promptls.index.search.analyzer import STOP_WORDS, split_runs
from promptls.index.search.term_dictionary import TermDictionary
from promptls.model import CancelToken
from promptls.util import bm25

MIN_WORD_LENGTH, MAX_WORD_LENGTH = 2, 64
"""Minimum and maximum length of a word in characters; longer runs are data."""
DEFINITION_KEYWORDS = frozenset(
    "class def defmodule defp defmacro enum fn fun func function interface macro macro_rules module namespace package "
    "protocol struct sub trait type typedef union".split()
)
"""Keywords that precede the name of a function, type or module in its definition, in most languages."""
_KEYWORDS = DEFINITION_KEYWORDS | {"CLASS", "FUNCTION", "PROCEDURE", "TABLE", "VIEW"}
_NOT_NAMES = STOP_WORDS | _KEYWORDS


class PrescanBatch(Struct, frozen=True, array_like=True, gc=False):
    """Words and defined names of a batch of files, as word IDs.

    File i contains `words[n]` for n in `word_ids[word_starts[i]:word_starts[i + 1]]`, each once.  `name_ids` and
    `name_starts` give the names that it probably defines in the same way.
    """

    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    word_ids: bytes = b""  # int32
    word_starts: bytes = b""  # int32[len(paths) + 1]
    name_ids: bytes = b""  # int32
    name_starts: bytes = b""  # int32[len(paths) + 1]


def prescan(texts: Iterable[tuple[str, str]]) -> PrescanBatch:
    """Prescan texts, given as (path, text)."""
    ids: dict[str, int] = {}
    paths: list[str] = []
    word_ids: list[list[int]] = []
    name_ids: list[list[int]] = []
    for path, text in texts:
        words = split_runs(text)
        distinct = {run for run in set(words) if MIN_WORD_LENGTH <= len(run) <= MAX_WORD_LENGTH}
        defined = set(compress(words[1:], map(_KEYWORDS.__contains__, words))) & distinct - _NOT_NAMES
        word_ids.append([ids.setdefault(run, len(ids)) for run in distinct])
        name_ids.append([ids[run] for run in defined])
        paths.append(path)
    return PrescanBatch(tuple(paths), tuple(ids), *_flatten(word_ids), *_flatten(name_ids))


def _flatten(lists: list[list[int]]) -> tuple[bytes, bytes]:
    """Return the concatenated lists, and the offsets at which each list starts, followed by the end."""
    values = np.fromiter(chain.from_iterable(lists), np.int32)
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return values.tobytes(), offsets.tobytes()


MAX_WORDS = 2_000_000
"""Maximum number of distinct words, about 40 MB; batches beyond it are not indexed."""
K1, B = 1.2, 0.75
"""Usual BM25 parameters for saturation and length normalization; each word counts once per file."""
MIN_SCORE_SHARE = 0.5
"""Minimum score of a file, as a share of the best score, for it to be read first."""
_MAX_WHOLE_WORD = 3
"""Maximum length of a term that must match a whole word; longer terms are stems."""
_PADDING = b"\n" * (MAX_WORD_LENGTH + 1)
"""Padding after the last word, so that comparing letters needs no bounds check."""


class _Postings(Struct, frozen=True):
    """Postings of all merged batches; words and names are term dictionary IDs, files are indices into `paths`."""

    paths: tuple[str, ...]
    sizes: NDArray[np.int64]  # number of words by file
    files: NDArray[np.int32]  # posting lists: the files that contain each word, concatenated
    starts: NDArray[np.int64]  # [words + 1], offsets into `files`
    names: NDArray[np.int32]
    name_starts: NDArray[np.int64]
    letters: NDArray[np.uint8]  # all words in lower case, each after a line feed
    line_ends: NDArray[np.int64]  # offset in `letters` at which each word ends
    part_prefixes: NDArray[np.uint32]  # first four letters of each word part as one number, ascending
    part_offsets: NDArray[np.int64]  # offsets in `letters` at which these parts begin

    def files_with_any(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the files that contain one of the words."""
        starts, sizes = self.starts[words], self.starts[words + 1] - self.starts[words]
        ends = np.cumsum(sizes)
        positions = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
        contains = np.zeros(len(self.paths), bool)
        contains[self.files[positions]] = True
        return np.flatnonzero(contains)


class PrescanIndex:
    """Thread-safe index of prescanned files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dictionary = TermDictionary()
        self._batches: list[tuple[PrescanBatch, NDArray[np.int32]]] = []
        self._paths: set[str] = set()
        self._built: _Postings | None = None
        self._sorted_names: tuple[_Postings, list[tuple[str, str, str]]] | None = None

    def clear(self) -> None:
        """Drop everything: no file is waiting."""
        with self._lock:
            if self._batches:
                self._dictionary, self._batches, self._paths = TermDictionary(), [], set()
                self._built = self._sorted_names = None

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def merge(self, batch: PrescanBatch) -> bool:
        """Add a batch of prescanned files; return False if the index is full."""
        with self._lock:
            if len(self._dictionary) >= MAX_WORDS:
                return False
            self._batches.append((batch, self._dictionary.intern(batch.words)))
            self._paths.update(batch.paths)
            self._built = None
            return True

    def files_defining(self, names: Collection[str]) -> list[str]:
        """Return the files that probably define one of the names, then files that only contain one."""
        postings = self._postings()
        ids = np.array([number for name in names for number in self._word_ids(name, postings)], np.int64)
        positions = np.flatnonzero(np.isin(postings.names, ids))
        defining = np.unique(postings.name_starts.searchsorted(positions, "right") - 1)
        files = dict.fromkeys([*defining.tolist(), *postings.files_with_any(ids).tolist()])
        return [postings.paths[file] for file in files]

    def names_starting_with(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield (name, path) for defined names that start with `prefix`, case-insensitive and sorted."""
        postings = self._postings()
        if self._sorted_names is None or self._sorted_names[0] is not postings:
            self._sorted_names = postings, _sort_names(postings, self._dictionary.terms())
        lower_prefix = prefix.lower()
        names = self._sorted_names[1]
        for i in range(bisect_left(names, (lower_prefix,)), len(names)):
            if not names[i][0].startswith(lower_prefix):
                return
            yield names[i][1:]

    def search(self, terms: Sequence[str], is_waiting: Callable[[str], bool], max_files: int) -> list[str]:
        """Return up to `max_files` waiting files by their BM25 score for the search terms, the best first."""
        postings = self._postings()
        count = max(1, int(np.count_nonzero(postings.sizes)))
        score = np.zeros(len(postings.paths), np.float32)
        norm = bm25.length_norm(postings.sizes * count, max(1, postings.sizes.sum()), K1, B)
        term_scores = bm25.term_score(1, norm, K1)
        for term in terms:
            files = postings.files_with_any(self._words_of_term(postings, term))
            score[files] += term_scores[files] * bm25.inverse_document_frequency(count, len(files))
        min_score = MIN_SCORE_SHARE * float(score.max(initial=0))
        matching = np.flatnonzero((score >= min_score) & (score > 0))
        ranked = (postings.paths[file] for file in matching[np.argsort(-score[matching], kind="stable")].tolist())
        return list(islice(filter(is_waiting, ranked), max_files))

    def _words_of_term(self, postings: _Postings, term: str) -> NDArray[np.int64]:
        """Return the words that may contain a term: those with a part that starts like the term."""
        if len(term) <= _MAX_WHOLE_WORD or not term.isascii():
            return np.array(self._word_ids(term, postings), np.int64)
        prefix = term[:-1].encode()  # stemming may have changed the last letter
        low, high = (int.from_bytes(prefix[:4].ljust(4, fill), "big") for fill in (b"\0", b"\xff"))
        first = int(postings.part_prefixes.searchsorted(np.uint32(low)))
        offsets = postings.part_offsets[first : int(postings.part_prefixes.searchsorted(np.uint32(high), "right"))]
        for i, letter in enumerate(prefix[4:], 4):
            offsets = offsets[postings.letters[offsets + i] == letter]
        return np.unique(postings.line_ends.searchsorted(offsets))

    def prepare(self) -> None:
        """Build the postings now, which takes a fifth of a second for a million lines."""
        self._postings()

    def _postings(self) -> _Postings:
        with self._lock:
            if self._built is None:
                self._built = _build_postings(self._batches, self._dictionary.terms())
            return self._built

    def _word_ids(self, word: str, postings: _Postings) -> list[int]:
        """Return the ID of a word as a list; [] if the postings do not contain it."""
        word_id = self._dictionary.term_id(word)
        return [word_id] if 0 <= word_id < len(postings.line_ends) else []


def _build_postings(batches: Sequence[tuple[PrescanBatch, NDArray[np.int32]]], words: list[str]) -> _Postings:
    text = np.frombuffer("".join(f"\n{w}" for w in words).encode("utf-8", "surrogatepass") + _PADDING, np.uint8)
    is_capital = (text >= 0x41) & (text <= 0x5A)
    letters = text + is_capital * np.uint8(0x20)
    line_ends = np.flatnonzero(text == 0x0A)[1 : len(words) + 1]
    is_letter = (letters >= 0x61) & (letters <= 0x7A)
    # "lock" is a part of "file_lock" and "fileLock", but not of "clock".
    is_part_start = is_letter & (is_capital | ~np.append(False, is_letter[:-1]))
    part_offsets = np.flatnonzero(is_part_start)
    prefixes = sum(letters[part_offsets + i].astype(np.uint32) << np.uint32(24 - 8 * i) for i in range(4))
    order = np.argsort(prefixes, kind="stable")
    paths = tuple(path for batch, _ in batches for path in batch.paths)
    word_ids, starts = _concatenate([(ids, batch.word_ids, batch.word_starts) for batch, ids in batches])
    sizes = np.diff(starts)
    files = np.repeat(np.arange(len(paths), dtype=np.int32), sizes)[np.argsort(word_ids, kind="stable")]
    starts_by_word = np.cumsum(np.append(0, np.bincount(word_ids, minlength=len(words))), dtype=np.int64)
    names = _concatenate([(ids, batch.name_ids, batch.name_starts) for batch, ids in batches])
    return _Postings(
        paths, sizes, files, starts_by_word, *names, letters, line_ends, prefixes[order], part_offsets[order]
    )


def _sort_names(postings: _Postings, words: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the sorted list of (lower-case name, name, path)."""
    files = np.repeat(np.arange(len(postings.paths)), np.diff(postings.name_starts)).tolist()
    pairs = zip(postings.names.tolist(), files, strict=True)
    return sorted((words[name].lower(), words[name], postings.paths[file]) for name, file in pairs)


def _concatenate(
    batches: Sequence[tuple[NDArray[np.int32], bytes, bytes]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the lists of all batches as term dictionary IDs, and the offset of each list, followed by the end."""
    lists = [ids[np.frombuffer(positions, np.int32)] for ids, positions, _ in batches]
    sizes = [np.diff(np.frombuffer(starts, np.int32)) for _, _, starts in batches]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64)
    return np.concatenate([np.zeros(0, np.int32), *lists]), offsets


MAX_DEFINING_FILES = 8
"""Maximum number of files that are read first for requested names."""
EXTRA_SEARCH_S = 0.1
"""Seconds for which the search goes on after the first file that defines a name."""
_MIN_NAME_LENGTH = 3
"""Minimum length of a name, or of a file name, that is matched as a part of the other."""
_SEARCHED_KEYWORDS = DEFINITION_KEYWORDS.union(
    "proc object record const let var val static define data newtype instance impl".split()
)
"""Keywords of definitions, including those of values: the search is limited to the requested names."""
_DEFINITION = rf"\b(?:{'|'.join(sorted(_SEARCHED_KEYWORDS))})\b[^\n]{{0,80}}?(?<![\w$])"
"""Text before the name in a definition, in most languages.  Other languages only match files that contain the name."""


def find_definitions(
    names: Collection[str],
    paths: Iterable[str],
    limits: FileLimits,
    deadline: float,
    token: CancelToken | None,
    roots: Sequence[str] = (),
) -> list[str]:
    """Return up to `MAX_DEFINING_FILES` files that probably define one of the names, the most likely first.

    Files that only contain a name come last.  `deadline` is a value of `time.monotonic()`.

    Raises:
        Cancelled: The request was cancelled.
    """
    longest = sorted(names, key=len, reverse=True)
    definition = re.compile(f"{_DEFINITION}(?:{'|'.join(map(re.escape, longest))})" r"(?![\w$])")
    lowered = [name.lower() for name in longest]
    likely: list[str] = []
    others: list[str] = []
    for path in paths:
        (likely if _is_named_like(path, lowered) else others).append(path)
    defining: list[str] = []
    containing: list[str] = []
    for path in (*likely, *others):
        if token is not None:
            token.check()
        if len(defining) >= MAX_DEFINING_FILES or time.monotonic() > deadline:
            break
        content = read_text(path, limits, roots)
        if isinstance(content, UnreadableFile) or not any(name in content.text for name in longest):
            continue
        if not definition.search(content.text):
            containing.append(path)
            continue
        if not defining:
            deadline = min(deadline, time.monotonic() + EXTRA_SEARCH_S)
        defining.append(path)
    return [*defining, *containing][:MAX_DEFINING_FILES]


def _is_named_like(path: str, names: Iterable[str]) -> bool:
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0].lower().replace("_", "").replace("-", "")
    return len(stem) >= _MIN_NAME_LENGTH and any(
        stem in name or (len(name) >= _MIN_NAME_LENGTH and name in stem) for name in names
    )
