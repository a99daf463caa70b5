"""Shingles of open questions, their vectors, and their features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnxkit import write_model
from promptls.index.embedding.embedder import EmbeddingSpec, load_embedder
from promptls.index.workers.worker import Worker
from promptls.index.workers.worker_messages import Configure, EmbedQuery, QueryVectors
from promptls.model import CancelToken
from promptls.retrieval.candidates import CandidateLimits
from promptls.retrieval.features import SHINGLE_FEATURES, shingle_features
from promptls.retrieval.linear_model import bundled_weights
from promptls.retrieval.query import MAX_SHINGLES, parse_query
from promptls.retrieval.retrieve import describe_candidates
from workspaces import IndexedSnapshot, snapshot_of

SHOP = """
-- shop/cart.py --
def apply_voucher(cart, voucher):
    "Reduce the total of a cart by a voucher."
    cart.total -= voucher.value
-- shop/tax.py --
def value_added_tax(amount, country):
    "Value added tax of a country."
    return amount * RATES[country]
-- shop/courier.py --
def book_courier(parcel, address):
    "Book a courier for a parcel."
    return send(parcel, address)
"""
QUESTIONS = [
    ("How does the cart validate vouchers, and who sends the mail?", ("cart validate", "validate vouchers", "vouchers sends", "sends mail")),
    ("how do I go on", ()),
    ("Why tax?", ("tax",)),
    ("How is a mail retried and the mail retried again?", ("mail retried", "retried mail", "retried again")),
    ("Which function validates the vouchers of a cart?", ()),  # not an open question
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_shingles_are_pairs_of_adjacent_words(question: str, expected: tuple[str, ...]) -> None:
    assert parse_query(question).shingles == expected


def test_shingles_of_a_translated_question_are_english() -> None:
    shingles = parse_query("Wie wird die Datei gelesen und der Cache geleert?").shingles
    assert shingles == ("file read", "read cache", "cache clear")


def test_number_of_shingles_is_limited() -> None:
    assert len(parse_query("how " + " ".join(f"word{i}" for i in range(200))).shingles) == MAX_SHINGLES


def test_features_are_the_best_rank_and_the_sum_of_standard_scores() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    found = shingle_features(vectors, np.eye(2, dtype=np.float32), np.array([0, 0, 1]), 2)
    assert found["shingle_rank"].tolist() == pytest.approx([0, 0, np.log(2)])
    assert found["file_shingle_rank"].tolist() == pytest.approx([0, 0, np.log(2)])
    standard = np.maximum((vectors - vectors.mean(axis=0)) / vectors.std(axis=0), 0)
    assert found["shingle_similarity"] == pytest.approx(standard.sum(axis=1) / 2**0.5, abs=1e-4)


@pytest.mark.parametrize("shingles", [np.zeros((0, 0)), np.zeros((0, 2)), np.ones((3, 5))])
def test_features_without_vectors_are_zero(shingles: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    found = shingle_features(np.eye(2, dtype=np.float32), shingles.astype(np.float32), np.array([0, 1]), 2)
    assert list(found) == list(SHINGLE_FEATURES)
    assert all(values.tolist() == [0, 0] for values in found.values())


def test_only_the_model_of_open_questions_has_shingle_weights() -> None:
    weights = bundled_weights()
    assert not set(SHINGLE_FEATURES) & weights.candidate_model(is_open=False).weights.keys()
    assert set(SHINGLE_FEATURES) <= weights.candidate_model(is_open=True).weights.keys()


def test_code_of_each_thing_in_an_open_question_is_best_for_a_shingle(tmp_path: Path) -> None:
    workspace = snapshot_of(SHOP, tmp_path)
    query = parse_query("How do the cart voucher, the value added tax and the courier parcel relate?")
    found = describe_candidates(query, workspace, IndexedSnapshot(workspace), CandidateLimits(), CancelToken())
    assert found is not None
    best = {
        candidate.entry.name.rpartition("/")[2]
        for candidate, rank in zip(found.candidates, found.column("shingle_rank").tolist(), strict=True)
        if rank == 0
    }
    assert best == {"cart.py", "tax.py", "courier.py"}


def configure(model: str) -> Configure:
    return Configure(model, False, 1 << 20, 1000, ("pack",))


def test_shingles_have_the_vectors_of_queries() -> None:
    worker = Worker()
    worker.handle(configure("bundled"))
    found = worker.handle(EmbedQuery("", ("cart voucher", "courier")))
    assert isinstance(found, QueryVectors)
    for vector, text in zip(
        np.frombuffer(found.vectors, np.float32).reshape(2, -1), ("cart voucher", "courier"), strict=True
    ):
        query = worker.handle(EmbedQuery(text))
        assert isinstance(query, QueryVectors)
        assert vector == pytest.approx(np.frombuffer(query.vectors, np.float32), abs=1e-6)


def test_a_model_that_is_not_static_does_not_embed_shingles(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", 8)
    assert not load_embedder(EmbeddingSpec(str(folder))).is_static
    worker = Worker()
    worker.handle(configure(str(folder)))
    assert worker.handle(EmbedQuery("", ("cart voucher",))) == QueryVectors(b"")
