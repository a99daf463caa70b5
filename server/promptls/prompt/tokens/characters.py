"""Minimum tokens of characters that the tables of the estimate do not know: rare characters, marks, symbols and runs.

The tables are fitted to natural text.  A vocabulary has no token for most of the other characters, so that a character
takes as many tokens there as it takes alone.  `scripts/evaluate tokens --characters` counts these.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from itertools import islice, pairwise
from typing import Any

import numpy as np

UNKNOWN = "unknown"
"""Stands for the vocabularies of all models without a published one: the maximum of those that are measured."""

TOKENS = "characters.npz"
"""Tokens of each code point alone, "single_…", and hundredths of a token for an ASCII character in a run of the same
one, "run_…"; by vocabulary, and the maximum of seven."""

NATURAL: tuple[tuple[int, int], ...] = (
    (0xC0, 0x17F),  # Latin
    (0x386, 0x3CE),  # Greek
    (0x400, 0x45F),  # Cyrillic
    (0x531, 0x587),  # Armenian
    (0x5D0, 0x5EA),  # Hebrew
    (0x620, 0x64A),  # Arabic
    (0x660, 0x6D5),
    (0x900, 0xDFF),  # Devanagari to Sinhala
    (0xE01, 0xE4E),  # Thai
    (0x10D0, 0x10FA),  # Georgian
    (0x1EA0, 0x1EF9),  # Vietnamese
    (0x2010, 0x2026),  # punctuation
    (0x2500, 0x257F),  # lines of trees and tables
    (0x3041, 0x30FF),  # kana
    (0x4E00, 0x9FFF),  # common ideographs
    (0xAC00, 0xD7A3),  # Hangul
    (0xFF01, 0xFF1F),  # punctuation
)
"""First and last character of the ranges that are frequent in the training data of the tables."""

REPEATED = 4
"""Number of successive equal ASCII characters from which the next ones have a minimum."""

LONG_RUN = 8
"""Length from which each change of symbol in a run of symbols has a minimum; code has shorter runs."""

COMMON_PAIR = 60
"""Minimum for a symbol in such a run that a token has together with the one before, in hundredths of a token."""

COMPLETE: tuple[tuple[int, int], ...] = ((0x4E00, 0x9FFF), (0xAC00, 0xD7A3))
"""Ranges whose characters join others only if they are tokens themselves: ideographs and Hangul."""

BOX_DRAWING = (0x2500, 0x257F)
"""Range whose characters join equal ones only."""

PAIR_BITS, TRIPLE_BITS = 19, 19
"""Bits of the hash of two and of three characters: at most 1 in 20 has that of a part of some token."""

MAX_ISOLATED = 8
"""Maximum number of characters outside of ASCII that are looked up one by one."""

Array = Any  # numpy arrays

_WIDE = re.compile(rb"[\x80-\xff][\x80-\xbf]*")  # the first byte of a character, and those that continue it
_A, _B, _C = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)  # odd multipliers of the hashes

_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r") + b"\x7f"
_IS_SYMBOL = bytes(32 < byte < 127 and not chr(byte).isalnum() for byte in range(256))
_ENCODED_PREFIX = np.array([0] * 0xC2 + [0xC0] * 30 + [0xE0] * 16 + [0xF0] * 5 + [0] * 11, np.int64)
_PLANE_14_SINGLE = 4
"""Tokens of a code point above those in `TOKENS`: tags and private use, one for each byte."""


def raise_to_minimums(starts: Array, data: bytes, margin: int, vocabulary: str) -> None:
    """Raise token starts, in hundredths per byte of data[margin:-margin], to the minimums of their characters."""
    content = np.frombuffer(data, np.uint8)[margin : len(data) - margin]
    if data.translate(None, _CONTROLS) != data:
        controls = np.flatnonzero((content < 32) | (content == 127))
        controls = controls[~np.isin(content[controls], (9, 10, 13))]
        starts[controls] = 100
        starts[controls[controls + 1 < len(content)] + 1] = 100
    _raise_runs(starts, content, data, margin, vocabulary)
    if not data.isascii() and not _raise_isolated(starts, data[margin : len(data) - margin], vocabulary):
        _raise_characters(starts, content, vocabulary)


def _raise_isolated(starts: Array, content: bytes, vocabulary: str) -> bool:
    """Do what `_raise_characters` does for a few characters between ASCII ones; return False for other texts.

    Code has few of them, such as the "…" of elisions, and this takes a twentieth of the time.
    """
    found = [*islice(_WIDE.finditer(content), MAX_ISOLATED + 1)]
    if len(found) > MAX_ISOLATED:
        return False
    minimums = [_minimum(one[0], vocabulary) for one in found]
    is_isolated = all(a.end() < b.start() for a, b in pairwise(found))
    if None in minimums or not is_isolated:
        return False
    for one, minimum in zip(found, minimums, strict=True):
        assert minimum is not None
        hundredths, is_known = minimum
        total = int(starts[one.start() : one.end()].sum())
        if not is_known or hundredths < total:
            starts[one.end() - 1] += hundredths - total
    return True


@lru_cache(maxsize=4096)
def _minimum(character: bytes, vocabulary: str) -> tuple[int, bool] | None:
    """Return the hundredths of a token of a character alone, and whether the tables know it; None for a mark."""
    try:
        code = ord(character.decode())
    except (UnicodeDecodeError, TypeError):
        return None  # a part of a character, or a surrogate
    kind = int(_kinds()[code]) if code < 0x10000 else 0
    known = _tables()[f"single_{vocabulary}"]
    single = int(known[code]) if code < len(known) else _PLANE_14_SINGLE
    is_complete = single == 1 or not any(low <= code <= high for low, high in COMPLETE)
    is_known = kind == 1 and single < len(character) and is_complete
    return (100 * single, is_known and not BOX_DRAWING[0] <= code <= BOX_DRAWING[1]) if kind != 2 else None


def _raise_runs(starts: Array, content: Array, data: bytes, margin: int, vocabulary: str) -> None:
    """Raise long runs of one ASCII character, and long runs of different symbols."""
    tables, fitted = _tables(), fitted_vocabulary(vocabulary)
    whole = np.frombuffer(data, np.uint8)
    same = whole[1:] == whole[:-1]
    repeated = same[margin - REPEATED + 1 : len(same) - margin - REPEATED + 2].copy()
    for n in range(1, REPEATED - 1):
        repeated &= same[margin - REPEATED + 1 + n :][: len(repeated)]
    in_run = np.flatnonzero(repeated[: len(content)])
    if len(in_run):
        in_run = in_run[content[in_run] < 128]
        rate = tables[f"run_{vocabulary}"][content[in_run]]
        starts[in_run] = np.maximum(starts[in_run], rate)
    symbols = np.frombuffer(data.translate(_IS_SYMBOL), np.bool_)[margin : len(data) - margin]
    for n in (1, 2, 4):
        symbols = symbols[n:] & symbols[:-n]
    long_runs = np.flatnonzero(symbols)
    if len(long_runs):
        second = np.unique(long_runs[:, None] + np.arange(1, LONG_RUN))
        second = second[content[second] != content[second - 1]]
        is_common = tables[f"pairs_{fitted}"][
            pair_index(*(content[at].astype(np.uint32) for at in (second - 1, second)))
        ]
        starts[second] = np.maximum(starts[second], np.where(is_common, COMMON_PAIR, 100))


def _raise_characters(starts: Array, content: Array, vocabulary: str) -> None:
    """Raise characters outside of ASCII; the difference is added at the last byte of each."""
    first = np.flatnonzero(content >= 0xC2)
    if not len(first):
        return
    lead = content[first].astype(np.int64)
    length = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    code = lead - _ENCODED_PREFIX[lead]
    for n in (1, 2, 3):
        has = length > n
        code[has] = code[has] << 6 | content[first[has] + n] & 0x3F
    tables, fitted = _tables(), fitted_vocabulary(vocabulary)
    known = tables[f"single_{vocabulary}"]
    single = np.where(code < len(known), known[np.minimum(code, len(known) - 1)], _PLANE_14_SINGLE)
    kind = np.where(code < 0x10000, _kinds()[np.minimum(code, 0xFFFF)], 0)
    _split_absent(starts, first, length, code, tables, fitted)
    marks = first[kind == 2]
    after = marks + length[kind == 2]
    starts[after[after < len(content)]] = 100  # a mark is a token of its own, and so is what it follows
    is_ascii = marks[(marks > 0) & (content[marks - 1] < 128)] - 1
    starts[is_ascii] = 100
    beside = np.zeros(len(content) + 1, bool)
    beside[marks] = beside[after] = True
    until = np.concatenate(([0], np.cumsum(starts, dtype=np.int64)))
    sums = until[first + length] - until[first]
    is_known = (kind == 1) & (single < length) & ~beside[first] & ~beside[first + length]
    for low, high in COMPLETE:
        is_known &= (single == 1) | (code < low) | (code > high)
    differs = np.append(True, code[1:] != code[:-1])
    is_known &= ~differs | (code < BOX_DRAWING[0]) | (code > BOX_DRAWING[1])
    bounds = np.where(is_known, np.minimum(sums, single * 100), single * 100)
    starts[first + length - 1] += (bounds - sums).astype(starts.dtype)


def _split_absent(
    starts: Array, first: Array, length: Array, code: Array, tables: dict[str, Array], fitted: str
) -> None:
    """Start a token inside of each two or three successive characters that no token of the vocabulary contains."""
    follows = first[1:] == first[:-1] + length[:-1]
    code = code.astype(np.uint32)
    absent = np.flatnonzero(follows & ~tables[f"pairs_{fitted}"][pair_index(code[:-1], code[1:])]) + 1
    starts[first[absent]] = 100
    third = np.flatnonzero(follows[1:] & follows[:-1]) + 2
    absent = third[~tables[f"triples_{fitted}"][triple_index(code[third - 2], code[third - 1], code[third])]]
    missing = 100 - starts[first[absent - 1]] - starts[first[absent]]
    starts[first[absent]] += np.maximum(missing, 0)


def pair_index(a: Array, b: Array) -> Array:
    """Return the index of two characters into the table "pairs"."""
    return (a * _A ^ b * _B) >> np.uint32(32 - PAIR_BITS)


def triple_index(a: Array, b: Array, c: Array) -> Array:
    """Return the index of three characters into the table "triples"."""
    return (a * _A ^ b * _B ^ c * _C) >> np.uint32(32 - TRIPLE_BITS)


def fitted_vocabulary(vocabulary: str) -> str:
    """Return the vocabulary with the tables for a vocabulary; cl100k_base takes more tokens than most."""
    return "cl100k_base" if vocabulary == UNKNOWN else vocabulary


@lru_cache(maxsize=1)
def _kinds() -> Array:
    """Return 1 for each character of the natural ranges, 2 for a combining mark outside of them, else 0."""
    kinds = np.zeros(1 << 16, np.uint8)
    for first, last in NATURAL:
        kinds[first : last + 1] = 1
    for code in range(0x300, 0x10000):
        if kinds[code] == 0 and unicodedata.category(chr(code)) in ("Mn", "Me"):
            kinds[code] = 2
    return kinds


@lru_cache(maxsize=1)
def _tables() -> dict[str, Array]:
    with files(__package__).joinpath(TOKENS).open("rb") as file, np.load(file, allow_pickle=False) as tables:
        return {
            name: np.unpackbits(tables[name]).astype(bool)
            if name.startswith(("pairs", "triples"))
            else tables[name].astype(np.int16)
            for name in tables.files
        }
