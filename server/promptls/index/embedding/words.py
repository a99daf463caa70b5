"""The bundled model's tokenizer, name by name: the same token ids as the `tokenizers` library gives, in a tenth of
the time.

Its tokens never reach over a character that is no letter and no digit, so that each run of these is encoded once and
looked up from then on.  Only texts of ASCII go this way (letters beyond have rules of their own); for others, and
for tokenizers of another kind, the library is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

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
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""What the two above make of ASCII."""
_APART = {i: " " for i in range(128) if not chr(i).isalnum()}
MOST_RUNS = 200_000
"""Runs remembered; then it begins anew."""


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
        if len(self) >= MOST_RUNS:
            self.clear()
        found = self[piece] = [token.id for token in self._model.tokenize(piece)]
        return found


class _Runs(dict[str, list[int]]):
    """Letters and digits without a gap → their ids, from those of the pieces."""

    def __init__(self, tokenizer: Any) -> None:
        self._pieces = _Pieces(tokenizer)

    def __missing__(self, run: str) -> list[int]:
        if len(self) >= MOST_RUNS:
            self.clear()
        pieces = (piece.lower() for piece in _PIECE.findall(run))
        found = self[run] = list(chain.from_iterable(map(self._pieces.__getitem__, pieces)))
        return found


class WordTokenizer:
    """Token ids of texts, and arrays of them as the model takes them.  For one thread."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._longest: int = tokenizer.truncation["max_length"]
        self._pad: int = (tokenizer.padding or {"pad_id": 0})["pad_id"]
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._runs = _Runs(tokenizer)

    def ids(self, text: str) -> list[int]:
        """Token ids, without padding."""
        if not text.isascii() or any(special in text for special in self._special):
            return _plain(self._tokenizer.encode(text))
        runs = text.translate(_APART).split()
        return list(chain.from_iterable(map(self._runs.__getitem__, runs)))[: self._longest]

    def padded(self, found: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(ids, attention mask) of texts: a row each, filled up to the longest of them."""
        width = max(map(len, found), default=0)
        ids = np.full((len(found), width), self._pad, np.int64)
        mask = np.zeros((len(found), width), np.int64)
        for row, its in enumerate(found):
            ids[row, : len(its)] = its
            mask[row, : len(its)] = 1
        return ids, mask


def _plain(encoded: Any) -> list[int]:
    return [i for i, real in zip(encoded.ids, encoded.attention_mask, strict=True) if real]


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
