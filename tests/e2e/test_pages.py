"""Pages: prompts and other results as documents that the server renders, with decisions about their items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from conftest import SHOP, write_tree
from lsp import Client, Json, ResponseError, indexed_client

pytestmark = pytest.mark.process

CAPABILITIES = {"workspace": {"textDocumentContent": {}}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = write_tree(tmp_path_factory.mktemp("pages") / "shop-root", SHOP)
    with indexed_client(root.parent / "cache", root, capabilities=CAPABILITIES) as client:
        yield client


def open_prompt(client: Client, message: str, **params: object) -> Json:
    opened: Json = client.request("promptls/openPage", {"kind": "prompt", "params": {"message": message, **params}})
    return opened


def text(client: Client, uri: str) -> str:
    content: str = client.request("workspace/textDocumentContent", {"uri": uri})["text"]
    return content


def line_with(client: Client, uri: str, part: str) -> int:
    return next((n for n, line in enumerate(text(client, uri).splitlines()) if part in line), -1)


def act(client: Client, uri: str, action: str, part: str = "", **params: object) -> Json:
    line = line_with(client, uri, part) if part else 0
    done: Json = client.request("promptls/pageAction", {"uri": uri, "action": action, "line": line, **params})
    return done


def without_times(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "context-" not in line and "Boundary" not in line)


def section(client: Client, uri: str, title: str) -> list[str]:
    """Return the lines of a section that are items."""
    lines = text(client, uri).splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith(f"## {title}")), len(lines))
    found = []
    for line in lines[start + 1 :]:
        if not line.lstrip().startswith("- "):
            break
        found.append(line)
    return [line for line in found if line.startswith("- ")]


def test_page_of_a_prompt_has_its_figures_decisions_and_text(client: Client) -> None:
    opened = open_prompt(client, "How is a discount applied? @#Cart.total @#Monney")
    uri, result = opened["uri"], opened["result"]
    shown = text(client, uri)
    assert shown.startswith(f"# Prompt: {result['tokens']['used']:,} of 8,000 tokens (estimate)\n")
    assert result["prompt"] in shown
    assert [line for line in section(client, uri, "Mentions") if "not found" in line and "@#Money" in line]
    items = section(client, uri, "In the prompt")
    assert len(items) == len(result["items"])
    assert "mentioned" in items[0]
    assert "shop/cart.py:16-21  Cart.total  [pin] [drop]" in items[0]
    assert uri.startswith("promptls-page:/")
    assert uri.endswith(".md")


QUESTION = "How is a discount applied to the price of the cart?"


def test_dropped_item_is_left_out_and_returns(client: Client) -> None:
    uri = open_prompt(client, QUESTION)["uri"]
    before = text(client, uri)
    (item,) = [line for line in section(client, uri, "In the prompt") if "shop/cart.py" in line]
    assert act(client, uri, "drop", item)["changed"]
    assert not [line for line in section(client, uri, "In the prompt") if "shop/cart.py" in line]
    assert section(client, uri, "Dropped") == ["- shop/cart.py  [restore]"]  # all of its regions
    refreshed = [r["params"] for r in client.server_requests if r["method"] == "workspace/textDocumentContent/refresh"]
    assert refreshed[-1] == {"uri": uri}
    act(client, uri, "restore", "[restore]")
    assert without_times(text(client, uri)) == without_times(before)
    assert not act(client, uri, "drop", "# Prompt")["changed"]


def test_dropped_mention_says_so(client: Client) -> None:
    uri = open_prompt(client, "Check @#Cart.total")["uri"]
    act(client, uri, "drop", section(client, uri, "In the prompt")[0])
    (mention,) = section(client, uri, "Mentions")
    assert "It was dropped." in mention


def test_pinned_item_is_explicit_until_it_is_dropped(client: Client) -> None:
    uri = open_prompt(client, QUESTION)["uri"]
    item = section(client, uri, "In the prompt")[-1]
    act(client, uri, "pin", item)
    pinned = section(client, uri, "In the prompt")[0]
    assert "pinned" in pinned
    assert "[unpin] [drop]" in pinned
    act(client, uri, "unpin", pinned)
    assert "[unpin]" not in text(client, uri)
    act(client, uri, "pin", section(client, uri, "In the prompt")[-1])
    act(client, uri, "drop", "[unpin]")
    assert "[unpin]" not in text(client, uri)
    assert len(section(client, uri, "Dropped")) == 1


def test_omitted_item_is_added(client: Client) -> None:
    uri = open_prompt(client, QUESTION, budget={"tokens": 420})["uri"]
    omitted = section(client, uri, "Left out")[0]
    place = next(word for word in omitted.split() if ".py:" in word or ".js:" in word or ".md:" in word)
    act(client, uri, "add", omitted)
    assert place in section(client, uri, "In the prompt")[0]


def test_related_definitions_are_listed_and_added(client: Client) -> None:
    uri = open_prompt(client, "Check @shop/cart.py:16-21", retrieval={"sources": []})["uri"]
    item = section(client, uri, "In the prompt")[0]
    before = text(client, uri)
    act(client, uri, "more", item)
    (user,) = [line for line in text(client, uri).splitlines() if "apply_discount" in line and "[add]" in line]
    assert user.startswith("    - caller")
    act(client, uri, "more", item)
    assert text(client, uri) == before
    act(client, uri, "more", item)
    act(client, uri, "add", user)
    assert user.replace("[add]", "[unpin]") in text(client, uri)
    (pinned,) = [line for line in text(client, uri).splitlines() if "pinned  " in line]
    assert "apply_discount" in pinned
    assert "def apply_discount" in text(client, uri)


def test_budget_and_changed_files(client: Client) -> None:
    uri = open_prompt(client, "How is a discount applied to the price of the cart?")["uri"]
    act(client, uri, "budget", tokens=2_000)
    assert "of 2,000 tokens" in text(client, uri).splitlines()[0]
    current = client.request("promptls/pageResult", {"uri": uri})["result"]
    assert current["tokens"]["budget"] == 2_000
    assert current["prompt"] in text(client, uri)
    with pytest.raises(ResponseError, match="This page has ended; build the prompt again"):
        client.request("promptls/pageAction", {"uri": "promptls-page:/9/x.md", "action": "rebuild"})
    with pytest.raises(ResponseError, match="action: invalid enum value"):
        client.request("promptls/pageAction", {"uri": uri, "action": "eat"})
    assert "has ended" in text(client, "promptls-page:/9/x.md")


def test_links_lead_to_places_and_run_the_buttons(client: Client) -> None:
    uri = open_prompt(client, "How is a discount applied to the price of the cart?")["uri"]
    line = line_with(client, uri, "[pin] [drop]")
    links = client.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
    of_line = [link for link in links if link["range"]["start"]["line"] == line]
    place, pin, drop = of_line
    shown = text(client, uri).splitlines()[line]
    start, end = (place["range"][side]["character"] for side in ("start", "end"))
    assert place["target"].startswith("file:")
    assert Path(place["target"].partition("#")[0]).name == Path(shown[start:end].partition(":")[0]).name
    arguments = json.loads(unquote(drop["target"].partition("?")[2]))
    assert arguments == [{"uri": uri, "line": line, "action": "drop"}]
    assert pin["target"].startswith("command:promptls.pageAction?")
    client.request("workspace/executeCommand", {"command": "promptls.pageAction", "arguments": arguments})
    assert len(section(client, uri, "Dropped")) == 1
    position = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}
    assert client.request("textDocument/definition", position)[0]["uri"].startswith("file:")
    folds = client.request("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    assert {fold.get("kind") for fold in folds} == {"region", None}
    lines = text(client, uri).splitlines()
    sections = [fold for fold in folds if "kind" not in fold]
    assert all(lines[fold["startLine"]].startswith("## ") and lines[fold["endLine"]] for fold in sections)


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        ("explain", {"symbol": "Cart.total"}, "Cart.total"),
        ("graph", {"query": "cart total"}, "shop/cart.py"),
        ("status", {}, "embedding model"),
        ("mentionKinds", {}, "## file"),
    ],
)
def test_other_results_are_pages(client: Client, kind: str, params: Json, expected: str) -> None:
    opened = client.request("promptls/openPage", {"kind": kind, "params": params})
    assert expected in text(client, opened["uri"])


def test_graph_is_a_tree_with_links(client: Client) -> None:
    params = {"from": "apply_discount", "to": "Money.plus"}
    uri = client.request("promptls/openPage", {"kind": "graph", "params": params})["uri"]
    start = line_with(client, uri, "## Tree") + 2
    tree = text(client, uri).splitlines()[start : start + 3]
    assert tree[0].startswith("apply_discount  shop/")
    assert tree[1].startswith("└─ calls Cart.total  shop/cart.py:")
    position = {"textDocument": {"uri": uri}, "position": {"line": start + 1, "character": 0}}
    assert client.request("textDocument/definition", position)[0]["uri"].endswith("/shop/cart.py")


def test_opened_page_is_no_document_of_the_editor(client: Client) -> None:
    uri = open_prompt(client, "How is a discount applied to the price of the cart?")["uri"]
    document = {"uri": uri, "languageId": "markdown", "version": 1, "text": text(client, uri)}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert uri not in str(client.build("What is in @open?"))
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
