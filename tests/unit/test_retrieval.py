"""From a question to ranked regions, on small workspaces with the real model and the shipped weights."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from promptls.index.search import vectors
from promptls.index.search.analyzer import terms
from promptls.index.search.row_batch import rounded, rows_of
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.retrieval import Strategy, retrieve, search
from promptls.retrieval import file_ranking as of_files
from promptls.retrieval.candidates import Reach
from promptls.retrieval.features import NAMES
from promptls.retrieval.linear_model import Sum, bundled
from promptls.retrieval.neighborhood import Around, spread
from promptls.retrieval.query import analyse
from promptls.retrieval.retrieve import describe, scanned
from promptls.retrieval.scorers import K1, B, bar, best, scale, scan
from workspaces import Indexed, snapshot_of

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
    found = how(analyse(question), snapshot, Indexed(snapshot), Strategy(), CancelToken(), within)
    return [item.symbol or item.path.rsplit("/", 1)[-1] for item in found.items]


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
def test_what_is_named_or_meant_comes_first(shop: Snapshot, question: str, first: str) -> None:
    assert ranked(question, shop)[0] == first


def test_tests_come_later_unless_they_are_asked_for(shop: Snapshot) -> None:
    plain = ranked("how is a reduction of the amount calculated?", shop)
    assert plain.index("apply_discount") < plain.index("test_apply_discount")
    assert ranked("which test checks the reduction of an amount by ten percent?", shop)[0] == "test_apply_discount"


def test_many_tests_leave_room_for_other_code_unless_they_are_sought(tmp_path: Path) -> None:
    text = "-- shop/prices.py --\ndef shrink(amount, discount):\n    return amount - discount\n"
    for n in range(8):
        text += f'-- tests/test_{n}.py --\ndef test_{n}():\n    """The amount after a discount."""\n    assert {n}\n'
    snapshot = snapshot_of(text, tmp_path)
    few = Strategy(reach=Reach(likely=3, files=1, per_file=1, referrers=1))

    def found(question: str) -> set[str]:
        items = retrieve(analyse(question), snapshot, Indexed(snapshot), few, CancelToken()).items
        return {item.symbol for item in items if item.symbol}

    assert "shrink" in found("what happens to the amount after a discount?")
    assert "shrink" not in found("which tests check the amount after a discount?")


def test_what_confident_code_calls_is_found_without_a_word_in_common(tmp_path: Path) -> None:
    text = "-- a.py --\ndef rotate_ledger(book):\n    '''Close the ledger of the month.'''\n    return zq7(book)\n\n"
    text += "def zq7(v):\n    return v + 1\n\n" + "".join(
        f"def other_{i}(v):\n    return v + {i}\n\n" for i in range(30)
    )
    snapshot = snapshot_of(text, tmp_path)
    found = ranked("how is the ledger of a month closed?", snapshot)
    assert found[0] == "rotate_ledger"
    assert found.index("zq7") < 5


def test_within_limits_what_is_found(shop: Snapshot) -> None:
    only = next(p for p in shop.files if p.endswith("/checkout.py"))
    assert set(ranked("discount", shop, {only})) <= {"Checkout", "Checkout.place_order", "checkout.py"}
    assert ranked("discount", shop, set()) == []


def test_a_workspace_without_text_has_no_regions(tmp_path: Path) -> None:
    snapshot = snapshot_of("", tmp_path)
    found = retrieve(analyse("anything"), snapshot, _Nothing(), Strategy(), CancelToken())
    assert found.items == ()
    assert search(analyse("anything"), snapshot, _Nothing(), Strategy(), CancelToken()).items == ()


class _Nothing(Indexed):
    def __init__(self) -> None:
        from promptls.index.search.chunk_index import Columns

        self._columns = Columns()


def test_a_search_shows_each_file_once_before_any_twice(shop: Snapshot) -> None:
    found = search(analyse("amount after a reduction"), shop, Indexed(shop), Strategy(), CancelToken()).items
    files = [item.path for item in found]
    distinct = len(set(files))
    assert len(set(files[:distinct])) == distinct
    assert files[0].endswith("shop/prices.py")
    assert files.index(next(p for p in files if "legacy" in p)) > 0


def test_a_search_for_a_name_shows_its_definition(tmp_path: Path) -> None:
    text = "-- router.py --\nclass Router:\n    '''Routes.'''\n\n    def add_router_route(self, router):\n"
    text += "        if router:\n            return router.router\n        return self.router\n-- use.py --\nrouter = Router()\n"
    assert ranked("Router", snapshot_of(text, tmp_path), how=search)[0] == "Router"


def test_the_order_of_rows_makes_no_difference(shop: Snapshot) -> None:
    query, token = analyse("how is the price reduced?"), CancelToken()
    one = describe(query, shop, Indexed(shop), Reach(), token)
    two = describe(query, shop, Indexed(shop, reverse=True), Reach(), token)
    assert one is not None and two is not None
    assert [(u.entry.path, u.index) for u in one.units] == [(u.entry.path, u.index) for u in two.units]
    assert np.array_equal(one.values, two.values)


def test_what_is_gone_from_the_workspace_makes_no_difference(shop: Snapshot) -> None:
    query, token = analyse("how is the price reduced?"), CancelToken()
    fresh, old = Indexed(shop), Indexed(shop)
    columns = old._columns
    for n in range(120):
        key, path = bytes([n]) * 16, f"/gone/price_{n}.py"
        columns.fill(rows_of([(key, ["price", "amount"])], rounded(columns.view().vectors(np.array([0])))))
        columns.move([(path, path[1:], [], [key])])
        columns.move([(path, path[1:], [key], [])])
    one = describe(query, shop, fresh, Reach(files=2), token)
    two = describe(query, shop, old, Reach(files=2), token)
    assert one is not None and two is not None
    assert [(u.entry.path, u.index) for u in one.units] == [(u.entry.path, u.index) for u in two.units]
    for name in NAMES:
        assert one.column(name) == pytest.approx(two.column(name)), name


def test_of_very_many_rows_those_that_are_near_or_hold_a_term_are_scored_as_among_few(
    shop: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Indexed(shop)
    asked = analyse("how is the amount reduced?")
    vector = few.query_vector(asked.text)
    exact = scan(asked.terms, vector, few.columns())
    monkeypatch.setattr(vectors, "EXACT", 1)
    many = Indexed(shop)
    assert many.columns()._signs is not None
    all_near = scan(asked.terms, vector, many.columns())
    rows = np.arange(len(many.columns()))
    for name in ("similarity", "keyword", "likely"):
        assert all_near.looked.of(rows, getattr(all_near, name)) == pytest.approx(getattr(exact, name)), name
    for name in ("meant", "evident", "whole"):
        assert getattr(all_near, name) == pytest.approx(getattr(exact, name)), name
    for within in (None, {path for path in shop.files if path.endswith("prices.py")}):
        of_few, of_many = (describe(asked, shop, i, Reach(files=2), CancelToken(), within) for i in (few, many))
        assert of_few is not None and of_many is not None
        assert [(u.entry.path, u.index) for u in of_few.units] == [(u.entry.path, u.index) for u in of_many.units]
        assert of_few.values == pytest.approx(of_many.values)
    monkeypatch.setattr(vectors, "NEAREST", 1)
    some = scan(asked.terms, vector, many.columns())
    holding = np.flatnonzero(exact.body > 0)
    looked_at = np.union1d(holding, [int(exact.similarity.argmax())])
    assert len(looked_at) < len(exact.body)
    assert some.looked.rows is not None
    assert np.array_equal(some.looked.rows, looked_at)
    assert some.keyword == pytest.approx(exact.keyword[some.looked.rows])
    assert some.looked.row(some.similarity.argmax()[None]) == exact.similarity.argmax()
    others = np.setdiff1d(rows, looked_at)
    assert not some.looked.of(others, some.likely).any()
    assert some.both(looked_at).any() and not some.both(others).any()


def test_of_very_many_rows_those_of_mentioned_files_are_compared_whatever_they_hold(
    shop: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = analyse("how is the amount reduced?")
    exact = scanned(asked, shop, Indexed(shop), CancelToken())
    monkeypatch.setattr(vectors, "EXACT", 1)
    monkeypatch.setattr(vectors, "NEAREST", 1)
    many = Indexed(shop)
    readme = next(path for path in shop.files if path.endswith("README.md"))
    there = scanned(asked, shop, many, CancelToken(), {readme})
    assert there.limits is not None and there.limits.paths == {readme}
    rows = there.limits.rows
    assert len(rows) == 1 and exact.legs.body[rows[0]] == 0  # it holds no term
    everywhere = scanned(asked, shop, many, CancelToken()).legs
    assert not everywhere.looked.of(rows, everywhere.similarity).any()
    assert there.legs.looked.of(rows, there.legs.similarity) == exact.legs.similarity[rows]


def test_the_body_is_scored_by_bm25(shop: Snapshot) -> None:
    view = Indexed(shop).columns()
    legs = scan(("amount", "price", "nowhere"), None, view)
    assert legs.terms == ("amount", "price")
    for row in range(len(view)):
        expected = 0.0
        for term in legs.terms:
            held = dict(zip(view.postings(term).rows.tolist(), view.postings(term).counts.tolist(), strict=True))
            tf = held.get(row, 0)
            norm = K1 * (1 - B + B * view.length[row] / view.mean_length)
            expected += view.idf(term) * tf * (K1 + 1) / (tf + norm)
        assert legs.body[row] == pytest.approx(expected, rel=1e-5)


def test_what_a_question_speaks_of_is_likely_and_nothing_else(shop: Snapshot) -> None:
    view = Indexed(shop).columns()
    likely = scan(("amount",), None, view).likely  # no model: words alone
    spoken_of = {view.files[view.file[row]].rsplit("/", 1)[-1] for row in np.flatnonzero(likely).tolist()}
    assert spoken_of == {"prices.py", "test_prices.py"}
    assert scan(("nowhere",), None, view).likely.max() == 0
    own = max(range(len(view)), key=lambda row: likely[row])
    assert view.files[view.file[own]].endswith("prices.py")


def test_who_wants_more_regions_looks_at_more_places() -> None:
    assert Reach().for_regions(10) == Reach()
    assert Reach().for_regions(1000).likely == 3000


def test_a_leg_is_scaled_from_the_hundredth_best_to_the_best() -> None:
    values = np.arange(1, 301, dtype=np.float32)
    found = scale(values).of(values)
    assert found[-1] == pytest.approx(1)
    assert found[200] == 0
    assert found[250] == pytest.approx(50 / 99)
    few = np.array([0.5, 1.0], np.float32)
    assert scale(few).of(few).tolist() == pytest.approx([0.5, 1.0])
    none = np.zeros(0, np.float32)
    assert scale(none).of(none).size == 0


def test_what_is_gone_makes_no_difference_to_a_scale() -> None:
    values = np.array([-0.2, 0.1, 0.5, 0.9], np.float32)
    padded = np.concatenate([values, np.zeros(200, np.float32)])
    assert scale(padded) == scale(values)
    assert scale(values).of(values)[0] == 0


@pytest.mark.parametrize(
    "shape", ["spread", "few above 0", "steps", "all equal", "rising", "one in sixteen", "below 0"]
)
@pytest.mark.parametrize("rank", [1, 8, 100, 800])
def test_the_best_of_many_scores_are_found_whatever_the_scores_look_like(shape: str, rank: int) -> None:
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
    assert bar(scores, rank) == lowest
    assert best(scores, rank).tolist() == np.flatnonzero((scores >= lowest) & (scores > 0)).tolist()


def test_what_surroundings_make_of_a_score() -> None:
    place = Around(
        file=np.array([0, 0, 0, 1]),
        files=2,
        scope=np.array([0, 1, 1, 2]),
        scopes=3,
        parent=np.array([-1, 0, 0, -1]),
        caller=np.array([3, 1]),
        callee=np.array([2, 2]),
        uses=np.zeros(4, np.float32),
        vectors=np.eye(4, dtype=np.float32),
    )
    found = spread(np.array([0.9, 0.3, 0.0, 0.6], np.float32), place)
    assert found["rank"].tolist() == pytest.approx([math.log1p(r) for r in (0, 2, 3, 1)])
    assert found["file_best"].tolist() == pytest.approx([0.9, 0.9, 0.9, 0.6])
    assert found["file_top"].tolist() == pytest.approx([0.4, 0.4, 0.4, 0.2])
    assert found["scope_best"].tolist() == pytest.approx([0.9, 0.3, 0.3, 0.6])
    assert found["parent"].tolist() == pytest.approx([0, 0.9, 0.9, 0])
    assert found["before"].tolist() == pytest.approx([0, 0.9, 0.3, 0])
    assert found["after"].tolist() == pytest.approx([0.3, 0, 0, 0])
    assert found["callers"].tolist() == pytest.approx([0, 0, 0.45, 0])
    assert found["callers_best"].tolist() == pytest.approx([0, 0, 0.6, 0])
    assert found["callees"].tolist() == [0, 0, 0, 0]


def test_the_weights_belong_to_the_features() -> None:
    weights = bundled()
    assert weights.units.weights.keys() <= set(NAMES)
    assert weights.files.weights.keys() == set(of_files.NAMES)
    for name in ("spelled", "named", "similarity", "covered_any", "covered_own_name"):
        assert weights.units.weights[name] >= 0, f"{name} can only speak for a unit"


def test_chances_rise_with_the_sum_and_stay_between_0_and_1() -> None:
    sum_ = Sum({"a": 2.0, "c": -1.0}, slope=0.5, offset=-1.0)
    sums = sum_.of(np.array([[1, 5, 0], [3, 5, 1]], np.float32), ("a", "b", "c"))
    assert sums.tolist() == [2.0, 5.0]
    assert sum_.chances(sums).tolist() == pytest.approx([0.5, 1 / (1 + math.exp(-1.5))])


def test_terms_of_a_question_are_those_of_the_index() -> None:
    assert set(analyse("Where are the prices formatted?").terms) == set(terms("price format"))


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
def test_whether_a_test_is_looked_for(question: str, seeks: bool) -> None:
    assert analyse(question).seeks_tests is seeks
