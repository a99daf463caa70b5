"""The fast tokenizer equals the library, and vectors follow the formula of the model card."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from promptls.index.embedding.embedder import (
    BUNDLED_MODEL_DIR,
    POSITION_BUCKET,
    EmbeddingSpec,
    FastTokenizer,
    _FastembedEmbedder,
    _load_from_directory,
    is_supported,
    load_embedder,
    token_weights,
)
from promptls.index.search.interning import RunInterner

MAX_TOKENS = 40


def load_tokenizer() -> Any:
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL_DIR / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


LIBRARY = load_tokenizer()
FAST = FastTokenizer(load_tokenizer())
CODE = st.lists(
    st.sampled_from(
        ["parseHTTPRequest2", "XMLHttp", "a1B", "_x", "AB", "Ab", "aB", "0xFF", "::", "\n", " ", "ß", "İ", "ſ", "é", "變數",
         "Straße", "ΑΣ", "naïve→x", "\u00a0", "Ⅷ", "½", "<|promptls:pad|>", "promptls", "<|", "|>", "x" * 300]
    ),
    max_size=60,
).map("".join)  # fmt: skip


TEXTS = st.one_of(st.text(), st.text(st.characters(max_codepoint=127)), CODE)
POSITION_WEIGHTS = np.array(json.loads((BUNDLED_MODEL_DIR / "config.json").read_text("utf-8"))["places"])


@given(TEXTS)
def test_token_ids_equal_the_library(text: str) -> None:
    assert FAST.encode(text) == LIBRARY.encode(text).ids


def test_token_ids_of_real_files_equal_the_library() -> None:
    for file in sorted((Path(__file__).parents[2] / "server").rglob("*.py"))[:80]:
        text = file.read_text("utf-8")
        for start in range(0, len(text), 700):
            part = text[start : start + 700]
            assert FAST.encode(part) == LIBRARY.encode(part).ids


@given(st.lists(st.lists(st.integers(0, 9), max_size=30).map(lambda ids: np.array(ids, np.int32)), max_size=5))
def test_token_weight_is_root_of_count_by_mean_position_weight(token_ids: list[Any]) -> None:
    places = np.array([3.0, 2.0, 1.0])
    weighted = token_weights(token_ids, places)
    pairs = iter(zip(weighted.ids.tolist(), weighted.weights.tolist(), strict=True))
    for ids, count in zip(token_ids, weighted.counts.tolist(), strict=True):
        weights = dict(next(pairs) for _ in range(count))
        where: dict[int, list[float]] = {}
        for at, token in enumerate(ids.tolist()):
            where.setdefault(token, []).append(places[min(at // POSITION_BUCKET, 2)])
        assert weights == pytest.approx({token: np.sqrt(len(at)) * np.mean(at) for token, at in where.items()})
    assert next(pairs, None) is None


def test_vectors_follow_the_formula_of_the_model_card() -> None:
    """Expected vectors are computed from single tokens by the formula of the model card."""
    embedder, plain = load_embedder(EmbeddingSpec()), _FastembedEmbedder(_load_from_directory(BUNDLED_MODEL_DIR))
    session = plain._model.model.model
    factor_of = FastTokenizer(plain._model.model.tokenizer)
    texts = [
        "def total(cart):\n    return sum(cart)",
        "Straße 變數",
        "x" * 3000,
        *["open the file " * n for n in range(1, 12)],
    ]
    vectors = embedder.embed(texts)
    assert np.allclose(embedder.embed_inputs(embedder.prepare_inputs(RunInterner().intern(texts))), vectors, atol=1e-6)
    assert np.allclose(embedder.embed([""]), 0)
    for text, vector in zip(texts, vectors, strict=True):
        ids = factor_of.encode(text)
        counts = Counter(ids)
        place = [POSITION_WEIGHTS[min(at // POSITION_BUCKET, len(POSITION_WEIGHTS) - 1)] for at in range(len(ids))]
        mean = {token: np.mean([p for i, p in zip(ids, place, strict=True) if i == token]) for token in counts}
        scale = 1 << 16
        mask = [[round(scale * np.sqrt(counts[token]) * mean[token]) for token in counts]]
        expected = session.run(None, {"input_ids": [list(counts)], "attention_mask": mask})[0][0]
        assert np.allclose(vector, expected, atol=1e-4), text[:40]


def test_ordinary_mask_yields_the_plain_mean() -> None:
    """Other users can load the model with fastembed."""
    plain = _FastembedEmbedder(_load_from_directory(BUNDLED_MODEL_DIR))
    once, twice = plain.embed(["cart total", "cart total cart total"])
    assert np.allclose(once, twice, atol=1e-6)
    assert np.allclose(np.linalg.norm([once, twice], axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("change", ["normalizer", "pre_tokenizer", "truncation"])
def test_other_tokenizers_are_not_supported(change: str) -> None:
    other = load_tokenizer()
    assert is_supported(other)
    if change == "truncation":
        other.no_truncation()
    else:
        from tokenizers.normalizers import Lowercase
        from tokenizers.pre_tokenizers import Whitespace

        setattr(other, change, Lowercase() if change == "normalizer" else Whitespace())
    assert not is_supported(other)
