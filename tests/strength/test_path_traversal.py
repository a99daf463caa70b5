"""Path traversal: no path or URI in a request reads, reveals or writes a file outside the workspace, or blocks the server.

Fields are derived from the protocol types, so new fields are tested automatically.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import request_fields
from lsp import Client, Json, ResponseError, indexed_client
from tally import Tries
from traversalkit import CANARY, CanaryWorkspace, folder_contents, response_text

EVERYTHING = "How is a discount applied to this file? @active @selection @open @visible @diagnostics @quickfix @rules"
KNOWN: Json = {  # values that let a request proceed as far as possible; other fields keep their example value
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
PATHS = (
    "message", "text", "query", "newName", "symbol", "from", "to", "paths", "places", "root", "answer", "arguments",
)  # fmt: skip
"""Fields that contain paths as typed by users; they receive paths and URIs."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> CanaryWorkspace:
    return CanaryWorkspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def client(workspace: CanaryWorkspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with indexed_client(tmp_path_factory.mktemp("cache") / "cache", workspace.root, env=workspace.env) as client:
        yield client


def request_params(method: str) -> Json:
    filled = request_fields.example_requests()[method]
    return {name: KNOWN.get(name, value) for name, value in filled.items()}


def response_to(client: Client, method: str, params: Any) -> str:
    """Return all text of the response to a request."""
    try:
        return response_text(client.request(method, params, timeout=30))
    except ResponseError as error:
        assert error.code == -32602, (method, params, str(error))
        return f"{error} {response_text(error.data)}"


def test_all_protocol_fields_are_covered() -> None:
    """Control for the tests below: nested fields are included."""
    by_method = {
        method: set(map(str, request_fields.string_paths(params)))
        for method, params in request_fields.example_requests().items()
    }
    assert "('context', 'selection', 'uri')" in by_method["promptls/buildPrompt"]
    assert "('context', 'diagnostics', 0, 'uri')" in by_method["promptls/resolveMentions"]
    assert "('files', 0, 'newUri')" in by_method["workspace/willRenameFiles"]
    assert sum(map(len, by_method.values())) > 90


def test_canary_inside_the_workspace_is_detected(client: Client, workspace: CanaryWorkspace) -> None:
    """Control for the tests below: the same text in a file inside the workspace is found."""
    inside = workspace.root / "inside.py"
    inside.write_text((workspace.outside / "canary.py").read_text())
    client.files_changed(inside)
    client.wait_indexed()
    assert CANARY in response_text(client.build("@inside.py"))
    assert CANARY in response_to(
        client, "promptls/explain", {"uri": inside.as_uri(), "position": {"line": 2, "character": 5}}
    )
    inside.unlink()
    client.files_changed(inside)
    client.wait_indexed()


def values_by_field(workspace: CanaryWorkspace, effort: float) -> dict[tuple[str, request_fields.FieldPath], list[str]]:
    """Distribute the traversal values over the fields: each value is used in at least one field of its type."""
    fields: dict[bool, list[tuple[str, request_fields.FieldPath]]] = {False: [], True: []}
    for method, params in request_fields.example_requests().items():
        for path in request_fields.string_paths(params):
            name = next(str(key) for key in reversed(path) if isinstance(key, str))
            fields[name in PATHS].append((method, path))
    assigned = {}
    for takes_paths, group in fields.items():
        values = [*workspace.uris(), *(workspace.paths() if takes_paths else ())]
        random.Random(3).shuffle(values)
        count = min(len(values), max(int(3 * effort), -(-len(values) // len(group))))
        for number, field in enumerate(group):
            assigned[field] = [values[(number * count + n) % len(values)] for n in range(count)]
    return assigned


def test_every_traversal_value_is_used(workspace: CanaryWorkspace) -> None:
    """Control for the tests below: no value is skipped."""
    assigned = values_by_field(workspace, 0.1)
    assert {value for values in assigned.values() for value in values} == {*workspace.uris(), *workspace.paths()}
    assert all(assigned.values())


@pytest.mark.parametrize(
    "method", [m for m, p in request_fields.example_requests().items() if list(request_fields.string_paths(p))]
)
def test_fields_do_not_reach_outside_files(
    client: Client, workspace: CanaryWorkspace, method: str, effort: float, tries: Tries
) -> None:
    params, assigned = request_params(method), values_by_field(workspace, effort)
    before = folder_contents(workspace.outside)
    for path in request_fields.string_paths(request_fields.example_requests()[method]):
        for value in assigned[method, path]:
            # with all other fields, and with the required ones only
            full = request_fields.with_value(
                {
                    **request_fields.example_requests()[method],
                    **params,
                    path[0]: request_fields.example_requests()[method][path[0]],
                },
                path,
                value,
            )
            minimal = {k: v for k, v in full.items() if k == path[0] or k in required_fields(method)}
            for variant in (full, minimal):
                tries("requests")
                assert CANARY not in response_to(client, method, variant), (method, path, value)
    assert folder_contents(workspace.outside) == before
    assert client.wait_indexed()["state"] == "ready"


def required_fields(method: str) -> tuple[str, ...]:
    """Return the fields without which a request is rejected immediately."""
    return ("message", "text", "offset", "query", "action", "textDocument", "position", "range", "files", "items",
            "answer", "newName", "places") if method != "promptls/graph" else ()  # fmt: skip


def test_mentions_do_not_reach_outside_files(
    client: Client, workspace: CanaryWorkspace, effort: float, tries: Tries
) -> None:
    """Every kind of mention with every traversal value, in messages and in completion."""
    rng = random.Random(4)
    paths = [*workspace.paths(), *workspace.uris()]
    for path in rng.sample(paths, min(len(paths), max(1, int(12 * effort)))):
        forms = workspace.mention_forms(path)
        tries("mentions", len(forms))
        message = "What is this? " + "\n".join(forms)
        for method, params in (
            ("promptls/buildPrompt", {"message": message, "budget": {"tokens": 60_000}}),
            ("promptls/resolveMentions", {"message": message}),
        ):
            assert CANARY not in response_to(client, method, params), (method, path)
        for form in forms[:14]:
            params = {"text": form, "offset": len(form.encode("utf-16-le", "surrogatepass")) // 2}
            assert CANARY not in response_to(client, "promptls/completeMention", params), form


def test_places_do_not_reach_outside_files(client: Client, workspace: CanaryWorkspace, tries: Tries) -> None:
    for path in (*workspace.paths(), *workspace.uris()):
        places = [path, f"{path}:1-5", f"{path}#{CANARY}", f"…/{path}"]
        tries("places", len(places))
        text = response_to(client, "promptls/read", {"places": places})
        assert CANARY not in text.replace(f"#{CANARY}", "").replace(f'"{CANARY}"', ""), path


def test_prompt_documents_do_not_reach_outside_files(
    client: Client, workspace: CanaryWorkspace, effort: float, tries: Tries
) -> None:
    rng = random.Random(5)
    paths = [p for p in workspace.paths() if "\0" not in p]
    document = workspace.root / "ask.prompt.md"
    client.open(document, "", language="promptls")
    at = {"textDocument": {"uri": document.as_uri()}}
    for version, path in enumerate(rng.sample(paths, min(len(paths), max(1, int(4 * effort)))), 2):
        forms = workspace.mention_forms(path)[:20]
        tries("mentions", len(forms))
        client.replace(document, version, "\n".join(forms))
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(forms), "character": 0}}
        for method, params in request_fields.example_requests().items():
            if "textDocument" in params and "position" not in params:
                assert CANARY not in response_to(client, method, {**params, **at, "range": whole}), (method, path)
        for line, form in enumerate(forms):
            for method in ("textDocument/hover", "textDocument/definition", "textDocument/completion"):
                position = {"line": line, "character": len(form) - (method == "textDocument/hover")}
                assert CANARY not in response_to(client, method, {**at, "position": position}), (method, form)
    client.close(document)
    assert CANARY not in response_text(client.notifications)


def test_notifications_do_not_reach_outside_files(client: Client, workspace: CanaryWorkspace, tries: Tries) -> None:
    """Later responses contain nothing of the files that notifications name."""
    for uri in workspace.uris():
        tries("URIs")
        at = {"uri": uri}
        client.notify("textDocument/didChange", {"textDocument": {**at, "version": 2}, "contentChanges": []})
        change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
        client.notify("textDocument/didChange", {"textDocument": {**at, "version": 3}, "contentChanges": [change]})
        client.notify("textDocument/didSave", {"textDocument": at})
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{**at, "type": 1}]})
    assert client.wait_indexed(timeout=30)["state"] == "ready"
    context = {
        "openDocuments": workspace.uris(),
        "visibleDocuments": workspace.uris(),
        "activeDocument": workspace.uris()[0],
    }
    message = f"{EVERYTHING} @diff:unsaved @recent @workspace @canary.py @@canary.py @#{CANARY} @text:{CANARY[:9]}"
    params = {"message": message, "context": context, "budget": {"tokens": 60_000}}
    text = response_to(client, "promptls/buildPrompt", params).replace(f"@#{CANARY}", "").replace(f'"{CANARY}"', "")
    assert "return 1" not in text and f"{CANARY} = 1" not in text
    for uri in workspace.uris():
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.wait_indexed(timeout=30)["state"] == "ready"


def test_links_with_conventional_names_are_not_followed(
    client: Client, workspace: CanaryWorkspace, effort: float, tries: Tries
) -> None:
    """The links have the names of rules, manifests, CODEOWNERS, memory, recipes and ignore files."""
    questions = ["What is this project about, and how is it built?", "Review the cart. Who knows it?", EVERYTHING]
    profiles = [p["name"] for p in client.request("promptls/profiles")["profiles"]]
    on = dict.fromkeys(request_fields.example_requests()["promptls/buildPrompt"]["sections"], True)
    for question in questions:
        for profile in profiles if effort >= 1 else profiles[:1]:
            params = {"message": question, "profile": profile, "sections": on, "budget": {"tokens": 30_000}}
            assert CANARY not in response_to(client, "promptls/buildPrompt", params), (question, profile)
            tries("prompts")
    for method, params in (
        ("promptls/recipes", {}),
        ("promptls/memory", {"action": "list"}),
        ("promptls/graph", {"query": "project readme package"}),
        ("promptls/search", {"query": "readme project cart"}),
        ("promptls/list", {"query": "readme project cart", "snippets": 3, "allMarked": True}),
        ("promptls/explainIgnore", {"uri": (workspace.root / f"web/{CANARY[:-1]}").as_uri()}),
        ("promptls/status", {}),
    ):
        assert CANARY not in response_to(client, method, params), method


def test_memory_is_not_written_through_a_link(tmp_path: Path) -> None:
    workspace = CanaryWorkspace(tmp_path)
    own = workspace.root / ".promptls"
    for file in own.rglob("*"):
        if file.is_symlink():
            file.unlink()
    own.rename(tmp_path / "aside")
    (tmp_path / "elsewhere").mkdir()
    own.symlink_to(tmp_path / "elsewhere")
    with Client(tmp_path / "cache", env=workspace.env) as client:
        client.initialize(workspace.root)
        add = {"action": "add", "scope": "workspace", "category": "rule", "title": "Cents", "content": "Use cents."}
        response_to(client, "promptls/memory", add)
        assert list((tmp_path / "elsewhere").iterdir()) == []
