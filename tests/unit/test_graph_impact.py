"""What a change of a definition breaks: imports, re-exports, overrides and tests through callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import ref_of, short_name, view_of
from promptls.graph import impact
from promptls.graph.graph import GraphView, is_index

SHOP = """
-- shop/__init__.py --
from .prices import total
-- shop/prices.py --
def total(cart):
    return sum(cart)


def rebate(cart):
    return total(cart) // 10


def invoice(cart):
    return rebate(cart)
-- shop/stores.py --
from shop.prices import total as sum_of
from other import total


class Store:
    def save(self):
        pass


class DiskStore(Store):
    def save(self):
        return sum_of([])


class FastStore(DiskStore):
    def save(self):
        return 1
-- web/basket.ts --
import { total } from "./totals";
export { total } from "./totals";
export const shown = () => total([]);
-- web/totals.ts --
export function total(cart: number[]) {
  return cart.length;
}
-- tests/test_prices.py --
from shop.prices import invoice, total


def test_total():
    assert total([]) == 0


def test_invoice():
    assert invoice([]) == 0
"""


@pytest.fixture
def view(tmp_path: Path) -> GraphView:
    return view_of(SHOP, tmp_path)


def test_imports_and_reexports_of_one_of_two_definitions(view: GraphView) -> None:
    label = view.snapshot.label
    found = [(label(e.path), e.line, is_index(e.path)) for e in view.import_uses(ref_of(view, "shop/prices.py:total"))]
    assert found == [("shop/__init__.py", 0, True), ("shop/stores.py", 0, False), ("tests/test_prices.py", 0, False)]
    web = view.import_uses(ref_of(view, "web/totals.ts:total"))
    assert {label(edge.path) for edge in web} == {"web/basket.ts"}
    assert view.import_uses(ref_of(view, "shop/stores.py:Store.save")) == ()


@pytest.mark.parametrize(
    ("name", "below", "above"),
    [
        ("Store.save", ["DiskStore.save", "FastStore.save"], []),
        ("DiskStore.save", ["FastStore.save"], ["Store.save"]),
        ("FastStore.save", [], ["DiskStore.save", "Store.save"]),
        ("Store", ["DiskStore", "FastStore"], []),
    ],
)
def test_overrides_in_both_directions(view: GraphView, name: str, below: list[str], above: list[str]) -> None:
    ref = ref_of(view, f"shop/stores.py:{name}")
    names = [short_name(view, one).partition(":")[2] for one in impact.implementations_of(view, ref)]
    assert names == below
    assert [short_name(view, one).partition(":")[2] for one in impact.overridden_by(view, ref)] == above


def test_tests_through_callers_name_the_first_caller(view: GraphView) -> None:
    found = impact.indirect_tests(view, ref_of(view, "shop/prices.py:total"))
    names = [(short_name(view, test), short_name(view, caller)) for test, caller in found]
    assert names == [("tests/test_prices.py:test_invoice", "shop/prices.py:rebate")]
