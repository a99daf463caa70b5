"""The MCP server, called by the official client over stdio: each tool, its errors, prompts and freshness."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from conftest import SHOP, write_tree
from lsp import Client
from mcpkit import McpClient, connect, environment
from promptls.api.open_workspace import open_workspace
from promptls.settings import user_settings

STORES = """
-- shop/store.py --
class Store:
    def save(self, cart):
        raise NotImplementedError


class DiskStore(Store):
    def save(self, cart):
        return write_file(cart)


def write_file(cart):
    api_key = "sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3"
    return api_key, cart.total()


def checkout(store: Store, cart):
    store.save(cart)
    return write_file(cart)
-- tests/test_store.py --
from shop.store import write_file


def test_write_file():
    assert write_file(None)
-- .promptls/recipes/shipping.md --
+++
title = "Shipping"
description = "Explain shipping."
version = "1.0"
[arguments.carrier]
description = "Name of the carrier."
choices = ["ship", "shuttle", "train"]
+++
Explain shipping by {{carrier|any carrier}}.
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("mcp") / "workspace", SHOP + STORES)


@pytest.fixture(scope="module")
def client(workspace: Path) -> Iterator[McpClient]:
    with connect(workspace.parent, "--root", str(workspace)) as client:
        yield client


def test_tools_are_read_only_and_have_schemas(client: McpClient) -> None:
    tools = client.run("list_tools").tools
    assert [tool.name for tool in tools] == ["search_code", "get_context", "explain_symbol", "related_code"]
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert "Prefer grep" in tool.description
        assert "$ref" not in str(tool.input_schema) + str(tool.output_schema)
        assert all("description" in p or "enum" in p for p in tool.input_schema["properties"].values())


def test_search_code_returns_ranked_regions_with_snippets(client: McpClient) -> None:
    result, text = client.tool("search_code", query="apply a discount of some percent", max_lines=2)
    hit = result["hits"][0]
    assert (hit["path"], hit["symbol"], hit["kind"]) == ("shop/cart.py", "apply_discount", "function")
    lines = SHOP.partition("-- shop/cart.py --\n")[2].split("\n")
    assert lines[hit["start_line"] - 1].startswith("def apply_discount")
    assert lines[hit["end_line"] - 1].endswith("times(100 - percent, 100)")
    assert hit["snippet"].split("\n")[1:] == ['    """Price of the cart after a discount."""', "… 1 more line"]
    assert text.startswith(f"shop/cart.py:{hit['start_line']}-{hit['end_line']} function apply_discount (score 0.")
    assert result["index"]["up_to_date"]


def test_pages_of_search_code_are_consecutive(client: McpClient) -> None:
    query = {"query": "cart total price", "max_lines": 0}
    everything, _ = client.tool("search_code", **query, limit=6)
    pages = [client.tool("search_code", **query, limit=2, offset=offset)[0] for offset in (0, 2, 4)]
    assert [hit for page in pages for hit in page["hits"]] == everything["hits"]
    assert [page["next_offset"] for page in pages[:2]] == [2, 4]
    assert not any(hit["snippet"] for hit in everything["hits"])


def test_search_code_filters_by_path_and_kind(client: McpClient) -> None:
    hits = client.tool("search_code", query="cart total", paths=["shop/*.py"], kinds=["class"])[0]["hits"]
    assert hits
    assert all(hit["path"].startswith("shop/") and hit["kind"] == "class" for hit in hits)


def test_get_context_reports_mentions_and_stays_within_the_budget(client: McpClient) -> None:
    question = "how is a discount applied? @#Cart.total @nothing.py"
    result, text = client.tool("get_context", question=question, budget_tokens=600)
    assert result["tokens"] <= 600
    assert "def total(self) -> Money:" in result["context"]
    assert "def apply_discount" in result["context"]
    assert text.startswith(result["context"])
    assert question not in result["context"]
    assert "# Instructions" not in result["context"]
    assert [(m["mention"], m["status"]) for m in result["mentions"]] == [
        ("@#Cart.total", "included"),
        ("@nothing.py", "unresolved"),
    ]
    assert "@nothing.py: unresolved. " in text
    assert [item["symbol"] for item in result["items"] if item["mentioned"]] == ["Cart.total"]


def test_get_context_lists_what_the_budget_leaves_out(client: McpClient) -> None:
    result, text = client.tool(
        "get_context", question="how is a discount applied to the total price?", budget_tokens=120
    )
    assert result["tokens"] <= 120
    assert result["omitted_count"] == len(result["omitted"]) > 0
    assert f"Left out ({result['omitted_count']}); raise budget_tokens" in text


def test_get_context_with_instructions_is_a_complete_prompt(client: McpClient) -> None:
    result, _ = client.tool("get_context", question="how is a discount applied?", instructions=True)
    assert result["context"].rstrip().endswith("how is a discount applied?")


def test_explain_symbol_lists_relations(client: McpClient) -> None:
    result, text = client.tool("explain_symbol", name="write_file")
    assert result["definition"]["path"] == "shop/store.py"
    assert result["definition"]["snippet"].startswith("def write_file(cart):")
    assert {c["symbol"] for c in result["callers"]} == {"DiskStore.save", "checkout"}
    assert [t["path"] for t in result["tests"]] == ["tests/test_store.py"]
    assert "Called by:\n- " in text


@pytest.mark.parametrize(
    ("name", "path", "expected"), [("Store", "", "DiskStore"), ("Store.save", "shop/store.py", "DiskStore.save")]
)
def test_explain_symbol_lists_implementations(client: McpClient, name: str, path: str, expected: str) -> None:
    result, _ = client.tool("explain_symbol", name=name, path=path)
    assert [one["symbol"] for one in result["implementations"]] == [expected]


@pytest.mark.parametrize(
    ("relation", "symbol", "to", "expected"),
    [
        ("callers", "write_file", "", ["DiskStore.save", "checkout", "test_write_file"]),
        ("callees", "checkout", "", ["Store.save", "write_file"]),
        ("usages", "Store", "", ["DiskStore", "checkout"]),
        ("implementations", "Store.save", "", ["DiskStore.save"]),
        ("tests", "write_file", "", ["test_write_file"]),
        ("call path", "checkout", "write_file", ["checkout", "write_file"]),
        ("callers", "checkout", "", []),
    ],
)
def test_related_code(client: McpClient, relation: str, symbol: str, to: str, expected: list[str]) -> None:
    result, text = client.tool("related_code", symbol=symbol, relation=relation, to=to)
    assert sorted(region["symbol"] for region in result["regions"]) == expected
    assert text.startswith(result["summary"])


def test_secrets_are_redacted_in_every_tool(client: McpClient) -> None:
    calls = [
        ("search_code", {"query": "api key in write_file"}),
        ("get_context", {"question": "@shop/store.py api key?"}),
        ("explain_symbol", {"name": "write_file"}),
        ("related_code", {"symbol": "checkout", "relation": "callees"}),
    ]
    for name, arguments in calls:
        result, text = client.tool(name, **arguments)
        assert "api_key" in text
        assert "sk-proj-" not in text + str(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("search_code", {"query": " "}, "query: must not be blank."),
        ("search_code", {"query": "x", "limit": 0}, "limit: expected `int` >= 1."),
        ("search_code", {"query": "x", "path": "a"}, "params: object contains unknown field `path`."),
        ("search_code", {}, "query: object missing required field `query`."),
        (
            "get_context",
            {"question": "@shop/cart.py", "budget_tokens": 1, "instructions": True},
            "raise budget_tokens.",
        ),
        ("get_context", {"question": " "}, "question: must not be blank."),
        ("explain_symbol", {"name": "Kart"}, "Did you mean Cart"),
        ("related_code", {"symbol": "nothing_at_all", "relation": "callers"}, "nothing_at_all"),
        (
            "related_code",
            {"symbol": "checkout", "relation": "friends"},
            "relation: invalid enum value 'friends'; valid: ",
        ),
        ("related_code", {"symbol": "checkout", "relation": "call path"}, "to: required"),
        ("related_code", {"symbol": "checkout", "relation": "tests", "to": "x"}, "to: not allowed"),
        ("search_code", {"query": "x", "root": "/"}, "root: '/' is outside of the workspace folders: "),
        ("search_code", {"query": "x", "root": "/no/such"}, "root: the workspace '/no/such' does not exist."),
        ("delete_code", {}, "unknown tool 'delete_code'; valid: search_code, "),
    ],
)
def test_errors_are_sentences(client: McpClient, tool: str, arguments: dict[str, object], expected: str) -> None:
    assert expected in client.tool_error(tool, **arguments)


def test_recipes_are_prompts_with_completion(client: McpClient) -> None:
    prompts = {prompt.name: prompt for prompt in client.run("list_prompts").prompts}
    assert [argument.name for argument in prompts["shipping"].arguments] == ["carrier", "question"]
    assert list(prompts) == sorted(prompts)
    arguments = {"carrier": "train", "question": "why? @#apply_discount"}
    text = client.run("get_prompt", "shipping", arguments).messages[0].content.text
    assert "Explain shipping by train." in text
    assert "def apply_discount" in text
    assert text.rstrip().endswith("why? @#apply_discount")

    def complete(argument: str, value: str) -> list[str]:
        reference = PromptReference(name="shipping")
        return client.run("complete", reference, {"name": argument, "value": value}).completion.values

    assert complete("carrier", "SH") == ["ship", "shuttle"]
    assert complete("question", "why 😀 @#apply_d")[0] == "why 😀 @#apply_discount"
    assert complete("question", "no mention") == []
    assert complete("other", "x") == []
    with pytest.raises(MCPError, match="unknown prompt 'sailing'; valid: commit-message, "):
        client.run("get_prompt", "sailing", {})


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_both_protocol_generations_are_served(workspace: Path, mode: str) -> None:
    with connect(workspace.parent, cwd=workspace, mode=mode) as client:  # the current folder is the workspace
        assert client.tool("explain_symbol", name="Money")[0]["definition"]["path"] == "shop/money.py"


def test_writes_between_calls_are_seen(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, "--root", str(root)) as client:
        client.tool("search_code", query="cart")
        file = root / "shop/cart.py"
        for turn in range(8):
            file.write_text(file.read_text() + f"\n\ndef zeppelin_{turn}(cart):\n    return {turn}\n")  # an edit
            explained, _ = client.tool("explain_symbol", name=f"zeppelin_{turn}")
            assert explained["definition"]["path"] == "shop/cart.py"
            folder = root / f"new/folder_{turn}"
            folder.mkdir(parents=True)
            (folder / "a.py").write_text(
                f"from shop.cart import zeppelin_{turn}\ndef airship_{turn}():\n    return zeppelin_{turn}(1)\n"
            )  # a new file
            related, _ = client.tool("related_code", symbol=f"zeppelin_{turn}", relation="callers")
            assert [r["symbol"] for r in related["regions"]] == [f"airship_{turn}"]
            (folder / "a.py").write_text(
                f"from shop.cart import zeppelin_{turn}\ndef balloon_{turn}():\n    return zeppelin_{turn}(1)\n"
            )  # the same size
            context, _ = client.tool("get_context", question=f"@#balloon_{turn} @#airship_{turn}")
            assert [m["status"] for m in context["mentions"]] == ["included", "unresolved"]
            (folder / "a.py").unlink()
            hits, _ = client.tool("search_code", query=f"balloon_{turn}", limit=20)
            assert not [h for h in hits["hits"] if h["path"].startswith("new/")]


def test_parallel_calls_see_their_own_writes(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, "--root", str(root)) as client:
        client.tool("search_code", query="cart")

        def work(worker: int) -> None:
            file = root / f"worker_{worker}.py"
            for turn in range(100, 110):
                file.write_text(f"def balloon_{worker}_{turn}():\n    return {worker}\n")  # always the same size
                found, _ = client.tool("explain_symbol", name=f"balloon_{worker}_{turn}")
                assert found["definition"]["path"] == file.name
                assert found["index"]["up_to_date"]

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))


def test_cancelled_call_does_not_block_the_next_one(client: McpClient) -> None:
    question = {"question": "@shop/ how is a discount applied to the total price? " * 3000}
    with pytest.raises(MCPError, match=r"[Tt]imed out"):
        client.run("call_tool", "get_context", question, read_timeout_seconds=0.01)
    assert client.tool("search_code", query="apply discount")[0]["hits"][0]["path"] == "shop/cart.py"


def test_server_imports_the_sdk_without_its_client() -> None:
    code = (
        "import sys; from promptls.mcp.sdk import import_sdk; import_sdk(); import promptls.mcp.server; "
        "sys.exit('httpx2' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_home_folder_is_not_a_workspace_and_root_selects_one(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, cwd=tmp_path) as client:
        assert "give the absolute path of the workspace folder" in client.tool_error("search_code", query="x")
        assert client.run("list_prompts").prompts == []
        hit = client.tool("search_code", query="apply discount", root=str(root))[0]["hits"][0]
        assert hit["path"] == "shop/cart.py"


def test_index_on_disk_is_shared_with_a_language_server(
    start: Callable[..., Client], shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = start(shop).wait_indexed()
    assert status["embedder"]["embedded"] > 0
    monkeypatch.setenv("PROMPTLS_CACHE", str(tmp_path / "cache"))
    engine = open_workspace([str(shop)], user_settings()[0])  # as the MCP server does
    try:
        assert engine.index.refresh()
        shared = engine.index.status()
        assert shared.roots[0].vectors == status["roots"][0]["vectors"] > 0
        assert shared.embedded_chunks == 0
    finally:
        engine.close()


def test_installed_configuration_starts_a_server_that_answers(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    install = [sys.executable, "-m", "promptls", "install", "claude-code"]
    subprocess.run(install, env=environment(tmp_path), cwd=root, check=True, timeout=120, stdout=subprocess.DEVNULL)
    entry = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["promptls"]
    with connect(tmp_path, cwd=root, command=[entry["command"], *entry["args"]]) as client:
        hits = client.tool("search_code", query="refreshSession")[0]["hits"]
        assert hits[0]["path"] == "web/session.js"


def test_several_roots(tmp_path: Path) -> None:
    shop, stores = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", STORES)
    with connect(tmp_path, "--root", str(shop), "--root", str(stores)) as client:
        assert client.tool("explain_symbol", name="write_file")[0]["definition"]["path"] == "b:shop/store.py"
        assert client.tool("explain_symbol", name="apply_discount")[0]["definition"]["path"] == "a:shop/cart.py"
        assert "write_file" in client.tool_error("explain_symbol", name="write_file", root=str(shop / "shop"))


def test_server_ends_with_its_input(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    command = [sys.executable, "-m", "promptls", "mcp"]
    done = subprocess.run(
        command, env=environment(tmp_path), cwd=root, input="", capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_missing_sdk_is_reported_in_one_sentence(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; "
        "import importlib.util as u; u.find_spec = lambda name, find=u.find_spec: None if name == 'mcp' else find(name); "
        "from promptls.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr == "promptls: the MCP server needs the package mcp; run `pip install 'promptls[mcp]'`.\n"
