"""A first look at many texts without their grammars: the words that stand in each, and the names that it seems to define.

It takes a tenth of what outlines take, so that names and words of a whole workspace are there soon: they tell which of
the files that still wait are to be read for a question.  What they hold the grammar decides, when they are read.
Runs in the worker processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, compress

import numpy as np
from msgspec import Struct

from promptls.index.search.analyzer import STOP_WORDS, runs

SHORTEST, LONGEST = 2, 64
"""Letters of a word: longer runs are data."""
_DEFINING = frozenset(
    "class def defmodule defp defmacro enum fn fun func function interface macro macro_rules module namespace package "
    "protocol struct sub trait type typedef union CLASS FUNCTION PROCEDURE TABLE VIEW".split()
)
"""Words that a name stands after where it is defined, in most languages."""
_NO_NAME = STOP_WORDS | _DEFINING


class Skims(Struct, frozen=True, array_like=True, gc=False):
    """File i holds `words[n]` for n in `word[start[i]:start[i + 1]]`, each once, and seems to define those of `name`."""

    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    word: bytes = b""  # int32
    start: bytes = b""  # int32[len(paths) + 1]
    name: bytes = b""  # int32
    name_start: bytes = b""  # int32[len(paths) + 1]


def skim(texts: Iterable[tuple[str, str]]) -> Skims:
    """What a look at texts, each with its path, tells of them."""
    numbers: dict[str, int] = {}
    paths: list[str] = []
    word: list[list[int]] = []
    name: list[list[int]] = []
    for path, text in texts:
        found = runs(text)
        held = {run for run in set(found) if SHORTEST <= len(run) <= LONGEST}
        defined = set(compress(found[1:], map(_DEFINING.__contains__, found))) & held - _NO_NAME
        word.append([numbers.setdefault(run, len(numbers)) for run in held])
        name.append([numbers[run] for run in defined])
        paths.append(path)
    return Skims(tuple(paths), tuple(numbers), *_flat(word), *_flat(name))


def _flat(lists: list[list[int]]) -> tuple[bytes, bytes]:
    """(all numbers, one list after the other; where each begins, and the end)."""
    numbers = np.fromiter(chain.from_iterable(lists), np.int32)
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return numbers.tobytes(), ends.tobytes()
