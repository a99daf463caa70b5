"""Path filters of the MCP tools, in the spellings that agents use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SHOP, write_tree
from mcpkit import McpClient, connect

EXTRA = """
-- my docs/read me.md --
# Discounts

How discounts are computed for a cart.
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
        (["/shop/*.py"], "shop/"),
        (["{root}/shop/**"], "shop/"),
        (["{root}/shop/cart.py"], "shop/cart.py"),
        (["shop\\*"], "shop/"),
        (["my docs/*.md"], "my docs/"),
        (["lib/", "!lib/x.py"], "lib/"),
        ([], ""),
    ],
)
def test_path_filters(client: McpClient, root: Path, paths: list[str], expected: str) -> None:
    globs = [glob.format(root=root) for glob in paths]
    paths = listed_paths(client, "discount of a cart", globs)
    assert paths
    assert all(path.startswith(expected) for path in paths)


@pytest.mark.parametrize("paths", ["shop/", '["shop/"]'])
def test_one_string_is_a_list_of_paths(client: McpClient, paths: str) -> None:
    found = listed_paths(client, "discount of a cart", paths)
    assert found
    assert all(path.startswith("shop/") for path in found)


@pytest.mark.parametrize("glob", ["nothing/**", "../**", "{root}x/**"])
def test_filter_that_matches_no_file_is_reported(client: McpClient, root: Path, glob: str) -> None:
    given = glob.format(root=root)
    text = client.tool("search_code", query="cart", paths=[given])
    assert text == f"No indexed file matches {given}. Globs are relative to the workspace folder."


def test_paths_of_several_roots_are_filters(tmp_path: Path) -> None:
    shop, extra = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", EXTRA)
    with connect(tmp_path, "--root", str(shop), "--root", str(extra), "--structured") as client:
        for glob in ("b:lib/", f"{extra}/lib/*", "b:lib/cart.py"):
            assert listed_paths(client, "discount", [glob]) == {"b:lib/cart.py"}
