"""Runs the checks of the Neovim plugin: the real plugin in a real Neovim with the real server.

Each check is a function of a module `checks_*.py`, registered with `@check("what it proves")`.  It gets a `Session`:
a workspace of its own, a home of its own with the plugin installed as a package, and Neovim when it asks for it.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from nvim import Crashed, Failed, Nvim

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
PLUGIN = ROOT / "editors" / "nvim"
MODULES = ("checks_language", "checks_use", "checks_server", "checks_units")
CRASHES_MOST = 1
"""So many crashes of Neovim itself in a run are told, and the check is run again in a new one.

Seen (0.11.4, signals 6 and 11) while everything is closed between two checks, in one whole run of four, and not in
hundreds of runs of these two checks alone."""
GIT = ["git", "-c", "user.name=Shop", "-c", "user.email=shop@example.org"]

CHECKS: list[tuple[str, Callable[[Session], None], bool]] = []


def check(what: str, alone: bool = False) -> Callable[[Callable[[Session], None]], Callable[[Session], None]]:
    """Register a check under what it proves; `alone`: it needs surroundings that no other check has used."""

    def register(run: Callable[[Session], None]) -> Callable[[Session], None]:
        CHECKS.append((what, run, alone))
        return run

    return register


def expect(condition: object, what: str, found: object = None) -> None:
    """Fail with what was expected and what there was."""
    if not condition:
        raise Failed(f"{what}; found: {found!r}" if found is not None else what)


class Session:
    """The surroundings of one check."""

    def __init__(self, folder: Path, nvim: str, server: list[str], cache: Path) -> None:
        self.folder, self._nvim = folder, nvim
        self.workspace, self.home, self.programs = folder / "shop", folder / "home", folder / "bin"
        shutil.copytree(HERE.parent / "workspace", self.workspace)
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "The shop"]):
            subprocess.run([*GIT, *command], cwd=self.workspace, check=True, env=self.bare())
        site = self.home / ".local" / "share" / "nvim" / "site" / "pack" / "promptls" / "start"
        site.mkdir(parents=True)
        (site / "promptls").symlink_to(PLUGIN)
        self.programs.mkdir()
        self.server = server
        self.program(self.programs / "promptls")
        self.env = {**self.bare(), "PATH": f"{self.programs}:{os.environ['PATH']}", "PROMPTLS_CACHE": str(cache)}
        self.init("vim.lsp.enable('promptls')")
        self.editors: list[Nvim] = []
        self._shared: Nvim | None = None
        self._prompts = 0

    def bare(self) -> dict[str, str]:
        """Settings of the machine's own user must not be seen."""
        return {"HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null", "TERM": "xterm-256color", "LANG": "C.UTF-8"}

    def program(self, path: Path, before: str = "") -> None:
        """Write a program that is the server."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + before + "exec " + " ".join(f"'{part}'" for part in self.server) + ' "$@"\n')
        path.chmod(0o755)

    def init(self, text: str) -> None:
        """The user's init.lua."""
        file = self.home / ".config" / "nvim" / "init.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def write(self, name: str, text: str) -> Path:
        """A file of the workspace."""
        file = self.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def start(self, *arguments: str, width: int = 120, height: int = 36) -> Nvim:
        """Start Neovim in the workspace."""
        editor = Nvim([self._nvim, "-n", "-i", "NONE", *arguments], self.workspace, self.env, width, height)
        self.editors.append(editor)
        return editor

    def headless(self, script: Path, *arguments: str) -> str:
        """Run a Lua script in a Neovim without a screen; its output."""
        command = [self._nvim, "-n", "-i", "NONE", "--clean", "--headless", "--cmd", f"set rtp^={PLUGIN}"]
        done = subprocess.run(
            [*command, "-l", str(script), *arguments],
            cwd=self.workspace,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = done.stdout + done.stderr
        expect(done.returncode == 0, f"{script.name} ended with {done.returncode}:\n{said}")
        return said

    # ---- what most checks begin with

    def code(self, name: str = "shop/cart.py") -> Nvim:
        """Neovim with nothing but a file of the workspace open and the index ready; the same one in all checks."""
        if self._shared is None:
            self._shared = self.start(name)
        else:
            self._shared.type("<C-\\><C-n>")
            self._shared.lua(RESET, name)
        drawn(self._shared, Path(name).name)
        ready(self._shared)
        attached(self._shared)
        return self._shared

    def prompt(self, text: str = "") -> Nvim:
        """The same with a new prompt document in front, ready to be typed into."""
        editor = self.code()
        self._prompts += 1
        name = f"question-{self._prompts}.prompt.md"
        if text:
            self.write(name, text + "\n")
        editor.lua("vim.cmd.edit(...)", name)
        drawn(editor, name)
        attached(editor)
        return editor

    def close(self) -> None:
        """Leave all editors."""
        for editor in self.editors:
            editor.close()


RESET = """
require('promptls.client').cancel()
vim.cmd.tabonly({ bang = true, mods = { silent = true } })
for _, window in ipairs(vim.api.nvim_list_wins()) do
  if vim.api.nvim_win_is_valid(window) and vim.api.nvim_win_get_config(window).relative ~= '' then
    vim.api.nvim_win_close(window, true)
  end
end
vim.cmd.only({ bang = true, mods = { silent = true } })
vim.wo.winfixbuf = false
vim.cmd.enew({ bang = true })
for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  if bufnr ~= vim.api.nvim_get_current_buf() then
    vim.api.nvim_buf_delete(bufnr, { force = true })
  end
end
vim.cmd.edit(...)
"""
"""Leaves nothing but one window with the file named."""

STATE = """
local client = vim.lsp.get_clients({ name = 'promptls' })[1]
local status = client and require('promptls.client').states[client.id]
return status and status.state or ''
"""


def drawn(editor: Nvim, name: str) -> None:
    """Wait until the screen shows a file, so that nothing of what was there before is taken for it."""
    editor.wait(f"{name} is drawn", lambda: name in "".join(editor.screen.lines()[-2:-1]))


def ready(editor: Nvim) -> None:
    """Wait until the index is complete."""
    editor.wait("the index is ready", lambda: editor.lua(STATE) == "ready", 60)


def attached(editor: Nvim) -> None:
    """Wait until the server sees the current buffer."""
    ask = "return #vim.lsp.get_clients({ name = 'promptls', bufnr = 0 }) > 0"
    editor.wait("the server is attached", lambda: editor.lua(ask))


def line(editor: Nvim) -> str:
    """The line under the cursor."""
    return str(editor.call("nvim_get_current_line"))


OFFERED = """
if vim.fn.pumvisible() == 0 then return {} end
local out = {}
for _, item in ipairs(vim.fn.complete_info({ 'items' }).items) do
  local of_server = vim.tbl_get(item, 'user_data', 'nvim', 'lsp', 'completion_item') or {}
  if of_server.filterText ~= ... then return {} end
  out[#out + 1] = item.word
end
return out
"""


def offered(editor: Nvim, typed: str) -> list[str]:
    """Wait for the popup that belongs to what was typed; what would be inserted."""
    return editor.wait(f"something is offered for {typed}", lambda: editor.lua(OFFERED, typed))


def preview(editor: Nvim) -> str:
    """Wait for the preview; its text."""
    shown = "return vim.bo.filetype == 'promptls-preview'"
    editor.wait("the preview is shown", lambda: editor.lua(shown))
    return "\n".join(editor.call("nvim_buf_get_lines", 0, 0, -1, False))


def said(editor: Nvim) -> str:
    """What Neovim has told so far; a message that waits for a key gets one."""
    if editor.mode().startswith("r"):
        editor.type("<CR>")
    return str(editor.call("nvim_exec2", "messages", {"output": True})["output"])


def server_pid(editor: Nvim) -> int:
    """The process of the server that this Neovim has started; 0 for none."""
    for task in Path(f"/proc/{editor.process.pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"serve" in command:
                return int(child)
    return 0


def main() -> int:
    """Run all checks, or those whose names hold a word; 1 if any failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvim", required=True, help="the Neovim to test")
    parser.add_argument("--server", required=True, help="the server's command")
    parser.add_argument("--only", default="", help="checks whose names hold this")
    parser.add_argument("--pictures", action="store_true", help="write the pictures of the documentation instead")
    arguments = parser.parse_args()
    server = arguments.server.split()
    server = server[:-1] if server[-1] == "serve" else server
    for name in MODULES if not arguments.pictures else ("pictures",):
        importlib.import_module(name)
    start, passed, failed, crashed = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="promptls-nvim-", ignore_cleanup_errors=True) as temporary:
        shared: Session | None = None
        due = [check for check in CHECKS if arguments.only in check[0]]
        for number in itertools.count():
            if not due:
                break
            what, run, alone = due.pop(0)
            session = shared if shared is not None and not alone else None
            if session is None:
                session = Session(Path(temporary) / str(number), arguments.nvim, server, Path(temporary) / "cache")
            shared = shared if alone else session
            began = time.monotonic()
            try:
                run(session)
            except Exception as error:
                again = isinstance(error, Crashed) and crashed < CRASHES_MOST
                crashed += isinstance(error, Crashed)
                failed += not again
                due = [(what, run, alone), *due] if again else due
                text = str(error) if isinstance(error, Failed) else traceback.format_exc()
                print(f"{'once more:' if again else 'FAIL'} {what}\n     " + text.replace("\n", "\n     "), flush=True)
                session.close()
                shared = None if session is shared else shared
            else:
                passed += 1
                print(f"ok   {what} ({time.monotonic() - began:.1f} s)", flush=True)
            if alone:
                session.close()
        if shared is not None:
            shared.close()
    if crashed:
        print(f"Neovim itself crashed {crashed}×.")
    print(f"nvim: {passed} passed, {failed} failed, {time.monotonic() - start:.0f} s")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.modules["suite"] = sys.modules["__main__"]  # so that the checks register here
    sys.exit(main())
