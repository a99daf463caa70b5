"""Which folders the MCP server accepts as workspaces."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from promptls.mcp.workspaces import is_project


def test_home_folder_is_not_a_project_but_the_folders_in_it_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "home"
    (home / "new").mkdir(parents=True)
    (home / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert not is_project(home)
    assert not is_project(tmp_path / "people") and not is_project(Path("/"))
    assert is_project(home / "new")
    assert not is_project(home / "deleted")


def test_temporary_folder_is_a_project_if_it_has_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "Makefile").touch()
    assert not is_project(tmp_path)
    assert not is_project(folder)
    (folder / "a.py").touch()
    assert is_project(folder)
