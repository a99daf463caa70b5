"""The contracts in pyproject.toml hold: packages import in one direction, and each library has one importer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def test_import_contracts_are_kept(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "only mcp imports the SDK of the Model Context Protocol KEPT" in done.stdout
