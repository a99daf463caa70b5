"""The MCP tools as agents use them: filters in many spellings, results that match their schemas, files that change."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
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
    with connect(root.parent, "--root", str(root)) as client:
        yield client


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
    hits = client.tool("search_code", query="discount of a cart", paths=globs, limit=50)[0]["hits"]
    assert hits
    assert all(hit["path"].startswith(expected) for hit in hits)


@pytest.mark.parametrize("including", [[], ["*"], ["**/*.md", "shop/**/*.py"]])
def test_excluding_filters_keep_the_rest(client: McpClient, including: list[str]) -> None:
    globs = [*including, "!shop/", "!/lib"]
    hits = client.tool("search_code", query="discount of a cart", paths=globs, limit=50)[0]["hits"]
    assert hits
    assert not [hit for hit in hits if hit["path"].startswith(("shop/", "lib/"))]


@pytest.mark.parametrize("glob", ["nothing/**", "../**", "/etc/**", "{root}x/**", "*.rs"])
def test_filter_that_matches_no_file_is_reported(client: McpClient, root: Path, glob: str) -> None:
    given = glob.format(root=root)
    result, text = client.tool("search_code", query="cart", paths=[given])
    assert result["hits"] == []
    assert text == f"Nothing found: no indexed file matches paths {given}. Globs are relative to the root."


def test_paths_of_several_roots_are_filters(tmp_path: Path) -> None:
    shop, extra = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", EXTRA)
    with connect(tmp_path, "--root", str(shop), "--root", str(extra)) as client:
        for glob in ("b:lib/", f"{extra}/lib/*", "b:lib/cart.py"):
            hits = client.tool("search_code", query="discount", paths=[glob])[0]["hits"]
            assert {hit["path"] for hit in hits} == {"b:lib/cart.py"}


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("search_code", {"query": "x", "kinds": ["functoin"]}, "unknown kinds 'functoin'; valid: block, class, "),
        ("search_code", {"query": "x", "limit": 51}, "limit: expected `int` <= 50."),
        ("search_code", {"query": "x", "max_lines": -1}, "max_lines: expected `int` >= 0."),
        ("search_code", {"query": "x", "offset": 10**9}, "offset: expected `int` <= 900."),
        ("search_code", {"query": ""}, "query: must not be blank."),
        ("search_code", {"query": "x", "root": "shop"}, "root: the workspace 'shop' does not exist."),
        ("search_code", {"query": "x", "root": "~nobody/x"}, "root: the workspace '~nobody/x' does not exist."),
        ("search_code", {"query": "x", "root": "/tmp"}, "root: '/tmp' is outside of the workspace folders: "),
        (
            "related_code",
            {"symbol": "Cart", "relation": "caller"},
            "relation: invalid enum value 'caller'; valid: callers, callees, usages, implementations, tests, call path.",
        ),
        (
            "explain_symbol",
            {"name": "apply_discount", "path": "shop/money.py"},
            "path: shop/money.py does not define apply_discount. It is defined in: shop/cart.py.",
        ),
        (
            "related_code",
            {"symbol": "shop/cart.py", "relation": "callers"},
            "shop/cart.py is a file; give shop/cart.py#NAME.",
        ),
    ],
)
def test_errors_name_what_is_valid(client: McpClient, tool: str, arguments: dict[str, object], expected: str) -> None:
    assert expected in client.tool_error(tool, **arguments)


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
    with connect(tmp_path, "--root", str(root)) as client:
        answers = [
            client.tool("search_code", query="how does it pay with a password"),
            client.tool(
                "get_context", question=f"How does {token[:3]} pay? @#pay_with @deploy.yml @callers:pay_with @text:pay"
            ),
            client.tool("explain_symbol", name="pay_with"),
            *(
                client.tool("related_code", symbol="pay_with", relation=name)
                for name in ("callers", "usages", "callees")
            ),
        ]
    assert all("pay" in text for _, text in answers)
    assert [text for text in map(str, answers) if token in text or password in text] == []


def test_kinds_are_not_case_sensitive(client: McpClient) -> None:
    hits = client.tool("search_code", query="cart", kinds=["Class"])[0]["hits"]
    assert {hit["kind"] for hit in hits} == {"class"}


def test_page_beyond_the_end_is_reported(client: McpClient) -> None:
    result, text = client.tool("search_code", query="cart", offset=900)
    assert (result["hits"], result["next_offset"]) == ([], None)
    assert text.startswith("No more regions: the search found ")


def test_explanation_of_a_file_lists_its_definitions(client: McpClient) -> None:
    result, text = client.tool("explain_symbol", name="shop/errors.py")
    assert [one["symbol"] for one in result["members"]] == ["CartError"]
    assert "Contains:\n- CartError shop/errors.py:" in text


CALLS = [
    ("search_code", {"query": "cart"}),
    ("search_code", {"query": "cart", "offset": 900}),
    ("get_context", {"question": "how is a discount applied? @#Cart.total @nothing.py @shop/", "budget_tokens": 300}),
    ("explain_symbol", {"name": "Cart"}),
    ("explain_symbol", {"name": "shop/cart.py"}),
    ("related_code", {"symbol": "apply_discount", "relation": "callees"}),
    ("related_code", {"symbol": "apply_discount", "relation": "callers"}),
]


def test_results_match_the_declared_schemas_and_are_stable(client: McpClient) -> None:
    schemas = {tool.name: tool.output_schema for tool in client.run("list_tools").tools}
    for name, arguments in CALLS:
        result, text = client.tool(name, **arguments)
        jsonschema.validate(result, schemas[name], jsonschema.Draft202012Validator)
        assert set(result) == set(schemas[name]["properties"])
        assert client.tool(name, **arguments) == (result, text)


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
            found, _ = client.tool("explain_symbol", name="imported_199")
            assert found["definition"]["path"] == "shop/module 199.py"
            result, _ = client.tool("get_context", question='@"shop/module 7.py"')
            assert "def imported_7" in result["context"]
            git(root, "checkout", "-q", "main")
            hits, _ = client.tool("search_code", query="imported_7", limit=50)
            assert not [hit for hit in hits["hits"] if "module" in hit["path"]]
        (root / "shop/errors.py").rename(root / "shop/failures.py")
        assert client.tool("explain_symbol", name="CartError")[0]["definition"]["path"] == "shop/failures.py"
        (root / "lib").rename(root / "library")
        found, _ = client.tool("explain_symbol", name="discount_of_cart")
        assert found["definition"]["path"] == "library/cart.py"
        (root / "library/cart.py").unlink()
        assert "discount_of_cart" in client.tool_error("explain_symbol", name="discount_of_cart")
