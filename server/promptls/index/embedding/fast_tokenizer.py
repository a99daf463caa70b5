"""Fast tokenizer for the bundled model: the token ids of the `tokenizers` library, in a tenth of the time.

Tokens of the bundled model never span two runs (`index.search.interning`), so each distinct run is encoded once. Texts
with special tokens, and all texts of another kind of tokenizer, are encoded by the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.index.search.analyzer import split_identifiers, split_runs
from promptls.index.search.interning import RunBatch, RunTable
from promptls.util.decode import decode_json

TokenIds = NDArray[np.int32]

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
_PRE_TOKENIZER = {"type": "Split", "pattern": {"Regex": r"\p{L}+|[0-9]+"}, "behavior": "Removed", "invert": True}
"""Splits ASCII, after `_NORMALIZER`, as `analyzer.split_identifiers` does."""
MAX_PIECES = 200_000
"""Cached pieces of runs above which the cache is cleared: a bound on its memory."""
POSITION_BUCKET = 8
"""Consecutive tokens that share a position weight; the training uses the same value."""


class _TokenizerModel(Struct):
    """Model of a tokenizer, without its vocabulary."""

    type: str
    dropout: float | None = None


class _TokenizerConfig(Struct):
    """JSON description of a tokenizer."""

    model: _TokenizerModel
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None


class _PieceCache(dict[str, list[int]]):
    """Cache of the token ids of lower-case words and numbers."""

    def __init__(self, tokenizer: Any) -> None:
        self._model = tokenizer.model

    def __missing__(self, piece: str) -> list[int]:
        if len(self) >= MAX_PIECES:
            self.clear()
        ids = self[piece] = [token.id for token in self._model.tokenize(piece)]
        return ids


class FastTokenizer:
    """Token ids of texts, truncated to the model's window, without padding. For one thread."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._max_tokens: int = tokenizer.truncation["max_length"]
        self._special_tokens = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._is_supported = is_supported(tokenizer)
        self._pieces = _PieceCache(tokenizer)
        self._table = RunTable(lambda: self._map_runs)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one text."""
        if not self._is_plain(text):
            return self._encode_with_library(text)
        return list(chain.from_iterable(self._map_runs(split_runs(text))[0]))[: self._max_tokens]

    def encode_batch(self, batch: RunBatch) -> list[TokenIds]:
        """Return the token ids of each text."""
        values, ends = self._table.gather(batch)
        bounds = pairwise([0, *ends.tolist()])
        ids = [values[start : min(end, start + self._max_tokens)] for start, end in bounds]
        for at, text in enumerate(batch.texts):
            if not self._is_plain(text):
                ids[at] = np.array(self._encode_with_library(text), np.int32)
        return ids

    def _map_runs(self, runs: Sequence[str]) -> tuple[list[Sequence[int]], list[int]]:
        parts = split_identifiers([run if run.isascii() else "" for run in runs])  # other scripts: by the library
        ids: list[Sequence[int]] = list(map(self._pieces.__getitem__, parts))
        ends = [at for at, part in enumerate(parts) if not part]
        start = 0
        for run, end in zip(runs, ends, strict=True):
            if end == start:
                ids[end] = self._encode_with_library(run)
            start = end + 1
        return ids, ends

    def _is_plain(self, text: str) -> bool:
        return self._is_supported and not any(special in text for special in self._special_tokens)

    def _encode_with_library(self, text: str) -> list[int]:
        encoding = self._tokenizer.encode(text)
        return [id for id, is_real in zip(encoding.ids, encoding.attention_mask, strict=True) if is_real]


class TokenWeights(Struct, frozen=True):
    """The distinct tokens of texts and their weights, one text after the other."""

    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]  # distinct tokens of each text


def token_weights(token_ids: Sequence[TokenIds], position_weights: NDArray[np.float64]) -> TokenWeights:
    """Return the weight of each distinct token: √count · mean position weight of its occurrences.

    Args:
        token_ids: Token ids of each text.
        position_weights: Weight of each bucket of `POSITION_BUCKET` tokens; the last one applies to the remainder.
    """
    lengths = np.fromiter(map(len, token_ids), np.int64, len(token_ids))
    flat = np.concatenate(token_ids) if token_ids else np.zeros(0, np.int32)
    text = np.repeat(np.arange(len(token_ids)), lengths)
    position = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    weight = position_weights[np.minimum(position // POSITION_BUCKET, len(position_weights) - 1)]
    distinct, inverse = np.unique(text << 32 | flat, return_inverse=True)
    weights = np.bincount(inverse, weight) / np.sqrt(np.bincount(inverse))
    return TokenWeights(distinct & 0xFFFFFFFF, weights, np.bincount(distinct >> 32, minlength=len(token_ids)))


def is_supported(tokenizer: Any) -> bool:
    """Return whether a tokenizer is of the kind that `FastTokenizer` implements."""
    config = decode_json(tokenizer.to_str(), _TokenizerConfig)
    return (
        (config.normalizer, config.pre_tokenizer, config.post_processor) == (_NORMALIZER, _PRE_TOKENIZER, None)
        and tokenizer.truncation is not None
        and tokenizer.truncation["direction"] == "right"
        and config.model.type == "BPE"
        and not config.model.dropout
    )
