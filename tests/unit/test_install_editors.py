"""Installation of the plugins for Neovim and Emacs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.install.client_configuration import BACKUP_SUFFIX
from promptls.install.editors import emacs_init_file, help_tags, nvim_folder

BEGIN, END = ";; >>> promptls >>>", ";; <<< promptls <<<"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "home"


def install(*arguments: str) -> int:
    return main(["install", *arguments])


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "before",
    [
        "",
        "; mine\n",
        "; mine\r\n(setq a 1)\r\n",
        f"; {END}\n",
    ],
)
def test_emacs_lines_are_added_once_and_removed(home: Path, before: str) -> None:
    file = home / ".emacs"
    file.write_bytes(before.encode())
    assert install("emacs") == 0
    text = file.read_bytes().decode()
    assert text.startswith(before) and text.count(BEGIN) == 1 and "(require 'promptls)" in text
    assert "\n" not in text.replace("\r\n", "") or "\r\n" not in before
    assert install("emacs") == 0 and file.read_bytes().decode() == text
    file.write_bytes((text + "(setq after 1)\n").encode())
    assert install("emacs", "--uninstall") == 0
    assert file.read_bytes().decode() == before + "(setq after 1)\n"


def test_old_emacs_lines_are_replaced_where_they_are(home: Path) -> None:
    file = home / ".emacs"
    file.write_text(f'; first\n\n{BEGIN} old\n(add-to-list \'load-path "/gone")\n{END}\n; last\n')
    install("emacs")
    text = file.read_text()
    assert text.startswith(f"; first\n\n{BEGIN}") and text.endswith(f"{END}\n; last\n") and "/gone" not in text
    assert "/gone" in (home / f".emacs{BACKUP_SUFFIX}").read_text()


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        ([], ".emacs.d/init.el"),
        ([".config/emacs/early-init.el"], ".config/emacs/init.el"),
        ([".config/emacs/init.el", ".emacs.d/x.el"], ".emacs.d/init.el"),
        ([".emacs", ".emacs.el"], ".emacs.el"),
    ],
)
def test_init_file_is_the_one_that_emacs_reads(home: Path, existing: list[str], expected: str) -> None:
    for name in existing:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    assert emacs_init_file(home) == home / expected


def test_nvim_plugin_is_installed_updated_and_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = nvim_folder(home)
    assert install("nvim", "--dry-run") == 0 and not folder.exists()
    assert install("nvim") == 0
    files = files_below(folder)
    assert {"plugin/promptls.lua", "lua/promptls/init.lua", "doc/promptls.txt", "doc/tags"} <= files.keys()
    assert not any(name.startswith("images/") for name in files)
    capsys.readouterr()
    assert install("nvim") == 0 and "already installed" in capsys.readouterr().out
    (folder / "lua/promptls/old.lua").write_text("return 1\n")
    (folder / "plugin/promptls.lua").write_text("-- mine\n")
    assert install("nvim") == 0
    output = capsys.readouterr().out
    assert f"remove   {folder}/lua/promptls/old.lua" in output and f"change   {folder}/plugin/promptls.lua" in output
    assert files_below(folder) == files
    backup = folder.parent.with_name(f"promptls{BACKUP_SUFFIX}")
    assert (backup / "plugin/promptls.lua").read_text() == "-- mine\n"
    assert install("nvim", "--uninstall") == 0 and not folder.exists() and files_below(backup) == files
    assert install("nvim", "--uninstall") == 0


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_linked_nvim_plugin_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "clone").mkdir()
    nvim_folder(home).parent.mkdir(parents=True)
    nvim_folder(home).symlink_to(home / "clone")
    for arguments in (["nvim"], ["nvim", "--uninstall"]):
        assert install(*arguments) == 1
        assert "is a link, which promptls did not create" in capsys.readouterr().err
    assert nvim_folder(home).is_symlink() and not list((home / "clone").iterdir())


def test_help_tags_are_sorted_and_end_at_spaces() -> None:
    text = b"*b.txt*  A file  *a-b*\n\n*a()* and 2*3*4, x*no*\n"
    assert help_tags({"doc/b.txt": text}) == b"a()\tb.txt\t/*a()*\na-b\tb.txt\t/*a-b*\nb.txt\tb.txt\t/*b.txt*\n"
