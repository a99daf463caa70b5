"""Many short texts in one array of characters: which begin with some letters, hold them, or hold them with gaps.

The texts stand one after the other in the order given, with a line break before, between and behind them, as few
bytes a character as the widest one needs.  Each question is a few passes over arrays, so that a hundred thousand
texts take a millisecond or two.  Knows nothing of files or symbols; answers are numbers of texts, ascending.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger[Any]]
Numbers = NDArray[np.int64]

MOST_HITS = 20_000
"""Hits of one search that are looked at; later ones are in later texts."""
MOST_SCATTERED = 4_000
"""Texts that are looked at where letters have gaps between them."""

_BLOCK = 1 << 18  # characters compared at a time: what fits into the processor's cache
_CELLS = 1 << 17  # the same, of texts side by side
_BREAK = ord("\n")


class Texts(Struct, frozen=True):
    """The texts; none holds a line break."""

    codes: Codes
    at: Numbers  # where each begins
    lengths: Numbers
    first: Codes  # the first character of each; of an empty one the line break behind it
    masks: NDArray[np.uint64]  # the kinds of characters in each, as bits
    often: NDArray[np.int64]  # how often each of 256 codes occurs, others by their last eight bits

    def __len__(self) -> int:
        return len(self.at)

    def text(self, number: int) -> str:
        """One of them."""
        start = int(self.at[number])
        return decoded(self.codes[start : start + int(self.lengths[number])])

    def beginning(self, query: str) -> Numbers:
        """Those that begin so."""
        letters = [ord(char) for char in query]
        if not letters or _BREAK in letters:
            return np.zeros(0, np.int64)
        found = np.flatnonzero(self.first == letters[0])
        for i, letter in enumerate(letters[1:], 1):
            found = found[self.codes[self.at[found] + i] == letter]
        return found

    def hits(self, query: str, most: int = MOST_HITS) -> Numbers:
        """Where the letters stand, in whichever text, ascending; about `most` of these places if there are more."""
        letters = [ord(char) for char in query]
        places = len(self.codes) - len(letters) + 1
        if not letters or _BREAK in letters or places <= 0:
            return np.zeros(0, np.int64)
        rare, *others = sorted(range(len(letters)), key=lambda i: int(self.often[letters[i] & 255]))
        found: list[Numbers] = []
        count = 0
        for start in range(0, places, _BLOCK):
            end = min(start + _BLOCK, places)
            here = self.codes[start + rare : end + rare] == letters[rare]
            for i in others[:1]:  # two passes over everything leave few places for the rest
                here &= self.codes[start + i : end + i] == letters[i]
            at = np.flatnonzero(here) + start
            for i in others[1:]:
                at = at[self.codes[at + i] == letters[i]]
            found.append(at)
            count += len(at)
            if count >= most:
                break
        return np.concatenate(found)

    def of(self, places: Numbers) -> Numbers:
        """The number of the text at each place."""
        return np.asarray(self.at.searchsorted(places, "right") - 1)

    def scattered(self, query: str) -> Numbers:
        """Those of the first `MOST_SCATTERED` with all its letters that hold them in order, with or without gaps."""
        wanted = mask_of(query)
        rows = np.flatnonzero((self.masks & wanted) == wanted)[:MOST_SCATTERED]
        found = [np.zeros(0, np.int64)]
        while len(rows):
            widths = np.maximum.accumulate(self.lengths[rows])
            fit = max(1, int(np.searchsorted(widths * np.arange(1, len(rows) + 1), _CELLS, "right")))
            found.append(self._in_order(rows[:fit], int(widths[fit - 1]), query))
            rows = rows[fit:]
        return np.concatenate(found)

    def _in_order(self, rows: Numbers, width: int, query: str) -> Numbers:
        """Those of some texts, none longer than `width`, that hold the letters of the query in order."""
        columns = np.arange(width)
        block = self.codes[np.minimum(self.at[rows, None] + columns, len(self.codes) - 1)]
        inside = columns < self.lengths[rows, None]
        last = np.full(len(rows), -1, np.int64)
        for char in query:
            match = (block == ord(char)) & (columns > last[:, None]) & inside
            last = match.argmax(axis=1)
            kept = match[np.arange(len(rows)), last]
            rows, block, inside, last = rows[kept], block[kept], inside[kept], last[kept]
            if not len(rows):
                break
        return rows


def texts(lines: str) -> Texts:
    """The lines of a text that begins and ends with a line break."""
    codes = encoded(lines)
    breaks = np.flatnonzero(codes == _BREAK)
    at = breaks[:-1] + 1
    often = np.zeros(256, np.int64)
    for start in range(0, len(codes), _BLOCK):  # eight bytes a character while they are counted
        often += np.bincount(codes[start : start + _BLOCK] & 255, minlength=256)
    return Texts(codes, at, np.diff(breaks) - 1, codes[at], _masks(codes, at), often)


def encoded(text: str) -> Codes:
    """A code for each character, as few bytes wide as the widest one needs."""
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes


def decoded(codes: Codes) -> str:
    """The inverse of `encoded`."""
    if codes.dtype == np.uint8:
        return codes.tobytes().decode("latin-1")
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def mask_of(text: str) -> np.uint64:
    """The kinds of characters in a text as bits: letters and digits have their own."""
    kinds: np.uint64 = np.bitwise_or.reduce(_bits(encoded(text)), initial=np.uint64(0))
    return kinds


def _bits(codes: Codes) -> NDArray[np.uint64]:
    return _TABLE[np.where(codes < 128, codes, 128 + (codes & 3))]


def _masks(codes: Codes, at: Numbers) -> NDArray[np.uint64]:
    parts = [np.zeros(0, np.uint64)]
    step = 1 << 14  # texts at once: eight bytes a character add up
    for first in range(0, len(at), step):
        end = int(at[first + step]) if first + step < len(at) else len(codes)
        part = at[first : first + step]
        parts.append(np.bitwise_or.reduceat(_bits(codes[part[0] : end]), part - part[0]) & ~_TABLE[_BREAK])
    return np.concatenate(parts)


def _table() -> NDArray[np.uint64]:
    own = "abcdefghijklmnopqrstuvwxyz0123456789_-./"
    bits = [own.index(chr(c)) if chr(c) in own else 40 + c % 19 for c in range(128)] + [60, 61, 62, 63]
    bits[_BREAK] = 59  # no text has one; nothing else has its bit
    return np.array([1 << bit for bit in bits], np.uint64)


_TABLE = _table()
