"""String table: many short texts in one array of character codes, with vectorized search.

Texts are stored in the given order, separated by line breaks, with the character width of the widest one.
A search takes a few passes over arrays: a millisecond or two for a hundred thousand texts.  Results are row
numbers in ascending order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

CharCodes = NDArray[np.unsignedinteger[Any]]
Indices = NDArray[np.int64]

MAX_HITS = 20_000
"""Maximum number of hits of one substring search; later ones are in longer texts."""

MAX_SUBSEQUENCE_CANDIDATES = 4_000
"""Maximum number of texts that are checked for a subsequence."""

WORD_JUMP, JUMP = 1, 16
"""Penalties of a subsequence match for a jump to a word start and for any other one: initials are typed on purpose."""

_IMPOSSIBLE = np.int16(1 << 14)  # above every penalty of a mention
_BLOCK = 1 << 18  # characters compared at a time; fits into the processor cache
_CELLS = 1 << 17  # cells of the matrix of texts that are compared at a time
_MASK_ROWS = 1 << 14  # texts masked at a time; limits temporary memory to eight bytes per character
_SEPARATOR = ord("\n")


class StringTable(Struct, frozen=True):
    """Texts without line breaks."""

    codes: CharCodes
    starts: Indices  # offset of each text
    lengths: Indices
    first_codes: CharCodes  # first character of each text, the separator for an empty one
    masks: NDArray[np.uint64]  # kinds of characters in each text, as bits
    frequencies: NDArray[np.int64]  # occurrences of each code, modulo 256

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, row: int) -> str:
        """Return the text of a row."""
        start = int(self.starts[row])
        return decode(self.codes[start : start + int(self.lengths[row])])

    def prefix_matches(self, query: str) -> Indices:
        """Return the rows whose text starts with the query."""
        letters = [ord(char) for char in query]
        if not letters or _SEPARATOR in letters:
            return np.zeros(0, np.int64)
        rows = np.flatnonzero(self.first_codes == letters[0])
        for i, letter in enumerate(letters[1:], 1):
            rows = rows[self.codes[self.starts[rows] + i] == letter]
        return rows

    def substring_offsets(self, query: str, limit: int = MAX_HITS) -> Indices:
        """Return the offsets of the query in all texts, ascending; stops after about `limit` of them."""
        letters = [ord(char) for char in query]
        positions = len(self.codes) - len(letters) + 1
        if not letters or _SEPARATOR in letters or positions <= 0:
            return np.zeros(0, np.int64)
        rarest, *others = sorted(range(len(letters)), key=lambda i: int(self.frequencies[letters[i] & 255]))
        parts: list[Indices] = []
        count = 0
        for start in range(0, positions, _BLOCK):
            end = min(start + _BLOCK, positions)
            matches = self.codes[start + rarest : end + rarest] == letters[rarest]
            for i in others[:1]:  # two passes over the whole block leave few offsets for the other letters
                matches &= self.codes[start + i : end + i] == letters[i]
            offsets = np.flatnonzero(matches) + start
            for i in others[1:]:
                offsets = offsets[self.codes[offsets + i] == letters[i]]
            parts.append(offsets)
            count += len(offsets)
            if count >= limit:
                break
        return np.concatenate(parts)

    def rows_at(self, offsets: Indices) -> Indices:
        """Return the row at each offset."""
        return np.asarray(self.starts.searchsorted(offsets, "right") - 1)

    def subsequence_matches(self, query: str, word_starts: NDArray[np.bool_]) -> tuple[Indices, Indices]:
        """Return the rows that contain the letters of the query in order, with or without gaps, and their penalties.

        The penalty is that of the best alignment: `WORD_JUMP` for each jump to a word start and `JUMP` for each other
        jump, the one to the first letter included.  Letters that follow each other cost nothing.  Checks only the
        first `MAX_SUBSEQUENCE_CANDIDATES` rows that contain all letters.

        Args:
            query: Letters to match.
            word_starts: Marks the offsets in `codes` at which a word starts.
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
                penalties.append(self._penalties(matching, int(widths[count - 1]), query, word_starts))
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

    def _penalties(self, rows: Indices, width: int, query: str, word_starts: NDArray[np.bool_]) -> Indices:
        """Return the lowest penalty of the query in each row; all rows contain it as a subsequence."""
        columns = np.arange(width, dtype=np.int32)
        block = self._block(rows, columns)
        at_word = word_starts[np.minimum(self.starts[rows, None] + columns, len(self.codes) - 1)]
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


def build_string_table(lines: str) -> StringTable:
    """Return the table of the lines of a text that starts and ends with a line break."""
    codes = encode(lines)
    separators = np.flatnonzero(codes == _SEPARATOR)
    starts = separators[:-1] + 1
    frequencies = np.zeros(256, np.int64)
    for start in range(0, len(codes), _BLOCK):  # bincount needs eight bytes per character
        frequencies += np.bincount(codes[start : start + _BLOCK] & 255, minlength=256)
    return StringTable(codes, starts, np.diff(separators) - 1, codes[starts], _row_masks(codes, starts), frequencies)


def encode(text: str) -> CharCodes:
    """Return the character codes of a text, as few bytes wide as the largest one requires."""
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes


def decode(codes: CharCodes) -> str:
    """Return the text of character codes, the inverse of `encode`."""
    if codes.dtype == np.uint8:
        return codes.tobytes().decode("latin-1")
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def char_mask(text: str) -> np.uint64:
    """Return the kinds of characters in a text as bits; letters and digits have a bit each."""
    mask: np.uint64 = np.bitwise_or.reduce(_char_bits(encode(text)), initial=np.uint64(0))
    return mask


def _char_bits(codes: CharCodes) -> NDArray[np.uint64]:
    return _BITS[np.where(codes < 128, codes, 128 + (codes & 3))]


def _row_masks(codes: CharCodes, starts: Indices) -> NDArray[np.uint64]:
    parts = [np.zeros(0, np.uint64)]
    for first in range(0, len(starts), _MASK_ROWS):
        end = int(starts[first + _MASK_ROWS]) if first + _MASK_ROWS < len(starts) else len(codes)
        rows = starts[first : first + _MASK_ROWS]
        masks = np.bitwise_or.reduceat(_char_bits(codes[rows[0] : end]), rows - rows[0])
        parts.append(masks & ~_BITS[_SEPARATOR])
    return np.concatenate(parts)


def _bit_table() -> NDArray[np.uint64]:
    own_bit = "abcdefghijklmnopqrstuvwxyz0123456789_-./"
    bits = [own_bit.index(chr(c)) if chr(c) in own_bit else 40 + c % 19 for c in range(128)] + [60, 61, 62, 63]
    bits[_SEPARATOR] = 59  # used by no other character
    return np.array([1 << bit for bit in bits], np.uint64)


_BITS = _bit_table()
