"""Every kind of mention, in a workspace with git history, unsaved edits and a client context.

One table: the mention, its status, and text that the prompt contains or must not contain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git, write_tree
from lsp import Client, Json, indexed_client

WORKSPACE = '''
-- AGENTS.md --
Amounts are integers, in cents.
-- api/orders.py --
"""What the shop offers to the outside."""

from core.cart import Cart


def order(articles):
    """Take an order."""
    cart = Cart()
    for article in articles:
        cart.add(article)
    return cart.total()
-- core/cart.py --
"""The cart."""


class Priced:
    """Something with a price."""

    def total(self):
        raise NotImplementedError


class Cart(Priced):
    """What a customer is about to buy."""

    def __init__(self):
        self.articles = []

    def add(self, article):
        """Put an article into the cart."""
        self.articles.append(article)

    def total(self):
        """Price of all articles."""
        return sum(weigh(article) for article in self.articles)


def weigh(article):
    """The price of one article, in cents."""
    return article.cents
-- tests/test_cart.py --
from core.cart import Cart, weigh


def test_weigh():
    assert weigh(Article(5)) == 5
-- schema/a.sql --
CREATE TABLE orders (id INTEGER);
-- schema/b.sql --
CREATE TABLE articles (id INTEGER);
'''

CLIENT_CONTEXT: Json = {
    "diagnostics": [
        {
            "uri": "ROOT/core/cart.py",
            "diagnostics": [
                {
                    "range": {"start": {"line": 27, "character": 4}, "end": {"line": 27, "character": 10}},
                    "severity": 1,
                    "code": "attr",
                    "source": "checker",
                    "message": "no attribute cents",
                }
            ],
        }
    ],
    "terminal": "$ make\n\x1b[31mboom\x1b[0m in weigh\n",
    "clipboard": "pasted words",
    "quickfix": [
        {
            "uri": "ROOT/api/orders.py",
            "range": {"start": {"line": 8, "character": 0}, "end": {"line": 8, "character": 4}},
        }
    ],
    "history": [{"role": "user", "content": "What is a cart?"}, {"role": "assistant", "content": "A list."}],
    "activeDocument": "ROOT/core/cart.py",
    "selection": {
        "uri": "ROOT/api/orders.py",
        "range": {"start": {"line": 8, "character": 0}, "end": {"line": 9, "character": 9}},
    },
    "openDocuments": ["ROOT/core/cart.py", "ROOT/schema/a.sql"],
    "visibleDocuments": ["ROOT/schema/b.sql"],
}

CASES: list[tuple[str, str, list[str], list[str]]] = [
    # mention, status, text in the prompt, text not in the prompt
    ("@core/cart.py", "included", ["class Cart(Priced)", "def weigh"], []),
    ("@core/cart.py:26-28", "included", ["def weigh"], ["class Cart(Priced)"]),
    ("@schema/*.sql", "included", ["TABLE orders", "TABLE articles"], []),
    ("@schema/{a,c}.sql", "included", ["TABLE orders"], ["TABLE articles"]),
    ("@#Cart.add", "included", ["self.articles.append"], ["def weigh"]),
    ("@core/cart.py#weigh", "included", ["return article.cents"], ["class Cart"]),
    ("@schema/", "included", ["a.sql", "b.sql"], []),
    ("@workspace", "included", [], ["schema/a.sql"]),  # the scope of the question
    ("@active", "included", ["class Cart(Priced)"], ["def order"]),
    ("@selection", "included", ["for article in articles"], ["return cart.total()"]),
    ("@open", "included", ["class Cart(Priced)", "TABLE orders"], ["TABLE articles"]),
    ("@visible", "included", ["TABLE articles"], ["TABLE orders"]),
    ("@diff", "included", ["-    return cart.total()", "+    return cart.total() + 1", "@@ order", "fresh.py"], []),
    ("@diff:staged", "included", ["+staged = True"], ["cart.total() + 1"]),
    ("@staged", "included", ["+staged = True"], ["cart.total() + 1"]),
    (
        "@diff:unstaged",
        "included",
        ["cart.total() + 1", "new file\n@@ -0,0 +1,1 @@ fresh\n+fresh = 1"],
        ["+staged = True"],
    ),
    ("@diff:unsaved", "included", ["cart.total() + 1"], ["staged = True", "fresh"]),
    ("@changes", "included", ["cart.total() + 1"], []),
    ("@diff:first..second", "included", ["in cents", "Weigh in cents"], ["cart.total() + 1"]),
    ("@diff:first", "included", ["+    return cart.total() + 1", "+Amounts are integers"], []),
    ("@diff:nowhere", "unresolved", [], []),
    ("@recent:10m", "included", ["cart.total() + 1"], []),
    ("@recent:soon", "unresolved", [], []),
    ("@commit:second", "included", ["Weigh in cents", "+    return article.cents"], ["cart.total() + 1"]),
    ("@commit:first..second", "included", ["Weigh in cents"], []),
    ("@commit:--output=x", "unresolved", [], []),
    ("@branch", "included", ["+Amounts are integers"], []),
    ('@team:"weight"', "unresolved", [], []),  # no index is configured; see test_team_reader
    ('@codebase:"put an article into the cart"', "included", ["self.articles.append"], []),
    ('@codebase:schema/:"articles"', "included", ["TABLE articles"], ["class Cart(Priced)"]),
    ("@codebase", "included", ["def weigh"], []),
    ('@text:"TABLE orders"', "included", ["CREATE TABLE orders"], ["CREATE TABLE articles"]),
    ("@grep:notimplementederror", "included", ["raise NotImplementedError"], ["def weigh"]),
    ('@text:schema/:"id"', "included", ["TABLE orders", "TABLE articles"], ["class Cart"]),
    (r'@regex:"TABLE \w+les"', "included", ["TABLE articles"], ["TABLE orders"]),
    ('@regex:"("', "refused", [], []),
    ('@pattern:"cart.add($A)"', "included", ["cart.add(article)"], ["def weigh"]),
    ('@pattern:core/:"(class_definition) @c"', "included", ["class Cart(Priced)"], ["def order"]),
    ('@pattern:"weigh($A, $B)"', "unresolved", [], []),
    ("@callers:Cart.add", "included", ["def order(articles)"], ["class Cart(Priced)"]),
    ("@callees:order", "included", ["self.articles.append"], ["def order"]),
    ("@callers:unknown", "unresolved", [], []),
    ("@usages:weigh", "included", ["def test_weigh", "Price of all articles"], []),
    ("@references:weigh", "included", ["def test_weigh"], []),
    ("@implementations:Priced", "included", ["What a customer is about to buy"], ["def weigh"]),
    ("@implementations:Priced.total", "included", ["Price of all articles"], ["NotImplementedError"]),
    ("@tests:weigh", "included", ["def test_weigh"], ["class Cart"]),
    ("@tests:core/cart.py", "included", ["def test_weigh"], ["class Cart"]),
    ("@path:order..weigh", "included", ["Take an order", "Price of all articles", "in cents"], ["def add"]),
    ("@map", "included", ["Cart", "weigh"], []),
    ("@map:core/", "included", ["Cart"], ["order("]),
    ("@tree", "included", ["core/", "cart.py"], ["class"]),
    ("@tree:schema/", "included", ["b.sql"], ["cart.py"]),
    ("@glob:schema/*.sql", "included", ["TABLE orders", "TABLE articles"], ["class"]),
    ("@glob:*.xyz", "unresolved", [], []),
    ("@layer:api", "included", ["Take an order"], ["class Cart"]),
    ("@layer:attic", "unresolved", [], []),
    ("@rules", "included", ["Amounts are integers"], []),
    ("@memory", "included", ["We ship on Mondays"], []),
    ('@memory:"mondays"', "included", ["We ship on Mondays"], ["Carts expire"]),
    ("@diagnostics", "included", ["core/cart.py:28: error: no attribute cents [checker attr]", "def weigh"], []),
    ("@problems:warnings", "included", ["no attribute cents"], []),
    ("@diagnostics:api/orders.py", "omitted", [], []),
    ("@terminal", "included", ["$ make\nboom in weigh"], ["\x1b"]),
    ("@terminal:1", "included", ["boom in weigh"], ["$ make"]),
    ("@quickfix", "included", ["def order(articles)"], []),
    ("@clipboard", "included", ["pasted words"], []),
    ("@history", "included", ["user: What is a cart?", "assistant: A list."], []),
    ("@history:1", "included", ["assistant: A list."], ["What is a cart?"]),
]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    folder = tmp_path_factory.mktemp("kinds")
    root = write_tree(folder / "shop", WORKSPACE)
    cart, orders = root / "core/cart.py", root / "api/orders.py"
    now, rules = cart.read_text(), (root / "AGENTS.md").read_text()
    cart.write_text(now.replace("article.cents", "article.price").replace(", in cents", ""))
    (root / "AGENTS.md").unlink()
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Begin")
    git(root, "tag", "first")
    git(root, "checkout", "-qb", "feature/cents")
    cart.write_text(now)
    (root / "AGENTS.md").write_text(rules)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Weigh in cents")
    git(root, "tag", "second")
    (root / "schema/a.sql").write_text((root / "schema/a.sql").read_text() + "staged = True\n")
    git(root, "add", "-A")
    (root / "fresh.py").write_text("fresh = 1\n")
    client = Client(folder / "cache")
    client.initialize(root)
    client.wait_indexed()
    text = orders.read_text()
    client.open(orders, text)
    client.replace(orders, 2, text.replace("cart.total()", "cart.total() + 1"))
    for content in ("We ship on Mondays.", "Carts expire after a day."):
        client.request(
            "promptls/memory", {"action": "add", "title": "Shop", "content": content, "category": "knowledge"}
        )
    client.wait_indexed()
    yield client, root
    client.kill()


def client_context(root: Path) -> Json:
    def at(value: object) -> object:
        if isinstance(value, str):
            return value.replace("ROOT", root.as_uri())
        if isinstance(value, dict):
            return {k: at(v) for k, v in value.items()}
        return [at(v) for v in value] if isinstance(value, list) else value

    return {name: at(value) for name, value in CLIENT_CONTEXT.items()}


@pytest.mark.parametrize(("mention", "status", "included", "excluded"), CASES, ids=[row[0] for row in CASES])
def test_mention(
    editor: tuple[Client, Path], mention: str, status: str, included: list[str], excluded: list[str]
) -> None:
    client, root = editor
    context = (
        client_context(root) if mention.startswith(tuple(f"@{name}" for name in _kinds_with_client_context())) else {}
    )
    sections = {"retrieval": False, "rules": False, "memory": False, "instructions": False}
    built = client.build(
        f"What does it weigh? See {mention}", context=context, budget={"tokens": 3000}, sections=sections
    )
    (outcome,) = built["mentions"]
    assert (outcome["text"], outcome["status"]) == (mention, status), outcome["reason"]
    assert outcome["reason"] or status == "included"
    prompt = built["prompt"].replace(f"See {mention}", "")
    assert [text for text in included if text not in prompt] == []
    assert [text for text in excluded if text in prompt] == []
    assert built["tokens"]["used"] <= 3000


def _kinds_with_client_context() -> list[str]:
    return ["active", "selection", "open", "visible", "diag", "prob", "term", "quick", "clip", "hist"]


def test_commit_message_recipe_includes_staged_changes(editor: tuple[Client, Path]) -> None:
    client, _ = editor
    built = client.build("Say it in one line.", recipe="commit-message", sections={"retrieval": False})
    assert "+staged = True" in built["prompt"]
    assert built["warnings"] == []


def test_table_covers_every_kind(editor: tuple[Client, Path]) -> None:
    client, _ = editor
    named = {mention[1:].partition(":")[0] for mention, *_ in CASES} | {"recent"}
    kinds = [
        k for k in client.request("promptls/mentionKinds")["kinds"] if k["name"] not in ("file", "symbol", "folder")
    ]
    assert {k["name"] for k in kinds} <= named


def test_recent_edits_since_the_last_prompt(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "shop", WORKSPACE)
    cart, orders = root / "core/cart.py", root / "api/orders.py"
    client = Client(tmp_path / "cache")
    client.initialize(root)
    client.wait_indexed()
    for path, old, new in ((cart, "article.cents", "article.pence"), (orders, "cart.add", "cart.put")):
        text = path.read_text()
        client.open(path, text)
        client.replace(path, 2, text.replace(old, new))
        prompt = client.build("What did I do? @recent", sections={"retrieval": False})["prompt"]
        assert f"-    return {old}" in prompt or f"-        {old}" in prompt
        assert new in prompt
    assert "pence" not in prompt
    (nothing,) = client.build("And now? @recent")["mentions"]
    assert (nothing["status"], nothing["reason"]) == ("unresolved", "No edits within this period.")
    client.kill()


def test_pattern_with_many_matches_is_not_searched_to_the_end(tmp_path: Path) -> None:
    files = (f"-- part_{n}.py --\n" + "".join(f"use({n}, {i})\n" for i in range(3)) for n in range(500))
    root = write_tree(tmp_path / "many", "\n".join((*files, "-- last.py --\nuse_once(1)\n")))
    with indexed_client(tmp_path / "cache", root) as client:
        (many,) = client.build('Where? @pattern:"use($A, $B)"', sections={"retrieval": False})["mentions"]
        (one,) = client.build('Where? @pattern:"use_once($A)"', sections={"retrieval": False})["mentions"]
    found = re.fullmatch(r"At least (\d+) matches in \d+ files\.", many["reason"])
    assert found is not None, many["reason"]
    assert 200 <= int(found[1]) < 1500
    assert one["reason"] == "1 match in 1 file."


def test_missing_client_context_is_requested(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "shop", WORKSPACE)
    client = Client(tmp_path / "cache")
    client.results_by_method["promptls/clientContext"] = {"terminal": "all is lost"}
    capabilities = {"experimental": {"promptls": {"clientContext": True}}}
    client.initialize(root, capabilities=capabilities)
    built = client.build("Why? @terminal and @core/cart.py")
    assert "all is lost" in built["prompt"]
    (request,) = [a for a in client.server_requests if a["method"] == "promptls/clientContext"]
    assert request["params"] == {"kinds": ["terminal"]}
    client.build("Nothing is needed for @core/cart.py")
    assert len([a for a in client.server_requests if a["method"] == "promptls/clientContext"]) == 1
    client.kill()
