"""The quick way to token ids gives what the tokenizer itself gives, for any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from promptls.index.embedding.embedder import BUNDLED_FOLDER, EmbeddingSpec, _FastEmbedder, _from_folder, load
from promptls.index.embedding.words import WordTokenizer, by_words

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
         "Straße", "Ⅷ", "½", "<|promptls:pad|>", "promptls", "<|", "|>", "x" * 300]
    ),
    max_size=60,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127)), CODE))
def test_ids_are_those_of_the_library(text: str) -> None:
    assert QUICK.ids(text) == SLOW.encode(text).ids


def test_ids_of_real_files() -> None:
    for file in sorted((Path(__file__).parents[2] / "server").rglob("*.py"))[:80]:
        text = file.read_text("utf-8")
        for start in range(0, len(text), 700):
            part = text[start : start + 700]
            assert QUICK.ids(part) == SLOW.encode(part).ids


def test_padding_reaches_to_the_longest_of_a_batch() -> None:
    one, two = QUICK.ids("open the file"), QUICK.ids("open")
    ids, mask = QUICK.padded([one, two])
    assert ids.shape == mask.shape == (2, len(one))
    assert list(ids[0]) == one and mask[0].all()
    assert list(ids[1][mask[1] == 1]) == two


def test_vectors_are_those_that_fastembed_makes() -> None:
    quick, slow = load(EmbeddingSpec()), _FastEmbedder(_from_folder(BUNDLED_FOLDER))
    texts = [
        "def total(cart):\n    return sum(cart)",
        "",
        "Straße 變數",
        "x" * 3000,
        *["open the file " * n for n in range(12)],
    ]
    assert np.allclose(quick.embed(texts), slow.embed(texts), atol=1e-6)
    assert np.allclose(quick.embed_query("where is it?"), slow.embed_query("where is it?"), atol=1e-6)


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
