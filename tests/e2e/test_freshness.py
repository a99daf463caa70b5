"""Every change before a request is in its result: in symbols, terms, vectors and text."""

from __future__ import annotations

from pathlib import Path

from conftest import git, write_tree
from lsp import Client, Start, Visit


def paths(client: Client, query: str) -> list[str]:
    return [hit["path"] for hit in client.search(query)]


def test_unsaved_edit_is_used_in_next_answer(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    file = shop / "shop/cart.py"
    text = file.read_text()
    client.open(file, text)
    changed = text + "\n\ndef estimate_shipping_zeppelin(cart: Cart) -> Money:\n    return Money(77777)\n"
    client.replace(file, 2, changed)
    result = client.build("what does @#estimate_shipping_zeppelin return?")
    assert result["mentions"][0]["status"] == "included"
    assert "return Money(77777)" in result["prompt"]
    item = result["items"][0]
    assert item["version"] == 2
    hit = client.search("zeppelin shipping")[0]
    assert hit["symbol"] == "estimate_shipping_zeppelin"
    assert "keyword" in hit["reasons"]
    assert "semantic" in hit["reasons"]


def test_unsaved_text_is_used_although_its_version_is_missing(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    uri = (shop / "shop/cart.py").as_uri()
    client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "text": "FIRST = 1\n"}})
    assert "FIRST = 1" in client.build("@shop/cart.py")["prompt"]
    change = {"range": None, "rangeLength": None, "text": "SECOND = 2\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": None}, "contentChanges": [change]})
    assert "SECOND = 2" in client.build("@shop/cart.py")["prompt"]


def test_new_unsaved_file_is_indexed_until_it_is_closed(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    file = shop / "shop/gift_cards.py"
    client.open(file, "def redeem_gift_voucher(code):\n    return lookup_voucher(code).redeem()\n")
    assert paths(client, "redeem gift voucher")[0] == "shop/gift_cards.py"
    assert client.build("@gift_cards.py")["mentions"][0]["status"] == "included"
    client.close(file)
    client.wait_indexed()
    assert "shop/gift_cards.py" not in paths(client, "redeem gift voucher")
    assert client.build("@gift_cards.py")["mentions"][0]["status"] == "unresolved"


def test_closing_without_saving_restores_the_content_on_disk(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    file = shop / "shop/money.py"
    client.open(file, file.read_text())
    client.replace(file, 2, "class Doubloon:\n    '''A gold coin.'''\n    weight = 27\n")
    assert client.build("@shop/money.py")["prompt"].count("Doubloon") == 1
    client.close(file)
    client.wait_indexed()
    prompt = client.build("@shop/money.py")["prompt"]
    assert "Doubloon" not in prompt
    assert "rounding half up" in prompt


def test_saved_edit_survives_a_restart(start: Start, shop: Path) -> None:
    client = start(shop)
    client.wait_indexed()
    file = shop / "shop/money.py"
    text = file.read_text() + "\n\ndef exchange_currency_rate(a, b):\n    return a.cents / b.cents\n"
    client.open(file, file.read_text())
    client.replace(file, 2, text)
    file.write_text(text)
    client.save(file)
    client.wait_indexed()
    client.stop()
    again = start(shop)
    status = again.wait_indexed()
    assert status["embedder"]["embedded"] == 0
    assert again.search("exchange currency rate")[0]["symbol"] == "exchange_currency_rate"


def test_files_created_changed_and_deleted_outside_the_editor(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    new = shop / "shop/invoice.py"
    new.write_text("def print_invoice_letterhead(customer):\n    return customer.address\n")
    client.files_changed(new)
    client.wait_indexed()
    assert paths(client, "invoice letterhead")[0] == "shop/invoice.py"
    new.write_text("def print_packing_slip(customer):\n    return customer.boxes\n")
    client.files_changed(new)
    client.wait_indexed()
    assert client.search("packing slip")[0]["symbol"] == "print_packing_slip"
    new.unlink()
    client.files_changed(new)
    client.wait_indexed()
    assert "shop/invoice.py" not in paths(client, "packing slip")


def included(client: Client, mention: str) -> bool:
    (outcome,) = client.build(f"What is {mention} ?")["mentions"]
    return bool(outcome["status"] == "included")


def test_mention_waits_for_reported_files(visit: Visit, shop: Path) -> None:
    """Files that are created, changed, moved into a new folder and deleted; nothing else is awaited in between."""
    client = visit(shop)
    client.wait_indexed()
    for number in range(6):
        new = shop / f"shop/voucher_{number}.py"
        new.write_text(f"def redeem_voucher_{number}():\n    return {number}\n")
        client.files_changed(new)
        assert included(client, f"@#redeem_voucher_{number}"), "created"
        new.write_text(f"def cancel_voucher_{number}():\n    return {number}\n")
        client.files_changed(new)
        assert included(client, f"@voucher_{number}.py#cancel_voucher_{number}"), "changed"
        assert not included(client, f"@#redeem_voucher_{number}")
        folder = shop / f"moved_{number}"
        folder.mkdir()
        new.rename(folder / "deep.py")
        client.files_changed(folder, new)
        assert included(client, f"@moved_{number}/deep.py#cancel_voucher_{number}"), "moved"
        (folder / "deep.py").unlink()
        client.files_changed(folder / "deep.py")
        assert not included(client, f"@#cancel_voucher_{number}"), "deleted"


def test_unreported_changes_on_disk_are_in_the_prompt(visit: Visit, shop: Path) -> None:
    """Clients need not watch files: the disk is checked when the prompt is built."""
    client = visit(shop)
    client.wait_indexed()
    file = shop / "shop/money.py"
    file.write_text("class Money:\n    '''Now in thalers.'''\n\n    def debase(self):\n        return 1566\n")
    result = client.build("@shop/money.py what is it?")
    assert "Now in thalers." in result["prompt"]
    assert "rounding half up" not in result["prompt"]


def test_unreported_change_right_after_a_prompt_is_in_the_next_one(visit: Visit, shop: Path) -> None:
    """Facts about the project and names of definitions, a few milliseconds after the last check of the disk."""
    questions = ("What is this project about and how is it built?", "How is a price computed?")
    manifest, code = shop / "package.json", shop / "shop/pricing.py"
    names = [f"name{number}" for number in range(5)]

    def write(name: str) -> None:
        manifest.write_text(f'{{"name": "package-{name}", "description": "The {name} of prices."}}')
        code.write_text(f'def compute_price_{name}(price):\n    """Compute a price."""\n    return price * 2\n')

    write("begin")
    client = visit(shop)
    client.wait_indexed()
    for before, name in zip(["begin", *names], names, strict=False):
        prompts = [client.build(question) for question in questions]
        assert f"package-{before}" in prompts[0]["prompt"]
        write(name)
        prompts = [client.build(question) for question in questions]
        assert f"package-{name}" in prompts[0]["prompt"]
        assert f"compute_price_{name}" in prompts[1]["prompt"]
        assert not any(before in prompt["prompt"] for prompt in prompts), before


def test_rename_embeds_nothing(start: Start, shop: Path) -> None:
    client = start(shop)
    before = client.wait_indexed()["embedder"]["embedded"]
    old, new = shop / "shop/money.py", shop / "shop/currency.py"
    old.rename(new)
    client.files_changed(old, new)
    assert client.wait_indexed()["embedder"]["embedded"] == before
    assert paths(client, "amount in cents")[0] == "shop/currency.py"


def test_branch_switch_embeds_only_new_chunks(start: Start, shop: Path) -> None:
    client = start(shop)
    client.wait_indexed()
    git(shop, "checkout", "-qb", "other")
    (shop / "shop/cart.py").write_text("def wholly_new_checkout_lane():\n    return 'lane'\n")
    git(shop, "commit", "-qam", "other")
    client.files_changed(shop / "shop/cart.py")
    there = client.wait_indexed()["embedder"]["embedded"]
    git(shop, "checkout", "-q", "-")
    client.files_changed(shop / "shop/cart.py")
    back = client.wait_indexed()
    assert back["embedder"]["embedded"] == there
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"
    assert "shop/cart.py" not in [
        h["path"] for h in client.search("wholly_new_checkout_lane") if "symbol" in h["reasons"]
    ]


def test_changed_ignore_file_takes_effect(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.wait_indexed()
    assert "web/session.js" in paths(client, "refresh session cookie")
    (shop / ".gitignore").write_text("web/\n")
    git(shop, "rm", "-rq", "--cached", "web")
    client.files_changed(shop / ".gitignore")
    client.wait_indexed()
    assert "web/session.js" not in paths(client, "refresh session cookie")
    assert client.build("@web/session.js")["mentions"][0]["status"] == "refused"


def test_adding_and_removing_roots(start: Start, shop: Path, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", "-- shop/cart.py --\ndef push_trolley():\n    return 'squeak'\n")
    client = start(shop)
    client.wait_indexed()
    client.folders_changed(added=[(other, "other")])
    assert len(client.wait_indexed()["roots"]) == 2
    assert client.search("push trolley")[0]["symbol"] == "push_trolley"
    result = client.build("@cart.py")
    assert result["mentions"][0]["status"] == "ambiguous"
    assert set(result["mentions"][0]["candidates"]) == {"@shop-root:shop/cart.py", "@other:shop/cart.py"}
    assert client.build("@other:shop/cart.py")["mentions"][0]["status"] == "included"
    client.folders_changed(removed=[(other, "other")])
    assert len(client.wait_indexed()["roots"]) == 1
    assert all(h["path"] != "shop/cart.py" or "squeak" not in str(h) for h in client.search("push trolley"))
    assert client.build("@cart.py")["mentions"][0]["status"] == "included"
    client.folders_changed(removed=[(shop, shop.name)])  # this one was given by "rootUri"
    assert client.wait_indexed()["roots"] == []


def test_excluded_file_is_removed_from_the_index_and_the_cache(start: Start, shop: Path, tmp_path: Path) -> None:
    (shop / "shop/vault.py").write_text("def combination_of_the_vault():\n    return 'ruby tulip cascade'\n")
    client = start(shop)
    client.wait_indexed()
    assert "shop/vault.py" in paths(client, "combination of the vault")
    client.configuration = {"index": {"exclude": ["vault.py"]}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait_indexed()
    assert "shop/vault.py" not in paths(client, "combination of the vault")
    result = client.build("what is in @shop/vault.py and @#combination_of_the_vault ?")
    assert [m["status"] for m in result["mentions"]] == ["refused", "unresolved"]
    assert "index.exclude" in result["mentions"][0]["reason"]
    assert "tulip" not in result["prompt"]
    client.open(shop / "shop/cart.py", "def edited_after_the_settings():\n    return 1\n")
    assert client.search("edited after the settings")[0]["symbol"] == "edited_after_the_settings"
    uri = (shop / "shop/vault.py").as_uri()
    assert "index.exclude" in client.request("promptls/explainIgnore", {"uri": uri})["reason"]
    client.stop()
    remaining = [f for f in (tmp_path / "cache").rglob("*") if f.is_file() and b"combination" in f.read_bytes()]
    assert remaining == []
