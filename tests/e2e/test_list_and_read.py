"""promptls/list and promptls/read with a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SHOP, write_tree
from lsp import Client, ResponseError, indexed_client


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("list-and-read") / "shop", SHOP)


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[Client]:
    with indexed_client(root.parent / "cache", root) as client:
        yield client


def test_a_region_of_a_list_can_be_read(client: Client) -> None:
    listed = client.request("promptls/list", {"query": "how is a discount applied?"})
    region = next(region for region in listed["regions"] if region["symbol"] == "apply_discount")
    assert f"\n{region['number']} " in listed["text"]
    assert listed["tokens"] <= 1900
    first, last = region["ranges"][0]["start"]["line"] + 1, region["ranges"][0]["end"]["line"]
    found = client.request("promptls/read", {"places": [f"{region['path']}:{first}-{last}"]})
    assert found["regions"][0]["symbol"] == "apply_discount"
    assert "\tdef apply_discount(cart: Cart, percent: int) -> Money:" in found["text"]


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("promptls/list", {"query": " "}, "query"),
        ("promptls/list", {"query": "x", "snippets": 99}, "snippets"),
        ("promptls/list", {"query": "x", "first": 0}, "first"),
        ("promptls/list", {"query": "x", "budget": {"tokens": -1}}, "budget.tokens"),
        ("promptls/read", {"places": []}, "places"),
        ("promptls/read", {"places": ["a.py"], "budget": {"counter": "abacus"}}, "budget.counter"),
    ],
)
def test_invalid_params_name_the_field(client: Client, method: str, params: dict[str, object], field: str) -> None:
    with pytest.raises(ResponseError) as caught:
        client.request(method, params)
    assert caught.value.data["field"] == field


def test_an_unsaved_edit_is_listed_and_read(client: Client, root: Path) -> None:
    cart = root / "shop/cart.py"
    client.open(cart, "def frobnicate_basket():\n    return 42\n")
    try:
        listed = client.request("promptls/list", {"query": "frobnicate basket"})
        assert "frobnicate_basket" in listed["text"]
        assert "2\t    return 42" in client.request("promptls/read", {"places": ["shop/cart.py"]})["text"]
    finally:
        client.close(cart)
