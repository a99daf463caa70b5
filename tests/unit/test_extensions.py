"""The core without `promptls.extensions`: it starts, answers and passes its own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import promptls

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PACKAGE = Path(promptls.__file__).parent
SUBSET = (
    "tests/unit/test_syntax_imports.py",
    "tests/unit/test_graph_resolve.py",
    "tests/e2e/test_lifecycle.py::test_server_indexes_and_reports_ready",
    "tests/e2e/test_requests.py::test_every_request_is_also_a_command",
)


@pytest.fixture
def core(tmp_path: Path) -> dict[str, str]:
    """Environment in which Python imports a copy of the package without its extensions."""
    shutil.copytree(PACKAGE, tmp_path / "promptls", ignore=shutil.ignore_patterns("extensions", "__pycache__"))
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def test_core_passes_its_tests_without_extensions(core: dict[str, str]) -> None:
    options = ("-n", "0", "-q", "-p", "no:cacheprovider")
    code = (
        "import pathlib, sys, pytest, promptls;"
        f"assert pathlib.Path(promptls.__file__).parent.parent == pathlib.Path({core['PYTHONPATH']!r});"
        f"sys.exit(pytest.main({[*options, *SUBSET]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=core, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_settings_that_need_a_missing_extension_are_reported(core: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from promptls.doctor import _check_team;"
        "from promptls.settings import Settings, TeamSettings;"
        "from promptls.retrieval.query import parse_query;"
        "from promptls.languages import language_of;"
        "print(_check_team(Settings(team=TeamSettings(index='/nowhere')))[0].message);"
        "print(parse_query('¿Dónde se cifra la contraseña?').translation, language_of('a.f90', 'x'))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=core, capture_output=True, text=True, check=True)
    assert done.stdout == "The package promptls.extensions.team is missing.\nNone code\n"
    assert not done.stderr
