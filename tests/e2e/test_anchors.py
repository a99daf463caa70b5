"""Anchors: mentioned lines in a prompt document follow edits of their file."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_language import OpenPrompt

from lsp import Client, Json, Start

QUESTION = "Is this right? @shop/cart.py:24-26"
DISCOUNT = "def apply_discount(cart: Cart, percent: int) -> Money:"


@pytest.fixture
def document(shop: Path) -> Path:
    file = shop / "ask.prompt.md"
    file.write_text(QUESTION)
    return file


def open_document(start: Start, shop: Path, document: Path) -> tuple[Client, OpenPrompt]:
    client = start(shop)
    client.wait_indexed()
    page = OpenPrompt(client, shop, document.as_uri(), document.read_text())
    page.request_at("hover", "@shop")
    return client, page


def resolved(page: OpenPrompt) -> list[Json]:
    params = {"message": page.text, "document": page.uri}
    found: list[Json] = page.client.request("promptls/resolveMentions", params)["mentions"]
    return found


def test_unsaved_edits_move_line_mentions(start: Start, shop: Path, document: Path) -> None:
    client, page = open_document(start, shop, document)
    cart = shop / "shop/cart.py"
    text = cart.read_text()
    client.open(cart, text)
    for version in range(2, 42):  # forty edits, one line each
        text = f"# {version}\n{text}"
        client.change(cart, version, {"range": _at(0, 0), "text": f"# {version}\n"})
    (lines,) = resolved(page)
    assert (lines["status"], lines["anchor"], lines["suggestion"]) == ("included", "moved", "@shop/cart.py:64-66")
    assert DISCOUNT in page.request_at("hover", "@shop")["contents"]["value"]
    built = client.build(page.text, document=page.uri, sections={"retrieval": False})
    assert DISCOUNT in built["prompt"]
    (fix, *_) = page.request("codeAction", range=page.range("@shop/cart.py:24-26"), context={"diagnostics": []})
    assert fix["title"] == "Update line numbers: @shop/cart.py:64-66"


def _at(line: int, character: int) -> Json:
    place = {"line": line, "character": character}
    return {"start": place, "end": place}


def test_edited_lines_are_reported_as_changed(start: Start, shop: Path, document: Path) -> None:
    client, page = open_document(start, shop, document)
    cart = shop / "shop/cart.py"
    client.open(cart, cart.read_text())
    client.replace(cart, 2, cart.read_text().replace("100 - percent", "99 - percent"))
    (lines,) = resolved(page)
    assert (lines["status"], lines["anchor"]) == ("included", "changed")
    assert "were edited" in lines["reason"]
    client.replace(cart, 3, cart.read_text())
    assert "anchor" not in resolved(page)[0]


def test_deleted_lines_are_reported_as_deleted(start: Start, shop: Path, document: Path) -> None:
    client, page = open_document(start, shop, document)
    cart = shop / "shop/cart.py"
    text = cart.read_text()
    client.open(cart, text)
    without = text[: text.index("def apply_discount")] + "\n".join(f"line_{i} = {i}" for i in range(9)) + "\n"
    client.replace(cart, 2, without)
    (lines,) = resolved(page)
    assert (lines["status"], lines["anchor"], lines["targets"]) == ("unresolved", "deleted", [])
    assert "deleted from shop/cart.py" in lines["reason"]
    client.replace(cart, 3, text)
    assert resolved(page)[0]["status"] == "included"


def test_other_line_numbers_are_a_new_mention(start: Start, shop: Path, document: Path) -> None:
    client, page = open_document(start, shop, document)
    cart = shop / "shop/cart.py"
    cart.write_text("# one\n# two\n" + cart.read_text())
    client.files_changed(cart)
    client.wait_indexed()
    page.replace("Is this right? @shop/cart.py:26-28", 2)
    assert "def apply_discount" in page.request_at("hover", "@shop")["contents"]["value"]
    assert "anchor" not in resolved(page)[0]


def test_message_without_document_has_no_anchors(start: Start, shop: Path, document: Path) -> None:
    client, _ = open_document(start, shop, document)
    cart = shop / "shop/cart.py"
    client.open(cart, cart.read_text())
    client.replace(cart, 2, "# one\n" + cart.read_text())
    (lines,) = client.request("promptls/resolveMentions", {"message": QUESTION})["mentions"]
    assert "anchor" not in lines
