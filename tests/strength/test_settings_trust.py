"""Workspace trust: settings that a workspace may change, and user-only settings, derived from `promptls.settings`.

A workspace provides settings through workspace/configuration or files. It must not set an endpoint, a model, a
tokenizer, a command, a plug-in or a folder.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from lsp import Client, Json, ResponseError, indexed_client
from promptls.settings import TRUSTED, Settings, parse, sections
from traversalkit import CANARY, CanaryWorkspace, response_text

HARMLESS = {
    "budget.model": "a name in a table",
    "budget.counter": "one of a few names",
    "retrieval.profile": "one of a few names",
    "retrieval.variant": "one of a few names",
    "index.include": "only excludes files",
    "index.exclude": "only excludes files",
    "index.grammars": "one of two names",
    "documents.languages": "names of languages",
    "graph.layers": "segments of paths in the workspace",
}
"""Text settings that a workspace may change, with the reason why this is harmless.

A new text setting fails the tests below until it is added here or is user-only.
"""


def setting_types() -> dict[str, Any]:
    """Return the type of every setting by name."""
    types = {}
    for section, (_, kind) in sections().items():
        hints = get_type_hints(kind)
        for field in msgspec.structs.fields(kind):
            types[f"{section}.{field.encode_name}"] = hints[field.name]
    return types


def holds_text(kind: Any) -> bool:
    return kind is str or any(holds_text(k) for k in get_args(kind))


def is_trusted(name: str) -> bool:
    return not {name, name.partition(".")[0]}.isdisjoint(TRUSTED)


VALUES: tuple[Any, ...] = (
    "http://localhost:1/v1",
    "/etc/passwd",
    True,
    False,
    7,
    0.5,
    "endpoint",
    "editor",
    ["x"],
    {"a": ["b"]},
    {"a": "b"},
    70,
)


def value_of(settings: Settings, name: str) -> Any:
    section, _, setting = name.partition(".")
    built = msgspec.to_builtins(settings)
    return built[section][setting]


def test_text_settings_are_user_only_or_harmless() -> None:
    unknown = [n for n, kind in setting_types().items() if holds_text(kind) and not is_trusted(n) and n not in HARMLESS]
    assert unknown == []
    assert set(HARMLESS) <= set(setting_types())


@pytest.mark.parametrize("name", [n for n in setting_types() if is_trusted(n)])
def test_workspace_cannot_change_user_only_settings(name: str) -> None:
    section, _, setting = name.partition(".")
    base, _ = parse({section: {setting: value_of(Settings(), name)}}, trusted=True)
    changed = 0
    for value in VALUES:
        for data in ({section: {setting: value}}, {section: {setting.upper(): value}}, {section: value}, {name: value}):
            settings, problems = parse(data, base)
            assert settings == base, data
            assert problems or not value
        changed += parse({section: {setting: value}}, base, trusted=True)[0] != base
    assert changed, "no tried value changes the setting, so the test is inconclusive"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.setblocking(False)
        yield sock


def hostile_settings(workspace: CanaryWorkspace, address: str) -> Json:
    """Return values for all text settings that would do the most harm."""
    texts = {
        "languageModel.use": "endpoint",
        "languageModel.endpoint": address,
        "languageModel.proxy": address,
        "languageModel.keyEnv": "CANARY",
        "embedding.model": str(workspace.outside),
        "index.include": ["../outside/**", str(workspace.outside / "**"), "**"],
        "documents.languages": ["python"],
        "graph.layers": {"outside": ["../outside", ".."]},
    }
    out: Json = {}
    for name, kind in setting_types().items():
        section, _, setting = name.partition(".")
        if name in texts:
            out.setdefault(section, {})[setting] = texts[name]
        elif kind is bool:
            out.setdefault(section, {})[setting] = True
        elif holds_text(kind) and name not in HARMLESS:
            out.setdefault(section, {})[setting] = str(workspace.outside / "canary.py")
    return out


def connection_count(sock: socket.socket) -> int:
    try:
        sock.accept()[0].close()
    except BlockingIOError:
        return 0
    return 1


def all_responses(client: Client) -> str:
    texts = []
    for message in ("How is a discount applied? @shop/cart.py", "@workspace @.env @canary.py", "@../outside/canary.py"):
        try:
            texts.append(response_text(client.build(message)))
        except ResponseError as error:
            texts.append(str(error))
    texts += [
        response_text(client.request("promptls/status")),
        response_text(client.notifications),
        response_text(client.search("discount")),
    ]
    return "\n".join(texts)


def test_workspace_settings_open_no_files_or_connections(tmp_path: Path, listening: socket.socket) -> None:
    workspace = CanaryWorkspace(tmp_path)
    (workspace.root / ".env").write_text("PASSWORD=swordfish-77\n")
    client = Client(tmp_path / "cache", env=workspace.env)
    client.configuration = hostile_settings(workspace, f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    try:
        client.initialize(workspace.root)
        assert client.wait_indexed()["embedder"]["model"] == "bundled"
        client.notify("workspace/didChangeConfiguration", {"settings": {"promptls": client.configuration}})
        assert client.wait_indexed()["state"] == "ready"
        texts = all_responses(client)
        assert CANARY not in texts and "swordfish-77" not in texts
        assert not connection_count(listening)
        warned = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
        for name in setting_types():
            section, _, setting = name.partition(".")
            if is_trusted(name) and client.configuration.get(section, {}).get(setting):
                assert any(name in text and "only the user settings can" in text for text in warned), name
        assert not any((workspace.outside / name).exists() for name in ("index", "prompts", "manifest"))
    finally:
        client.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a server whose settings change."""
    folder = tmp_path_factory.mktemp("served")
    workspace = CanaryWorkspace(folder)
    with indexed_client(folder / "cache", workspace.root, env=workspace.env) as client:
        yield client


@pytest.mark.parametrize(
    ("section", "setting", "value"),
    [
        ("budget", "model", "../../outside/canary.py"),
        ("budget", "counter", "/etc/passwd"),
        ("retrieval", "profile", "../../../outside/canary"),
        ("retrieval", "variant", "../../outside/canary"),
    ],
)
def test_names_in_settings_are_not_opened_as_files(served: Client, section: str, setting: str, value: str) -> None:
    served.configuration = {section: {setting: value}}
    served.notify("workspace/didChangeConfiguration", {"settings": None})
    deadline = time.monotonic() + 30
    while value not in all_responses(served):  # until the server has requested its settings and reports the name
        assert time.monotonic() < deadline
    assert CANARY not in all_responses(served)


def test_invalid_settings_change_is_ignored(served: Client) -> None:
    for value in (5, "x", [], [[]], {"index": 5}, {"index": {"maxFileSize": -1}}, {"a": {"b": {"c": 1}}}, None):
        served.configuration = value
        served.notify("workspace/didChangeConfiguration", {"settings": value})
        assert served.wait_indexed()["state"] == "ready"
    assert served.build("@shop/cart.py")["mentions"][0]["status"] == "included"


def test_workspace_files_cannot_change_settings_or_execute_code(tmp_path: Path, listening: socket.socket) -> None:
    """Modules, start-up files and plug-ins are not loaded, even if the server starts in the workspace."""
    workspace = CanaryWorkspace(tmp_path)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    toml = f'[languageModel]\nuse = "endpoint"\nendpoint = "{address}"\nmodel = "m"\n[embedding]\nmodel = "{workspace.outside}"\n'
    executed = tmp_path / "executed"
    code = f"open({str(executed)!r}, 'a').write(__name__ + '\\n')\n"
    files = {
        **dict.fromkeys(["config.toml", "promptls.toml", ".promptls.toml", ".promptls/config.toml"], toml),
        ".promptls/settings.toml": toml,
        ".vscode/settings.json": f'{{"promptls.languageModel.use": "endpoint", "promptls.languageModel.endpoint": "{address}"}}',
        ".env": f"OPENAI_BASE_URL={address}\nOPENAI_API_KEY=x\nPROMPTLS_CACHE={workspace.outside}\n",
        "promptls-9.dist-info/METADATA": "Metadata-Version: 2.1\nName: promptls\nVersion: 9\n",
        "promptls-9.dist-info/entry_points.txt": "[promptls.mentions]\nevil = evil_kind:KIND\n",
        **dict.fromkeys(["evil_kind.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "msgspec.py"], code),
        **dict.fromkeys(["promptls/__init__.py", "regex.py", "tiktoken.py", "conftest.py", "lancedb.py"], code),
        "git": f"#!/bin/sh\ntouch {executed}\n",
        "models.toml": '[budgets]\n"x" = 1\n',
    }
    for name, text in files.items():
        file = workspace.root / name
        if file.is_symlink():
            file.unlink()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (workspace.root / "git").chmod(0o755)
    start = f"cd {workspace.root} && exec {Path(sys.executable).parent / 'promptls'} serve"
    path = f".:{os.environ['PATH']}:"  # the least safe search path
    with Client(tmp_path / "cache", env={**workspace.env, "PATH": path}, command=["sh", "-c", start]) as client:
        client.initialize(workspace.root)
        assert client.wait_indexed()["embedder"]["model"] == "bundled"
        texts = all_responses(client) + response_text(client.build("@diff @branch @evil:x @commit:HEAD"))
        kinds = [k["name"] for k in client.request("promptls/mentionKinds")["kinds"]]
        assert CANARY not in texts and "evil" not in kinds
        assert not executed.exists(), executed.read_text()
        assert not connection_count(listening)
