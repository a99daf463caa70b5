"""Fuzzy search over many names: ranked matches among a hundred thousand names in a few milliseconds.

Names are stored in rank order (code before prose, shorter first), so the first of many equal matches are the best.  An index is
immutable and may be used from any thread.  Matching uses lower-case NFC text.

A `StringTable` holds many short texts in one string, and as an array of character codes.  A search takes a few passes:
a millisecond or two for a hundred thousand texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from promptls.knowledge.project.file_kind import is_prose_path

MIN_SUBSEQUENCE_LENGTH = 3
"""Minimum number of letters for subsequence matches: nearly every name contains two given letters in order."""

_ACROSS_FOLDERS = 2
"""Additional penalty of a subsequence that begins in a folder: names are typed more often."""


class MatchTier(IntEnum):
    """Match quality of a name, best first."""

    EXACT = 0  # the whole name
    STEM = 1  # the name up to its first dot
    PREFIX = 2
    WORD = 3  # initials of words (camelCase, snake_case, kebab-case), or the start of a word
    SUBSTRING = 4
    PATH = 5  # substring of the path before the name
    SUBSEQUENCE = 6  # all letters in order, with gaps, in the name or across the folders


Quality = tuple[MatchTier, int]
"""Tier and penalty of a match; compares best first."""


class Match(NamedTuple):
    """A match of a search; matches compare best first."""

    tier: MatchTier
    penalty: int  # of a subsequence, see `StringTable.subsequence_matches`; else 0
    row: int  # index into `FuzzyIndex.keys`

    @property
    def quality(self) -> Quality:
        """Tier and penalty."""
        return self.tier, self.penalty


class FuzzyIndex:
    """Names with their keys.

    An entry is a whole text, which is searched by queries with a slash, and a name in it.  For paths the name is the
    last segment, otherwise both are equal.
    """

    __slots__ = ("_initials", "_names", "_wholes", "keys")

    def __init__(self, entries: Iterable[tuple[str, str]], paths: bool) -> None:
        """Build the index from (whole text, key) entries; a text with a line break is left out."""
        ranked = sorted(
            (paths and is_prose_path(whole), len(whole), whole, key) for whole, key in entries if "\n" not in whole
        )
        self.keys: list[str] = [key for *_, key in ranked]
        wholes = [unicodedata.normalize("NFC", whole) for _, _, whole, _ in ranked]
        names = [whole.rstrip("/").rsplit("/", 1)[-1] for whole in wholes] if paths else wholes
        self._names = self._wholes = StringTable(names)
        kept = self._names.word_starts | (self._names.codes == _SEPARATOR)
        self._initials = StringTable("".join(compress(self._names.text, kept.tolist())).split("\n")[1:-1])
        if paths:
            self._wholes = StringTable(wholes)
            after_dot = self._wholes.codes[:-1] == ord(".")
            self._wholes.word_starts[1:] &= ~after_dot  # an extension is not a word of the path

    def __len__(self) -> int:
        return len(self.keys)

    def search(self, query: str, limit: int, worst: MatchTier = MatchTier.SUBSEQUENCE) -> list[Match]:
        """Return the best matches, sorted by tier, penalty and rank.

        Args:
            query: Text to match; with a slash it is matched against whole paths.
            limit: Number of matches after which worse tiers are not searched.
            worst: Worst tier to search.
        """
        matches: dict[int, MatchTier] = {}
        query = _lower(unicodedata.normalize("NFC", query))
        if "\n" in query:
            return []
        in_paths = "/" in query
        for tier, rows in self._path_tiers(query) if in_paths else self._name_tiers(query):
            if tier > worst:
                break
            for row in rows[: limit + len(matches)].tolist():
                matches.setdefault(row, tier)
            if len(matches) >= limit:
                break
        found = [Match(tier, 0, row) for row, tier in matches.items()]
        if len(found) < limit and worst >= MatchTier.SUBSEQUENCE and (in_paths or len(query) >= MIN_SUBSEQUENCE_LENGTH):
            scored = zip(*self._subsequences(query, in_paths), strict=True)
            others = ((penalty, row) for row, penalty in scored if row not in matches)
            found += (Match(MatchTier.SUBSEQUENCE, *pair) for pair in islice(others, limit))
        return sorted(found)

    def _subsequences(self, query: str, in_paths: bool) -> tuple[list[int], list[int]]:
        """Return the rows and penalties of subsequence matches, best first."""
        rows, penalties = self._wholes.subsequence_matches(query)
        if self._wholes is not self._names and not in_paths:
            # Letters within the words of a long path are there by chance.
            at_words = penalties < JUMP
            rows, penalties = rows[at_words], penalties[at_words] + _ACROSS_FOLDERS
            in_name, name_penalties = self._names.subsequence_matches(query)
            rows, penalties = np.concatenate([in_name, rows]), np.concatenate([name_penalties, penalties])
        order = np.lexsort((rows, penalties))
        rows, penalties = rows[order], penalties[order]
        firsts = np.sort(np.unique(rows, return_index=True)[1])
        return rows[firsts].tolist(), penalties[firsts].tolist()

    def within_edits(self, name: str) -> list[tuple[int, int]]:
        """Return (edit distance, index) for all names that may be a misspelling, transpositions included."""
        name = _lower(unicodedata.normalize("NFC", name))
        max_edits = 1 if len(name) <= 4 else 2 if len(name) <= 8 else 3
        # A letter kind that only one of two names has costs at least one edit; this leaves few names to compare.
        differing = np.bitwise_count(self._names.masks ^ char_mask(name))
        close = (differing <= 2 * max_edits) & (np.abs(self._names.lengths - len(name)) <= max_edits)
        distances = (
            (OSA.distance(name, self._names.row_text(row), score_cutoff=max_edits), row)
            for row in np.flatnonzero(close).tolist()
        )
        return [(distance, row) for distance, row in distances if distance <= max_edits]

    def _name_tiers(self, query: str) -> Iterator[tuple[MatchTier, Indices]]:
        """Yield matching names by tier, best first; matches of a better tier may be repeated."""
        names = self._names
        if not query:
            yield MatchTier.PREFIX, np.arange(len(self.keys))
            return
        prefixed = names.prefix_matches(query)
        yield from _exact_and_stem(names, prefixed, len(query))
        yield MatchTier.PREFIX, prefixed
        offsets = names.offsets(query)
        rows, at_word_start = names.rows_at(offsets), names.word_starts[offsets]
        initials = self._initials.prefix_matches(query) if len(query) > 1 else prefixed
        yield MatchTier.WORD, np.union1d(initials, rows[at_word_start])
        yield MatchTier.SUBSTRING, np.unique(rows)
        if self._wholes is not names:
            yield MatchTier.PATH, np.unique(self._wholes.rows_at(self._wholes.offsets(query)))

    def _path_tiers(self, query: str) -> Iterator[tuple[MatchTier, Indices]]:
        """Yield matching whole paths by tier, for a query with a slash."""
        wholes = self._wholes
        prefixed = wholes.prefix_matches(query)
        yield MatchTier.EXACT, prefixed[wholes.lengths[prefixed] == len(query)]
        offsets = wholes.offsets(query)
        rows, after_slash = wholes.rows_at(offsets), wholes.codes[offsets - 1] == ord("/")
        at_end = wholes.codes[offsets + len(query)] == ord("\n")
        yield MatchTier.STEM, np.unique(rows[after_slash & at_end])
        yield MatchTier.PREFIX, prefixed
        yield MatchTier.WORD, np.unique(rows[after_slash])
        yield MatchTier.SUBSTRING, np.unique(rows)


def _exact_and_stem(names: StringTable, prefixed: Indices, length: int) -> Iterator[tuple[MatchTier, Indices]]:
    """Split prefix matches of a length into names that end there and names whose stem ends there."""
    following = names.codes[names.starts[prefixed] + length]
    yield MatchTier.EXACT, prefixed[following == ord("\n")]
    yield MatchTier.STEM, prefixed[following == ord(".")]


def _lower(text: str) -> str:
    """Return the text in lower case with the same length, so that offsets remain valid."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _find_word_starts(codes: CharCodes) -> NDArray[np.bool_]:
    """Mark word starts: after a separator, at a digit, at a capital after a small letter or before one."""
    upper = (codes >= 65) & (codes <= 90)
    digit = (codes >= 48) & (codes <= 57)
    lower = ((codes >= 97) & (codes <= 122)) | (codes > 127)
    alnum = upper | digit | lower
    starts = np.zeros(len(codes), np.bool_)
    before, here = slice(None, -1), slice(1, None)
    starts[here] = (alnum[here] & ~alnum[before]) | (upper[here] & ~upper[before]) | (digit[here] & ~digit[before])
    starts[1:-1] |= upper[:-2] & upper[1:-1] & lower[2:]
    return starts


# ---------------------------------------------------------------- string table
# Texts are stored in the given order, separated by line breaks.  Results are row numbers in ascending order.

CharCodes = NDArray[np.unsignedinteger[Any]]
Indices = NDArray[np.int64]

MAX_HITS = 20_000
"""Maximum number of hits of one substring search; later ones are in longer texts."""

MAX_SUBSEQUENCE_CANDIDATES = 4_000
"""Maximum number of texts that are checked for a subsequence."""

WORD_JUMP, JUMP = 1, 16
"""Penalties of a subsequence match for a jump to a word start and for any other one: initials are typed on purpose."""

_IMPOSSIBLE = np.int16(1 << 14)  # above every penalty of a mention
_CELLS = 1 << 17  # cells of the matrix of texts that are compared at a time
_MASK_ROWS = 1 << 14  # texts masked at a time; limits temporary memory to eight bytes per character
_SEPARATOR = ord("\n")


class StringTable:
    """Texts without line breaks, in lower case."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Build the table of texts; the word starts depend on their letter case."""
        lines = "\n".join(["", *texts, ""])
        self.text = _lower(lines)
        self.codes = encode(self.text)
        self.word_starts = _find_word_starts(encode(lines))  # marks offsets in `text`
        separators = np.flatnonzero(self.codes == _SEPARATOR)
        self.starts = (separators[:-1] + 1).astype(np.int32)
        self.lengths = (np.diff(separators) - 1).astype(np.int32)
        self.masks = _row_masks(self.codes, self.starts)  # kinds of characters in each text, as bits

    def __len__(self) -> int:
        return len(self.starts)

    def row_text(self, row: int) -> str:
        """Return the text of a row."""
        start = int(self.starts[row])
        return self.text[start : start + int(self.lengths[row])]

    def prefix_matches(self, query: str) -> Indices:
        """Return the rows whose text starts with the query."""
        rows = np.arange(len(self.starts))
        for i, char in enumerate(query):
            rows = rows[self.codes[self.starts[rows] + i] == ord(char)]
        return rows

    def offsets(self, query: str) -> Indices:
        """Return the first `MAX_HITS` offsets of the query in all texts, ascending."""
        found: list[int] = []
        at = self.text.find(query)
        while at >= 0 and len(found) < MAX_HITS:
            found.append(at)
            at = self.text.find(query, at + 1)
        return np.array(found, np.int64)

    def rows_at(self, offsets: Indices) -> Indices:
        """Return the row at each offset."""
        return np.asarray(self.starts.searchsorted(offsets.astype(np.int32), "right") - 1)

    def subsequence_matches(self, query: str) -> tuple[Indices, Indices]:
        """Return the rows that contain the letters of the query in order, with or without gaps, and their penalties.

        The penalty is that of the best alignment: `WORD_JUMP` for each jump to a word start and `JUMP` for each other
        jump, the one to the first letter included.  Letters that follow each other cost nothing.  Checks only the
        first `MAX_SUBSEQUENCE_CANDIDATES` rows that contain all letters.
        """
        query_mask = char_mask(query)
        rows = np.flatnonzero((self.masks & query_mask) == query_mask)[:MAX_SUBSEQUENCE_CANDIDATES]
        rows = rows[np.argsort(self.lengths[rows], kind="stable")]  # rows of similar length share a matrix
        found, penalties = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(rows):
            widths = self.lengths[rows]
            count = max(1, int(np.searchsorted(widths * np.arange(1, len(rows) + 1), _CELLS, "right")))
            matching = self._filter_subsequence(rows[:count], int(widths[count - 1]), query)
            if len(matching):
                found.append(matching)
                penalties.append(self._penalties(matching, int(widths[count - 1]), query))
            rows = rows[count:]
        all_rows, all_penalties = np.concatenate(found), np.concatenate(penalties)
        order = np.argsort(all_rows)
        return all_rows[order], all_penalties[order]

    def _filter_subsequence(self, rows: Indices, width: int, query: str) -> Indices:
        """Return the rows, none longer than `width`, that contain the query as a subsequence."""
        columns = np.arange(width, dtype=np.int32)
        block = self._block(rows, columns)
        last = np.full(len(rows), -1, np.int32)
        for char in query:
            matches = (block == ord(char)) & (columns > last[:, None])
            last = matches.argmax(axis=1).astype(np.int32)
            kept = matches[np.arange(len(rows)), last]
            rows, block, last = rows[kept], block[kept], last[kept]
            if not len(rows):
                break
        return rows

    def _penalties(self, rows: Indices, width: int, query: str) -> Indices:
        """Return the lowest penalty of the query in each row; all rows contain it as a subsequence."""
        columns = np.arange(width, dtype=np.int32)
        block = self._block(rows, columns)
        at_word = self.word_starts[np.minimum(self.starts[rows, None] + columns, len(self.codes) - 1)]
        jumps = np.where(at_word, WORD_JUMP, JUMP).astype(np.int16)
        costs = np.where(block == ord(query[0]), jumps, _IMPOSSIBLE)
        for char in query[1:]:
            best_before = np.minimum.accumulate(costs, axis=1)
            here = np.full_like(costs, _IMPOSSIBLE)
            here[:, 1:] = np.minimum(costs[:, :-1], best_before[:, :-1] + jumps[:, 1:])
            costs = np.where(block == ord(char), here, _IMPOSSIBLE)
        return np.asarray(costs.min(axis=1), np.int64)

    def _block(self, rows: Indices, columns: NDArray[np.int32]) -> CharCodes:
        """Return the texts of the rows as a matrix, filled up with separators."""
        block: CharCodes = self.codes[np.minimum(self.starts[rows, None] + columns, len(self.codes) - 1)]
        block[columns >= self.lengths[rows, None]] = _SEPARATOR
        return block


def encode(text: str) -> CharCodes:
    """Return the character codes of a text, as few bytes wide as the largest one requires."""
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes


def char_mask(text: str) -> np.uint64:
    """Return the kinds of characters in a text as bits."""
    mask: np.uint64 = np.bitwise_or.reduce(_char_bits(encode(text)), initial=np.uint64(0))
    return mask


def _char_bits(codes: CharCodes) -> NDArray[np.uint64]:
    """Return a bit for each character; small letters, digits and "/._-" have their own ones, the separator has none."""
    bits: NDArray[np.uint64] = np.left_shift(np.uint64(1), (codes.astype(np.uint64) * 19 >> 1) & np.uint64(63))
    bits &= ~np.uint64(1 << (_SEPARATOR * 19 >> 1 & 63))
    return bits


def _row_masks(codes: CharCodes, starts: NDArray[np.int32]) -> NDArray[np.uint64]:
    parts = [np.zeros(0, np.uint64)]
    for first in range(0, len(starts), _MASK_ROWS):
        end = int(starts[first + _MASK_ROWS]) if first + _MASK_ROWS < len(starts) else len(codes)
        rows = starts[first : first + _MASK_ROWS]
        parts.append(np.bitwise_or.reduceat(_char_bits(codes[rows[0] : end]), rows - rows[0]))
    return np.concatenate(parts)
