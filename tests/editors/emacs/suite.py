"""Runs all checks of the Emacs package: in batch, and with typed keys in a terminal; tests/editors/emacs/run calls it.

One line a check, "ok NAME" or "FAIL NAME: why", and a last line that counts them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from screen import Terminal, TooLate

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
LISP = HERE / "lisp"
PACKAGE = REPOSITORY / "editors" / "emacs"
EMACS = os.environ.get("EMACS", "emacs")
CLIENTS = ("lsp-mode", "eglot")
BATCH_S = 300
DOWN_TO_THE_END = "\x1b>"


class Report:
    """Counts and prints checks."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def add(self, name: str, ok: bool, why: str = "") -> None:
        self.passed += ok
        self.failed += not ok
        print(f"ok {name}" if ok else f"FAIL {name}: {why}", flush=True)


def servers() -> list[tuple[int, int]]:
    """(pid, parent's pid) of every running server."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    fields = (line.split(None, 2) for line in out.splitlines())
    return [(int(f[0]), int(f[1])) for f in fields if len(f) == 3 and re.search(r"promptls\S* .*serve$", f[2])]


def servers_in(folder: Path) -> list[int]:
    """The servers that work in this folder."""
    found = []
    for pid, _ in servers():
        try:
            if Path(f"/proc/{pid}/cwd").resolve().is_relative_to(folder):
                found.append(pid)
        except OSError:
            pass  # it has ended, or is somebody else's
    return found


def end_servers(folder: Path) -> None:
    """See all servers of this folder ended: they write into it, so it could not be removed."""
    end = time.monotonic() + 5
    while left := servers_in(folder):
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@contextmanager
def workspace() -> Iterator[tuple[Path, dict[str, str]]]:
    """A workspace of its own, and the environment of an Emacs that works in it."""
    with tempfile.TemporaryDirectory(prefix="promptls-emacs-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        root, home = folder / "shop", folder / "home"
        shutil.copytree(HERE.parent / "workspace", root)
        home.mkdir()
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The shop"]):
            subprocess.run(
                ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *command], cwd=root, check=True
            )
        env = {
            **os.environ,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "TMPDIR": name,
            "PROMPTLS_CACHE": str(folder / "cache"),
            "PROMPTLS_LISP": str(PACKAGE),
            "PROMPTLS_GOLDEN": str(REPOSITORY / "tests" / "protocol"),
            "WORKSPACE": str(root),
        }
        try:
            yield root, env
        finally:
            end_servers(folder)


# ---- in batch


def batch(report: Report, title: str, file: str, **more: str | None) -> None:
    """Run a file of checks in a batch Emacs; a file that does not come to its end has failed."""
    with workspace() as (root, env):
        env = {k: v for k, v in {**env, **more}.items() if v is not None}
        try:
            done = subprocess.run(
                [EMACS, "-Q", "--batch", "-l", str(LISP / file)],
                cwd=root,
                env=env,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=BATCH_S,
            )
            out, err = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            out = (late.stdout or b"").decode(errors="replace")
            err = f"Emacs has not ended within {BATCH_S} seconds"
        lines = out.splitlines()
        for line in lines:
            if line.startswith("ok "):
                report.add(f"{title}: {line[3:]}", True)
            elif line.startswith("FAIL "):
                name, _, why = line[5:].partition(": ")
                report.add(f"{title}: {name}", False, why)
        if "end" not in lines:
            report.add(
                f"{title}: comes to its end",
                False,
                " / ".join(line for line in err.splitlines() if "rror" in line)[-500:] or err[-500:],
            )


# ---- with typed keys


class Session:
    """An Emacs in a terminal, with one client, in a workspace."""

    def __init__(self, report: Report, client: str, pictures: bool) -> None:
        self.report, self.client, self.pictures = report, client, pictures

    def __enter__(self) -> Session:
        self.stack = workspace()
        self.root, env = self.stack.__enter__()
        env |= {"CLIENT": self.client}
        self.terminal = Terminal([EMACS, "-nw", "-Q", "-l", str(LISP / "init.el")], env, self.root)
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.close()
        self.stack.__exit__(None, None, None)

    def server(self) -> int:
        """The server of this Emacs, 0 while there is none."""
        return next((pid for pid, parent in servers() if parent == self.terminal.pid), 0)

    def check(self, name: str, body: Callable[[], object]) -> None:
        """One check: it passes unless its body raises."""
        try:
            body()
            self.report.add(f"{self.client} typed: {name}", True)
        except Exception as problem:  # whatever went wrong is the report of this check, not the end of all
            first, *rest = str(problem).splitlines() or [repr(problem)]
            self.report.add(f"{self.client} typed: {name}", False, first)
            print("\n".join(f"    | {line}" for line in rest if line.strip(" |")))

    def command(self, name: str) -> None:
        self.terminal.type(f"\x1bx{name}\r")

    def visit(self, name: str) -> None:
        self.terminal.type("\x18\x06")
        self.terminal.wait("Find file: ")
        self.terminal.type(f"{self.root / name}\r")
        self.terminal.wait(rf"-{Path(name).name}|[-*%F1 ]  {re.escape(Path(name).name)} ")

    def switch(self, name: str) -> None:
        self.terminal.type("\x18b")
        self.terminal.wait("Switch to buffer")
        self.terminal.type(f"{name}\r")
        self.terminal.gone("Switch to buffer")

    def write(self, text: str) -> None:
        """Make `text` the text of the buffer."""
        self.terminal.type("\x18h\x17" + text)

    def picture(self, name: str) -> None:
        if self.pictures and self.client == CLIENTS[0]:
            self.terminal.picture(PACKAGE / "images" / f"{name}.png")


def typed(report: Report, client: str, pictures: bool) -> None:
    """Everything a user does, in one session."""
    lsp = client == "lsp-mode"
    with Session(report, client, pictures) as at:
        screen = at.terminal

        def starts() -> None:
            screen.wait("scratch")
            at.visit("price.prompt.md")
            screen.wait(r"promptls\[ready\]", 60)

        def offers() -> None:
            screen.type("Why is the price wrong? @")
            screen.wait(r"@selection  The lines that are selected")

        def takes() -> None:
            if lsp:
                screen.type("car")
                screen.wait(r"@tests/test_cart.py  python, 9 lines, \d+ tokens")
                at.picture("completion")
                screen.type("\r")
            else:
                screen.type("shop/ca\t")
            screen.wait(r"wrong\? @shop/cart\.py( |$)")

        def hovers() -> None:
            screen.type(" now\x1bb\x02\x02")
            if lsp:
                at.command("lsp-describe-thing-at-point")
            screen.wait(r"@shop/cart\.py.* is included, \d+ of 8,000 tokens")
            screen.type("\x181")

        def goes() -> None:
            screen.type("\x1b.")
            screen.wait(r"^class Cart:")
            at.switch("price.prompt.md")

        def counts() -> None:
            screen.wait(r"\d+ of 8,000 tokens, 1 mention")
            screen.wait(r"Build prompt.*Copy prompt")

        def builds() -> None:
            screen.type("\x03\x03")
            screen.wait(r"In the prompt \(\d+\)")
            screen.wait(r"included +@shop/cart\.py")
            at.picture("preview")

        def complains() -> None:
            screen.type("\x181")
            at.write("Why is the price wrong? @shop/crat.py ?")
            screen.wait(r"FlyC:1[|/]0|Flymake\[1 0\]")
            screen.type("\x1bb\x02\x02")
            at.command("flycheck-list-errors" if lsp else "flymake-show-buffer-diagnostics")
            screen.wait('error.*File "shop')
            screen.type("\x181")

        def mends() -> None:
            screen.type("\x03\x06")
            screen.wait("Select code action|Pick an action")
            screen.type("Change\t\r" if lsp else "\r")
            screen.wait(r"wrong\? @shop/cart\.py \?")
            screen.wait(r"FlyC(?!:[1-9])|Flymake\[0 0\]")

        def unsaved() -> None:
            at.visit("shop/cart.py")
            screen.type(DOWN_TO_THE_END + "UNSAVED_LIMIT = 4711")
            at.switch("price.prompt.md")
            at.write("What is the limit? @shop/cart.py")
            screen.type("\x03\x03")
            screen.wait(r"included +@shop/cart\.py")
            screen.type("\x18o\x13UNSAVED_LIM")
            screen.wait("UNSAVED_LIMIT = 4711")
            screen.type("\r\x18o\x181")

        def asks() -> None:
            at.switch("cart.py")
            screen.type("\x1b<\x00" + "\x0e" * 8)
            at.command("promptls-ask")
            screen.wait("Ask about the selection:")
            screen.type("what is @shop/mon\t")
            screen.wait(r"what is @shop/money\.py")
            screen.type("\r")
            screen.wait(r"included +@shop/money\.py")
            screen.wait(r"full +selection +shop/cart\.py")
            screen.type("\x181")

        def menu() -> None:
            screen.type("\x03p")
            screen.wait("Knowledge graph")
            at.picture("menu")
            screen.type("s")
            screen.wait("Search for")
            screen.type("regular customers pay less\r")
            screen.wait(r"places for: regular customers")
            screen.type("\x1bgn")
            screen.wait(r"(cart|test_cart|orders)\.(py|md) ")
            screen.type("\x181")

        def another(before: int) -> None:
            end = time.monotonic() + 30
            while at.server() in (0, before):
                if time.monotonic() > end:
                    raise TooLate(f"the server is still {before}:\n{screen.text()}")
                screen.read(0.1)

        def restarts() -> None:
            at.switch("price.prompt.md")
            before = at.server()
            at.command("promptls-restart")
            another(before)
            at.write("What is this? @shop/stock.py")
            screen.wait(r"promptls\[ready\]", 60)
            screen.type("\x03\x03")
            screen.wait(r"included +@shop/stock\.py")
            screen.type("\x181")

        def survives() -> None:
            before = at.server()
            os.kill(before, signal.SIGKILL)
            if lsp:
                screen.wait("Do you want to restart it")
                screen.type("y")
            at.write("And this? @http.ts and @shop/cart.py")
            screen.type("\x03\x03")
            screen.wait(r"included +@http\.ts", 60)
            another(before)
            screen.type("\x18o\x13UNSAVED_LIM")
            screen.wait("UNSAVED_LIMIT = 4711")

        at.check("a prompt document starts the server", starts)
        at.check("@ offers what can be mentioned", offers)
        at.check("what is taken is inserted", takes)
        at.check("hovering tells what would be sent", hovers)
        at.check("M-. goes to what is mentioned", goes)
        at.check("tokens and what to do stand above the text", counts)
        at.check("C-c C-c shows the prompt", builds)
        at.check("a wrong mention is told", complains)
        at.check("its fix mends the text", mends)
        at.check("an unsaved edit is in the prompt", unsaved)
        at.check("a question about a selection, mention completed in the minibuffer", asks)
        at.check("the menu leads to a search, next-error to its places", menu)
        at.check("restart starts another server", restarts)
        at.check("a killed server is started anew and still knows unsaved edits", survives)


def main() -> int:
    parser = argparse.ArgumentParser(description="Test the Emacs package in the real Emacs.")
    parser.add_argument("--pictures", action="store_true", help="write the README's pictures")
    parser.add_argument("--only", help="run only the parts whose name contains this")
    options = parser.parse_args()
    begin, report = time.monotonic(), Report()
    parts: dict[str, Callable[[], None]] = {
        "units": lambda: batch(report, "units", "units.el"),
        "package": lambda: batch(report, "package", "static.el"),
        "bare package": lambda: batch(report, "package", "static.el", EMACS_PACKAGES=None),
    }
    for client in CLIENTS:
        parts[f"{client} batch"] = lambda client=client: batch(report, client, "e2e.el", CLIENT=client)
        parts[f"{client} typed"] = lambda client=client: typed(report, client, options.pictures)
    version = subprocess.run([EMACS, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(f"# {version}; server: {os.environ['PROMPTLS_COMMAND']}")
    for name, part in parts.items():
        if not options.only or options.only in name:
            part()
    print(f"emacs: {report.passed} passed, {report.failed} failed, {time.monotonic() - begin:.0f} s")
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
