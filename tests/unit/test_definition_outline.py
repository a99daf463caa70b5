"""Outlines of the central definitions of a file."""

from __future__ import annotations

from promptkit import renderer, symbol_item, text_file
from promptls.model import FileText, Item
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.rendering.forms import (
    MAX_MEMBERS,
    DefinitionOutline,
    outline_definitions,
    without_type_parameters,
)

SHOP = text_file(
    '''class Cart:
    """Things that a customer buys.

    More of it.
    """

    def add(self, item):
        line = item
        return line

    def total(self):
        return 1

    def _round(self):
        return 2


def pay(cart):
    """Pay for a cart."""
    return cart


def unrelated():
    return 3
''',
    "shop.py",
)


def outline(file: FileText, names: list[str], mentions: dict[str, int] | None = None) -> DefinitionOutline:
    items: list[Item] = [symbol_item(file, name, score=0.9 - 0.1 * i) for i, name in enumerate(names)]
    return outline_definitions(items, file, renderer(), lambda name: (mentions or {}).get(name, 0))


def test_outline_has_signature_documentation_and_public_members() -> None:
    rendered = outline(SHOP, ["Cart"]).outline()
    assert rendered is not None
    assert rendered.body == (
        "1-15  class Cart - Things that a customer buys.\n  7-9  def add(self, item)\n  11-12  def total(self)"
    )
    assert (rendered.form, rendered.item.symbol, rendered.spans) == ("outline", "Cart", ())


def test_definitions_of_one_file_are_one_item_in_file_order() -> None:
    forms = outline(SHOP, ["pay", "Cart"])
    rendered = forms.outline()
    assert rendered is not None
    assert [line.split("  ")[-1] for line in rendered.body.split("\n") if not line.startswith(" ")] == [
        "class Cart - Things that a customer buys.",
        "def pay(cart) - Pay for a cart.",
    ]
    assert (forms.item.kind, forms.item.symbol, forms.item.score) == ("file", "", 0.9)
    assert "unrelated" not in rendered.body


def test_most_mentioned_members_are_shown_and_the_others_counted() -> None:
    methods = "".join(f"    def m{i}(self):\n        x = {i}\n        return x\n" for i in range(9))
    forms = outline(text_file(f"class A:\n{methods}"), ["A"], {f"m{i}": 5 for i in (1, 3, 5, 7, 8)})
    rendered = forms.outline()
    assert rendered is not None
    shown = [line.split("def ")[1] for line in rendered.body.split("\n") if "def " in line]
    assert shown == [f"m{i}(self)" for i in (1, 3, 5, 7, 8)]
    assert rendered.body.endswith(f"… {9 - MAX_MEMBERS} more members")


def test_outline_is_the_only_form_that_is_packed() -> None:
    packed = pack([], [PackingCandidate(outline(SHOP, ["Cart"]))], 4000)
    assert [item.rendered.form for item in packed.items] == ["outline"]
    assert "return line" not in packed.items[0].rendered.body


def test_outline_is_cut_to_the_budget() -> None:
    forms = outline(SHOP, ["Cart", "pay"])
    full = forms.outline()
    assert full is not None
    packed = pack([], [PackingCandidate(forms)], full.tokens - 1)
    assert packed.tokens <= full.tokens - 1
    assert "class Cart" in packed.items[0].rendered.body
    assert pack([], [PackingCandidate(forms)], 5).items == ()


def test_secret_in_documentation_is_redacted() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    rendered = outline(text_file(f'class A:\n    """Uses {key} as its key."""\n'), ["A"]).outline()
    assert rendered is not None
    assert key not in rendered.body


def test_long_type_parameters_are_left_out() -> None:
    assert without_type_parameters("add<T extends Record<string, number> = {}>(a: T): void") == "add(a: T): void"
    assert without_type_parameters("map<A, B>(f: (a: A) => B): B") == "map<A, B>(f: (a: A) => B): B"
    assert (
        without_type_parameters("f(a: Map<string, Record<string, number>>): void")
        == "f(a: Map<string, Record<string, number>>): void"
    )
    assert without_type_parameters("x<" + "a" * 50) == "x<…"
