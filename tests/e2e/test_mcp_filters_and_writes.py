"""The MCP tools as agents use them: filters in many spellings, answers that are equal in repeated calls, files that change."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SHOP, write_tree
from mcpkit import McpClient, connect

EXTRA = """
-- my docs/read me.md --
# Discounts

How discounts are computed for a cart.
-- shop/errors.py --
class CartError(Exception):
    pass
-- lib/cart.py --
def discount_of_cart(cart):
    return cart.discount
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("agents") / "my workspace", SHOP + EXTRA)


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[McpClient]:
    with connect(root.parent, "--root", str(root), "--structured") as client:
        yield client


def listed_paths(client: McpClient, query: str, paths: list[str] | str) -> set[str]:
    """Return the paths of the regions that search_code lists."""
    result = client.call_tool("search_code", {"query": query, "paths": paths})
    return {region["path"] for region in result.structured_content["regions"]}


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["shop/"], "shop/"),
        (["shop"], "shop/"),
        (["/shop/*.py"], "shop/"),
        (["./shop/**"], "shop/"),
        (["{root}/shop/**"], "shop/"),
        (["{root}/shop/cart.py"], "shop/cart.py"),
        (["shop\\*"], "shop/"),
        (["my docs/*.md"], "my docs/"),
        (["{root}/my docs"], "my docs/"),
        (["my*/*.md"], "my docs/"),
        (["lib/", "!lib/x.py"], "lib/"),
        (["."], ""),
        (["{root}"], ""),
        ([], ""),
    ],
)
def test_path_filters(client: McpClient, root: Path, paths: list[str], expected: str) -> None:
    globs = [glob.format(root=root) for glob in paths]
    paths = listed_paths(client, "discount of a cart", globs)
    assert paths
    assert all(path.startswith(expected) for path in paths)


@pytest.mark.parametrize("paths", ["shop/", '["shop/"]', '["shop/cart.py", "shop/errors.py", "shop/money.py"]'])
def test_one_string_is_a_list_of_paths(client: McpClient, paths: str) -> None:
    found = listed_paths(client, "discount of a cart", paths)
    assert found
    assert all(path.startswith("shop/") for path in found)


@pytest.mark.parametrize("including", [[], ["*"], ["**/*.md", "shop/**/*.py"]])
def test_excluding_filters_keep_the_rest(client: McpClient, including: list[str]) -> None:
    globs = [*including, "!shop/", "!/lib"]
    paths = listed_paths(client, "discount of a cart", globs)
    assert paths
    assert not [path for path in paths if path.startswith(("shop/", "lib/"))]


@pytest.mark.parametrize("glob", ["nothing/**", "../**", "/etc/**", "{root}x/**", "*.rs"])
def test_filter_that_matches_no_file_is_reported(client: McpClient, root: Path, glob: str) -> None:
    given = glob.format(root=root)
    text = client.tool("search_code", query="cart", paths=[given])
    assert text == f"No indexed file matches {given}. Globs are relative to the workspace folder."


def test_paths_of_several_roots_are_filters(tmp_path: Path) -> None:
    shop, extra = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", EXTRA)
    with connect(tmp_path, "--root", str(shop), "--root", str(extra), "--structured") as client:
        for glob in ("b:lib/", f"{extra}/lib/*", "b:lib/cart.py"):
            assert listed_paths(client, "discount", [glob]) == {"b:lib/cart.py"}


def test_no_answer_has_a_secret(tmp_path: Path) -> None:
    token, password = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "Falcon" + "river47"
    code = f"""
def pay_with(key="{token}", password="{password}"):
    \"""Pay with {token}.\"""
    return Shop.open("db", "app", "{password}")


def pay():
    return pay_with("{token}")
"""
    root = write_tree(tmp_path / "pay", SHOP)
    (root / "shop/pay.py").write_text(code)
    (root / "deploy.yml").write_text(f"env:\n- name: PAY_PASSWORD\n  value: {password}\n# pay with {token}\n")
    question = f"How does {token[:3]} pay? @#pay_with @deploy.yml @callers:pay_with @text:pay"
    with connect(tmp_path, "--root", str(root)) as client:
        answers = [
            client.tool("search_code", query="how does it pay with a password", snippets=3),
            client.tool("read_code", places=["shop/pay.py", "deploy.yml"]),
            client.tool("get_context", question=question),
            client.tool("explain_symbol", name="pay_with"),
        ]
    assert all("pay" in text for text in answers)
    assert [text for text in answers if token in text or password in text] == []


def test_explanation_of_a_file_lists_its_definitions(client: McpClient) -> None:
    text = client.tool("explain_symbol", name="shop/errors.py")
    assert re.search(r"^Contains:\n  1-2 class CartError$", text, re.M)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_code", {"query": "cart", "snippets": 3}),
        (
            "get_context",
            {"question": "how is a discount applied? @#Cart.total @nothing.py @shop/", "budget_tokens": 300},
        ),
        ("read_code", {"places": ["shop/cart.py:1-3", "#Cart", "lib/"], "repeat": True}),
        ("explain_symbol", {"name": "Cart"}),
        ("explain_symbol", {"name": "shop/cart.py"}),
    ],
)
def test_answers_are_equal_in_repeated_calls(client: McpClient, name: str, arguments: dict[str, object]) -> None:
    client.tool(name, **arguments)  # afterwards the graph is built
    assert client.tool(name, **arguments) == client.tool(name, **arguments)


def test_lists_of_tools_are_equal_in_all_servers(client: McpClient, tmp_path: Path) -> None:
    with connect(tmp_path, cwd=tmp_path) as other:
        assert other.run("list_tools").tools == client.run("list_tools").tools


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def test_rename_deletion_and_checkout_are_seen_by_the_next_call(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "work space", SHOP + EXTRA)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    git(root, "checkout", "-qb", "other")
    for number in range(200):
        (root / "shop" / f"module {number}.py").write_text(f"def imported_{number}():\n    return {number}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    git(root, "checkout", "-q", "main")
    with connect(tmp_path, "--root", str(root)) as client:
        assert "imported_7" in client.tool_error("explain_symbol", name="imported_7")
        for _ in range(2):
            git(root, "checkout", "-q", "other")
            assert client.tool("explain_symbol", name="imported_199").startswith("shop/module 199.py:")
            assert "def imported_7" in client.tool("get_context", question='@"shop/module 7.py"')
            git(root, "checkout", "-q", "main")
            assert "module" not in client.tool("search_code", query="imported_7")
        (root / "shop/errors.py").rename(root / "shop/failures.py")
        assert client.tool("explain_symbol", name="CartError").startswith("shop/failures.py:")
        (root / "lib").rename(root / "library")
        assert client.tool("explain_symbol", name="discount_of_cart").startswith("library/cart.py:")
        (root / "library/cart.py").unlink()
        assert "discount_of_cart" in client.tool_error("explain_symbol", name="discount_of_cart")
