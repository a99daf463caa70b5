"""Fuzzy search over many names: ranked matches among a hundred thousand names in a few milliseconds.

Names are stored in rank order (code before prose, shorter first), so the first of many equal matches are the best.  An index is
immutable and may be used from any thread.  Matching uses lower-case NFC text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from promptls.knowledge.project.file_kind import is_prose_path
from promptls.mentions.completion.string_table import (
    JUMP,
    CharCodes,
    Indices,
    StringTable,
    build_string_table,
    char_mask,
    decode,
    encode,
)

MIN_SUBSEQUENCE_LENGTH = 3
"""Minimum number of letters for subsequence matches: nearly every name contains two given letters in order."""

MAX_MISSPELLED_CANDIDATES = 2_000
"""Maximum number of names whose edit distance to a misspelled name is computed."""

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

    __slots__ = ("_initials", "_names", "_whole_word_starts", "_wholes", "_word_starts", "keys")

    def __init__(self, entries: Iterable[tuple[str, str]], paths: bool) -> None:
        """Build the index from (whole text, key) entries; a text with a line break is left out."""
        ranked = sorted(
            (paths and is_prose_path(whole), len(whole), whole, key) for whole, key in entries if "\n" not in whole
        )
        self.keys: list[str] = [key for *_, key in ranked]
        wholes = _nfc([whole for _, _, whole, _ in ranked])
        names = [whole.rstrip("/").rsplit("/", 1)[-1] for whole in wholes] if paths else wholes
        lines = "\n".join(["", *names, ""])
        codes = encode(lines)
        self._names = build_string_table(_lower(lines))
        self._word_starts = _find_word_starts(codes)
        self._initials = build_string_table(decode(self._names.codes[self._word_starts | (codes == ord("\n"))]))
        self._wholes, self._whole_word_starts = self._names, self._word_starts
        if paths:
            lines = "\n".join(["", *wholes, ""])
            codes = encode(lines)
            self._wholes, self._whole_word_starts = build_string_table(_lower(lines)), _find_word_starts(codes)
            self._whole_word_starts[1:] &= codes[:-1] != ord(".")  # an extension is not a word of the path

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
        query = _lower(_nfc([query])[0])
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
        rows, penalties = self._wholes.subsequence_matches(query, self._whole_word_starts)
        if self._wholes is not self._names and not in_paths:
            # Letters within the words of a long path are there by chance.
            at_words = penalties < JUMP
            rows, penalties = rows[at_words], penalties[at_words] + _ACROSS_FOLDERS
            in_name, name_penalties = self._names.subsequence_matches(query, self._word_starts)
            rows, penalties = np.concatenate([in_name, rows]), np.concatenate([name_penalties, penalties])
        order = np.lexsort((rows, penalties))
        rows, penalties = rows[order], penalties[order]
        firsts = np.sort(np.unique(rows, return_index=True)[1])
        return rows[firsts].tolist(), penalties[firsts].tolist()

    def misspelled(self, query: str, max_edits: int) -> list[tuple[int, int]]:
        """Return (edit distance, index) for names that start with a misspelling of the query, best first.

        The first letter must be right; checks only the first `MAX_MISSPELLED_CANDIDATES` names with most letters.
        """
        query = _lower(_nfc([query])[0])
        names = self._names
        if not query or not len(names):
            return []
        missing = np.bitwise_count(char_mask(query) & ~names.masks)
        rows = np.flatnonzero((missing <= max_edits) & (names.first_codes == ord(query[0])))
        found: list[tuple[int, int]] = []
        for row in rows[:MAX_MISSPELLED_CANDIDATES].tolist():
            name = names.text(row)
            distance = min(OSA.distance(query, name[: len(query) + i], score_cutoff=max_edits) for i in (-1, 0, 1))
            if distance <= max_edits:
                found.append((distance, row))
        return sorted(found)

    def similar(self, name: str, min_ratio: float) -> list[tuple[float, int]]:
        """Return (RapidFuzz ratio of 0 to 100, index) for all names with at least `min_ratio`, unsorted."""
        name = _lower(_nfc([name])[0])
        # A letter kind that only one of two names has costs at least one edit; this leaves few names to compare.
        max_edits = ((100 - min_ratio) / 100 * (self._names.lengths + len(name))).astype(np.int64)
        close = (self._mask_distances(name) <= max_edits) & (np.abs(self._names.lengths - len(name)) <= max_edits)
        return [
            (ratio, row)
            for row in np.flatnonzero(close).tolist()
            if (ratio := fuzz.ratio(name, self._names.text(row), score_cutoff=min_ratio))
        ]

    def within_edits(self, name: str, max_edits: int) -> list[tuple[int, int]]:
        """Return (edit distance, index) for all names within `max_edits` edits, transpositions included."""
        name = _lower(_nfc([name])[0])
        close = (self._mask_distances(name) <= 2 * max_edits) & (np.abs(self._names.lengths - len(name)) <= max_edits)
        distances = (
            (OSA.distance(name, self._names.text(row), score_cutoff=max_edits), row)
            for row in np.flatnonzero(close).tolist()
        )
        return [(distance, row) for distance, row in distances if distance <= max_edits]

    def _mask_distances(self, name: str) -> NDArray[np.int64]:
        """Return, for every name, the number of letter kinds that only one of the two names contains."""
        distances: NDArray[np.int64] = np.bitwise_count(self._names.masks ^ char_mask(name)).astype(np.int64)
        return distances

    def _name_tiers(self, query: str) -> Iterator[tuple[MatchTier, Indices]]:
        """Yield matching names by tier, best first; matches of a better tier may be repeated."""
        names = self._names
        if not query:
            yield MatchTier.PREFIX, np.arange(len(self.keys))
            return
        prefixed = names.prefix_matches(query)
        yield from _exact_and_stem(names, prefixed, len(query))
        yield MatchTier.PREFIX, prefixed
        offsets = names.substring_offsets(query)
        rows, at_word_start = names.rows_at(offsets), self._word_starts[offsets]
        initials = self._initials.prefix_matches(query) if len(query) > 1 else prefixed
        yield MatchTier.WORD, np.union1d(initials, rows[at_word_start])
        yield MatchTier.SUBSTRING, np.unique(rows)
        if self._wholes is not names:
            yield MatchTier.PATH, np.unique(self._wholes.rows_at(self._wholes.substring_offsets(query)))

    def _path_tiers(self, query: str) -> Iterator[tuple[MatchTier, Indices]]:
        """Yield matching whole paths by tier, for a query with a slash."""
        wholes = self._wholes
        prefixed = wholes.prefix_matches(query)
        yield MatchTier.EXACT, prefixed[wholes.lengths[prefixed] == len(query)]
        offsets = wholes.substring_offsets(query)
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


def _nfc(names: Sequence[str]) -> list[str]:
    return [name if name.isascii() else unicodedata.normalize("NFC", name) for name in names]


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
