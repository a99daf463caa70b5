"""Live anchors: a mention in a prompt document goes on meaning the same code, whatever happens to its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_language import Page

from lsp import Client, Json

Start = Callable[..., Client]

QUESTION = "Is this right? @shop/cart.py:24-26 and @#Cart.total"
DISCOUNT = "def apply_discount(cart: Cart, percent: int) -> Money:"


@pytest.fixture
def asked(shop: Path) -> Path:
    file = shop / "ask.prompt.md"
    file.write_text(QUESTION)
    return file


def begun(start: Start, shop: Path, asked: Path) -> tuple[Client, Page]:
    client = start(shop)
    client.settled()
    page = Page(client, shop, asked.as_uri(), asked.read_text())
    page.at("hover", "@shop")
    return client, page


def resolved(page: Page) -> list[Json]:
    params = {"message": page.text, "document": page.uri}
    found: list[Json] = page.client.request("promptls/resolveMentions", params)["mentions"]
    return found


def test_lines_move_with_edits_that_are_not_saved(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    text = cart.read_text()
    client.open(cart, text)
    for version in range(2, 42):  # forty edits, one line each
        text = f"# {version}\n{text}"
        client.change(cart, version, {"range": _at(0, 0), "text": f"# {version}\n"})
    (lines, _) = resolved(page)
    assert (lines["status"], lines["anchor"], lines["suggestion"]) == ("included", "moved", "@shop/cart.py:64-66")
    assert DISCOUNT in page.at("hover", "@shop")["contents"]["value"]
    built = client.build(page.text, document=page.uri, sections={"retrieval": False})
    assert DISCOUNT in built["prompt"]
    (fix, *_) = page.ask("codeAction", range=page.range("@shop/cart.py:24-26"), context={"diagnostics": []})
    assert fix["title"] == "Name the lines as they are now: @shop/cart.py:64-66"


def _at(line: int, character: int) -> Json:
    place = {"line": line, "character": character}
    return {"start": place, "end": place}


def test_a_restart_finds_what_was_meant(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    assert client.stop() == 0
    cart = shop / "shop/cart.py"
    cart.write_text('"""One more line."""\n' + cart.read_text())
    _, page = begun(start, shop, asked)
    (lines, _) = resolved(page)
    assert (lines["anchor"], lines["suggestion"]) == ("moved", "@shop/cart.py:25-27")


def test_a_file_that_was_renamed_elsewhere_is_found_by_its_text(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    (shop / "store").mkdir()
    (shop / "shop/cart.py").rename(shop / "store/basket.py")
    client.files_changed(shop / "shop/cart.py", shop / "store/basket.py")
    client.settled()
    (lines, symbol) = resolved(page)
    assert (lines["status"], lines["suggestion"]) == ("included", "@store/basket.py:24-26")
    assert symbol["status"] == "included"


def test_edited_lines_are_reported(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    client.open(cart, cart.read_text())
    client.replace(cart, 2, cart.read_text().replace("100 - percent", "99 - percent"))
    (lines, _) = resolved(page)
    assert (lines["status"], lines["anchor"]) == ("included", "changed")
    assert "have been edited" in lines["reason"]
    client.replace(cart, 3, cart.read_text())
    assert "anchor" not in resolved(page)[0]


def test_deleted_lines_are_never_other_lines(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    text = cart.read_text()
    client.open(cart, text)
    without = text[: text.index("def apply_discount")] + "\n".join(f"line_{i} = {i}" for i in range(9)) + "\n"
    client.replace(cart, 2, without)
    (lines, _) = resolved(page)
    assert (lines["status"], lines["anchor"], lines["targets"]) == ("unresolved", "deleted", [])
    assert "no longer in shop/cart.py" in lines["reason"]
    client.replace(cart, 3, text)
    assert resolved(page)[0]["status"] == "included"


def test_a_definition_is_followed_to_its_new_name(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    client.open(cart, cart.read_text())
    client.replace(cart, 2, cart.read_text().replace("def total(", "def sum_up("))
    (_, symbol) = resolved(page)
    assert (symbol["status"], symbol["anchor"]) == ("included", "moved")
    assert symbol["reason"] == "Cart.total is called Cart.sum_up now."
    assert symbol["suggestion"] == "@shop/cart.py#Cart.sum_up"


def test_other_numbers_are_another_mention(start: Start, shop: Path, asked: Path) -> None:
    client, page = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    cart.write_text("# one\n# two\n" + cart.read_text())
    client.files_changed(cart)
    client.settled()
    page.put("Is this right? @shop/cart.py:26-28", 2)
    assert "def apply_discount" in page.at("hover", "@shop")["contents"]["value"]
    assert "anchor" not in resolved(page)[0]


def test_a_message_without_a_document_has_no_anchors(start: Start, shop: Path, asked: Path) -> None:
    client, _ = begun(start, shop, asked)
    cart = shop / "shop/cart.py"
    client.open(cart, cart.read_text())
    client.replace(cart, 2, "# one\n" + cart.read_text())
    (lines, _) = client.request("promptls/resolveMentions", {"message": QUESTION})["mentions"]
    assert "anchor" not in lines
