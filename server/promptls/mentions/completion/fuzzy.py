"""Ranked search in a hundred thousand names within milliseconds.

The names stand in rank order (shorter first), so that of many that match alike the first ones are the best.  Built
once and read by any thread afterwards; pure, knows nothing of files or symbols.  Matching is on lower-case NFC text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from promptls.mentions.completion.string_table import Codes, Numbers, Texts, decoded, encoded, mask_of, texts

LONG = 3
"""Letters from which on gaps between them are allowed: two letters in order stand in nearly every name."""


class Tier(IntEnum):
    """How a name matches, best first."""

    EXACT = 0  # the whole name
    STEM = 1  # the name up to its first dot
    PREFIX = 2
    WORD = 3  # initials of its words (camelCase, snake_case, kebab-case), or the beginning of one
    INSIDE = 4
    PATH = 5  # somewhere in the path before the name
    SCATTERED = 6  # the letters in order, with gaps


class Haystack:
    """Names with what they stand for.  `whole` is a path and its last segment the name, or both are the same."""

    __slots__ = ("_heads", "_names", "_starts", "_wholes", "keys")

    def __init__(self, entries: Iterable[tuple[str, str]], paths: bool) -> None:
        """`entries` are (whole, key); a name with a line break cannot be searched for and is left out."""
        ranked = sorted(((len(w), w, k) for w, k in entries if "\n" not in w))
        self.keys: list[str] = [key for _, _, key in ranked]
        wholes = _nfc([whole for _, whole, _ in ranked])
        names = [w.rstrip("/").rsplit("/", 1)[-1] for w in wholes] if paths else wholes
        written = "\n".join(["", *names, ""])
        codes = encoded(written)
        self._names = texts(_lower(written))
        self._starts = _word_starts(codes)
        self._heads = texts(decoded(self._names.codes[self._starts | (codes == ord("\n"))]))
        self._wholes = texts(_lower("\n".join(["", *wholes, ""]))) if paths else self._names

    def __len__(self) -> int:
        return len(self.keys)

    def search(self, query: str, limit: int, worst: Tier = Tier.SCATTERED) -> list[tuple[Tier, int]]:
        """The best matches as (tier, index into `keys`), best tier first and in rank order within one.

        At least `limit` of them if there are so many; a query with a slash is matched against whole paths.
        `worst` is the last tier that is looked for.
        """
        found: dict[int, Tier] = {}
        query = _lower(_nfc([query])[0])
        for tier, indexes in self._in_path(query) if "/" in query else self._in_name(query):
            if tier > worst:
                break
            for index in indexes[: limit + len(found)].tolist():
                found.setdefault(index, tier)
            if len(found) >= limit:
                break
        return sorted((tier, index) for index, tier in found.items())

    def alike(self, name: str, least: float) -> list[tuple[float, int]]:
        """Names with at least this RapidFuzz ratio (0 to 100) to `name`: (ratio, index), in no order."""
        name = _lower(_nfc([name])[0])
        # A letter that only one of two names has costs at least one edit, so few are left to compare.
        most = ((100 - least) / 100 * (self._names.lengths + len(name))).astype(np.int64)
        close = (self._unlike(name) <= most) & (np.abs(self._names.lengths - len(name)) <= most)
        return [
            (score, index)
            for index in np.flatnonzero(close).tolist()
            if (score := fuzz.ratio(name, self._names.text(index), score_cutoff=least))
        ]

    def near(self, name: str, errors: int) -> list[tuple[int, int]]:
        """Names within so many typing errors (letters wrong, missing, too many or swapped): (errors, index)."""
        name = _lower(_nfc([name])[0])
        close = (self._unlike(name) <= 2 * errors) & (np.abs(self._names.lengths - len(name)) <= errors)
        found = (
            (OSA.distance(name, self._names.text(index), score_cutoff=errors), index)
            for index in np.flatnonzero(close).tolist()
        )
        return [(distance, index) for distance, index in found if distance <= errors]

    def _unlike(self, name: str) -> NDArray[np.int64]:
        """How many kinds of letters are in one name but not in the other."""
        unlike: NDArray[np.int64] = np.bitwise_count(self._names.masks ^ mask_of(name)).astype(np.int64)
        return unlike

    def _in_name(self, query: str) -> Iterator[tuple[Tier, Numbers]]:
        """Names by tier, best first; those of a better tier may come again."""
        names = self._names
        if not query:
            yield Tier.PREFIX, np.arange(len(self.keys))
            return
        begin = names.beginning(query)
        yield from _by_ending(names, begin, len(query))
        yield Tier.PREFIX, begin
        places = names.hits(query)
        of, word = names.of(places), self._starts[places]
        initials = self._heads.beginning(query) if len(query) > 1 else begin
        yield Tier.WORD, np.union1d(initials, of[word])
        yield Tier.INSIDE, np.unique(of)
        if self._wholes is not names:
            yield Tier.PATH, np.unique(self._wholes.of(self._wholes.hits(query)))
        if len(query) >= LONG:
            yield Tier.SCATTERED, names.scattered(query)

    def _in_path(self, query: str) -> Iterator[tuple[Tier, Numbers]]:
        """The same for a query with a slash."""
        wholes = self._wholes
        begin = wholes.beginning(query)
        yield Tier.EXACT, begin[wholes.lengths[begin] == len(query)]
        places = wholes.hits(query)
        of, word = wholes.of(places), wholes.codes[places - 1] == ord("/")
        tail = wholes.codes[places + len(query)] == ord("\n")
        yield Tier.STEM, np.unique(of[word & tail])
        yield Tier.PREFIX, begin
        yield Tier.WORD, np.unique(of[word])
        yield Tier.INSIDE, np.unique(of)
        yield Tier.SCATTERED, wholes.scattered(query)


def _by_ending(names: Texts, begin: Numbers, length: int) -> Iterator[tuple[Tier, Numbers]]:
    """Of names that begin with so many letters asked for, those that end there, and those whose stem does."""
    behind = names.codes[names.at[begin] + length]
    yield Tier.EXACT, begin[behind == ord("\n")]
    yield Tier.STEM, begin[behind == ord(".")]


def _nfc(names: Sequence[str]) -> list[str]:
    return [name if name.isascii() else unicodedata.normalize("NFC", name) for name in names]


def _lower(text: str) -> str:
    """Lower case of the same length, so that offsets stay true."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _word_starts(codes: Codes) -> NDArray[np.bool_]:
    """Where words begin: after a separator, at a capital after a small letter or before one, at a digit."""
    upper = (codes >= 65) & (codes <= 90)
    digit = (codes >= 48) & (codes <= 57)
    lower = ((codes >= 97) & (codes <= 122)) | (codes > 127)
    alnum = upper | digit | lower
    starts = np.zeros(len(codes), np.bool_)
    before, here = slice(None, -1), slice(1, None)
    starts[here] = (alnum[here] & ~alnum[before]) | (upper[here] & ~upper[before]) | (digit[here] & ~digit[before])
    starts[1:-1] |= upper[:-2] & upper[1:-1] & lower[2:]
    return starts
