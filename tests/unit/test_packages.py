"""Commands that add packages: what runs in the environment that promptls was installed in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from promptls.util import packages
from promptls.util.packages import extra_command


@pytest.mark.parametrize(
    ("has_pip", "receipt", "command"),
    [
        (True, "", "PYTHON -m pip install 'mcp<3,>=2.3' 'tomlkit<1,>=0.13'"),
        (False, "uv-receipt.toml", "uv pip install --python PYTHON 'mcp<3,>=2.3' 'tomlkit<1,>=0.13'"),
        (True, "pipx_metadata.json", "pipx inject promptls 'mcp<3,>=2.3' 'tomlkit<1,>=0.13'"),
    ],
)
def test_command_suits_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_pip: bool, receipt: str, command: str
) -> None:
    if receipt:
        (tmp_path / receipt).write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/opt/a/python")
    monkeypatch.setattr(packages, "find_spec", lambda name: object() if has_pip else None)
    assert extra_command("mcp") == command.replace("PYTHON", "/opt/a/python")
