"""Ranked search in a hundred thousand names within milliseconds.

The names stand in one string in rank order (shorter first), so that a scan meets the best ones first and
may stop at the limit.  Built once and read by any thread afterwards; pure, knows nothing of files or symbols.
Matching is on lower-case NFC text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

MAX_LOOKS = 10_000
"""How many hits of one scan are looked at; later ones are longer names, and the answer says it is incomplete."""

SCATTERED_LOOKS = 4_000
"""The same where letters have gaps between them: each look costs a search a letter."""

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

    __slots__ = (
        "_heads",
        "_heads_at",
        "_lengths",
        "_name_at",
        "_name_masks",
        "_names",
        "_starts",
        "_whole_at",
        "_whole_masks",
        "_wholes",
        "keys",
    )

    def __init__(self, entries: Iterable[tuple[str, str]], paths: bool) -> None:
        """`entries` are (whole, key); a name with a line break cannot be searched for and is left out."""
        ranked = sorted(((len(w), w, k) for w, k in entries if "\n" not in w))
        self.keys: list[str] = [key for _, _, key in ranked]
        wholes = _nfc([whole for _, whole, _ in ranked])
        names = [w.rstrip("/").rsplit("/", 1)[-1] for w in wholes] if paths else wholes
        text = "\n" + "\n".join(names) + "\n"
        self._names = _lower(text)
        self._name_at = _offsets(names)
        codes = _codes(text)
        self._starts = _word_starts(codes)
        self._heads = _decode(_codes(self._names)[self._starts | (codes == 10)])
        self._heads_at = (np.flatnonzero(_codes(self._heads) == 10)[:-1] + 1).tolist()
        self._name_masks = _masks(_codes(self._names), self._name_at)
        self._lengths = np.fromiter(map(len, names), np.int64, len(names))
        if paths:
            self._wholes = _lower("\n" + "\n".join(wholes) + "\n")
            self._whole_at = _offsets(wholes)
            self._whole_masks = _masks(_codes(self._wholes), self._whole_at)
        else:
            self._wholes, self._whole_at, self._whole_masks = self._names, self._name_at, self._name_masks

    def __len__(self) -> int:
        return len(self.keys)

    def search(self, query: str, limit: int, worst: Tier = Tier.SCATTERED) -> list[tuple[Tier, int]]:
        """The best matches as (tier, index into `keys`), best tier first and in rank order within one.

        At least `limit` of them if there are so many; a query with a slash is matched against whole paths.
        `worst` is the last tier that is looked for.
        """
        found: dict[int, Tier] = {}
        query = _lower(_nfc([query])[0])
        for index, tier in self._in_path(query) if "/" in query else self._in_name(query, worst):
            if index not in found and tier <= worst:
                found[index] = tier
                # One tier more than asked for is never needed, and scans give their hits in rank order.
                if (len(found) >= limit and tier <= Tier.PREFIX) or len(found) >= 2 * limit:
                    break
        return sorted((tier, index) for index, tier in found.items())

    def alike(self, name: str, least: float) -> list[tuple[float, int]]:
        """Names with at least this RapidFuzz ratio (0 to 100) to `name`: (ratio, index), in no order."""
        name = _lower(_nfc([name])[0])
        # A letter that only one of two names has costs at least one edit, so few are left to compare.
        most = ((100 - least) / 100 * (self._lengths + len(name))).astype(np.int64)
        close = (self._unlike(name) <= most) & (np.abs(self._lengths - len(name)) <= most)
        return [
            (score, index)
            for index in np.flatnonzero(close).tolist()
            if (score := fuzz.ratio(name, self._name(index), score_cutoff=least))
        ]

    def near(self, name: str, errors: int) -> list[tuple[int, int]]:
        """Names within so many typing errors (letters wrong, missing, too many or swapped): (errors, index)."""
        name = _lower(_nfc([name])[0])
        close = (self._unlike(name) <= 2 * errors) & (np.abs(self._lengths - len(name)) <= errors)
        found = (
            (OSA.distance(name, self._name(index), score_cutoff=errors), index)
            for index in np.flatnonzero(close).tolist()
        )
        return [(distance, index) for distance, index in found if distance <= errors]

    def _name(self, index: int) -> str:
        start = self._name_at[index]
        return self._names[start : start + int(self._lengths[index])]

    def _unlike(self, name: str) -> NDArray[np.int64]:
        """How many kinds of letters are in one name but not in the other."""
        mask = np.bitwise_or.reduce(_bits(_codes(name)))
        unlike: NDArray[np.int64] = np.bitwise_count(self._name_masks ^ mask).astype(np.int64)
        return unlike

    def _in_name(self, query: str, worst: Tier) -> Iterator[tuple[int, Tier]]:
        if not query:
            yield from ((index, Tier.PREFIX) for index in range(len(self.keys)))
            return
        names, at = self._names, self._name_at
        yield from _at_start(names, at, query, ((f"\n{query}\n", Tier.EXACT), (f"\n{query}.", Tier.STEM)))
        if len(query) > 1:
            yield from ((index, Tier.WORD) for index, _ in _scan(self._heads, f"\n{query}", self._heads_at))
        inside: list[int] = []
        starts = self._starts
        for index, position in _scan(names, query, at):
            if starts[position]:
                yield index, Tier.WORD
            else:
                inside.append(index)
        yield from ((index, Tier.INSIDE) for index in inside)
        if self._wholes is not names and worst >= Tier.PATH:
            yield from ((index, Tier.PATH) for index, _ in _scan(self._wholes, query, self._whole_at))
        if len(query) >= LONG and worst >= Tier.SCATTERED:
            yield from _scattered(query, names, at, self._name_masks)

    def _in_path(self, query: str) -> Iterator[tuple[int, Tier]]:
        text, at = self._wholes, self._whole_at
        yield from _at_start(text, at, query, ((f"\n{query}\n", Tier.EXACT),))
        inside: list[int] = []
        for index, position in _scan(text, query, at):
            if text[position - 1] != "/":
                inside.append(index)
            else:
                whole_tail = text.startswith("\n", position + len(query))
                yield index, Tier.STEM if whole_tail else Tier.WORD
        yield from ((index, Tier.INSIDE) for index in inside)
        yield from _scattered(query, text, at, self._whole_masks)


def _at_start(text: str, at: list[int], query: str, better: Sequence[tuple[str, Tier]]) -> Iterator[tuple[int, Tier]]:
    """Entries that begin with the query, those with one of the `better` needles first."""
    if f"\n{query}" not in text:
        return
    for needle, tier in (*better, (f"\n{query}", Tier.PREFIX)):
        yield from ((index, tier) for index, _ in _scan(text, needle, at))


def _scan(text: str, needle: str, at: list[int]) -> Iterator[tuple[int, int]]:
    """(index, position) of the first hit in each entry, in rank order."""
    shift = 1 if needle[0] == "\n" else 0
    position = text.find(needle)
    last = len(at) - 1
    for _ in range(MAX_LOOKS):
        if position < 0:
            return
        index = bisect_right(at, position + shift) - 1
        yield index, position + shift
        if index >= last:
            return
        position = text.find(needle, at[index + 1] - 1)


def _scattered(query: str, text: str, at: list[int], masks: NDArray[np.uint64]) -> Iterator[tuple[int, Tier]]:
    """Entries that hold the letters of the query in order; the masks rule out nearly all that do not."""
    wanted = np.bitwise_or.reduce(_bits(_codes(query)))
    for index in np.flatnonzero((masks & wanted) == wanted)[:SCATTERED_LOOKS].tolist():
        position = at[index]
        end = at[index + 1] - 1 if index + 1 < len(at) else len(text) - 1
        for char in query:
            position = text.find(char, position, end) + 1
            if not position:
                break
        else:
            yield index, Tier.SCATTERED


def _nfc(names: Sequence[str]) -> list[str]:
    return [name if name.isascii() else unicodedata.normalize("NFC", name) for name in names]


def _lower(text: str) -> str:
    """Lower case of the same length, so that offsets stay true."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _offsets(names: Sequence[str]) -> list[int]:
    """Where each name begins in the text with a line break before, between and behind them."""
    return list(accumulate((len(name) + 1 for name in names[:-1]), initial=1)) if names else []


def _codes(text: str) -> NDArray[Any]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _decode(codes: NDArray[Any]) -> str:
    return codes.tobytes().decode("ascii" if codes.dtype == np.uint8 else "utf-32-le", "surrogatepass")


def _word_starts(codes: NDArray[Any]) -> NDArray[np.bool_]:
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


def _bits(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """One of 64 bits for each character: letters and digits have their own."""
    return _TABLE[np.where(codes < 128, codes, 128 + (codes & 3))]


def _masks(codes: NDArray[Any], at: list[int]) -> NDArray[np.uint64]:
    """The set of characters of each name as bits."""
    if not at:
        return np.zeros(0, np.uint64)
    parts = []
    step = 1 << 14  # names at once: eight bytes a character add up
    for first in range(0, len(at), step):
        end = at[first + step] if first + step < len(at) else len(codes)
        part = np.array(at[first : first + step])
        parts.append(np.bitwise_or.reduceat(_bits(codes[part[0] : end]), part - part[0]) & ~_BREAK)
    return np.concatenate(parts)


def _table() -> NDArray[np.uint64]:
    own = "abcdefghijklmnopqrstuvwxyz0123456789_-./"
    bits = [own.index(chr(c)) if chr(c) in own else 40 + c % 19 for c in range(128)] + [60, 61, 62, 63]
    bits[10] = 59
    return np.array([1 << bit for bit in bits], np.uint64)


_TABLE = _table()
_BREAK = _TABLE[10]  # no name has a line break; nothing else has its bit
