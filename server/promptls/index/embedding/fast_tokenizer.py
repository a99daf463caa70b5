"""The bundled model's tokens, run by run, and what each weighs: the same token ids as the `tokenizers` library gives, in
a tenth of the time.

Its tokens never reach over a character that is no letter and no digit, so that each run (`index.runs`) is encoded once
and looked up from then on.  Texts with special tokens, and all texts where the tokenizer is of another kind, are left to
the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import apart, runs
from promptls.index.search.interning import Batch, Learn, Lists

Ids = NDArray[np.int32]

_NORMALIZER = {
    "type": "Sequence",
    "normalizers": [
        {
            "type": "Replace",
            "pattern": {"Regex": "(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"},
            "content": " ",
        },
        {"type": "Lowercase"},
    ],
}
_SPLIT = {"type": "Split", "pattern": {"Regex": r"\p{L}+|[0-9]+"}, "behavior": "Removed", "invert": True}
"""Of ASCII the two make what `terms.apart` makes of it."""
MOST_PIECES = 200_000
"""Pieces of runs remembered; then it begins anew."""
PLACE = 8
"""Tokens of a text that share a place."""


class _Kind(Struct):
    """What of a tokenizer's model says how it goes about its work; the vocabulary is passed over."""

    type: str
    dropout: float | None = None


class _Shape(Struct):
    """A tokenizer as the library describes it."""

    model: _Kind
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None


class _Pieces(dict[str, list[int]]):
    """Words in lower case, and numbers → their ids, learned as they are asked for."""

    def __init__(self, tokenizer: Any) -> None:
        self._model = tokenizer.model

    def __missing__(self, piece: str) -> list[int]:
        if len(self) >= MOST_PIECES:
            self.clear()
        found = self[piece] = [token.id for token in self._model.tokenize(piece)]
        return found


class WordTokenizer:
    """Token ids of texts, as many as the model looks at, without padding.  For one thread."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._longest: int = tokenizer.truncation["max_length"]
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._by_words = by_words(tokenizer)
        self._pieces = _Pieces(tokenizer)
        self._lists = Lists(self._begin)

    def ids(self, text: str) -> list[int]:
        """Of one text."""
        if not self._is_plain(text):
            return self._encoded(text)
        return list(chain.from_iterable(self._learn(runs(text))[0]))[: self._longest]

    def of(self, batch: Batch) -> list[Ids]:
        """Of each text."""
        values, ends = self._lists.of(batch)
        bounds = pairwise([0, *ends.tolist()])
        found = [values[start : min(end, start + self._longest)] for start, end in bounds]
        for at, text in enumerate(batch.texts):
            if not self._is_plain(text):
                found[at] = np.array(self._encoded(text), np.int32)
        return found

    def _begin(self) -> Learn:
        return self._learn

    def _learn(self, runs: Sequence[str]) -> tuple[list[Sequence[int]], list[int]]:
        parts = apart([run if run.isascii() else "" for run in runs])  # letters beyond have rules of their own
        found: list[Sequence[int]] = list(map(self._pieces.__getitem__, parts))
        ends = [at for at, part in enumerate(parts) if not part]
        begin = 0
        for run, end in zip(runs, ends, strict=True):
            if end == begin:
                found[end] = self._encoded(run)
            begin = end + 1
        return found, ends

    def _is_plain(self, text: str) -> bool:
        return self._by_words and not any(special in text for special in self._special)

    def _encoded(self, text: str) -> list[int]:
        found = self._tokenizer.encode(text)
        return [i for i, real in zip(found.ids, found.attention_mask, strict=True) if real]


class Weighed(Struct, frozen=True):
    """The distinct tokens of texts, one text after the other."""

    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]  # distinct tokens of each text


def weigh(found: Sequence[Ids], places: NDArray[np.float64]) -> Weighed:
    """Σ of the places of a token's occurrences / √ of their number, which is √count · their mean place.

    `places` are worth so much each, of `PLACE` tokens; the last one stands for all the rest of a text.
    """
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    flat = np.concatenate(found) if found else np.zeros(0, np.int32)
    text = np.repeat(np.arange(len(found)), lengths)
    position = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = places[np.minimum(position // PLACE, len(places) - 1)]
    distinct, of = np.unique(text << 32 | flat, return_inverse=True)
    weights = np.bincount(of, place) / np.sqrt(np.bincount(of))
    return Weighed(distinct & 0xFFFFFFFF, weights, np.bincount(distinct >> 32, minlength=len(found)))


def by_words(tokenizer: Any) -> bool:
    """Whether a tokenizer is of the kind that `WordTokenizer` knows."""
    shape = msgspec.json.decode(tokenizer.to_str(), type=_Shape)
    return (
        (shape.normalizer, shape.pre_tokenizer, shape.post_processor) == (_NORMALIZER, _SPLIT, None)
        and tokenizer.truncation is not None
        and tokenizer.truncation["direction"] == "right"
        and shape.model.type == "BPE"
        and not shape.model.dropout
    )
