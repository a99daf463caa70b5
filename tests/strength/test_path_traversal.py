"""Nobody gets out of the workspace: whatever stands in a field that is a path or a URI, nothing of a file outside
comes back, nothing outside is written, nothing waits for ever.

The fields are read off the protocol's types, so that one that is added tomorrow is tried tomorrow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fields
import pytest
from tally import Tries
from ways_out import TOKEN, Trap, seal, told

from lsp import Client, Json, ResponseError

EVERYTHING = "How is a discount applied to this file? @active @selection @open @visible @diagnostics @quickfix @rules"
KNOWN: Json = {  # what a field needs for the request to go as deep as it can; every other one keeps its own
    "message": EVERYTHING,
    "text": "@shop/",
    "budget": {"tokens": 30_000},
    "profile": "default",
    "variant": "baseline",
    "recipe": "review",
    "arguments": {},
    "output": "text",
    "kinds": [],
    "offset": 6,
    "category": "rule",
    "expires": None,
    "scope": "workspace",
    "sections": {},
    "action": "search",
}
PATHS = ("message", "text", "query", "newName", "symbol", "from", "to", "paths", "root", "answer", "arguments")
"""Fields in which paths stand as people write them, not as URIs; they get both."""


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.fixture(scope="module")
def client(trap: Trap, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("cache") / "cache", env=trap.env)
    client.initialize(trap.root)
    client.wait_indexed()
    yield client
    client.kill()


def base(method: str) -> Json:
    filled = fields.requests()[method]
    return {name: KNOWN.get(name, value) for name, value in filled.items()}


def ask(client: Client, method: str, params: Any) -> str:
    """All that the server says to a request."""
    try:
        return told(client.request(method, params, timeout=30))
    except ResponseError as error:
        assert error.code == -32602, (method, params, str(error))
        return f"{error} {told(error.data)}"


def test_the_fields_are_all_there() -> None:
    """Else the tests below could pass over what they do not see."""
    by_method = {method: set(map(str, fields.places(params))) for method, params in fields.requests().items()}
    assert "('context', 'selection', 'uri')" in by_method["promptls/buildPrompt"]
    assert "('context', 'diagnostics', 0, 'uri')" in by_method["promptls/resolveMentions"]
    assert "('files', 0, 'newUri')" in by_method["workspace/willRenameFiles"]
    assert sum(map(len, by_method.values())) > 90


def test_the_token_is_seen_where_it_may_be(client: Client, trap: Trap) -> None:
    """Else no test below could fail: a file inside with the same text is found in many ways."""
    inside = trap.root / "inside.py"
    inside.write_text((trap.outside / "canary.py").read_text())
    client.files_changed(inside)
    client.wait_indexed()
    assert TOKEN in told(client.build("@inside.py"))
    assert TOKEN in ask(client, "promptls/explain", {"uri": inside.as_uri(), "position": {"line": 2, "character": 5}})
    inside.unlink()
    client.files_changed(inside)
    client.wait_indexed()


def shares(trap: Trap, effort: float) -> dict[tuple[str, fields.Place], list[str]]:
    """What each field is given: its share of the ways out, each of which goes into some field of its sort."""
    sorts: dict[bool, list[tuple[str, fields.Place]]] = {False: [], True: []}
    for method, params in fields.requests().items():
        for place in fields.places(params):
            name = next(str(key) for key in reversed(place) if isinstance(key, str))
            sorts[name in PATHS].append((method, place))
    given = {}
    for takes_paths, its in sorts.items():
        values = [*trap.uris(), *(trap.paths() if takes_paths else ())]
        random.Random(3).shuffle(values)
        count = min(len(values), max(int(3 * effort), -(-len(values) // len(its))))
        for number, field in enumerate(its):
            given[field] = [values[(number * count + n) % len(values)] for n in range(count)]
    return given


def test_every_way_out_is_tried(trap: Trap) -> None:
    """Else a field of fewer values could pass over some of them."""
    given = shares(trap, 0.1)
    assert {value for values in given.values() for value in values} == {*trap.uris(), *trap.paths()}
    assert all(given.values())


@pytest.mark.parametrize("method", [m for m, p in fields.requests().items() if list(fields.places(p))])
def test_no_field_leads_out(client: Client, trap: Trap, method: str, effort: float, tries: Tries) -> None:
    params, given = base(method), shares(trap, effort)
    before = seal(trap.outside)
    for place in fields.places(fields.requests()[method]):
        for value in given[method, place]:
            # with all other fields, and alone with those that must be there
            full = fields.put(
                {**fields.requests()[method], **params, place[0]: fields.requests()[method][place[0]]}, place, value
            )
            lone = {k: v for k, v in full.items() if k == place[0] or k in needed(method)}
            for asked in (full, lone):
                tries("requests")
                assert TOKEN not in ask(client, method, asked), (method, place, value)
    assert seal(trap.outside) == before
    assert client.wait_indexed()["state"] == "ready"


def needed(method: str) -> tuple[str, ...]:
    """Fields without which a request is refused before anything is looked at."""
    return ("message", "text", "offset", "query", "action", "textDocument", "position", "range", "files", "items",
            "answer", "newName") if method != "promptls/graph" else ()  # fmt: skip


def test_no_mention_leads_out(client: Client, trap: Trap, effort: float, tries: Tries) -> None:
    """Every kind of mention with every way out, as a question and as a document that is looked at."""
    rng = random.Random(4)
    paths = [*trap.paths(), *trap.uris()]
    for path in rng.sample(paths, min(len(paths), max(1, int(12 * effort)))):
        shapes = trap.shapes(path)
        tries("mentions", len(shapes))
        message = "What is this? " + "\n".join(shapes)
        for method, params in (
            ("promptls/buildPrompt", {"message": message, "budget": {"tokens": 60_000}}),
            ("promptls/resolveMentions", {"message": message}),
        ):
            assert TOKEN not in ask(client, method, params), (method, path)
        for shape in shapes[:14]:
            given = {"text": shape, "offset": len(shape.encode("utf-16-le", "surrogatepass")) // 2}
            assert TOKEN not in ask(client, "promptls/completeMention", given), shape


def test_no_prompt_document_leads_out(client: Client, trap: Trap, effort: float, tries: Tries) -> None:
    rng = random.Random(5)
    paths = [p for p in trap.paths() if "\0" not in p]
    document = trap.root / "ask.prompt.md"
    client.open(document, "", language="promptls")
    at = {"textDocument": {"uri": document.as_uri()}}
    for version, path in enumerate(rng.sample(paths, min(len(paths), max(1, int(4 * effort)))), 2):
        shapes = trap.shapes(path)[:20]
        tries("mentions", len(shapes))
        client.replace(document, version, "\n".join(shapes))
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(shapes), "character": 0}}
        for method, params in fields.requests().items():
            if "textDocument" in params and "position" not in params:
                assert TOKEN not in ask(client, method, {**params, **at, "range": whole}), (method, path)
        for line, shape in enumerate(shapes):
            for method in ("textDocument/hover", "textDocument/definition", "textDocument/completion"):
                position = {"line": line, "character": len(shape) - (method == "textDocument/hover")}
                assert TOKEN not in ask(client, method, {**at, "position": position}), (method, shape)
    client.close(document)
    assert TOKEN not in told(client.notifications)


def test_what_the_editor_tells_of_files_outside_brings_nothing_of_them(
    client: Client, trap: Trap, tries: Tries
) -> None:
    """Notifications have no answers; whatever they name, later answers hold nothing of it."""
    for uri in trap.uris():
        tries("addresses")
        at = {"uri": uri}
        client.notify("textDocument/didChange", {"textDocument": {**at, "version": 2}, "contentChanges": []})
        change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
        client.notify("textDocument/didChange", {"textDocument": {**at, "version": 3}, "contentChanges": [change]})
        client.notify("textDocument/didSave", {"textDocument": at})
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{**at, "type": 1}]})
    assert client.wait_indexed(timeout=30)["state"] == "ready"
    context = {"openDocuments": trap.uris(), "visibleDocuments": trap.uris(), "activeDocument": trap.uris()[0]}
    message = f"{EVERYTHING} @diff:unsaved @recent @workspace @canary.py @@canary.py @#{TOKEN} @text:{TOKEN[:9]}"
    params = {"message": message, "context": context, "budget": {"tokens": 60_000}}
    said = ask(client, "promptls/buildPrompt", params).replace(f"@#{TOKEN}", "").replace(f'"{TOKEN}"', "")
    assert "return 1" not in said and f"{TOKEN} = 1" not in said
    for uri in trap.uris():
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.wait_indexed(timeout=30)["state"] == "ready"


def test_names_that_are_looked_for_by_convention_are_not_followed_out(
    client: Client, trap: Trap, effort: float, tries: Tries
) -> None:
    """Links under the names of rules, manifests, owners, memory, recipes and ignore files."""
    questions = ["What is this project about, and how is it built?", "Review the cart. Who knows it?", EVERYTHING]
    profiles = [p["name"] for p in client.request("promptls/profiles")["profiles"]]
    on = dict.fromkeys(fields.requests()["promptls/buildPrompt"]["sections"], True)
    for question in questions:
        for profile in profiles if effort >= 1 else profiles[:1]:
            params = {"message": question, "profile": profile, "sections": on, "budget": {"tokens": 30_000}}
            assert TOKEN not in ask(client, "promptls/buildPrompt", params), (question, profile)
            tries("prompts")
    for method, params in (
        ("promptls/recipes", {}),
        ("promptls/memory", {"action": "list"}),
        ("promptls/graph", {"query": "project readme package"}),
        ("promptls/search", {"query": "readme project cart"}),
        ("promptls/explainIgnore", {"uri": (trap.root / f"web/{TOKEN[:-1]}").as_uri()}),
        ("promptls/status", {}),
    ):
        assert TOKEN not in ask(client, method, params), method


def test_memory_is_not_written_through_a_link(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    own = trap.root / ".promptls"
    for file in own.rglob("*"):
        if file.is_symlink():
            file.unlink()
    own.rename(tmp_path / "aside")
    (tmp_path / "elsewhere").mkdir()
    own.symlink_to(tmp_path / "elsewhere")
    client = Client(tmp_path / "cache", env=trap.env)
    try:
        client.initialize(trap.root)
        add = {"action": "add", "scope": "workspace", "category": "rule", "title": "Cents", "content": "Use cents."}
        ask(client, "promptls/memory", add)
        assert list((tmp_path / "elsewhere").iterdir()) == []
    finally:
        client.kill()
