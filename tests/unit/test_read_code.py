"""Regions with line numbers, imports, headers and relations; what a session has received; fair shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from graphkit import context_for
from promptls.model import Span
from promptls.prompt.read_code import ReadResult, Received, read_places, split_place
from promptls.prompt.tokens import counter, fair_limit

SHOP = '''
-- shop/cart.py --
"""Carts of customers."""

from shop.money import Money, round_up
from shop.items import Item


class Cart:
    """Items that a customer intends to buy."""

    # Adds an item.
    def add(self, item: Item) -> None:
        self.items.append(item)

    def total(self) -> Money:
        """Return the sum of all prices."""
        amount = sum(item.price for item in self.items)
        return round_up(amount)


def checkout(cart: Cart) -> Money:
    return cart.total()
-- shop/money.py --
class Money: ...


def round_up(amount):
    return Money(amount)
-- shop/items.py --
class Item: ...
-- tests/test_money.py --
from shop.money import round_up


def test_round_up():
    assert round_up(1)
'''


def read(
    text: str,
    top: Path,
    *places: str,
    budget: int = 4000,
    has_received: Callable[[str, Span, Sequence[str]], bool] = lambda path, span, lines: False,
    with_graph: bool = True,
) -> ReadResult:
    context = context_for(text, top)
    graph = (lambda: context.graph) if with_graph else (lambda: None)
    return read_places(places, context, counter(), budget, graph, has_received)


def test_a_definition_is_complete_with_its_comment_header_imports_and_relations(tmp_path: Path) -> None:
    assert read(SHOP, tmp_path, "shop/cart.py#Cart.total").text.split("\n") == [
        "shop/cart.py:14-17 method Cart.total",
        "imports shop.money Money round_up",
        " 7\tclass Cart:",
        "14\t    def total(self) -> Money:",
        '15\t        """Return the sum of all prices."""',
        "16\t        amount = sum(item.price for item in self.items)",
        "17\t        return round_up(amount)",
        "calls round_up (money.py:4) · called by 1 (cart.py:21)",
    ]
    assert read(SHOP, tmp_path, "cart.py#Cart.add").text.split("\n")[3] == "10\t    # Adds an item."


def test_imports_of_other_functions_are_not_in_use(tmp_path: Path) -> None:
    text = """
-- a.py --
from m import Cart, Item

def one():
    from other import Cart
    return Cart

def two():
    from other import Item, Cart
    return Cart(Item)

def three():
    return Cart
"""
    assert read(text, tmp_path, "a.py#three").text.split("\n")[1] == "imports m Cart"
    assert read(text, tmp_path, "a.py#two").text.split("\n")[1] == "imports m Cart Item"


def test_relations_name_tests(tmp_path: Path) -> None:
    assert read(SHOP, tmp_path, "#round_up").text.split("\n")[-1] == (
        "calls Money (:1) · called by 1 (cart.py:17) · tests 1 (test_money.py:5)"
    )


def test_relations_that_are_not_ready_are_reported(tmp_path: Path) -> None:
    assert read(SHOP, tmp_path, "#round_up", with_graph=False).text.endswith("\nrelations are not ready")


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("shop/money.py", "1-5"),
        ("money.py", "1-5"),
        ("shop/cart.py:7-8", "7-8"),
        ("shop/cart.py#L7-L8", "7-8"),
        ("@shop/cart.py:7", "7"),
        ("shop/cart.py:15-16", "14-17"),
        ("Cart.total", "14-17"),
        ("…/cart.py:7", "7"),
    ],
)
def test_places_in_all_spellings(tmp_path: Path, place: str, lines: str) -> None:
    found = read(SHOP, tmp_path, place)
    assert [region.span.label for region in found.regions] == [lines], found.text


def test_lines_in_a_short_function_show_all_of_it(tmp_path: Path) -> None:
    assert "17\t        return round_up(amount)" in read(SHOP, tmp_path, "shop/cart.py:15").text


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("", ': File "" not found in the workspace.'),
        ("shop/crt.py", 'shop/crt.py: File "shop/crt.py" not found in the workspace. Nearest: shop/cart.py.'),
        (
            "shop/cart.py#Cart.totl",
            'shop/cart.py#Cart.totl: Symbol "Cart.totl" not found in shop/cart.py. Nearest: shop/cart.py#Cart.total.',
        ),
        ("shop", "shop is a folder; read a file of it: shop/cart.py, shop/items.py, shop/money.py."),
    ],
)
def test_a_place_that_cannot_be_read_has_one_sentence_with_the_nearest_names(
    tmp_path: Path, place: str, problem: str
) -> None:
    found = read(SHOP, tmp_path, place, "shop/items.py")
    assert found.problems == (problem,)
    assert found.text.startswith(f"{problem}\n\nshop/items.py:1")


def test_lines_after_the_end_and_paths_outside_are_problems(tmp_path: Path) -> None:
    assert "has only 1 line" in read(SHOP, tmp_path, "shop/items.py:90-95").text
    assert "outside of the workspace" in read(SHOP, tmp_path, "../../../../../../../../etc/passwd").text


def test_a_region_inside_of_another_one_is_shown_once(tmp_path: Path) -> None:
    found = read(SHOP, tmp_path, "shop/cart.py#Cart", "shop/cart.py#Cart.add")
    assert len(found.regions) == 1


STEPS = "\n".join(f"    value = step_{i}(value, {i})" for i in range(300))
METHODS = "\n".join(f"    def m{i}(self):\n        return {i}\n" for i in range(80))
LONG = f"""
-- long.py --
def long(value):
{STEPS}
    return value
-- short.py --
def short():
    return 1
-- big.py --
class Big:
{METHODS}
"""


def test_a_region_below_its_share_leaves_the_rest_to_the_others(tmp_path: Path) -> None:
    alone = read(LONG, tmp_path, "long.py#long", budget=1000)
    both = read(LONG, tmp_path, "long.py#long", "short.py#short", budget=1000)
    assert "2\t    return 1" in both.text
    assert both.tokens <= 1000
    assert len(both.text.split("\n")) > 0.85 * len(alone.text.split("\n"))


def test_a_cut_names_the_rest_and_the_place_to_read_it(tmp_path: Path) -> None:
    found = read(LONG, tmp_path, "long.py#long", budget=600)
    (region,) = found.regions
    assert not region.is_complete
    cut = next(line for line in found.text.split("\n") if line.startswith("…"))
    rest = cut.rpartition(":")[2]
    assert cut == f"… {302 - found.received[0].span.end} lines of long left out; read long.py:{rest}"
    assert int(rest.split("-")[0]) == found.received[0].span.end + 1
    again = read(LONG, tmp_path, f"long.py:{rest}", budget=8000)
    assert again.text.endswith("302\t    return value")


def test_a_class_that_does_not_fit_shows_its_methods(tmp_path: Path) -> None:
    found = read(LONG, tmp_path, "big.py#Big", budget=700)
    assert "  1\tclass Big:\n  2\t    def m0(self):\n" in found.text
    assert "return 0" not in found.text
    assert "only definitions are shown" in found.text
    assert found.tokens <= 700


def test_a_file_that_does_not_fit_shows_its_definitions(tmp_path: Path) -> None:
    found = read(LONG, tmp_path, "big.py", budget=400)
    assert "2-3 method Big.m0" in found.text
    assert "read big.py#NAME or big.py:FIRST-LAST" in found.text


@pytest.mark.parametrize("budget", [60, 200, 500, 2000])
def test_the_budget_is_never_exceeded(tmp_path: Path, budget: int) -> None:
    found = read(LONG, tmp_path, "long.py", "big.py", "short.py", budget=budget)
    assert found.tokens == counter().count(found.text)
    assert found.tokens <= budget or budget == 60  # three headings alone need more


def test_fair_limit() -> None:
    assert fair_limit([10, 100, 1000], 300) == 190
    assert fair_limit([500, 500], 300) == 150
    assert fair_limit([10, 20], 300) == 20
    assert fair_limit([], 300) == 0


def test_secrets_are_redacted(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert key not in read(f'-- a.py --\nTOKEN = "{key}"\n', tmp_path, "a.py").text


def test_split_place() -> None:
    assert split_place("a b.py:10-20,30-40") == ("a b.py", (Span(9, 20), Span(29, 40)), "")
    assert split_place("a.py:10,20") == ("a.py", (Span(9, 10), Span(19, 20)), "")
    assert split_place("a.rb#L3") == ("a.rb", (Span(2, 3),), "")
    assert split_place("a.py#A.b") == ("a.py", (), "A.b")
    assert split_place("#A.b") == ("", (), "A.b")


def read_in_session(received: Received, session: str, text: str, top: Path, *places: str) -> str:
    found = read(text, top, *places, has_received=lambda path, span, lines: received.has(session, path, span, lines))
    received.add(session, found.received)
    return found.text


def test_received_text_is_one_line_in_its_session_only(tmp_path: Path) -> None:
    received = Received()
    read_in_session(received, "a", SHOP, tmp_path, "shop/cart.py#Cart")
    again = read_in_session(received, "a", SHOP, tmp_path, "shop/cart.py#Cart.total", "shop/money.py")
    assert again.startswith("unchanged since it was read: shop/cart.py:14-17\n\nshop/money.py:1-5 file\n")
    assert "class Cart" in read_in_session(received, "b", SHOP, tmp_path, "shop/cart.py#Cart")
    assert "class Cart" in read_in_session(received, "", SHOP, tmp_path, "shop/cart.py#Cart")


def test_text_that_has_changed_since_is_sent_again(tmp_path: Path) -> None:
    received = Received()
    read_in_session(received, "a", SHOP, tmp_path, "shop/cart.py#Cart.total")
    changed = SHOP.replace("return round_up(amount)", "return amount")
    assert "return amount" in read_in_session(received, "a", changed, tmp_path, "shop/cart.py#Cart.total")
    moved = changed.replace("# Adds an item.", "# Adds an item,\n    # once.")
    assert "return amount" in read_in_session(received, "a", moved, tmp_path, "shop/cart.py#Cart.total")


def test_text_that_was_cut_is_not_received(tmp_path: Path) -> None:
    received = Received()
    found = read(LONG, tmp_path, "long.py#long", budget=500)
    received.add("a", found.received)
    assert "value = step_200" in read_in_session(received, "a", LONG, tmp_path, "long.py#long")
