"""Test runner of the Neovim plugin: runs the checks with the real plugin, Neovim and server.

Each check is a function in a module `checks_*.py`, registered with `@check("behaviour")`. It receives a `Session` with
a workspace, a home folder in which the plugin is installed as a package, and Neovim on demand.
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

from nvim import TIMEOUT_S, CheckFailedError, Nvim, NvimCrashedError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "scripts")]  # for chatserver and release
PLUGIN = ROOT / "editors" / "nvim"
MODULES = ("checks_prompt_documents", "checks_commands", "checks_server", "checks_headless", "checks_chats")
MAX_CRASHES = 1
"""Maximum number of crashes of Neovim itself per run after which the check is repeated in a new process."""
GIT = ["git", "-c", "user.name=Shop", "-c", "user.email=shop@example.org"]

CHECKS: list[tuple[str, Callable[[Session], None], bool]] = []


class SkippedError(Exception):
    """A check cannot run here; the message contains the reason."""


def check(name: str, isolated: bool = False) -> Callable[[Callable[[Session], None]], Callable[[Session], None]]:
    """Register a check under the behaviour that it tests.

    Args:
        name: The behaviour, as shown in the output and selected with `--only`.
        isolated: Run the check in a new session instead of the shared one.
    """

    def register(run: Callable[[Session], None]) -> Callable[[Session], None]:
        CHECKS.append((name, run, isolated))
        return run

    return register


def expect(condition: object, expectation: str, actual: object = None) -> None:
    """Fail the check with the expectation and the actual value if a condition is false."""
    if not condition:
        raise CheckFailedError(f"{expectation}; actual: {actual!r}" if actual is not None else expectation)


class Session:
    """The environment of a check: workspace, home folder, server and Neovim processes."""

    def __init__(self, folder: Path, nvim: str, server: list[str], cache: Path) -> None:
        self.folder, self.nvim = folder, nvim
        self.workspace, self.home, self.programs = folder / "shop", folder / "home", folder / "bin"
        shutil.copytree(HERE.parent / "workspace", self.workspace)
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "The shop"]):
            subprocess.run([*GIT, *command], cwd=self.workspace, check=True, env=self.base_env())
        site = self.home / ".local" / "share" / "nvim" / "site" / "pack" / "promptls" / "start"
        site.mkdir(parents=True)
        shutil.copytree(PLUGIN, site / "promptls", ignore=shutil.ignore_patterns("tags", "images"))
        self.programs.mkdir()
        self.server = server
        self.write_server_script(self.programs / "promptls")
        self.env = {**self.base_env(), "PATH": f"{self.programs}:{os.environ['PATH']}", "PROMPTLS_CACHE": str(cache)}
        self.write_init("vim.lsp.enable('promptls')")
        self.editors: list[Nvim] = []
        self._shared_editor: Nvim | None = None
        self._prompt_count = 0

    def base_env(self) -> dict[str, str]:
        """Return environment variables that hide the settings of the machine's user."""
        return {"HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null", "TERM": "xterm-256color", "LANG": "C.UTF-8"}

    def write_server_script(self, path: Path, preamble: str = "") -> None:
        """Write an executable script that runs the server, after a preamble of shell commands."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + preamble + "exec " + " ".join(f"'{part}'" for part in self.server) + ' "$@"\n')
        path.chmod(0o755)

    def write_init(self, text: str) -> None:
        """Write the user's init.lua."""
        file = self.home / ".config" / "nvim" / "init.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def write_file(self, name: str, text: str) -> Path:
        """Write a file of the workspace."""
        file = self.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def start(self, *arguments: str, width: int = 120, height: int = 36) -> Nvim:
        """Start Neovim in the workspace."""
        editor = Nvim([self.nvim, "-n", "-i", "NONE", *arguments], self.workspace, self.env, width, height)
        self.editors.append(editor)
        return editor

    def run_headless(self, script: Path, *arguments: str) -> str:
        """Run a Lua script in a headless Neovim and return its output."""
        command = [self.nvim, "-n", "-i", "NONE", "--clean", "--headless", "--cmd", f"set rtp^={PLUGIN}"]
        completed = subprocess.run(
            [*command, "-l", str(script), *arguments],
            cwd=self.workspace,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=120,
        )
        output = completed.stdout + completed.stderr
        expect(completed.returncode == 0, f"{script.name} exited with {completed.returncode}:\n{output}")
        return output

    # ---- common start of checks

    def open_code(self, name: str = "shop/cart.py") -> Nvim:
        """Return Neovim with only a workspace file open and a complete index; checks share the process."""
        if self._shared_editor is None:
            self._shared_editor = self.start(name)
        else:
            self._shared_editor.type("<C-\\><C-n>")
            self._shared_editor.lua(RESET, name)
        wait_drawn(self._shared_editor, Path(name).name)
        wait_ready(self._shared_editor)
        wait_attached(self._shared_editor)
        return self._shared_editor

    def open_prompt(self, text: str = "") -> Nvim:
        """Return Neovim as `open_code` does, with a new prompt document in the current window."""
        editor = self.open_code()
        self._prompt_count += 1
        name = f"question-{self._prompt_count}.prompt.md"
        if text:
            self.write_file(name, text + "\n")
        editor.lua("vim.cmd.edit(...)", name)
        wait_drawn(editor, name)
        wait_attached(editor)
        return editor

    def close(self) -> None:
        """Quit all editors."""
        for editor in self.editors:
            editor.close()


RESET = """
require('promptls.client').cancel()
vim.cmd.tabonly({ bang = true, mods = { silent = true } })
for _, window in ipairs(vim.api.nvim_list_wins()) do
  local is_valid = vim.api.nvim_win_is_valid(window)
  -- Neovim 0.11 crashes if a location list window outlives the window to which it belongs.
  if is_valid and (vim.api.nvim_win_get_config(window).relative ~= '' or vim.fn.win_gettype(window) == 'loclist') then
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
"""Lua code that closes all windows and buffers and opens one file."""

INDEX_STATE = """
local client = vim.lsp.get_clients({ name = 'promptls' })[1]
local status = client and require('promptls.client').states[client.id]
return status and status.state or ''
"""


def wait_drawn(editor: Nvim, name: str) -> None:
    """Wait until the status line shows a file, so that the screen is not that of the previous check."""
    editor.wait(f"{name} is drawn", lambda: name in "".join(editor.screen.lines()[-2:-1]))


def wait_ready(editor: Nvim) -> None:
    """Wait until the index is complete."""
    editor.wait("the index is ready", lambda: editor.lua(INDEX_STATE) == "ready", 60)


def wait_attached(editor: Nvim) -> None:
    """Wait until the server is attached to the current buffer."""
    is_attached = "return #vim.lsp.get_clients({ name = 'promptls', bufnr = 0 }) > 0"
    editor.wait("the server is attached", lambda: editor.lua(is_attached))


def current_line(editor: Nvim) -> str:
    """Return the line under the cursor."""
    return str(editor.call("nvim_get_current_line"))


COMPLETION_WORDS = """
if vim.fn.pumvisible() == 0 then return {} end
local out = {}
for _, item in ipairs(vim.fn.complete_info({ 'items' }).items) do
  local lsp_item = vim.tbl_get(item, 'user_data', 'nvim', 'lsp', 'completion_item') or {}
  if lsp_item.filterText ~= ... then return {} end
  out[#out + 1] = item.word
end
return out
"""
"""Lua code that returns the words in the completion popup if they belong to the typed text."""


def wait_completion(editor: Nvim, typed: str) -> list[str]:
    """Wait for the completion popup of the typed text and return the words that it inserts."""
    return editor.wait(f"completion items for {typed}", lambda: editor.lua(COMPLETION_WORDS, typed))


def wait_page(editor: Nvim) -> str:
    """Wait for the page of a prompt and return its text."""
    is_open = "return vim.fn.bufname():find('^promptls%-page:') ~= nil and vim.fn.getline(1):find('^# Prompt: ') ~= nil"
    editor.wait("the page of a prompt is open", lambda: editor.lua(is_open))
    return "\n".join(editor.call("nvim_buf_get_lines", 0, 0, -1, False))


def messages(editor: Nvim) -> str:
    """Return all messages of Neovim. Confirms messages that wait for a key, also one that arrives meanwhile."""
    request = editor.request("nvim_exec2", "messages", {"output": True})
    deadline = time.monotonic() + TIMEOUT_S
    while not editor.is_answered(request, 0.1) and time.monotonic() < deadline:
        if editor.mode().startswith("r"):
            editor.type("<CR>")
    return str(editor.result(request)["output"])


def server_pid(editor: Nvim) -> int:
    """Return the id of the server process of this Neovim; 0 without a server."""
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
    """Run the selected checks and return the exit status: 1 if any check failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvim", required=True, help="Neovim executable")
    parser.add_argument("--server", required=True, help="command of the server")
    parser.add_argument("--only", default="", help="run only the checks whose name contains this text")
    parser.add_argument("--pictures", action="store_true", help="write the images of the documentation")
    arguments = parser.parse_args()
    server = arguments.server.split()
    server = server[:-1] if server[-1] == "serve" else server
    for name in MODULES if not arguments.pictures else ("pictures",):
        importlib.import_module(name)
    start, passed, failed, crashed, skipped = time.monotonic(), 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="promptls-nvim-", ignore_cleanup_errors=True) as temporary:
        shared_session: Session | None = None
        remaining = [check for check in CHECKS if arguments.only in check[0]]
        for number in itertools.count():
            if not remaining:
                break
            name, run, isolated = remaining.pop(0)
            session = shared_session if shared_session is not None and not isolated else None
            if session is None:
                session = Session(Path(temporary) / str(number), arguments.nvim, server, Path(temporary) / "cache")
            shared_session = shared_session if isolated else session
            check_start = time.monotonic()
            try:
                run(session)
            except SkippedError as reason:
                skipped += 1
                print(f"skip {name}: {reason}", flush=True)
            except Exception as error:
                retry = isinstance(error, NvimCrashedError) and crashed < MAX_CRASHES
                crashed += isinstance(error, NvimCrashedError)
                failed += not retry
                remaining = [(name, run, isolated), *remaining] if retry else remaining
                text = str(error) if isinstance(error, CheckFailedError) else traceback.format_exc()
                print(f"{'RETRY' if retry else 'FAIL'} {name}\n     " + text.replace("\n", "\n     "), flush=True)
                session.close()
                shared_session = None if session is shared_session else shared_session
            else:
                passed += 1
                print(f"ok   {name} ({time.monotonic() - check_start:.1f} s)", flush=True)
            if isolated:
                session.close()
        if shared_session is not None:
            shared_session.close()
    if crashed:
        print(f"Neovim crashed {crashed} times.")
    print(f"nvim: {passed} passed, {failed} failed, {skipped} skipped, {time.monotonic() - start:.0f} s")
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.modules["suite"] = sys.modules["__main__"]  # the checks register in this module
    sys.exit(main())
