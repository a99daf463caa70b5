"""Instruction files of coding agents: what they name must exist, in the editor and on the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git, write_tree
from lsp import Client, Json, indexed_client
from promptls.knowledge.rule_files import CONVENTIONS
from promptls.model.files import is_instruction_file

pytestmark = pytest.mark.process

GUIDE = """\
# Guide

Edit `src/api/app.py` and `src/api/gone.py`; see @docs/style.md, [style](docs/style.md) and [none](docs/none.md).
Run `make test` or `make lint`, `npm run build` or `npm run nope`, then `scripts/check --all`.
Call `create_order()` and `Store.save_all`, not `remove_everything_now()`.
A request is `application/json` to `/api/users` of `owner/repo`; the output is `dist/index.js`.
The old file is `src/api/old_name.py`, a new one `src/api/<name>.py`.

```bash
make build && make clean
```

```python
make = "make nothing"
```
"""

WORKSPACE = """\
-- .cursor/rules/api.mdc --
---
globs: src/api/**, src/web/**
---

Names are long in `src/api/app.py:3`.
-- .gitignore --
dist/
-- docs/style.md --
# Style
-- Makefile --
test:
	pytest
build: test
-- package.json --
{"scripts": {"build": "tsc"}}
-- scripts/check --
true
-- src/api/app.py --
def create_order():
    return 1


class Store:
    def save_all(self): ...
-- src/api/old_name.py --
NAME = "old"
-- src/api/prices.py --
PRICE = 12
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_tree(tmp_path_factory.mktemp("instructions") / "root", WORKSPACE)
    (root / "AGENTS.md").write_text(GUIDE)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    git(root, "mv", "src/api/old_name.py", "src/api/new_name.py")
    git(root, "mv", "src/api/prices.py", "src/api/money.py")
    git(root, "commit", "-qm", "rename")
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[Client]:
    with indexed_client(root.parent / "cache", root) as client:
        yield client


EXPECTED = {
    "src/api/gone.py": "path",
    "docs/none.md": "link",
    "make lint": "command",
    "npm run nope": "command",
    "remove_everything_now": "symbol",
    "src/api/old_name.py": "path",
    "make clean": "command",
}


def at(text: str, part: str) -> Json:
    before = text[: text.index(part)]
    return {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}


def test_missing_targets_are_found_and_nothing_else(client: Client) -> None:
    result = client.request("promptls/lintInstructions", {})
    rules, guide = result["files"]
    lines = GUIDE.splitlines()
    found = {}
    for one in guide["findings"]:
        start, end = one["range"]["start"], one["range"]["end"]
        found[lines[start["line"]][start["character"] : end["character"]]] = one["kind"]
    assert found == EXPECTED
    assert [(one["message"], one["kind"]) for one in rules["findings"]] == [("No file matches src/web/**.", "glob")]
    renamed = next(one for one in guide["findings"] if "old_name" in one["message"])
    assert renamed["suggestion"] == "src/api/new_name.py"
    assert guide["tokens"] > 100


@pytest.mark.skipif(os.name != "posix", reason="a shell script replaces git")
def test_new_name_is_published_when_a_slow_git_has_answered(root: Path, tmp_path: Path) -> None:
    slow, answer = tmp_path / "bin/git", tmp_path / "answer"
    slow.parent.mkdir()
    wait = f'while ! [ -e "{answer}" ]; do sleep 0.05; done'
    slow.write_text(f'#!/bin/sh\ncase "$*" in *" log "*) {wait} ;; esac\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    guide, prompt = root / "AGENTS.md", root / "question.promptls.md"

    def published(path: Path, text: str) -> object:
        uri = path.as_uri()
        return lambda note: note["uri"] == uri and text in str(note["diagnostics"])

    with indexed_client(tmp_path / "cache", root, env={"PATH": f"{slow.parent}:{os.environ['PATH']}"}) as client:
        client.open(guide, GUIDE, language="markdown")
        client.open(prompt, "Why @src/api/prices.py", language="prompt")
        for path, text in (guide, "old_name.py does not exist"), (prompt, '"src/api/prices.py" not found'):
            client.wait_notification("textDocument/publishDiagnostics", published(path, text))
        answer.touch()
        for path, text in (guide, "was renamed to src/api/new_name.py"), (prompt, "Did you mean @src/api/money.py"):
            client.wait_notification("textDocument/publishDiagnostics", published(path, text))


def test_editor_shows_links_hovers_diagnostics_fixes_and_cost(client: Client, root: Path) -> None:
    uri = (root / "AGENTS.md").as_uri()
    document = {"textDocument": {"uri": uri}}
    client.open(root / "AGENTS.md", GUIDE, language="markdown")
    published = client.wait_notification("textDocument/publishDiagnostics", lambda note: note["uri"] == uri)
    assert {one["code"]: one["severity"] for one in published["diagnostics"]}["symbol"] == 3
    assert len(published["diagnostics"]) == len(EXPECTED)
    targets = [link["target"] for link in client.request("textDocument/documentLink", document)]
    assert (root / "src/api/app.py").as_uri() + "#L1" in targets
    hover = client.request("textDocument/hover", {**document, "position": at(GUIDE, "create_order")})
    assert "def create_order():" in hover["contents"]["value"]
    (place,) = client.request("textDocument/definition", {**document, "position": at(GUIDE, "save_all")})
    assert (place["uri"], place["range"]["start"]["line"]) == ((root / "src/api/app.py").as_uri(), 5)
    position = at(GUIDE, "src/api/old_name.py")
    where = {"range": {"start": position, "end": position}, "context": {"diagnostics": []}}
    (fix,) = client.request("textDocument/codeAction", {**document, **where})
    assert fix["title"] == "Change to src/api/new_name.py"
    (lens,) = client.request("textDocument/codeLens", document)
    assert "tokens" in lens["command"]["title"]
    fixed = GUIDE.replace("src/api/old_name.py", "src/api/new_name.py")
    client.replace(root / "AGENTS.md", 2, fixed)
    client.wait_notification(
        "textDocument/publishDiagnostics",
        lambda note: note["uri"] == uri and note.get("version") == 2 and len(note["diagnostics"]) == len(EXPECTED) - 1,
    )
    client.close(root / "AGENTS.md")


def test_lens_of_a_rule_has_the_cost_of_what_its_tool_loads(client: Client, root: Path) -> None:
    rule = root / ".cursor/rules/api.mdc"
    client.open(rule, rule.read_text(), language="markdown")
    (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": rule.as_uri()}})
    assert "loaded for src/api/**, src/web/**:" in lens["command"]["title"]
    assert lens["command"]["title"].endswith("2 files")
    client.close(rule)


def test_completion_after_a_backtick_offers_paths(client: Client, root: Path) -> None:
    text = "Edit `src/ap"
    client.open(root / "CLAUDE.md", text, language="markdown")
    params = {"textDocument": {"uri": (root / "CLAUDE.md").as_uri()}, "position": {"line": 0, "character": len(text)}}
    items = client.request("textDocument/completion", params)["items"]
    assert "src/api/" in [item["textEdit"]["newText"] for item in items]
    client.close(root / "CLAUDE.md")


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "promptls", "lint-instructions", "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_command_line_has_exit_statuses_and_sarif(root: Path, tmp_path: Path) -> None:
    done = run(root)
    assert done.returncode == 1
    assert "AGENTS.md:3:28: warning: src/api/gone.py does not exist. [path]" in done.stdout
    log = json.loads(run(root, "--sarif", "AGENTS.md").stdout)
    (one,) = [r for r in log["runs"][0]["results"] if "old_name" in r["message"]["text"]]
    assert one["level"] == "warning"
    assert one["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]} >= set(EXPECTED.values())
    assert run(root, "nowhere").returncode == 2
    write_tree(
        tmp_path / "clean", "-- AGENTS.md --\nRead `a.py`; `unknown_name_of_a_library()` is only a note.\n-- a.py --\n"
    )
    assert run(tmp_path / "clean").returncode == 0


def test_files_of_every_convention_are_instruction_files() -> None:
    names = [name for convention in CONVENTIONS for name in convention.files]
    assert not [name for name in names if not is_instruction_file(name)]
