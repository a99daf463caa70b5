"""The examples of the documentation run as they are printed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "server" / "examples"
SERVER = f"{sys.executable} -m promptls serve"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH in which the example plugin is installed."""
    tomllib = pytest.importorskip("tomllib")
    site = tmp_path / "site"
    info = site / "promptls_todo-0.1.0.dist-info"
    info.mkdir(parents=True)
    project = tomllib.loads((EXAMPLES / "mention_kind_todo" / "pyproject.toml").read_text("utf-8"))["project"]
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups]
    (info / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
    shutil.copy(EXAMPLES / "mention_kind_todo" / "promptls_todo.py", site)
    return site


def python_path(folder: Path) -> str:
    """Return PYTHONPATH with the folder in front."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **env})


def test_client_prints_a_prompt(shop: Path, tmp_path: Path) -> None:
    client = str(EXAMPLES / "client.py")
    question = "how is @#apply_discount rounded?"
    done = run(sys.executable, client, str(shop), question, PROMPTLS=SERVER, PROMPTLS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "def apply_discount" in done.stdout
    assert "tokens" in done.stderr


def test_client_is_as_short_as_documented() -> None:
    code = [line for line in (EXAMPLES / "client.py").read_text("utf-8").splitlines() if line.strip()]
    assert len(code) <= 60


def test_mention_kind_of_a_plugin_is_resolved(plugin: Path, shop: Path, tmp_path: Path) -> None:
    (shop / "web" / "later.js").write_text("// TODO: rotate the key\nexport const key = 1;\n", encoding="utf-8")
    command = [sys.executable, "-m", "promptls", "prompt", "--root", str(shop), "what is left? @todo"]
    done = run(*command, PYTHONPATH=python_path(plugin), PROMPTLS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "// TODO: rotate the key" in done.stdout
    shown = [line.split() for line in done.stderr.splitlines() if "later.js" in line]
    assert "mentioned" in [words[-2] for words in shown], done.stderr


def test_documented_mention_kind_is_the_example() -> None:
    page = (EXAMPLES.parent / "docs/howto/add-a-mention-kind.md").read_text("utf-8")
    example = (EXAMPLES / "mention_kind_todo" / "promptls_todo.py").read_text("utf-8")
    _, _, code = example.partition("\n\n")
    assert code in page


def test_prompt_reports_a_plugin_that_cannot_be_loaded(plugin: Path, shop: Path, tmp_path: Path) -> None:
    (plugin / "promptls_todo.py").write_text("from promptls.model import NoSuchName\n", encoding="utf-8")
    command = [sys.executable, "-m", "promptls", "prompt", "--root", str(shop), "how is @#apply_discount rounded?"]
    done = run(*command, PYTHONPATH=python_path(plugin), PROMPTLS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "def apply_discount" in done.stdout
    assert 'Cannot load the mention kind "todo"' in done.stderr


def test_doctor_reports_a_plugin_that_cannot_be_loaded(plugin: Path, tmp_path: Path) -> None:
    (plugin / "promptls_todo.py").write_text("from promptls.model import NoSuchName\n", encoding="utf-8")
    done = run(
        *(sys.executable, "-m", "promptls", "doctor"),
        PYTHONPATH=python_path(plugin),
        PROMPTLS_CACHE=str(tmp_path / "cache"),
    )
    assert done.returncode == 1
    assert 'BAD  Cannot load the mention kind "todo"' in done.stdout
