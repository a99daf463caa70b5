"""What a workspace may set, and what only the user may: read off `promptls.settings`, setting by setting.

A workspace's settings come by workspace/configuration and, as far as anybody believes them, from files in it.  They
may not name an endpoint, a model, a tokenizer, a command, a plug-in or a folder.
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
from ways_out import TOKEN, Trap, told

from lsp import Client, Json, ResponseError
from promptls.settings import TRUSTED, Settings, parse, sections

HARMLESS = {
    "budget.model": "a name in a table",
    "budget.counter": "one of a few names",
    "retrieval.profile": "one of a few names",
    "retrieval.variant": "one of a few names",
    "index.include": "only takes away",
    "index.exclude": "only takes away",
    "index.grammars": "one of two names",
    "documents.languages": "names of languages",
    "graph.layers": "segments of paths inside",
}
"""Settings that hold text and that a workspace may set, with the reason why it does no harm.

A new setting that holds text fails the tests below until it is here or only the user's.
"""


def leaves() -> dict[str, Any]:
    """Every setting → its type."""
    found = {}
    for section, (_, kind) in sections().items():
        hints = get_type_hints(kind)
        for field in msgspec.structs.fields(kind):
            found[f"{section}.{field.encode_name}"] = hints[field.name]
    return found


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
)


def value_of(settings: Settings, name: str) -> Any:
    section, _, setting = name.partition(".")
    built = msgspec.to_builtins(settings)
    return built[section][setting]


def test_a_setting_that_holds_text_is_the_users_alone_or_known_to_be_harmless() -> None:
    unknown = [n for n, kind in leaves().items() if holds_text(kind) and not is_trusted(n) and n not in HARMLESS]
    assert unknown == []
    assert set(HARMLESS) <= set(leaves())


@pytest.mark.parametrize("name", [n for n in leaves() if is_trusted(n)])
def test_a_workspace_cannot_set_what_is_the_users(name: str) -> None:
    section, _, setting = name.partition(".")
    base, _ = parse({section: {setting: value_of(Settings(), name)}}, trusted=True)
    changed = 0
    for value in VALUES:
        for data in ({section: {setting: value}}, {section: {setting.upper(): value}}, {section: value}, {name: value}):
            settings, problems = parse(data, base)
            assert settings == base, data
            assert problems or not value
        changed += parse({section: {setting: value}}, base, trusted=True)[0] != base
    assert changed, "no value that was tried could change it, so nothing was shown"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.setblocking(False)
        yield sock


def evil(trap: Trap, address: str) -> Json:
    """Every setting that holds text, set to what would do most harm."""
    texts = {
        "languageModel.use": "endpoint",
        "languageModel.endpoint": address,
        "languageModel.proxy": address,
        "languageModel.keyEnv": "CANARY",
        "embedding.model": str(trap.outside),
        "index.include": ["../outside/**", str(trap.outside / "**"), "**"],
        "documents.languages": ["python"],
        "graph.layers": {"outside": ["../outside", ".."]},
    }
    out: Json = {}
    for name, kind in leaves().items():
        section, _, setting = name.partition(".")
        if name in texts:
            out.setdefault(section, {})[setting] = texts[name]
        elif kind is bool:
            out.setdefault(section, {})[setting] = True
        elif holds_text(kind) and name not in HARMLESS:
            out.setdefault(section, {})[setting] = str(trap.outside / "canary.py")
    return out


def knocks(sock: socket.socket) -> int:
    try:
        sock.accept()[0].close()
    except BlockingIOError:
        return 0
    return 1


def everything(client: Client) -> str:
    said = []
    for message in ("How is a discount applied? @shop/cart.py", "@workspace @.env @canary.py", "@../outside/canary.py"):
        try:
            said.append(told(client.build(message)))
        except ResponseError as error:
            said.append(str(error))
    said += [told(client.request("promptls/status")), told(client.notifications), told(client.search("discount"))]
    return "\n".join(said)


def test_settings_of_a_workspace_open_nothing(tmp_path: Path, listening: socket.socket) -> None:
    trap = Trap(tmp_path)
    (trap.root / ".env").write_text("PASSWORD=swordfish-77\n")
    client = Client(tmp_path / "cache", env=trap.env)
    client.configuration = evil(trap, f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    try:
        client.initialize(trap.root)
        assert client.wait_indexed()["embedder"]["model"] == "bundled"
        client.notify("workspace/didChangeConfiguration", {"settings": {"promptls": client.configuration}})
        assert client.wait_indexed()["state"] == "ready"
        said = everything(client)
        assert TOKEN not in said and "swordfish-77" not in said
        assert not knocks(listening)
        warned = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
        for name in leaves():
            section, _, setting = name.partition(".")
            if is_trusted(name) and client.configuration.get(section, {}).get(setting):
                assert any(name in text and "only in your own settings" in text for text in warned), name
        assert not any((trap.outside / name).exists() for name in ("index", "prompts", "anchors", "manifest"))
    finally:
        client.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose settings change."""
    folder = tmp_path_factory.mktemp("served")
    trap = Trap(folder)
    client = Client(folder / "cache", env=trap.env)
    client.initialize(trap.root)
    client.wait_indexed()
    yield client
    client.kill()


@pytest.mark.parametrize(
    ("section", "setting", "value"),
    [
        ("budget", "model", "../../outside/canary.py"),
        ("budget", "counter", "/etc/passwd"),
        ("retrieval", "profile", "../../../outside/canary"),
        ("retrieval", "variant", "../../outside/canary"),
    ],
)
def test_names_are_looked_up_and_not_opened(served: Client, section: str, setting: str, value: str) -> None:
    served.configuration = {section: {setting: value}}
    served.notify("workspace/didChangeConfiguration", {"settings": None})
    until = time.monotonic() + 30
    while value not in everything(served):  # until the server has asked for its settings, and looks the name up
        assert time.monotonic() < until
    assert TOKEN not in everything(served)


def test_a_settings_change_that_is_garbage_changes_nothing(served: Client) -> None:
    for value in (5, "x", [], [[]], {"index": 5}, {"index": {"maxFileSize": -1}}, {"a": {"b": {"c": 1}}}, None):
        served.configuration = value
        served.notify("workspace/didChangeConfiguration", {"settings": value})
        assert served.wait_indexed()["state"] == "ready"
    assert served.build("@shop/cart.py")["mentions"][0]["status"] == "included"


def test_files_in_a_workspace_set_nothing_and_run_nothing(tmp_path: Path, listening: socket.socket) -> None:
    """Also where the server is started in the workspace: modules, start-up files and plug-ins there are not ours."""
    trap = Trap(tmp_path)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    toml = f'[languageModel]\nuse = "endpoint"\nendpoint = "{address}"\nmodel = "m"\n[embedding]\nmodel = "{trap.outside}"\n'
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'a').write(__name__ + '\\n')\n"
    places = {
        **dict.fromkeys(["config.toml", "promptls.toml", ".promptls.toml", ".promptls/config.toml"], toml),
        ".promptls/settings.toml": toml,
        ".vscode/settings.json": f'{{"promptls.languageModel.use": "endpoint", "promptls.languageModel.endpoint": "{address}"}}',
        ".env": f"OPENAI_BASE_URL={address}\nOPENAI_API_KEY=x\nPROMPTLS_CACHE={trap.outside}\n",
        "promptls-9.dist-info/METADATA": "Metadata-Version: 2.1\nName: promptls\nVersion: 9\n",
        "promptls-9.dist-info/entry_points.txt": "[promptls.mentions]\nevil = evil_kind:KIND\n",
        **dict.fromkeys(["evil_kind.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "msgspec.py"], code),
        **dict.fromkeys(["promptls/__init__.py", "regex.py", "tiktoken.py", "conftest.py", "lancedb.py"], code),
        "git": f"#!/bin/sh\ntouch {ran}\n",
        "models.toml": '[budgets]\n"x" = 1\n',
    }
    for name, text in places.items():
        file = trap.root / name
        if file.is_symlink():
            file.unlink()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (trap.root / "git").chmod(0o755)
    start = f"cd {trap.root} && exec {Path(sys.executable).parent / 'promptls'} serve"
    path = f".:{os.environ['PATH']}:"  # as careless as it gets
    client = Client(tmp_path / "cache", env={**trap.env, "PATH": path}, command=["sh", "-c", start])
    try:
        client.initialize(trap.root)
        assert client.wait_indexed()["embedder"]["model"] == "bundled"
        said = everything(client) + told(client.build("@diff @branch @evil:x @commit:HEAD"))
        kinds = [k["name"] for k in client.request("promptls/mentionKinds")["kinds"]]
        assert TOKEN not in said and "evil" not in kinds
        assert not ran.exists(), ran.read_text()
        assert not knocks(listening)
    finally:
        client.kill()
