"""Which folders the MCP server accepts as workspaces."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from promptls.api.open_workspace import InvalidFolder, default_root, is_project


@pytest.mark.parametrize("path", ["/", "/usr", "/usr/bin", "/etc"])
def test_system_folders_are_not_projects(path: str) -> None:
    assert not is_project(Path(path))


def test_home_folder_is_not_a_project_but_the_folders_in_it_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "home"
    (home / "new").mkdir(parents=True)
    (home / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert not is_project(home)
    assert not is_project(tmp_path / "people")
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


def test_folder_in_a_system_folder_is_a_project_if_a_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.api.open_workspace.SYSTEM_FOLDERS", (tmp_path.as_posix(),))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    folder = tmp_path / "src" / "app"
    folder.mkdir(parents=True)
    (folder / "a.py").touch()
    assert not is_project(folder)
    (folder / "package.json").touch()
    assert is_project(folder)


@pytest.mark.skipif(os.name == "nt", reason="the current folder cannot be deleted")
def test_deleted_current_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InvalidFolder, match="the current folder was deleted"):
        default_root()
