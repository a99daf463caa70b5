"""Prescan lexer: the words of many texts, and the names that they probably define, without a grammar.

A prescan takes a tenth of the time of outlines.  The words and names of a whole workspace are therefore available
soon, and select the waiting files that should be read first for a question.  Their exact symbols are known once they
are parsed.  Runs in the worker processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, compress

import numpy as np
from msgspec import Struct

from promptls.index.search.analyzer import STOP_WORDS, split_runs

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
