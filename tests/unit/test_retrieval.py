"""Retrieval on small workspaces with the real embedding model and the shipped weights."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.search.analyzer import tokenize
from promptls.index.search.row_batch import quantize
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.retrieval.candidates import CandidateLimits
from promptls.retrieval.features import FEATURE_NAMES, FILE_FEATURE_NAMES, Neighborhood, aggregate, scope_best
from promptls.retrieval.linear_model import Calibration, LinearModel, bundled_weights, calibration_features
from promptls.retrieval.query import parse_query
from promptls.retrieval.retrieve import (
    RetrievalStrategy,
    describe_candidates,
    retrieve,
    score_first_stage,
    search,
    search_by_file,
)
from promptls.retrieval.scorers import BM25_B, BM25_K1, fit_scale, kth_score, score_rows, top_indices
from workspaces import IndexedSnapshot, build_rows, snapshot_of

SHOP = '''
-- shop/checkout.py --
"""Turning a basket into an order."""
from shop.prices import apply_discount

class Checkout:
    """Everything between basket and order."""

    def place_order(self, basket):
        """Charge the customer and empty the basket."""
        price = apply_discount(basket.total, basket.percent)
        return self.gateway.charge(price)
-- shop/prices.py --
def apply_discount(amount, percent):
    """The amount that is left after a reduction."""
    if percent > 100:
        raise ValueError(percent)
    return amount * (100 - percent) / 100

def format_price(amount):
    """Two digits and a sign."""
    return f"{amount:.2f} €"
-- shop/legacy/prices.py --
def old_discount(amount):
    """The amount that is left after a reduction, as it was once."""
    return amount
-- tests/test_prices.py --
from shop.prices import apply_discount

def test_apply_discount():
    """The amount that is left after a reduction of ten percent."""
    assert apply_discount(100, 10) == 90
-- README.md --
# Shop

Sells things.
'''


@pytest.fixture
def shop(tmp_path: Path) -> Snapshot:
    return snapshot_of(SHOP, tmp_path)


def ranked(question: str, snapshot: Snapshot, within: set[str] | None = None, how=retrieve) -> list[str]:  # type: ignore[no-untyped-def]
    result = how(parse_query(question), snapshot, IndexedSnapshot(snapshot), RetrievalStrategy(), CancelToken(), within)
    return [item.symbol or item.path.rsplit("/", 1)[-1] for item in result.items]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("apply_discount", "apply_discount"),
        ("apply discount", "apply_discount"),
        ("Checkout.place_order", "Checkout.place_order"),
        ("what does `format_price` print?", "format_price"),
        ("where is the amount reduced by a percentage?", "apply_discount"),
        ("how is money taken from the customer?", "Checkout.place_order"),
    ],
)
def test_named_or_similar_code_comes_first(shop: Snapshot, question: str, first: str) -> None:
    assert ranked(question, shop)[0] == first


def test_tests_rank_lower_unless_requested(shop: Snapshot) -> None:
    plain = ranked("how is a reduction of the amount calculated?", shop)
    assert plain.index("apply_discount") < plain.index("test_apply_discount")
    assert ranked("which test checks the reduction of an amount by ten percent?", shop)[0] == "test_apply_discount"


def test_many_tests_do_not_displace_code_unless_requested(tmp_path: Path) -> None:
    text = "-- shop/prices.py --\ndef shrink(amount, discount):\n    return amount - discount\n"
    for n in range(8):
        text += f'-- tests/test_{n}.py --\ndef test_{n}():\n    """The amount after a discount."""\n    assert {n}\n'
    snapshot = snapshot_of(text, tmp_path)
    few = RetrievalStrategy(limits=CandidateLimits(prior_rows=3, files=1, rows_per_file=1, referrers=1))

    def result(question: str) -> set[str]:
        items = retrieve(parse_query(question), snapshot, IndexedSnapshot(snapshot), few, CancelToken()).items
        return {item.symbol for item in items if item.symbol}

    assert "shrink" in result("what happens to the amount after a discount?")
    assert "shrink" not in result("which tests check the amount after a discount?")


def test_callees_of_relevant_code_are_found_without_common_words(tmp_path: Path) -> None:
    text = "-- a.py --\ndef rotate_ledger(book):\n    '''Close the ledger of the month.'''\n    return zq7(book)\n\n"
    text += "def zq7(v):\n    return v + 1\n\n" + "".join(
        f"def other_{i}(v):\n    return v + {i}\n\n" for i in range(30)
    )
    snapshot = snapshot_of(text, tmp_path)
    result = ranked("how is the ledger of a month closed?", snapshot)
    assert result[0] == "rotate_ledger"
    assert result.index("zq7") < 5


def test_results_are_restricted_to_paths(shop: Snapshot) -> None:
    only = next(p for p in shop.files if p.endswith("/checkout.py"))
    assert set(ranked("discount", shop, {only})) <= {"Checkout", "Checkout.place_order", "checkout.py"}
    assert ranked("discount", shop, set()) == []


def test_empty_workspace_has_no_results(tmp_path: Path) -> None:
    snapshot = snapshot_of("", tmp_path)
    result = retrieve(parse_query("anything"), snapshot, _Nothing(), RetrievalStrategy(), CancelToken())
    assert result.items == ()
    for how in (search, search_by_file):
        assert how(parse_query("anything"), snapshot, _Nothing(), RetrievalStrategy(), CancelToken()).items == ()


class _Nothing(IndexedSnapshot):
    def __init__(self) -> None:
        from promptls.index.search.chunk_index import ChunkIndex

        self._index = ChunkIndex()


def test_search_is_sorted_by_score(shop: Snapshot) -> None:
    found = search(
        parse_query("amount after a reduction"), shop, IndexedSnapshot(shop), RetrievalStrategy(), CancelToken()
    ).items
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert len({item.path for item in found}) < len(found)


def test_search_by_file_shows_best_region_of_each_file_first(shop: Snapshot) -> None:
    result = search_by_file(
        parse_query("amount after a reduction"), shop, IndexedSnapshot(shop), RetrievalStrategy(), CancelToken()
    ).items
    files = [item.path for item in result]
    distinct = len(set(files))
    assert len(set(files[:distinct])) == distinct
    assert files[0].endswith("shop/prices.py")
    assert files.index(next(p for p in files if "legacy" in p)) > 0


def test_search_for_name_shows_its_definition(tmp_path: Path) -> None:
    text = "-- router.py --\nclass Router:\n    '''Routes.'''\n\n    def add_router_route(self, router):\n"
    text += "        if router:\n            return router.router\n        return self.router\n-- use.py --\nrouter = Router()\n"
    for how in (search, search_by_file):
        assert ranked("Router", snapshot_of(text, tmp_path), how=how)[0] == "Router"


def test_row_order_does_not_affect_results(shop: Snapshot) -> None:
    query, token = parse_query("how is the price reduced?"), CancelToken()
    one = describe_candidates(query, shop, IndexedSnapshot(shop), CandidateLimits(), token)
    two = describe_candidates(query, shop, IndexedSnapshot(shop, reverse=True), CandidateLimits(), token)
    assert one is not None and two is not None
    assert [(u.entry.path, u.chunk_index) for u in one.candidates] == [
        (u.entry.path, u.chunk_index) for u in two.candidates
    ]
    assert np.array_equal(one.values, two.values)


def test_deleted_rows_do_not_affect_results(shop: Snapshot) -> None:
    query, token = parse_query("how is the price reduced?"), CancelToken()
    fresh, old = IndexedSnapshot(shop), IndexedSnapshot(shop)
    index = old._index
    for n in range(120):
        key, path = bytes([n]) * 16, f"/gone/price_{n}.py"
        index.set_rows(build_rows([(key, ["price", "amount"])], quantize(index.reader().vectors(np.array([0])))))
        index.update_files([(path, path[1:], [], [key])])
        index.update_files([(path, path[1:], [key], [])])
    one = describe_candidates(query, shop, fresh, CandidateLimits(files=2), token)
    two = describe_candidates(query, shop, old, CandidateLimits(files=2), token)
    assert one is not None and two is not None
    assert [(u.entry.path, u.chunk_index) for u in one.candidates] == [
        (u.entry.path, u.chunk_index) for u in two.candidates
    ]
    for name in FEATURE_NAMES:
        assert one.column(name) == pytest.approx(two.column(name)), name


def test_candidates_are_restricted_to_paths_with_unchanged_scores(shop: Snapshot) -> None:
    query, index = parse_query("how is the amount reduced?"), IndexedSnapshot(shop)
    readme = next(path for path in shop.files if path.endswith("README.md"))
    everywhere = score_first_stage(query, shop, index, CancelToken())
    there = score_first_stage(query, shop, index, CancelToken(), {readme})
    assert there.scope is not None and there.scope.paths == {readme}
    assert np.array_equal(there.scores.prior, everywhere.scores.prior)
    found = describe_candidates(query, shop, index, CandidateLimits(), CancelToken(), {readme}, there)
    assert found is not None
    assert {candidate.entry.path for candidate in found.candidates} == {readme}


def test_body_score_is_bm25(shop: Snapshot) -> None:
    reader = IndexedSnapshot(shop).reader()
    scores = score_rows(("amount", "price", "nowhere"), None, reader)
    assert scores.terms == ("amount", "price")
    for row in range(len(reader)):
        expected = 0.0
        for term in scores.terms:
            held = dict(zip(reader.postings(term).rows.tolist(), reader.postings(term).counts.tolist(), strict=True))
            tf = held.get(row, 0)
            norm = BM25_K1 * (1 - BM25_B + BM25_B * reader.lengths[row] / reader.mean_length)
            expected += reader.idf(term) * tf * (BM25_K1 + 1) / (tf + norm)
        assert scores.body[row] == pytest.approx(expected, rel=1e-5)


def test_prior_is_positive_only_with_evidence(shop: Snapshot) -> None:
    reader = IndexedSnapshot(shop).reader()
    likely = score_rows(("amount",), None, reader).prior  # no model: keywords only
    spoken_of = {reader.paths[reader.file_ids[row]].rsplit("/", 1)[-1] for row in np.flatnonzero(likely).tolist()}
    assert spoken_of == {"prices.py", "test_prices.py"}
    assert score_rows(("nowhere",), None, reader).prior.max() == 0
    own = max(range(len(reader)), key=lambda row: likely[row])
    assert reader.paths[reader.file_ids[own]].endswith("prices.py")


def test_limits_grow_with_number_of_regions() -> None:
    assert CandidateLimits().for_regions(10) == CandidateLimits()
    assert CandidateLimits().for_regions(1000).prior_rows == 3000


def test_score_scale_maps_hundredth_best_to_0_and_best_to_1() -> None:
    values = np.arange(1, 301, dtype=np.float32)
    result = fit_scale(values).apply(values)
    assert result[-1] == pytest.approx(1)
    assert result[200] == 0
    assert result[250] == pytest.approx(50 / 99)
    few = np.array([0.5, 1.0], np.float32)
    assert fit_scale(few).apply(few).tolist() == pytest.approx([0.5, 1.0])
    none = np.zeros(0, np.float32)
    assert fit_scale(none).apply(none).size == 0


def test_deleted_rows_do_not_affect_score_scale() -> None:
    values = np.array([-0.2, 0.1, 0.5, 0.9], np.float32)
    padded = np.concatenate([values, np.zeros(200, np.float32)])
    assert fit_scale(padded) == fit_scale(values)
    assert fit_scale(values).apply(values)[0] == 0


@pytest.mark.parametrize(
    "shape", ["spread", "few above 0", "steps", "all equal", "rising", "one in sixteen", "below 0"]
)
@pytest.mark.parametrize("rank", [1, 8, 100, 800])
def test_kth_score_and_top_indices_are_exact(shape: str, rank: int) -> None:
    rng, n = np.random.default_rng(5), 70_000
    scores = {
        "spread": rng.normal(size=n),
        "few above 0": np.where(rng.random(n) < 0.005, rng.random(n), 0),
        "steps": rng.integers(0, 4, n) / 4,
        "all equal": np.full(n, 0.5),
        "rising": np.linspace(0, 1, n),
        "one in sixteen": np.where(np.arange(n) % 16 == 0, 1 + rng.random(n), rng.random(n)),
        "below 0": -rng.random(n),
    }[shape].astype(np.float32)
    ranked = np.sort(scores[scores > 0])[::-1]
    lowest = ranked[rank - 1] if len(ranked) >= rank else 0
    assert kth_score(scores, rank) == lowest
    assert top_indices(scores, rank).tolist() == np.flatnonzero((scores >= lowest) & (scores > 0)).tolist()


def test_neighborhood_aggregates() -> None:
    place = Neighborhood(
        file=np.array([0, 0, 0, 1]),
        file_count=2,
        scope=np.array([0, 1, 1, 2]),
        scope_count=3,
        parent=np.array([-1, 0, 0, -1]),
        caller=np.array([3, 1]),
        callee=np.array([2, 2]),
        name_count=np.zeros(4, np.float32),
        vectors=np.eye(4, dtype=np.float32),
    )
    scores = np.array([0.9, 0.3, 0.0, 0.6], np.float32)
    result = aggregate(scores, place)
    assert result["file_best"].tolist() == pytest.approx([0.9, 0.9, 0.9, 0.6])
    assert result["file_top"].tolist() == pytest.approx([0.4, 0.4, 0.4, 0.2])
    assert scope_best(scores, place).tolist() == pytest.approx([0.9, 0.3, 0.3, 0.6])
    assert result["parent"].tolist() == pytest.approx([0, 0.9, 0.9, 0])
    assert result["callers"].tolist() == pytest.approx([0, 0, 0.45, 0])
    assert result["callers_best"].tolist() == pytest.approx([0, 0, 0.6, 0])


def test_weights_match_features() -> None:
    weights = bundled_weights()
    assert weights.files.weights.keys() == set(FILE_FEATURE_NAMES)
    for model in (weights.candidates, weights.open_questions):
        assert model.weights.keys() <= set(FEATURE_NAMES)
        for name in ("spelled", "similarity", "covered_any", "brief"):
            assert model.weights[name] >= 0, f"{name} must not reduce a score"


def test_score_is_a_weighted_sum() -> None:
    model = LinearModel({"a": 2.0, "c": -1.0})
    rows = np.array([[1, 5, 0], [3, 5, 1]], np.float32)
    assert model.score(rows, ("a", "b", "c")).tolist() == [2.0, 5.0]


def test_calibration_is_a_logistic_function_of_its_features() -> None:
    scores = np.array([2.0, 5.0])
    calibration = Calibration({"score": 0.5}, offset=-1.0)
    assert calibration.probabilities(scores).tolist() == pytest.approx([0.5, 1 / (1 + math.exp(-1.5))])
    log_total = math.log(math.exp(2) + math.exp(5))
    shares = [2 - log_total, 5 - log_total]
    entropy = -sum(math.exp(share) * share for share in shares)
    expected = [[2.0, shares[0], math.log(2), entropy, 1.0], [5.0, shares[1], 0.0, entropy, 1.0]]
    assert calibration_features(scores, is_open=True) == pytest.approx(np.array(expected))


@given(st.lists(st.floats(-30, 30).map(lambda score: round(score, 3)), min_size=1, max_size=40))
def test_probabilities_keep_the_order_of_scores(scores: list[float]) -> None:
    values = bundled_weights().calibration.probabilities(np.array(scores))
    assert ((values >= 0) & (values <= 1)).all()
    by_score = values[np.argsort(scores, kind="stable")]
    assert (np.diff(by_score[np.flatnonzero(np.diff(np.sort(scores), prepend=-99) > 0)]) >= 0).all()


def test_equal_scores_have_equal_probabilities() -> None:
    values = bundled_weights().calibration.probabilities(np.array([1.0, 4.0, 1.0, 4.0 + 1e-9, 1.0]))
    assert values[[0, 2, 4]].tolist() == [values[0]] * 3
    assert values[1] == pytest.approx(values[3])


def test_probability_depends_on_the_other_candidates() -> None:
    calibration = bundled_weights().calibration
    alone = calibration.probabilities(np.array([6.0, 0.0, 0.0]))[0]
    among_equals = calibration.probabilities(np.array([6.0, 6.0, 6.0]))[0]
    assert alone > among_equals


def test_query_terms_equal_index_terms() -> None:
    assert set(parse_query("Where are the prices formatted?").terms) == set(tokenize("price format"))


@pytest.mark.parametrize(
    ("question", "seeks"),
    [
        ("is there a test for the order of teardown?", True),
        ("which tests cover abbreviated names?", True),
        ("do we check anywhere that the stack holds?", True),
        ("is anything in the suite posting a form piece by piece?", True),
        ("why do my tests run in another order?", False),
        ("how does pytest collect a test module?", False),
        ("does the server check the length?", False),
        ("where is the length checked?", False),
    ],
)
def test_questions_about_tests_are_recognized(question: str, seeks: bool) -> None:
    assert parse_query(question).seeks_tests is seeks


@pytest.mark.parametrize(
    ("question", "seeks"),
    [
        ("what breaks if I rename max_retries?", True),
        ("where is the setting POLLING_FREQUENCY read?", True),
        ("who calls it, and which of them pass options?", True),
        ("I want to remove the cache, what has to change?", True),
        ("if we drop Python 3.9, which files are affected?", True),
        ("where is the length checked?", False),
        ("why does it break?", False),
        ("reduce the memory usage of the parser", False),
        ("it still fails if I change the language", False),
    ],
)
def test_questions_about_uses_are_recognized(question: str, seeks: bool) -> None:
    assert parse_query(question).seeks_uses is seeks
