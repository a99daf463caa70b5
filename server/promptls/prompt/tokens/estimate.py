"""Token estimate for byte-pair vocabularies of 100k to 200k entries, at tens of millions of characters a second.

Before each byte of a text, a token starts with some probability.  Four tables, indexed by hashes of the surrounding
two, three, four and six bytes, add up to this probability.  The estimate is the sum over all bytes.
The tables are fitted by `scripts/evaluate tokens --fit`; see `TABLES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from msgspec import Struct

from promptls.prompt.tokens.characters import UNKNOWN, fitted_vocabulary, raise_to_minimums
from promptls.util.cancellation import check_cancelled, check_each

VOCABULARIES = ("o200k_base", "cl100k_base")

TABLES = "estimate.npz"
"""Probabilities in hundredths, as int8: "two_…", "three_…" and "six_…" by vocabulary, "four" for both.

Each table is the shrunken mean of the residuals of the tables before it, in three rounds over the true token starts.
Training data: 23,000 samples (36 million characters) of 200 to 8,000 characters.  Sources are Python's standard
library, some fifty packages of PyPI, npm, crates.io, RubyGems and the Go proxy with documents and translations,
random base64, hex and hashes, and random characters of the rarer Unicode blocks.  Samples in other scripts than
Latin count four times.
Test data: 12,600 samples of fifty other sources.  The mean absolute error is 3.7 to 3.8 %, each vocabulary by its own
tables.  One sample in a hundred is underestimated by more than 9.3 % (o200k_base) or 10.1 % (cl100k_base).
"""

BITS = {"three": 15, "four": 16, "six": 17}
"""Bits of the hash that indexes each table, hence log2 of its size."""
_A, _B, _C = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)  # odd multipliers of the hashes
_FOLD = bytes(ord("0") if chr(byte) in "0123456789" else byte for byte in range(256))

_BEFORE, _AFTER = 3, 3
_EDGE = b"\n" * 3
_BLOCK = 1 << 14  # bytes per batch: fits into the processor's cache

MARGIN = 4
"""Percent added to the sum of the tables: their error is symmetric, and the budget is a limit."""

WINDOW = 256
"""Bytes over which the uncertainty of the tables is measured."""

CERTAIN, UNCERTAINTY = 0.15, 3.8
"""Uncertainty per token up to which `MARGIN` is enough, and the margin for each unit above.

The uncertainty of a window is the sum of p * (1 - p) over its bytes, where p is the probability of a token start.  It is
0.10 to 0.13 per token in code and in English, and 0.2 to 0.4 in text that the tables were not fitted to: other languages
in Latin script, random letters, symbols.
"""

DENSE, DENSE_MARGIN = 50, 0.35
"""Hundredths of a token for each byte above which text is random (base64, keys), and the margin for each one above."""

_UNCERTAINTY_QUARTERS = bytes(
    5
    if 32 < byte < 127 and not chr(byte).isalnum()
    else 4
    if (byte < 128 and not 48 <= byte < 58) or 0xC3 <= byte < 0xC6
    else 0
    for byte in range(256)
)
"""Weight of the uncertainty at each byte, in quarters: of Latin script, and more of symbols.  Every third digit starts a
token, wherever it is, and the characters of other scripts have minimums."""

Array = Any  # numpy arrays of unsigned 32-bit integers


class Estimate(Struct, frozen=True):
    """An estimating counter; joining two short texts adds at most eight tokens.

    The estimate of a byte depends on the three bytes before and the two after it, so five bytes are estimated again. Each
    adds one token and its margin at most, and the sum is rounded up.
    """

    name: str = "estimate"
    exact: bool = False
    vocabulary: str = UNKNOWN

    def count(self, text: str) -> int:
        """Return the estimated number of tokens, rounded up."""
        data = text.encode("utf-8", "surrogatepass")
        hundredths, start = 0, 0
        while start < len(data):
            check_cancelled()
            end = min(start + _BLOCK, len(data))
            while end < len(data) and data[end] & 0xC0 == 0x80:
                end -= 1  # a character belongs to one block
            before, after = data[max(0, start - _BEFORE) : start], data[end : end + _AFTER]
            block = before.rjust(_BEFORE, b"\n") + data[start:end] + after.ljust(_AFTER, b"\n")
            starts = _token_starts(block, self.vocabulary)
            if start == 0:
                starts[0] = max(starts[0], 100)  # the first byte starts a token
            hundredths += int(_with_margin(starts, block[_BEFORE:-_AFTER], np.arange(0, end - start, WINDOW)).sum())
            start = end
        return _rounded(hundredths, len(data))

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Return `count` of each text, in a fifth of the time for many short texts."""
        counts = [0] * len(texts)
        batch: list[tuple[int, bytes]] = []
        size = 0
        for i, text in enumerate(check_each(texts)):
            data = text.encode("utf-8", "surrogatepass")
            if len(data) > _BLOCK // 2:
                counts[i] = self.count(text)
            elif data:
                batch.append((i, data))
                size += len(data)
            if size > _BLOCK:
                self._count_batch(batch, counts)
                batch, size = [], 0
        self._count_batch(batch, counts)
        return counts

    def _count_batch(self, batch: Sequence[tuple[int, bytes]], counts: list[int]) -> None:
        if not batch:
            return
        joined = b"".join(_EDGE + data + _EDGE for _, data in batch)
        starts = _token_starts(joined, self.vocabulary)
        sizes = np.array([len(data) for _, data in batch])
        first = np.cumsum(sizes + len(_EDGE) * 2) - sizes - len(_EDGE) * 2
        starts[first] = np.maximum(starts[first], 100)
        counts_of = -(-sizes // WINDOW) + 1  # the windows of each text, and one for the edges behind it
        until = np.cumsum(counts_of)
        number = np.arange(until[-1]) - np.repeat(until - counts_of, counts_of)
        bounds = np.repeat(first, counts_of) + np.minimum(number * WINDOW, np.repeat(sizes, counts_of))
        estimates = _with_margin(starts, joined[_BEFORE:-_AFTER], bounds[:-1])
        sums = np.add.reduceat(estimates * (number[:-1] < np.repeat(counts_of - 1, counts_of)[:-1]), until - counts_of)
        for (i, data), hundredths in zip(batch, sums.tolist(), strict=True):
            counts[i] = _rounded(hundredths, len(data))


def _with_margin(starts: Array, content: bytes, bounds: Array) -> Array:
    """Return the tokens of each window with the margin, in hundredths; `bounds` are the first bytes of the windows."""
    tokens = np.add.reduceat(starts, bounds, dtype=np.int64)
    variance = np.maximum(starts * (100 - starts), 0)
    variance *= np.frombuffer(content.translate(_UNCERTAINTY_QUARTERS), np.uint8)
    variance[1:] *= np.diff(np.frombuffer(content, np.uint8)) != 0  # runs of one character have minimums, too
    uncertainty = np.add.reduceat(variance, bounds, dtype=np.int64) / 400
    sizes = np.diff(np.append(bounds, len(starts)))
    total = tokens * (1 + MARGIN / 100) + np.maximum(uncertainty - CERTAIN * tokens, 0) * UNCERTAINTY
    total += np.maximum(tokens - DENSE * sizes, 0) * DENSE_MARGIN
    return np.minimum(
        np.rint(total).astype(np.int64), 100 * sizes + 300
    )  # a byte or more, and a character begun before


def _rounded(hundredths: int, size: int) -> int:
    """Return whole tokens, rounded up; a token has at least one byte."""
    return min(-(-hundredths // 100), size)


def windows(data: bytes) -> tuple[Array, Array, Array, Array]:
    """Return, for each byte of data[3:-3], its index into the tables "two", "three", "four" and "six"."""
    folded = np.frombuffer(data.translate(_FOLD), np.uint8).astype(np.uint32)
    count = len(data) - _BEFORE - _AFTER
    pairs = folded[:-1] << np.uint32(8)
    pairs |= folded[1:]
    a, b = pairs * _A, pairs * _B

    def shifted(pairs: Array, first: int) -> Array:
        """Return, for each byte, the pair that starts `first` - 3 bytes after it."""
        return pairs[first : first + count]

    inner = shifted(b, 2)
    three = shifted(a, 1) ^ inner
    four = shifted(a, 1) ^ shifted(b, 3)
    six = shifted(pairs, 4) * _C
    six ^= shifted(a, 0)
    six ^= inner
    for name, values in (("three", three), ("four", four), ("six", six)):
        values >>= np.uint32(32 - BITS[name])
    return shifted(pairs, 2), three, four, six


def _token_starts(data: bytes, vocabulary: str) -> Array:
    """Return the probability of a token start before each byte of data[3:-3], in hundredths."""
    two, three, four, six = windows(data)
    tables = _tables()
    fitted = fitted_vocabulary(vocabulary)
    sums = tables[f"two_{fitted}"].take(two)
    sums += tables[f"three_{fitted}"].take(three)
    sums += tables["four"].take(four)
    sums += tables[f"six_{fitted}"].take(six)
    np.maximum(sums, 0, out=sums)
    np.minimum(sums, 100, out=sums)
    raise_to_minimums(sums, data, _BEFORE, vocabulary)
    return sums


@lru_cache(maxsize=1)
def _tables() -> dict[str, Array]:
    with files(__package__).joinpath(TABLES).open("rb") as file, np.load(file, allow_pickle=False) as tables:
        return {name: tables[name].astype(np.int16) for name in tables.files}
