"""The MCP server, called by the official client over stdio: each tool, its errors, prompts and freshness."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from conftest import SHOP, write_tree
from mcpkit import McpClient, connect, environment
from promptls.util.packages import extra_command

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
from shop.store import DiskStore, checkout, write_file


def test_write_file():
    assert write_file(None)


def test_save():
    checkout(DiskStore(), None)
-- shop/plugins.py --
import shop.store


def load():
    return getattr(shop.store, "write_file")


def on_paid(cart):
    return cart


HANDLERS = {"paid": on_paid}
-- README.md --
The function write_file stores a cart.
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


def test_tools_are_read_only_and_describe_their_parameters(client: McpClient) -> None:
    tools = client.run("list_tools").tools
    assert [tool.name for tool in tools] == ["search_code", "read_code", "explain_symbol", "get_context"]
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert tool.output_schema is None
        assert tool.description.startswith("Use ")
        assert "$ref" not in str(tool.input_schema)
        for schema in tool.input_schema["properties"].values():
            assert schema["description"]
            if schema["type"] == "integer":  # bounds are in the description, because clients drop them from schemas
                assert re.search(r"\d to [\d,]+\.$", schema["description"])


def test_search_code_lists_regions_and_shows_matching_lines(client: McpClient) -> None:
    text = client.tool("search_code", query="apply a discount of some percent")
    assert re.search(r"^\d+ \d+-\d+ function apply_discount: Price of the cart after a discount", text, re.M)
    assert "\nshop/\ncart.py\n" in text
    snippets = client.tool("search_code", query="apply a discount of some percent", snippets=2)
    assert "\tdef apply_discount(" in snippets
    assert len(snippets) > len(text)


def test_read_code_returns_whole_definitions_once(client: McpClient) -> None:
    lines = SHOP.partition("-- shop/cart.py --\n")[2].partition("\n-- ")[0].split("\n")
    start = next(i for i, line in enumerate(lines, 1) if line.startswith("def apply_discount"))
    text = client.tool("read_code", places=["shop/cart.py#apply_discount"])
    assert re.search(rf"^ *{start}\t{re.escape(lines[start - 1])}$", text, re.M)
    assert lines[start + 1] in text
    again = client.tool("read_code", places="shop/cart.py#apply_discount")  # one string
    assert again.startswith("unchanged since it was read: shop/cart.py:")
    assert again.endswith("(repeat=true returns unchanged text again)")
    assert lines[start + 1] in client.tool("read_code", places="shop/cart.py#apply_discount", repeat=True)


def test_get_context_reports_mentions_first_and_stays_within_the_budget(client: McpClient) -> None:
    question = "how is a discount applied? @#Cart.total @nothing.py"
    text = client.tool("get_context", question=question, budget_tokens=600)
    assert text.startswith("@nothing.py: unresolved. ")
    assert "def total(self) -> Money:" in text
    assert "def apply_discount" in text
    assert question not in text
    assert "# Instructions" not in text
    used, budget = map(int, re.search(r"\((\d+) of (\d+) tokens\)", text).groups())
    assert used <= budget == 600


def test_get_context_names_the_places_that_the_budget_leaves_out(client: McpClient) -> None:
    text = client.tool("get_context", question="how is a discount applied to the total price?", budget_tokens=200)
    places = re.findall(r"^- (\S+:\d+-\d+) \(\d+ tokens\)$", text.partition("Left out (")[2], re.M)
    assert places
    assert places[0] in client.tool("read_code", places=places[:1], repeat=True)


def test_explain_symbol_lists_what_a_change_breaks(client: McpClient) -> None:
    text = client.tool("explain_symbol", name="write_file")
    assert re.match(r"shop/store\.py:\d+-\d+ function write_file\n", text)
    assert re.search(r"^ *\d+\tdef write_file\(cart\):$", text, re.M)
    callers = text.partition("Called by (2):\n")[2].partition("\n\n")[0]
    assert "DiskStore.save: return write_file(cart)" in callers
    assert "checkout: return write_file(cart)" in callers
    assert "Imported by (1): tests/test_store.py:1" in text
    assert re.search(r"^Tested by \(1\):\n  tests/test_store.py\n    \d+ test_write_file$", text, re.M)
    assert re.search(r"^Tested through callers \(1\):\n  tests/test_store.py\n    \d+ test_save through", text, re.M)
    mentions = text.partition("Mentioned in text")[2]
    assert "README.md" in mentions
    assert 'getattr(shop.store, "write_file")' in mentions


def test_secrets_are_redacted_in_every_tool(client: McpClient) -> None:
    calls = [
        ("search_code", {"query": "api key in write_file", "snippets": 5}),
        ("read_code", {"places": ["shop/store.py"]}),
        ("get_context", {"question": "@shop/store.py api key?"}),
        ("explain_symbol", {"name": "write_file"}),
    ]
    for name, arguments in calls:
        text = client.tool(name, **arguments)
        assert "api_key" in text
        assert "sk-proj-" not in text


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("search_code", {"query": " "}, "query: must not be blank."),
        ("search_code", {"query": "x", "path": "a"}, "path: unknown field; valid: query, paths, budget_tokens, "),
        ("explain_symbol", {"name": "Kart"}, "Did you mean Cart"),
        ("explain_symbol", {"name": "Cart", "relations": ["friends"]}, "unknown relations 'friends'; valid: callees, "),
        ("search_code", {"query": "x", "root": "/"}, "root: '/' is outside of the workspace folders: "),
        ("search_code", {"query": "x", "root": "shop"}, "root: the workspace 'shop' does not exist."),
        ("delete_code", {}, "unknown tool 'delete_code'; valid: search_code, "),
    ],
)
def test_errors_are_sentences(client: McpClient, tool: str, arguments: dict[str, object], expected: str) -> None:
    assert expected in client.tool_error(tool, **arguments)


@pytest.mark.parametrize("size", [-1, 0, 10**9, "300"])
def test_numbers_out_of_range_are_clamped(client: McpClient, size: object) -> None:
    assert "apply_discount" in client.tool("search_code", query="apply discount", budget_tokens=size)


def test_structured_content_is_returned_on_request(workspace: Path) -> None:
    with connect(workspace.parent, "--root", str(workspace), "--structured") as client:
        result = client.call_tool("search_code", {"query": "apply discount"})
        assert result.structured_content["text"] == result.content[0].text
        assert client.run("list_tools").tools[0].output_schema is None


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
        assert client.tool("explain_symbol", name="Money").startswith("shop/money.py:")


def test_writes_between_calls_are_seen(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, "--root", str(root)) as client:
        client.tool("search_code", query="cart")
        file = root / "shop/cart.py"
        for turn in range(8):
            file.write_text(file.read_text() + f"\n\ndef zeppelin_{turn}(cart):\n    return {turn}\n")  # an edit
            assert client.tool("explain_symbol", name=f"zeppelin_{turn}").startswith("shop/cart.py:")
            folder = root / f"new/folder_{turn}"
            folder.mkdir(parents=True)
            (folder / "a.py").write_text(
                f"from shop.cart import zeppelin_{turn}\ndef airship_{turn}():\n    return zeppelin_{turn}(1)\n"
            )  # a new file
            callers = client.tool("explain_symbol", name=f"zeppelin_{turn}", relations="callers")
            assert f"airship_{turn}: return zeppelin_{turn}(1)" in callers
            (folder / "a.py").write_text(
                f"from shop.cart import zeppelin_{turn}\ndef balloon_{turn}():\n    return zeppelin_{turn}(1)\n"
            )  # the same size
            context = client.tool("get_context", question=f"@#balloon_{turn} @#airship_{turn}")
            assert context.startswith(f"@#airship_{turn}: unresolved.")
            assert f"def balloon_{turn}" in context
            (folder / "a.py").unlink()
            assert "new/" not in client.tool("search_code", query=f"balloon_{turn}")


def test_parallel_calls_see_their_own_writes(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, "--root", str(root)) as client:
        client.tool("search_code", query="cart")

        def work(worker: int) -> None:
            file = root / f"worker_{worker}.py"
            for turn in range(100, 110):
                file.write_text(f"def balloon_{worker}_{turn}():\n    return {worker}\n")  # always the same size
                text = client.tool("explain_symbol", name=f"balloon_{worker}_{turn}")
                assert f"\n{file.name}:1-2 function" in f"\n{text}"  # below the state of the index

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))


def test_cancelled_call_does_not_block_the_next_one(client: McpClient) -> None:
    question = {"question": "@shop/ how is a discount applied to the total price? " * 3000}
    with pytest.raises(MCPError, match=r"[Tt]imed out"):
        client.run("call_tool", "get_context", question, read_timeout_seconds=0.01)
    assert "apply_discount" in client.tool("search_code", query="apply discount")


def test_server_imports_the_sdk_without_its_client() -> None:
    code = (
        "import sys; from promptls.util.import_stubs import import_with_stubs;"
        "import_with_stubs('mcp', ('mcp.client', 'mcp.server.mcpserver')); import promptls.mcp.mcp_server; "
        "sys.exit('httpx2' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_home_folder_is_not_a_workspace_and_root_selects_one(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    with connect(tmp_path, cwd=tmp_path) as client:
        message = client.tool_error("search_code", query="x")
        assert f"was started in {tmp_path}, which is not a project; give the absolute path" in message
        assert "commit-message" in [prompt.name for prompt in client.run("list_prompts").prompts]
        with pytest.raises(MCPError, match="is not a project"):
            client.run("get_prompt", "commit-message", {})
        assert "function apply_discount" in client.tool("search_code", query="apply discount", root=str(root))


def test_root_outside_of_the_current_folder_needs_permission(tmp_path: Path) -> None:
    shop, stores = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", STORES)
    with connect(tmp_path, cwd=shop) as client:
        message = client.tool_error("explain_symbol", name="write_file", root=str(stores))
        assert message.endswith("The user can allow other folders: promptls mcp --any-root.")
    with connect(tmp_path, "--any-root", cwd=shop) as client:
        assert client.tool("explain_symbol", name="write_file", root=str(stores)).startswith("shop/store.py:")


def test_installed_configuration_starts_a_server_that_answers(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "workspace", SHOP)
    install = [sys.executable, "-m", "promptls", "install", "claude-code"]
    subprocess.run(install, env=environment(tmp_path), cwd=root, check=True, timeout=120, stdout=subprocess.DEVNULL)
    entry = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["promptls"]
    with connect(tmp_path, cwd=root, command=[entry["command"], *entry["args"]]) as client:
        assert "web/session.js" in client.tool("search_code", query="refreshSession")


def test_several_roots(tmp_path: Path) -> None:
    shop, stores = write_tree(tmp_path / "a", SHOP), write_tree(tmp_path / "b", STORES)
    with connect(tmp_path, "--root", str(shop), "--root", str(stores)) as client:
        assert client.tool("explain_symbol", name="write_file").startswith("b:shop/store.py:")
        assert client.tool("explain_symbol", name="apply_discount").startswith("a:shop/cart.py:")
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
    assert done.stderr == f"promptls: the MCP server needs the package mcp; run `{extra_command('mcp')}`.\n"
