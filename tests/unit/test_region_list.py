"""The list of regions: one line each, grouped by file, within a token budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.model import Item, Origin, Span
from promptls.prompt.region_list import RegionList, list_regions
from promptls.prompt.tokens import counter
from promptls.retrieval.query import parse_query
from workspaces import context_of, snapshot_of

SHOP = '''
-- shop/cart.py --
"""Carts of customers."""

class Cart:
    """Items that a customer intends to buy. Carts are never shared."""

    def add(self, item, quantity=1):
        self.items.append((item, quantity))

    def total(self):
        """Return the sum of all prices."""
        return sum(item.price for item, _ in self.items)

def discount(price, percent):
    return price * (100 - percent) / 100
-- shop/money.py --
def total(amounts):
    """Add amounts in cents."""
    return sum(amounts)
-- tests/test_cart.py --
def test_total():
    assert True

def test_discount():
    assert True

def test_add():
    assert True
-- docs/guide.md --
# Guide

## Discounts

Percentages are applied once.
-- config/app.yaml --
server:
  port: 8080
  name: shop
'''


def listed(
    text: str,
    top: Path,
    names: list[str],
    query: str = "discount of a cart",
    budget: int = 1900,
    all_marked: bool = False,
    snippet_lines: int = 0,
) -> RegionList:
    """List the definitions of these names ("cart.py:Cart.add"), or lines ("cart.py:3-4"), best first."""
    snapshot = snapshot_of(text, top)
    items = []
    for name in names:
        file, _, rest = name.partition(":")
        path = next(path for path in snapshot.files if path.endswith(f"/{file}"))
        outline = snapshot.outline(path)
        assert outline is not None
        if rest[0].isdigit():
            first, last = map(int, rest.split("-"))
            items.append(Item(path, Span(first - 1, last), "text", Origin.KEYWORD, 0.5))
        else:
            for symbol in outline.symbols:
                if symbol.qualified == rest:
                    items.append(Item(path, symbol.span, symbol.kind, Origin.KEYWORD, 0.5, symbol.qualified))
    assert len(items) >= len(names)
    sources = context_of(snapshot).sources
    return list_regions(
        items, parse_query(query), sources, counter(), budget, all_marked=all_marked, snippet_lines=snippet_lines
    )


def test_regions_are_grouped_by_folder_and_file_in_the_order_of_their_lines(tmp_path: Path) -> None:
    found = listed(SHOP, tmp_path, ["cart.py:discount", "money.py:total", "cart.py:Cart.add"])
    assert found.text.split("\n") == [
        "shop/",
        "cart.py",
        "1 6-7 method Cart.add(item, quantity=1)",
        "2 13-14 function discount(price, percent)",
        "money.py",
        "3 1-3 function total: Add amounts in cents",
    ]
    assert [region.number for region in found.regions] == [1, 2, 3]


def test_the_note_is_the_documentation_else_the_signature(tmp_path: Path) -> None:
    text = listed(SHOP, tmp_path, ["cart.py:Cart.total", "cart.py:discount"]).text
    assert "method Cart.total: sum of all prices" in text
    assert "function discount(price, percent)" in text


def test_text_shows_the_line_that_matches_the_query(tmp_path: Path) -> None:
    text = "\n".join(
        ["-- notes.txt --", "A first line.", "Reduced prices.", "Install the fish completion here.", "End."]
    )
    found = listed(text, tmp_path, ["notes.txt:1-4"], "fish completion install")
    assert found.text.split("\n")[-1] == "1 1-4 | Install the fish completion here."


def test_a_part_of_a_long_definition_shows_the_line_that_matches_the_query(tmp_path: Path) -> None:
    body = [f"    step_{i}()" for i in range(40)]
    body[30] = "    apply_discount(cart)"
    text = "\n".join(["-- long.py --", "def run():", '    """Run all steps."""', *body])
    snapshot = snapshot_of(text, tmp_path)
    path = next(iter(snapshot.files))
    items = [Item(path, span, "function", Origin.KEYWORD, 0.5, "run") for span in (Span(0, 20), Span(20, 42))]
    found = list_regions(items, parse_query("apply discount"), context_of(snapshot).sources, counter(), 500)
    assert [line for line in found.text.split("\n") if "function" in line] == [
        "1 1-20 function run: Run all steps",
        "2 21-42 function run | apply_discount(cart)",
    ]


def test_keys_have_their_path_and_sections_their_last_heading(tmp_path: Path) -> None:
    found = listed(SHOP, tmp_path, ["guide.md:Guide.Discounts", "app.yaml:server"], all_marked=True)
    assert "docs/guide.md (docs)" in found.text
    assert "section Discounts" in found.text
    assert "section Guide" not in found.text
    assert "key server" in found.text


def test_imports_beside_other_code_are_not_listed(tmp_path: Path) -> None:
    text = "-- a.py --\nimport json\nimport os\n\ndef run():\n    pass\n-- b.py --\nfrom a import run\n"
    found = listed(text, tmp_path, ["a.py:1-2", "a.py:run", "b.py:1-1"])
    assert found.text == "a.py\n1 4-5 function run | pass\nb.py\n2 1 | from a import run"


def test_overlapping_regions_become_one(tmp_path: Path) -> None:
    found = listed(SHOP, tmp_path, ["cart.py:6-7", "cart.py:Cart.add", "cart.py:7-9"])
    assert [region.spans for region in found.regions] == [(Span(5, 9),)]


def test_overloads_are_one_line(tmp_path: Path) -> None:
    text = """
-- A.java --
class A {
    int read(int a) { return a; }

    int read(long a) { return 1; }
}
"""
    found = listed(text, tmp_path, ["A.java:A.read"])
    assert [line for line in found.text.split("\n") if "read" in line] == ["1 2, 4 .read ×2"]
    assert len(found.regions[0].spans) == 2


def test_definitions_of_one_name_in_several_classes_can_be_chosen_one_by_one(tmp_path: Path) -> None:
    text = "-- shapes.py --\n" + "\n".join(
        f"class {name}:\n    def area(self):\n        return {i}\n" for i, name in enumerate(("Circle", "Square"))
    )
    found = listed(text, tmp_path, [f"shapes.py:{name}.area" for name in ("Circle", "Square")])
    assert found.text == "shapes.py\n1 2-3 method Circle.area | return 0\n2 6-7 method Square.area | return 1"


def test_signature_is_the_note_if_the_documentation_repeats_the_name(tmp_path: Path) -> None:
    text = """
-- a.py --
class Pool:
    def set_idle_timeout(self, seconds):
        '''Set the idle timeout.'''
        self.timeout = seconds

    def set_lifetime(self, minutes):
        '''{@inheritDoc}'''
        self.lifetime = minutes
"""
    found = listed(text, tmp_path, ["a.py:Pool.set_idle_timeout", "a.py:Pool.set_lifetime"])
    assert found.text == "a.py\n1 2-4 method Pool.set_idle_timeout(seconds)\n2 6-8 .set_lifetime(minutes)"


def test_copies_of_a_file_are_named_in_one_line(tmp_path: Path) -> None:
    code = "def install():\n    first()\n    second()\n    third()\n"
    found = listed(f"-- a.py --\n{code}-- b/a2.py --\n{code}", tmp_path, ["a.py:install", "a2.py:install"])
    assert len(found.regions) == 1
    assert found.text.split("\n")[-1] == "copies of these regions are in b/a2.py"


def test_only_copies_of_listed_regions_are_named(tmp_path: Path) -> None:
    first = "def install():\n    first()\n    second()\n    third()\n"
    name = "remove_" + "each_and_every_" * 12 + "one"
    second = f"def {name}():\n    fourth()\n    fifth()\n    sixth()\n"
    text = f"-- a.py --\n{first}\n\n{second}-- b/a2.py --\n{second}"
    found = listed(text, tmp_path, ["a.py:install", f"a.py:{name}", f"a2.py:{name}"], budget=40)
    assert [region.symbol for region in found.regions] == ["install"]
    assert "copies" not in found.text


def test_at_most_a_third_is_marked_unless_all_are_wanted(tmp_path: Path) -> None:
    code = "\n".join(f"def work_{i}():\n    pass\n" for i in range(24))
    tests = "\n".join(f"def test_{i}():\n    pass\n" for i in range(24))
    text = f"-- src/a.py --\n{code}-- tests/test_a.py --\n{tests}"
    names = [*(f"test_a.py:test_{i}" for i in range(24)), *(f"a.py:work_{i}" for i in range(24))]
    found = listed(text, tmp_path, names)
    assert [region.mark for region in found.regions].count("test") == 12
    assert found.hidden == 12
    assert "tests/test_a.py (test)" in found.text
    assert len(listed(text, tmp_path, names, all_marked=True).regions) == 48


def test_a_list_without_other_code_has_all_marked_regions(tmp_path: Path) -> None:
    tests = "\n".join(f"def test_{i}():\n    pass\n" for i in range(24))
    found = listed(f"-- tests/test_a.py --\n{tests}", tmp_path, [f"test_a.py:test_{i}" for i in range(24)])
    assert len(found.regions) == 24


@pytest.mark.parametrize("budget", [1, 40, 120, 400, 1900])
def test_the_budget_is_never_exceeded(tmp_path: Path, budget: int) -> None:
    text = "-- many.py --\n" + "\n".join(f"def function_{i}(a, b):\n    return a + b + {i}\n" for i in range(300))
    found = listed(text, tmp_path, [f"many.py:function_{i}" for i in range(300)], budget=budget)
    assert counter().count(found.text) == found.tokens <= budget
    assert len(found.regions) >= budget // 25


def test_a_hundred_regions_fit_in_the_default_budget(tmp_path: Path) -> None:
    text = "\n".join(
        f'-- src/pkg/module_{i}.py --\ndef handle_event_{i}(event, context):\n    """Send event {i} to its handlers."""\n'
        f"    dispatch(event, {i})\n\ndef undo_event_{i}(event):\n    revert(event, {i})\n"
        for i in range(80)
    )
    names = [f"module_{i}.py:{verb}_event_{i}" for i in range(80) for verb in ("handle", "undo")]
    assert len(listed(text, tmp_path, names).regions) >= 100


def test_folders_that_many_paths_have_are_shown_once(tmp_path: Path) -> None:
    package = "src/main/kotlin/com/example/shop/app"
    text = "\n".join(
        f"-- module{i}/{package}/part{i}/File{i}.kt --\nfun run{i}() {{\n    start()\n    go({i})\n}}\n"
        for i in range(8)
    )
    found = listed(text, tmp_path, [f"File{i}.kt:run{i}" for i in range(8)])
    assert found.text.count(package) == 1
    assert "module3/…/part3/File3.kt" in found.text


def test_snippets_are_the_lines_around_the_best_line(tmp_path: Path) -> None:
    text = "\n".join(["-- notes.txt --", *(f"filler {i}" for i in range(20)), "the discount rule", "after", "last"])
    found = listed(text, tmp_path, ["notes.txt:1-23"], "discount", snippet_lines=3)
    assert found.text.split("\n")[2:] == ["20\tfiller 19", "21\tthe discount rule", "22\tafter"]


def test_the_same_regions_give_the_same_text(tmp_path: Path) -> None:
    names = ["money.py:total", "cart.py:Cart.total", "cart.py:discount", "test_cart.py:test_add"]
    assert listed(SHOP, tmp_path, names) == listed(SHOP, tmp_path, names)


def test_secrets_and_line_breaks_in_names_are_not_shown(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f'-- a.py --\ndef connect(token="{key}"):\n    pass\n\nTOKEN = "{key}"\n'
    found = listed(text, tmp_path, ["a.py:connect", "a.py:4-5"])
    assert key not in found.text
    assert len(found.regions) == 2
