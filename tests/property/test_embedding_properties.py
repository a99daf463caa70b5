"""The quick way to tokens gives what the tokenizer itself gives, and vectors are what the model's card says, for any text."""

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

from promptls.index.embedding.embedder import BUNDLED_FOLDER, EmbeddingSpec, _FastEmbedder, _from_folder, load
from promptls.index.embedding.fast_tokenizer import PLACE, WordTokenizer, by_words, weigh
from promptls.index.search.interning import Runs

LONGEST = 40


def tokenizer() -> Any:
    made = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    made.enable_truncation(LONGEST)
    return made


SLOW = tokenizer()
QUICK = WordTokenizer(tokenizer())
CODE = st.lists(
    st.sampled_from(
        ["parseHTTPRequest2", "XMLHttp", "a1B", "_x", "AB", "Ab", "aB", "0xFF", "::", "\n", " ", "ß", "İ", "ſ", "é", "變數",
         "Straße", "ΑΣ", "naïve→x", "\u00a0", "Ⅷ", "½", "<|promptls:pad|>", "promptls", "<|", "|>", "x" * 300]
    ),
    max_size=60,
).map("".join)  # fmt: skip


TEXTS = st.one_of(st.text(), st.text(st.characters(max_codepoint=127)), CODE)
RUNS = Runs()
PLACES = np.array(json.loads((BUNDLED_FOLDER / "config.json").read_text("utf-8"))["places"])


@given(TEXTS)
def test_ids_are_those_of_the_library(text: str) -> None:
    assert QUICK.ids(text) == SLOW.encode(text).ids


@given(st.lists(TEXTS))
def test_ids_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    assert [ids.tolist() for ids in QUICK.of(RUNS.read(texts))] == [QUICK.ids(text) for text in texts]


def test_ids_of_real_files() -> None:
    for file in sorted((Path(__file__).parents[2] / "server").rglob("*.py"))[:80]:
        text = file.read_text("utf-8")
        for start in range(0, len(text), 700):
            part = text[start : start + 700]
            assert QUICK.ids(part) == SLOW.encode(part).ids


@given(st.lists(st.lists(st.integers(0, 9), max_size=30).map(lambda ids: np.array(ids, np.int32)), max_size=5))
def test_a_token_weighs_the_root_of_its_count_by_its_mean_place(found: list[Any]) -> None:
    places = np.array([3.0, 2.0, 1.0])
    weighed = weigh(found, places)
    got = iter(zip(weighed.ids.tolist(), weighed.weights.tolist(), strict=True))
    for ids, count in zip(found, weighed.counts.tolist(), strict=True):
        its = dict(next(got) for _ in range(count))
        where: dict[int, list[float]] = {}
        for at, token in enumerate(ids.tolist()):
            where.setdefault(token, []).append(places[min(at // PLACE, 2)])
        assert its == pytest.approx({token: np.sqrt(len(at)) * np.mean(at) for token, at in where.items()})
    assert next(got, None) is None


def test_vectors_are_what_the_card_says() -> None:
    """The model by its table, which its graph gives for single tokens, and the formula of the card."""
    made, plain = load(EmbeddingSpec()), _FastEmbedder(_from_folder(BUNDLED_FOLDER))
    session = plain._model.model.model
    factor_of = WordTokenizer(plain._model.model.tokenizer)
    texts = [
        "def total(cart):\n    return sum(cart)",
        "Straße 變數",
        "x" * 3000,
        *["open the file " * n for n in range(1, 12)],
    ]
    vectors = made.embed(texts)
    assert np.allclose(made.embed_inputs(made.inputs(Runs().read(texts))), vectors, atol=1e-6)
    assert np.allclose(made.embed([""]), 0)
    for text, vector in zip(texts, vectors, strict=True):
        ids = factor_of.ids(text)
        counts = Counter(ids)
        place = [PLACES[min(at // PLACE, len(PLACES) - 1)] for at in range(len(ids))]
        mean = {token: np.mean([p for i, p in zip(ids, place, strict=True) if i == token]) for token in counts}
        scale = 1 << 16
        mask = [[round(scale * np.sqrt(counts[token]) * mean[token]) for token in counts]]
        expected = session.run(None, {"input_ids": [list(counts)], "attention_mask": mask})[0][0]
        assert np.allclose(vector, expected, atol=1e-4), text[:40]


def test_an_ordinary_mask_gives_the_plain_mean() -> None:
    """So that the model is of use to others who load it with fastembed."""
    plain = _FastEmbedder(_from_folder(BUNDLED_FOLDER))
    once, twice = plain.embed(["cart total", "cart total cart total"])
    assert np.allclose(once, twice, atol=1e-6)
    assert np.allclose(np.linalg.norm([once, twice], axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("change", ["normalizer", "pre_tokenizer", "truncation"])
def test_tokenizers_of_another_kind_are_left_alone(change: str) -> None:
    made = tokenizer()
    assert by_words(made)
    if change == "truncation":
        made.no_truncation()
    else:
        from tokenizers.normalizers import Lowercase
        from tokenizers.pre_tokenizers import Whitespace

        setattr(made, change, Lowercase() if change == "normalizer" else Whitespace())
    assert not by_words(made)
