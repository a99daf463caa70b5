"""Installation of the plugins for Neovim and Emacs.

A wheel contains the files of the plugins; a source checkout has them in `editors/`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from promptls.install.client_configuration import BACKUP_SUFFIX, Change, InstallError, read_text
from promptls.install.clients import installed_command

_PACKAGED = Path(__file__).with_name("editor_files")
_CHECKOUT = Path(__file__).parents[3]
_NVIM_FOLDERS = ("doc", "ftplugin", "lsp", "lua", "plugin", "syntax")
"""Folders of the Neovim plugin that Neovim reads."""
_HELP_TAG = re.compile(r"(?:^|(?<=[ \t]))\*([^*\s|]+)\*(?=\s|$)", re.M)
_BLOCK = re.compile(
    r"(?:(?<=\n)\r?\n)?^;; >>> promptls >>>[^\n]*\n(?:[^\n]*\n)*?;; <<< promptls <<<[^\n]*(?:\n|\Z)", re.M
)
"""The lines that `promptls install emacs` has written, with the empty line before them."""


class FolderChange(Struct, frozen=True):
    """A change of a folder that contains the files of a plugin and nothing else."""

    path: Path
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]  # empty to remove the folder

    @property
    def is_empty(self) -> bool:
        """True if the folder already has the files."""
        return self.before == self.after

    def diff(self) -> str:
        """Return one line for each file that is added, changed or removed."""
        names = sorted(self.before.keys() | self.after.keys())
        changed = [name for name in names if self.before.get(name) != self.after.get(name)]
        verbs = {(True, True): "change", (False, True): "add", (True, False): "remove"}
        return "\n".join(f"{verbs[n in self.before, n in self.after]:<8} {self.path / n}" for n in changed)

    def write(self) -> Path | None:
        """Replace the folder; return the path of the backup, None if the folder is new.

        Raises:
            InstallError: The folder cannot be written.
        """
        # Neovim loads the folders "start" and "opt" of a package, not the one that contains them.
        backup = self.path.parent.with_name(self.path.name + BACKUP_SUFFIX)
        try:
            if self.before:
                shutil.rmtree(backup, ignore_errors=True)
                self.path.rename(backup)
            for name, content in self.after.items():
                file = self.path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        except OSError as error:
            raise InstallError(f"cannot write {self.path}: {error.strerror or error}.") from None
        return backup if self.before else None


class Editor(Struct, frozen=True):
    """An editor whose plugin is installed as files."""

    name: str
    title: str
    path: Callable[[Path], Path]  # file or folder that is changed, by the home folder
    plan: Callable[[Path, bool], Change | FolderChange]  # by the home folder, and whether to install


def nvim_folder(home: Path) -> Path:
    """Return the folder of the plugin, which Neovim loads at its start."""
    if sys.platform == "win32":
        data = Path(os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        data = data / "nvim-data"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "nvim"
    return data / "site" / "pack" / "promptls" / "start" / "promptls"


def plan_nvim(home: Path, install: bool) -> FolderChange:
    """Return the change that installs, updates or removes the Neovim plugin.

    Raises:
        InstallError: The folder is a link, or this installation has no plugin.
    """
    folder = nvim_folder(home)
    if folder.is_symlink():
        raise InstallError(f"{folder} is a link, which promptls did not create; remove it first.")
    before = _files_below(folder, ["."])
    if not install:
        return FolderChange(folder, before, {})
    source = _source("nvim")
    files = _files_below(source, _NVIM_FOLDERS)
    files["doc/tags"] = help_tags({name: text for name, text in files.items() if name.endswith(".txt")})
    files["plugin/promptls_enable.lua"] = _nvim_start().encode()
    return FolderChange(folder, before, files)


def help_tags(files: Mapping[str, bytes]) -> bytes:
    """Return the index of Vim help files, as `:helptags` writes it."""
    tags = {
        tag: name.rsplit("/", 1)[-1] for name, content in files.items() for tag in _HELP_TAG.findall(content.decode())
    }
    return "".join(f"{tag}\t{tags[tag]}\t/*{tag}*\n" for tag in sorted(tags)).encode()


def _nvim_start() -> str:
    command = ", ".join(json.dumps(word, ensure_ascii=False) for word in [*installed_command(), "serve"])
    return f"""-- Written by `promptls install nvim`. The option `cmd` of your configuration takes precedence.
local options = vim.g.promptls or {{}}
if type(options) == 'table' and options.cmd == nil then
  options.cmd = {{ {command} }}
  vim.g.promptls = options
end
vim.lsp.enable('promptls')
"""


def emacs_init_file(home: Path) -> Path:
    """Return the init file that Emacs reads: the first one that exists."""
    old, folder, new = home / ".emacs", home / ".emacs.d", home / ".config" / "emacs"
    if config := os.environ.get("XDG_CONFIG_HOME"):
        new = Path(config) / "emacs"
    for file in (home / ".emacs.el", old, folder / "init.el"):
        if file.exists() or file.is_symlink():
            return file
    return (folder if folder.is_dir() or not new.is_dir() else new) / "init.el"


def plan_emacs(home: Path, install: bool) -> Change:
    """Return the change that adds the package to the init file of Emacs, or removes it.

    Raises:
        InstallError: The file cannot be read, or this installation has no package.
    """
    path = emacs_init_file(home)
    before = read_text(path)
    text = before or ""
    line_end = "\r\n" if "\r\n" in text else "\n"
    block = _emacs_lines().replace("\n", line_end) if install else ""
    match = _BLOCK.search(text)
    if match is not None:
        leading = match.group()[: len(match.group()) - len(match.group().lstrip("\r\n"))] if install else ""
        return Change(path, before, text[: match.start()] + leading + block + text[match.end() :])
    if not install:
        return Change(path, before, text)
    gap = "" if not text else line_end if text.endswith("\n") else 2 * line_end
    return Change(path, before, text + gap + block)


def _emacs_lines() -> str:
    command = " ".join(_lisp_string(word) for word in installed_command())
    return f""";; >>> promptls >>> written by `promptls install emacs`
(add-to-list 'load-path {_lisp_string(str(_source("emacs")))})
(setq promptls-command '({command}))
(require 'promptls)
(global-set-key (kbd "C-c p") #'promptls-menu)
;; <<< promptls <<<
"""


def _lisp_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


EDITORS: Mapping[str, Editor] = {
    "emacs": Editor("emacs", "Emacs", emacs_init_file, plan_emacs),
    "nvim": Editor("nvim", "Neovim", nvim_folder, plan_nvim),
}
"""Editors with a plugin, by name."""


def _source(name: str) -> Path:
    for folder in (_PACKAGED / name, _CHECKOUT / "editors" / name):
        if folder.is_dir():
            return folder
    raise InstallError(f"this installation has no files for {name}; install promptls from a wheel or a clone.")


def _files_below(folder: Path, parts: tuple[str, ...] | list[str]) -> dict[str, bytes]:
    paths = (path for part in parts for path in (folder / part).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}
