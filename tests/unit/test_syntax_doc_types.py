"""Types and imports in documentation comments, by language."""

from __future__ import annotations

import pytest

from promptls.index.syntax import doc_types
from promptls.index.syntax.tree_sitter.source_text import SourceText
from promptls.languages import LANGUAGES

SCRIPT = """\
/**
 * Rings up.
 * @param {Cart | null} cart what to ring up
 * @param {?Till=} [till] where
 * @param {import("./store").Shelf} shelf
 * @param {Cart | Till} either
 * @param {{ a: Cart }} shape
 * @param {object} options
 * @param {Cart} options.cart
 * @param {string[]} names
 * @returns {Promise<Receipt>} the receipt
 */
async function ring(cart, till, shelf) {}

class Shop {
  /** @type {Map<string, Cart>} */
  carts = new Map();
  /**
   * @type {Till}
   */
  #till;
  constructor(till) {
    /** @type {Till} */
    this.till = till;
    const first = /** @type {Cart} */ (till.first);
    /** @type {Cart} */ (till.second).ring();
    // @param {Cart} nobody
    run("@type {Cart}", "@returns {Cart}");
  }
}
"""

PHP = """\
<?php
class Shop {
    /** @var Cart|null the first */
    private $cart;
    /** @var \\Shop\\Till[] */
    protected static array $tills = [];
    /**
     * @param \\Shop\\Till $till
     * @param int|string $either
     * @param string ...$names
     * @return static
     */
    #[Pure]
    public function ring($till, $either) {
        /** @var Cart $first */
        $first = $till->first();
    }
}
"""

RUBY = """\
class Shop
  # Rings up.
  # @param till [Till] where
  # @param [Cart, nil] cart what
  # @param either [Cart, Till]
  # @return [Store::Receipt]
  def ring(till, cart)
  end
end
"""

LUA = """\
--- Rings up.
---@param cart Cart
---@param names string[]
---@param till? Till where
---@return Receipt
function ring(cart, till) end
-- @param other Cart of LDoc, whose tags have no types
---@type Till
local till = open()
"""

CASES = {
    "javascript": (
        SCRIPT,
        [
            "12 cart: ?Cart",
            "12 till: ?Till",
            "12 shelf: ?Shelf",
            "12 options: object",
            "12 names: Array",
            "12 (): ?Receipt",
            "16 carts: Map",
            "20 #till: ?Till",
            "23 this.till: ?Till",
            "24 first: ?Cart",
            "27 nobody: ?Cart",
        ],
    ),
    "php": (
        PHP,
        [
            "3 $cart: Cart",
            "5 $tills: Array",
            "13 $till: Shop.Till",
            "13 $names: string",
            "13 (): static",
            "15 $first: Cart",
        ],
    ),
    "ruby": (RUBY, ["6 till: Till", "6 cart: Cart", "6 (): Store.Receipt"]),
    "lua": (LUA, ["5 cart: ?Cart", "5 names: Array", "5 till: ?Till", "5 (): ?Receipt", "8 till: ?Till"]),
    "python": ("# @param {Cart} cart\ndef f(cart): ...\n", []),
}


@pytest.mark.parametrize("language", list(CASES))
def test_types_in_comments(language: str) -> None:
    text, expected = CASES[language]
    types = [
        f"{line} {variable}: {of}"
        for variable, of, line in doc_types.documented_types(SourceText(text), LANGUAGES[language])
    ]
    assert types == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/** @typedef {import('./a').B} B */", [("./a", ("B",), (), 0)]),
        ("/** @typedef {import('./a').B<C>} D */", [("./a", ("B",), ("D",), 0)]),
        ("\n/** @typedef {import('./a')} A */", [("./a", ("*",), ("A",), 1)]),
        ("/** @typedef {object} A */", []),
        ("/** @import A from './a' */", [("./a", ("default",), ("A",), 0)]),
        ("/** @import { A, B as C } from './a' */", [("./a", ("A", "B"), ("A", "C"), 0)]),
        ("/**\n * @import {\n *   A,\n *   B\n * } from './a'\n */", [("./a", ("A", "B"), (), 1)]),
        ("// nothing of import", []),
    ],
)
def test_imports_in_comments(text: str, expected: list[object]) -> None:
    assert list(doc_types.documented_imports(SourceText(text), LANGUAGES["javascript"])) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("php", "/** @var A */ " + "public " * 22 + "\n"),
        ("php", "/** @param " + "a|" * 2_000 + " */\n"),
        ("javascript", "/** " + "@import {" * 1_000 + "\n*/\n"),
        ("javascript", "/** @param {" + "{a}" * 300 + " x\n*/\n"),
        ("javascript", "/** @type {A} */ " + "const " * 26 + "\n"),
        ("ruby", "# @param [" + "A, " * 300 + "\n"),
    ],
)
def test_hostile_comments_are_read_without_backtracking(language: str, text: str) -> None:
    """Each of these took minutes with a regular expression that backtracks."""
    source = SourceText(text * 100)
    assert not [triple for triple in doc_types.documented_types(source, LANGUAGES[language]) if triple[0] == "nobody"]
    assert not list(doc_types.documented_imports(source, LANGUAGES[language]))


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("Cart", "Cart"),
        ("?Cart", "Cart"),
        ("Cart|null", "Cart"),
        ("null | Cart | undefined", "Cart"),
        ("Promise<Cart>", "Cart"),
        ("Promise<Cart | null>", "Cart"),
        ("Promise<" * 3_000 + "Cart" + ">" * 3_000, ""),
        ("Map<string, Cart | Till>", "Map"),
        ("ns.Cart", "ns.Cart"),
        ("\\Shop\\Cart", "Shop.Cart"),
        ("Shop::Cart", "Shop.Cart"),
        ("Cart[]", "Array"),
        ("Cart | Till", ""),
        ("{ a: Cart | null }", ""),
        ("function(Cart): void", ""),
        ("(a: Cart) => Till", ""),
        ("*", ""),
        ("", ""),
    ],
)
def test_class_name_of_a_documented_type(type_: str, name: str) -> None:
    assert doc_types._documented_class(type_) == name
