"""LSP features of prompt documents, in every position encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git, make_shop, write_tree
from lsp import Client, Json, ResponseError, Visit

QUESTION = """\
How is the price made? 😀 @shop/cart.py:24-26

And @#Money.times, @#Monney, @#plus, @dist/out.js?
"""


class OpenPrompt:
    """An open prompt document; positions are given by the text at them."""

    def __init__(self, client: Client, root: Path, uri: str, text: str, encoding: str = "utf-16") -> None:
        self.client, self.root, self.uri, self.text, self.encoding = client, root, uri, text, encoding
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})

    def units(self, text: str) -> int:
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[self.encoding]
        return len(text.encode(codec)) // width

    def position(self, text: str, into: int = 0) -> Json:
        at = self.text.index(text) + into
        line = self.text.count("\n", 0, at)
        return {"line": line, "character": self.units(self.text[self.text.rfind("\n", 0, at) + 1 : at])}

    def range(self, text: str) -> Json:
        return {"start": self.position(text), "end": self.position(text, len(text))}

    def request(self, feature: str, **params: object) -> object:
        return self.client.request(f"textDocument/{feature}", {"textDocument": {"uri": self.uri}, **params})

    def request_at(self, feature: str, text: str, into: int = 1) -> object:
        return self.request(feature, position=self.position(text, into))

    def replace(self, text: str, version: int) -> None:
        self.text = text
        document = {"uri": self.uri, "version": version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, version: int = 1) -> list[Json]:
        def fits(note: Json) -> bool:
            return bool(note["uri"] == self.uri and note.get("version") == version)

        found: list[Json] = self.client.wait_notification("textDocument/publishDiagnostics", fits)["diagnostics"]
        return found


ALL = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}


def marked(page: OpenPrompt, diagnostics: list[Json]) -> list[tuple[str, str]]:
    """Return the codes of diagnostics and the mentions that they mark."""
    mentions = re.findall(r'@"[^"\n]*"?|@[#\w./]+\w', page.text)
    at = {str(page.range(mention)): mention for mention in mentions}
    return [(d["code"], at[str(d["range"])]) for d in diagnostics]


@pytest.fixture(scope="module", params=["utf-8", "utf-16", "utf-32"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """A server with one position encoding, shared by all tests of the module."""
    folder = tmp_path_factory.mktemp(request.param)
    root = make_shop(folder / "shop-root")
    (root / ".gitignore").write_text("dist/\n")
    git(root, "commit", "-qam", "ignore")
    (root / "dist").mkdir()
    (root / "dist/out.js").write_text("var out\n")
    client = Client(folder / "cache")
    general = {"positionEncodings": [request.param]}
    client.initialize(root, capabilities={"general": general, "window": {"showDocument": {"support": True}}})
    yield client, root
    client.kill()


@pytest.fixture
def page(served: tuple[Client, Path], request: pytest.FixtureRequest) -> Iterator[OpenPrompt]:
    """A new prompt document; after the test all documents are closed and all new files are deleted."""
    client, root = served
    client.wait_indexed()
    encoding = request.node.callspec.params["served"]
    yield OpenPrompt(client, root, f"untitled:{request.node.originalname}", QUESTION, encoding)
    client.close_all()
    made = [root / name for name in git(root, "ls-files", "--others", "--exclude-standard").splitlines()]
    for file in made:
        file.unlink()
    client.files_changed(*made)


def test_diagnostics_for_unresolved_and_refused_mentions(page: OpenPrompt) -> None:
    found = {d["code"]: d for d in page.diagnostics()}
    assert {code: d["range"] for code, d in found.items()} == {
        "unresolved": page.range("@#Monney"),
        "refused": page.range("@dist/out.js"),
    }
    assert "Did you mean @#Money" in found["unresolved"]["message"]
    assert ".gitignore" in found["refused"]["message"]


def test_diagnostics_are_kept_while_a_mention_is_typed(page: OpenPrompt) -> None:
    others = [("unresolved", "@#Monney"), ("refused", "@dist/out.js")]
    assert marked(page, page.diagnostics()) == others
    typed = ["@", "@shop/c", "@shop/cart", "@shop/cart.", "@shop/cart.p", "@shop/cart.py", '@"no', '@"no such file']
    for version, mention in enumerate(typed, 2):
        page.replace(f"{QUESTION}And {mention}", version)
        assert marked(page, page.diagnostics(version)) == others, mention
        problems = [h for h in page.request("inlayHint", range=ALL) if h["label"] == "not found"]
        assert [h["position"] for h in problems] == [page.range("@#Monney")["end"]], mention


def test_quick_fix_replaces_the_mention_by_the_suggestion(page: OpenPrompt) -> None:
    actions = page.request("codeAction", range=page.range("@#Monney"), context={"diagnostics": []})
    fix = actions[0]
    assert (fix["kind"], fix["isPreferred"]) == ("quickfix", True)
    assert fix["edit"]["changes"][page.uri] == [{"range": page.range("@#Monney"), "newText": "@#Money"}]
    assert actions[-1]["command"]["command"] == "promptls.openPrompt"
    only = page.request("codeAction", range=page.range("@#Monney"), context={"diagnostics": [], "only": ["source"]})
    assert [a["title"] for a in only] == ["Build the prompt"]


def test_hover_shows_the_included_lines(page: OpenPrompt) -> None:
    found = page.request_at("hover", "@shop/cart.py:24-26")
    text = found["contents"]["value"]
    assert found["range"] == page.range("@shop/cart.py:24-26")
    assert "def apply_discount(cart: Cart, percent: int) -> Money:" in text
    assert "def total" not in text
    assert page.request_at("hover", "price") is None


def test_definition_and_document_links(page: OpenPrompt) -> None:
    (place,) = page.request_at("definition", "@#Money.times")
    assert place["uri"].endswith("/shop/money.py")
    assert place["range"]["start"]["line"] == 9
    links = {link["target"].rsplit("/", 1)[-1]: link["range"] for link in page.request("documentLink")}
    assert links["cart.py#L24"] == page.range("@shop/cart.py:24-26")


def test_completion_replaces_the_typed_text(page: OpenPrompt) -> None:
    page.replace(QUESTION + "😀 @shop/mon", 2)
    end = page.position("@shop/mon", len("@shop/mon"))
    found = page.request("completion", position=end)
    item = found["items"][0]
    assert item["textEdit"] == {"range": page.range("@shop/mon"), "newText": "@shop/money.py"}
    assert "tokens" in item["detail"]
    assert page.request("completion", position={"line": 0, "character": 3}) == {"isIncomplete": False, "items": []}


def test_completion_excludes_prompt_documents(page: OpenPrompt) -> None:
    (page.root / "own.prompt.md").write_text("@")
    mine = OpenPrompt(page.client, page.root, (page.root / "own.prompt.md").as_uri(), "@", page.encoding)
    page.client.open(page.root / "shop/cart.py", (page.root / "shop/cart.py").read_text())
    page.client.wait_indexed()
    offered = [item["label"] for item in mine.request("completion", position=mine.position("@", 1))["items"]]
    assert offered[0] == "@shop/cart.py"
    assert not [label for label in offered if "own.prompt" in label]


def test_inlay_hints_show_token_costs(page: OpenPrompt) -> None:
    labels = [hint["label"] for hint in page.request("inlayHint", range=ALL)]
    assert labels[0].endswith(" tokens")
    assert labels[2] == "not found"
    assert page.request("inlayHint", range=ALL)[0]["position"] == page.range("@shop/cart.py:24-26")["end"]


def test_code_lenses_and_document_symbols(page: OpenPrompt) -> None:
    title = page.request("codeLens")[0]["command"]["title"]
    assert "of 8,000 tokens, 5 mentions" in title
    assert [s["name"] for s in page.request("documentSymbol")][:2] == ["@shop/cart.py:24-26", "@#Money.times"]


@pytest.mark.parametrize("as_command", [True, False])
def test_lens_raises_the_budget_of_a_document_whose_mentions_do_not_fit(page: OpenPrompt, as_command: bool) -> None:
    file = page.root / "shop/long.py"
    file.write_text("".join(f"def part_{n}(value):\n    return value * {n} + {n * n}\n\n\n" for n in range(1_000)))
    page.client.build("part")  # compares the index with the disk
    page.client.wait_indexed()
    other = OpenPrompt(page.client, page.root, "untitled:Question-2", "Explain @shop/long.py", page.encoding)
    assert [found["code"] for found in other.diagnostics()] == ["over-budget"]
    raised = other.request("codeLens")[-1]["command"]
    assert raised["title"] == f"Raise the budget to {raised['arguments'][0]['tokens']:,}"
    if as_command:
        page.client.request("workspace/executeCommand", raised)
    else:
        page.client.request("promptls/setBudget", raised["arguments"][0])
    page.client.wait_notification(
        "textDocument/publishDiagnostics", lambda note: note["uri"] == other.uri and not note["diagnostics"]
    )
    assert [lens["command"]["title"] for lens in other.request("codeLens")][1:] == ["Build prompt", "Copy prompt"]
    built = page.client.build("Explain @shop/long.py", document=other.uri)
    assert built["tokens"]["budget"] == raised["arguments"][0]["tokens"]
    assert built["mentions"][0]["status"] == "included"
    assert page.client.build("Explain @shop/long.py", document=page.uri)["tokens"]["budget"] == 8_000
    with pytest.raises(ResponseError, match="tokens: must be from 1 to"):
        page.client.request("promptls/setBudget", {"uri": other.uri, "tokens": 0})


def test_chosen_budget_refreshes_the_lenses_although_no_diagnostic_changes(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "shop", "-- cart.py --\ndef total():\n    return 1\n")
    with Client(tmp_path / "cache") as client:
        client.initialize(root, capabilities={"workspace": {"codeLens": {"refreshSupport": True}}})
        client.wait_indexed()
        document = OpenPrompt(client, root, "untitled:Question", "Explain @cart.py")
        client.wait_server_request("workspace/codeLens/refresh")
        document.request("codeLens")
        client.server_requests.clear()
        client.request("promptls/setBudget", {"uri": document.uri, "tokens": 2_000})
        client.wait_server_request("workspace/codeLens/refresh")
        assert "of 2,000 tokens" in document.request("codeLens")[0]["command"]["title"]


def test_semantic_tokens_are_encoded_relatively(page: OpenPrompt) -> None:
    data = page.request("semanticTokens/full")["data"]
    first, second = page.position("@shop/cart.py:24-26"), page.position("@#Money.times")
    assert data[:5] == [0, first["character"], len("@shop/cart.py:24-26"), 0, 0]
    assert data[5:10] == [2, second["character"], len("@#Money.times"), 1, 0]


def test_renaming_files_updates_mentions(page: OpenPrompt) -> None:
    text = "See @shop/cart.py#Cart.total and @shop/."
    other = OpenPrompt(page.client, page.root, "untitled:Question-2", text, page.encoding)
    files = [{"oldUri": (page.root / "shop").as_uri(), "newUri": (page.root / "store").as_uri()}]
    changes = page.client.request("workspace/willRenameFiles", {"files": files})["changes"]
    assert [e["newText"] for e in changes[page.uri]] == ["@store/cart.py:24-26"]
    assert [e["newText"] for e in changes[other.uri]] == ["@store/cart.py#Cart.total", "@store/"]


def test_rename_changes_all_open_prompt_documents(page: OpenPrompt) -> None:
    other = OpenPrompt(page.client, page.root, "untitled:Question-2", "Again @#Monney.", page.encoding)
    assert page.request_at("prepareRename", "@#Monney")["placeholder"] == "@#Monney"
    changes = page.request("rename", position=page.position("@#Monney", 1), newName="#Money")
    assert {uri: [e["newText"] for e in edits] for uri, edits in changes["changes"].items()} == {
        page.uri: ["@#Money"],
        other.uri: ["@#Money"],
    }
    with pytest.raises(ResponseError, match="is not a mention"):
        page.request("rename", position=page.position("@#Monney", 1), newName="two words")


def test_open_prompt_command_shows_a_foldable_document(page: OpenPrompt) -> None:
    page.client.results_by_method["window/showDocument"] = {"success": True}
    run = {"command": "promptls.openPrompt", "arguments": [{"uri": page.uri}]}
    done = page.client.request("workspace/executeCommand", run)
    assert done["shown"]
    (request,) = [r for r in page.client.server_requests if r["method"] == "window/showDocument"]
    file = Path(request["params"]["uri"].removeprefix("file://"))
    assert file.stat().st_mode & 0o77 == 0
    assert QUESTION.strip() in file.read_text()
    page.client.open(file, file.read_text(), language="markdown")
    folds = page.client.request("textDocument/foldingRange", {"textDocument": {"uri": file.as_uri()}})
    lines = file.read_text().split("\n")
    assert folds
    assert all(lines[f["startLine"]].startswith("<context-") and lines[f["endLine"]].startswith("</") for f in folds)


@pytest.mark.parametrize("reply", [None, {"success": False}])
def test_open_prompt_command_reports_the_file_if_it_cannot_be_shown(page: OpenPrompt, reply: object) -> None:
    page.client.results_by_method["window/showDocument"] = reply
    run = {"command": "promptls.openPrompt", "arguments": [{"uri": page.uri}]}
    done = page.client.request("workspace/executeCommand", run)
    assert not done["shown"]
    file = done["uri"].removeprefix("file://")
    assert file in page.client.wait_notification("window/showMessage", lambda note: file in note["message"])["message"]


def test_other_documents_have_no_features(page: OpenPrompt) -> None:
    page.client.open(page.root / "shop/money.py", "@decorator\ndef x(): ...\n")
    other = {"textDocument": {"uri": (page.root / "shop/money.py").as_uri()}}
    here = {**other, "position": {"line": 0, "character": 3}}
    for feature in ("hover", "definition", "completion", "prepareRename"):
        assert page.client.request(f"textDocument/{feature}", here) is None
    for feature in ("documentLink", "codeLens", "documentSymbol", "semanticTokens/full", "foldingRange"):
        assert page.client.request(f"textDocument/{feature}", other) is None


def test_closing_a_document_removes_its_diagnostics(page: OpenPrompt) -> None:
    assert page.diagnostics()
    page.client.notify("textDocument/didClose", {"textDocument": {"uri": page.uri}})
    page.client.wait_notification(
        "textDocument/publishDiagnostics", lambda n: n["uri"] == page.uri and not n["diagnostics"]
    )


@pytest.mark.parametrize(
    ("name", "language", "is_ours"),
    [
        ("why.promptls.md", "markdown", True),
        ("why.prompt.md", "markdown", True),
        ("why.prompt.md", "prompt", False),  # the language ID of VS Code for its prompt files
        (".github/prompts/why.prompt.md", "markdown", False),
    ],
)
def test_names_of_prompt_documents(page: OpenPrompt, name: str, language: str, is_ours: bool) -> None:
    uri = (page.root / name).as_uri()
    page.client.open(page.root / name, "What is @#Cart.total?", language=language)
    lenses = page.client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or []
    assert ("Build prompt" in [lens["command"]["title"] for lens in lenses]) == is_ours
    page.client.close(page.root / name)


def test_prompt_documents_are_not_retrieved(visit: Visit, shop: Path) -> None:
    document = shop / "why.prompt.md"
    document.write_text("How is a discount applied to the price of the cart?\n")
    client = visit(shop)
    client.wait_indexed()
    built = client.build(document.read_text(), document=document.as_uri())
    assert built["items"]
    assert not [i for i in built["items"] if i["path"].endswith(".prompt.md")]
    unsaved = "# A second discount\n\nHow is a discount applied? Compare apply_discount and @#Money.times.\n"
    client.open(shop / "unsaved.promptls.md", unsaved, language="promptls")
    built = client.build(unsaved, document=(shop / "unsaved.promptls.md").as_uri())
    assert not [i for i in built["items"] if i["path"].endswith(".promptls.md")]
