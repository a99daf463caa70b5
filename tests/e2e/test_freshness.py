"""Read your keystrokes: every change before a request is in its answer, in symbols, words, vectors and text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import git, write_tree
from lsp import Client, Json

Start = Callable[..., Client]
Visit = Callable[[Path], Client]


def paths(client: Client, query: str) -> list[str]:
    return [hit["path"] for hit in client.search(query)]


def test_an_unsaved_edit_is_in_the_next_answer(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
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


def test_what_was_deleted_without_saving_is_gone(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    file = shop / "shop/cart.py"
    text = file.read_text()
    client.open(file, text)
    client.replace(file, 2, text[: text.index("def apply_discount")])
    result = client.build("where is apply_discount? @#apply_discount")
    assert result["mentions"][0]["status"] == "unresolved"
    assert "Price of the cart after a discount" not in result["prompt"]


def test_incremental_changes_with_wide_characters_keep_ranges_right(start: Start, shop: Path) -> None:
    for encodings, unit in ((["utf-16"], 2), (["utf-8"], 4)):
        client = start(shop, capabilities={"general": {"positionEncodings": encodings}})
        client.settled()
        file = shop / "shop/emoji.py"
        client.open(file, "# 😀 first\ndef f():\n    return '😀'\n")
        column = {2: len("# 😀"), 4: len("# 😀")}[unit] + (1 if unit == 2 else 3)
        where = {"line": 0, "character": column}
        client.change(file, 2, {"range": {"start": where, "end": where}, "text": " second"})
        prompt = client.build("@shop/emoji.py")["prompt"]
        assert "# 😀 second first" in prompt


def test_a_new_unsaved_file_counts_and_closing_it_unsaved_removes_it(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    file = shop / "shop/gift_cards.py"
    client.open(file, "def redeem_gift_voucher(code):\n    return lookup_voucher(code).redeem()\n")
    assert paths(client, "redeem gift voucher")[0] == "shop/gift_cards.py"
    assert client.build("@gift_cards.py")["mentions"][0]["status"] == "included"
    client.close(file)
    client.settled()
    assert "shop/gift_cards.py" not in paths(client, "redeem gift voucher")
    assert client.build("@gift_cards.py")["mentions"][0]["status"] == "unresolved"


def test_closing_without_saving_brings_the_disk_back(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    file = shop / "shop/money.py"
    client.open(file, file.read_text())
    client.replace(file, 2, "class Doubloon:\n    '''A gold coin.'''\n    weight = 27\n")
    assert client.build("@shop/money.py")["prompt"].count("Doubloon") == 1
    client.close(file)
    client.settled()
    prompt = client.build("@shop/money.py")["prompt"]
    assert "Doubloon" not in prompt
    assert "rounding half up" in prompt


def test_a_saved_edit_survives_a_restart(start: Start, shop: Path) -> None:
    client = start(shop)
    client.settled()
    file = shop / "shop/money.py"
    text = file.read_text() + "\n\ndef exchange_currency_rate(a, b):\n    return a.cents / b.cents\n"
    client.open(file, file.read_text())
    client.replace(file, 2, text)
    file.write_text(text)
    client.save(file)
    client.settled()
    client.stop()
    again = start(shop)
    status = again.settled()
    assert status["embedder"]["embedded"] == 0
    assert again.search("exchange currency rate")[0]["symbol"] == "exchange_currency_rate"


def test_files_created_changed_and_deleted_outside(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    new = shop / "shop/invoice.py"
    new.write_text("def print_invoice_letterhead(customer):\n    return customer.address\n")
    client.files_changed(new)
    client.settled()
    assert paths(client, "invoice letterhead")[0] == "shop/invoice.py"
    new.write_text("def print_packing_slip(customer):\n    return customer.boxes\n")
    client.files_changed(new)
    client.settled()
    assert client.search("packing slip")[0]["symbol"] == "print_packing_slip"
    new.unlink()
    client.files_changed(new)
    client.settled()
    assert "shop/invoice.py" not in paths(client, "packing slip")


def test_changes_that_nobody_reports_are_seen_in_the_prompt(visit: Visit, shop: Path) -> None:
    """Clients need not watch files: what is sent is what the disk holds when the prompt is built."""
    client = visit(shop)
    client.settled()
    file = shop / "shop/money.py"
    file.write_text("class Money:\n    '''Now in thalers.'''\n\n    def debase(self):\n        return 1566\n")
    result = client.build("@shop/money.py what is it?")
    assert "Now in thalers." in result["prompt"]
    assert "rounding half up" not in result["prompt"]


def test_a_rename_embeds_nothing(start: Start, shop: Path) -> None:
    client = start(shop)
    before = client.settled()["embedder"]["embedded"]
    old, new = shop / "shop/money.py", shop / "shop/currency.py"
    old.rename(new)
    client.files_changed(old, new)
    assert client.settled()["embedder"]["embedded"] == before
    assert paths(client, "amount in cents")[0] == "shop/currency.py"


def test_a_branch_switch_embeds_only_what_was_never_seen(start: Start, shop: Path) -> None:
    client = start(shop)
    client.settled()
    git(shop, "checkout", "-qb", "other")
    (shop / "shop/cart.py").write_text("def wholly_new_checkout_lane():\n    return 'lane'\n")
    git(shop, "commit", "-qam", "other")
    client.files_changed(shop / "shop/cart.py")
    there = client.settled()["embedder"]["embedded"]
    git(shop, "checkout", "-q", "-")
    client.files_changed(shop / "shop/cart.py")
    back = client.settled()
    assert back["embedder"]["embedded"] == there
    assert client.search("apply discount")[0]["symbol"] == "apply_discount"
    assert "shop/cart.py" not in [
        h["path"] for h in client.search("wholly_new_checkout_lane") if "symbol" in h["reasons"]
    ]


def test_a_branch_switch_of_a_thousand_files_embeds_only_what_is_new(start: Start, shop: Path) -> None:
    """Each file has a function that stays and one that the other branch has in other words."""
    folder = shop / "many"
    folder.mkdir()

    def write(said: str) -> None:
        for n in range(1000):
            lines = [
                f"def stays_{n}(x):",
                f"    return x + {n}",
                "",
                f"def turns_{n}(x):",
                f"    return {said!r} * {n}",
                "",
            ]
            (folder / f"part_{n}.py").write_text("\n".join(lines))

    write("here")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "many")
    git(shop, "checkout", "-qb", "other")
    write("there")
    git(shop, "commit", "-qam", "other")
    git(shop, "checkout", "-q", "-")
    client = start(shop)
    here = client.settled()
    git(shop, "checkout", "-q", "other")
    client.files_changed(*(folder / f"part_{n}.py" for n in range(1000)))
    there = client.settled()
    assert there["embedder"]["embedded"] == here["embedder"]["embedded"] + 1000
    git(shop, "checkout", "-q", "-")
    client.request("promptls/reindex", {})  # what changed is found without being told
    back = client.settled()
    assert back["embedder"]["embedded"] == there["embedder"]["embedded"]
    assert "'here' * 77" in client.build("what does @#turns_77 return?")["prompt"]


def test_a_changed_ignore_file_takes_effect(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    assert "web/session.js" in paths(client, "refresh session cookie")
    (shop / ".gitignore").write_text("web/\n")
    git(shop, "rm", "-rq", "--cached", "web")
    client.files_changed(shop / ".gitignore")
    client.settled()
    assert "web/session.js" not in paths(client, "refresh session cookie")
    assert client.build("@web/session.js")["mentions"][0]["status"] == "refused"


def test_ignored_files_never_get_in_even_when_open(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    ignored = shop / "build/generated.py"
    client.open(ignored, ignored.read_text())
    assert "never_index_this" not in client.build("what is never_index_this?")["prompt"].replace(
        "what is never_index_this?", ""
    )
    assert "build/generated.py" not in paths(client, "never_index_this")


def test_roots_come_and_go(start: Start, shop: Path, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", "-- shop/cart.py --\ndef push_trolley():\n    return 'squeak'\n")
    client = start(shop)
    client.settled()
    client.folders_changed(added=[(other, "other")])
    assert len(client.settled()["roots"]) == 2
    assert client.search("push trolley")[0]["symbol"] == "push_trolley"
    result = client.build("@cart.py")
    assert result["mentions"][0]["status"] == "ambiguous"
    assert set(result["mentions"][0]["candidates"]) == {"@shop-root:shop/cart.py", "@other:shop/cart.py"}
    assert client.build("@other:shop/cart.py")["mentions"][0]["status"] == "included"
    client.folders_changed(removed=[(other, "other")])
    assert len(client.settled()["roots"]) == 1
    assert all(h["path"] != "shop/cart.py" or "squeak" not in str(h) for h in client.search("push trolley"))
    assert client.build("@cart.py")["mentions"][0]["status"] == "included"
    client.folders_changed(removed=[(shop, shop.name)])  # and it is what "rootUri" said
    assert client.settled()["roots"] == []


def test_a_setting_that_is_taken_back_is_as_the_user_has_it(start: Start, shop: Path) -> None:
    client = start(shop, options={"budget": {"tokens": 900}})
    client.settled()

    def tells(configuration: Json) -> tuple[int, int]:
        client.configuration = configuration
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        client.settled()
        built = client.build("How is a price made?")
        return built["tokens"]["budget"], len(client.search("price"))

    before = tells(None)
    assert before[0] == 900
    assert tells({"budget": {"tokens": 700}, "index": {"exclude": ["*.py"]}})[0] == 700
    assert tells({"index": {"exclude": ["*.py"]}})[0] == 900
    assert tells({"budget": {"tokns": 5}}) == before
    warning = client.wait_note("window/showMessage")
    assert "tokns" in warning["message"]


def test_copies_that_editors_keep_are_no_files(visit: Visit, shop: Path) -> None:
    client = visit(shop)
    client.settled()
    text = "def trolley_with_a_squeaking_wheel(): pass\n"
    for name in ("cart.py~", "#cart.py#", ".#cart.py", ".cart.py.swp", ".cart.py.un~"):
        (shop / "shop" / name).write_text(text)
    (shop / "shop/#notes.py").write_text(text)
    client.files_changed(*(shop / "shop").iterdir())
    client.settled()
    assert paths(client, "trolley with a squeaking wheel")[0] == "shop/#notes.py"
    assert not [p for p in paths(client, "trolley with a squeaking wheel") if p[-1] == "~" or p.endswith("#")]
    result = client.build("@shop/cart.py~")
    assert result["mentions"][0]["status"] == "refused"
    assert "editor's copy" in result["mentions"][0]["reason"]


def test_what_a_setting_excludes_leaves_the_index_and_its_files(start: Start, shop: Path, tmp_path: Path) -> None:
    (shop / "shop/vault.py").write_text("def combination_of_the_vault():\n    return 'ruby tulip cascade'\n")
    client = start(shop)
    client.settled()
    assert "shop/vault.py" in paths(client, "combination of the vault")
    client.configuration = {"index": {"exclude": ["vault.py"]}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.settled()
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
    held = [f for f in (tmp_path / "cache").rglob("*") if f.is_file() and b"combination" in f.read_bytes()]
    assert held == []
