"""`promptls.index` exports its names lazily."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import promptls.index


def test_every_declared_name_can_be_imported() -> None:
    tree = ast.parse(Path(promptls.index.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    declared = {
        alias.name: str(node.module)
        for node in imports
        if str(node.module).startswith("promptls.index.")
        for alias in node.names
    }
    assert declared == promptls.index._MODULES
    for name in declared:
        assert getattr(promptls.index, name) is not None


@pytest.mark.process
def test_package_import_loads_no_submodule() -> None:
    code = "import promptls.index, sys; print([m for m in sys.modules if m.startswith('promptls.index.')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
