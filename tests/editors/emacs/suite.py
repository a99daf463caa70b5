"""Run all checks of the Emacs package in batch mode and with typed keys in a terminal (tests/editors/emacs/run).

Print one line per check, "ok NAME" or "FAIL NAME: reason", and a summary line.
"""

from __future__ import annotations

import argparse
import json
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

from screen import ScreenTimeout, Terminal

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
sys.path.append(str(REPOSITORY / "tests"))  # for chatserver
LISP = HERE / "lisp"
PACKAGE = REPOSITORY / "editors" / "emacs"
EMACS = os.environ.get("EMACS", "emacs")
CLIENTS = ("lsp-mode", "eglot")
BATCH_TIMEOUT_S = 300
END_OF_BUFFER = "\x1b>"


class Report:
    """Prints and counts the results of checks."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def add(self, name: str, ok: bool, reason: str = "") -> None:
        self.passed += ok
        self.failed += not ok
        print(f"ok {name}" if ok else f"FAIL {name}: {reason}", flush=True)


def servers() -> list[tuple[int, int]]:
    """Return (pid, parent pid) of every running server."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    fields = (line.split(None, 2) for line in out.splitlines())
    return [(int(f[0]), int(f[1])) for f in fields if len(f) == 3 and re.search(r"promptls\S* .*serve$", f[2])]


def servers_in(folder: Path) -> list[int]:
    """Return the pids of the servers whose working directory is in this folder."""
    pids = []
    for pid, _ in servers():
        try:
            if Path(f"/proc/{pid}/cwd").resolve().is_relative_to(folder):
                pids.append(pid)
        except OSError:
            pass  # the process has exited or belongs to another user
    return pids


def stop_servers(folder: Path) -> None:
    """Wait until all servers of this folder have exited and kill them after 5 s, so that it can be removed."""
    deadline = time.monotonic() + 5
    while pids := servers_in(folder):
        if time.monotonic() > deadline:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@contextmanager
def workspace() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a temporary workspace and the environment of an Emacs that uses it."""
    with tempfile.TemporaryDirectory(prefix="promptls-emacs-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        root, home = folder / "shop", folder / "home"
        shutil.copytree(HERE.parent / "workspace", root, ignore=shutil.ignore_patterns("__pycache__"))
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
            stop_servers(folder)


# ---- batch mode


def batch(report: Report, title: str, file: str, **environment: str | None) -> None:
    """Run a file of checks in batch mode; a file that does not print "end" has failed."""
    with workspace() as (root, env):
        env = {k: v for k, v in {**env, **environment}.items() if v is not None}
        try:
            done = subprocess.run(
                [EMACS, "-Q", "--batch", "-l", str(LISP / file)],
                cwd=root,
                env=env,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=BATCH_TIMEOUT_S,
            )
            out, err = done.stdout, done.stderr
        except subprocess.TimeoutExpired as timeout:
            out = (timeout.stdout or b"").decode(errors="replace")
            err = f"Emacs did not exit within {BATCH_TIMEOUT_S} s"
        lines = out.splitlines()
        for line in lines:
            if line.startswith("ok "):
                report.add(f"{title}: {line[3:]}", True)
            elif line.startswith("FAIL "):
                name, _, reason = line[5:].partition(": ")
                report.add(f"{title}: {name}", False, reason)
        if "end" not in lines:
            report.add(
                f"{title}: runs to the end",
                False,
                " / ".join(line for line in err.splitlines() if "rror" in line)[-500:] or err[-500:],
            )


def sending(report: Report) -> None:
    """Use gptel, or the fake of its interface, with a local server: prompts that are sent, tools, choice of code."""
    from chatserver import ChatServer, Handler, raw, say

    def is_choice(messages: list[dict[str, str]]) -> bool:
        return "a list of regions" in messages[0]["content"]

    def answer(handler: Handler) -> None:
        body = handler.server.requests[-1].body
        if is_choice(body["messages"]):
            say('{"regions": [1], "queries": []}')(handler)
        elif body.get("stream"):
            parts = [{"choices": [{"delta": {"content": part}}]} for part in ("Half ", "up.")]
            events = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
            raw(events.encode(), "text/event-stream")(handler)
        else:
            say("Half up.")(handler)

    folders = os.environ.get("PROMPTLS_GPTEL") or str(HERE / "fakes" / "gptel")
    for client in CLIENTS:
        with ChatServer([answer]) as server:
            batch(
                report, f"gptel, {client}", "sending.el", CLIENT=client, GPTEL_PATH=folders, CHAT_HOST=server.url[7:-3]
            )
            bodies = [request.body["messages"] for request in server.requests]
        chats = [[m for m in body if m["role"] != "system"] for body in bodies if not is_choice(body)]
        chats += [[{"role": "", "content": ""}]] * 3  # missing requests fail the checks
        last = [chat[-1]["content"] for chat in chats]
        built = "def rounded(money)" in last[0] and "How is it rounded? @#rounded" in last[0]
        clean = "@careful" not in last[0] and "4711" not in str(bodies) and "[key](secret.txt)" in last[0]
        report.add(f"gptel, {client}: the server receives the built prompt", built, last[0][:600])
        report.add(f"gptel, {client}: and neither the preset nor linked files", clean, last[0][:600])
        turns = [(m["role"], m["content"].strip()) for m in chats[1][:-1]]
        history = turns == [("user", "@careful How is it rounded? @#rounded @notes.txt"), ("assistant", "Half up.")]
        report.add(
            f"gptel, {client}: earlier turns are sent as written", history and "class OutOfStock" in last[1], str(turns)
        )
        sent = last[2] == "The built prompt quotes @hostile and @shop/cart.py."
        report.add(f"gptel, {client}: the server receives the prompt of the preview", sent, last[2][:600])


# ---- the package of a release


def release_archive(folder: Path) -> Path:
    """Write the package file of a release into a folder and return its path."""
    sys.path.insert(0, str(REPOSITORY / "scripts"))
    from release import emacs_package

    archive = folder / "promptls-0.1.0.tar"
    emacs_package(REPOSITORY, archive, "0.1.0", 0)
    return archive


def installed_package(report: Report) -> None:
    """Follow the installation steps of the README in an Emacs without settings, and type the documented key."""
    snippets = re.findall(r"```elisp\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL)
    binding = next(snippet for snippet in snippets if "require" not in snippet and "(global-set-key" in snippet)
    with workspace() as (root, env):
        init = Path(env["HOME"]) / ".emacs.d" / "init.el"
        init.parent.mkdir()
        init.touch()
        archive = release_archive(root.parent)

        def start(keys: str, expected: str) -> None:
            terminal = Terminal([EMACS, "-nw"], env, root)
            try:
                terminal.wait("GNU Emacs")
                terminal.type(keys)
                terminal.wait(expected, 60)
            finally:
                terminal.close()

        try:
            start(f"\x1bxpackage-install-file\r{archive}\r", r"Wrote .*init\.el")  # the last step of the installation
            with init.open("a", encoding="utf-8") as file:
                file.write(binding)
            start("\x03p", "Knowledge graph")
            report.add("package of a release: C-c p opens the menu", True)
        except ScreenTimeout as error:
            report.add("package of a release: C-c p opens the menu", False, str(error))


# ---- typed keys


class Session:
    """An Emacs in a terminal, with one LSP client and a workspace."""

    def __init__(self, report: Report, client: str, pictures: bool, **environment: str) -> None:
        self.report, self.client, self.pictures, self.environment = report, client, pictures, environment

    def __enter__(self) -> Session:
        self.stack = workspace()
        self.root, env = self.stack.__enter__()
        self.home = Path(env["HOME"])
        env |= {"CLIENT": self.client, **self.environment}
        self.terminal = Terminal([EMACS, "-nw", "-Q", "-l", str(LISP / "init.el")], env, self.root)
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.close()
        self.stack.__exit__(None, None, None)

    def server(self) -> int:
        """Return the pid of the server of this Emacs, or 0."""
        return next((pid for pid, parent in servers() if parent == self.terminal.pid), 0)

    def check(self, name: str, body: Callable[[], object]) -> None:
        """Run a check; it passes unless `body` raises an exception."""
        try:
            body()
            self.report.add(f"{self.client} typed: {name}", True)
        except Exception as error:  # any exception fails this check only
            first, *rest = str(error).splitlines() or [repr(error)]
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
        self.terminal.wait_until_gone("Switch to buffer")

    def write(self, text: str) -> None:
        """Replace the text of the buffer."""
        self.terminal.type("\x18h\x17" + text)

    def screenshot(self, name: str) -> None:
        if self.pictures and self.client == CLIENTS[0]:
            self.terminal.screenshot(PACKAGE / "images" / f"{name}.png")


def typed(report: Report, client: str, pictures: bool) -> None:
    """Run the checks of one interactive session."""
    lsp = client == "lsp-mode"
    with Session(report, client, pictures) as session:
        screen = session.terminal

        def open_prompt_document() -> None:
            screen.wait("scratch")
            session.visit("price.prompt.md")
            screen.wait(r"promptls\[ready\]", 60)

        def type_at_sign() -> None:
            screen.type("Why is the price wrong? @")
            screen.wait(r"@selection  The selected lines")

        def accept_completion() -> None:
            if lsp:
                screen.type("car")
                screen.wait(r"@tests/test_cart.py  python, 9 lines, \d+ tokens")
                session.screenshot("completion")
                screen.type("\r")
            else:
                screen.type("car\t")
            screen.wait(r"wrong\? @shop/cart\.py( |$)")

        def hover() -> None:
            screen.type(" now\x1bb\x02\x02")
            if lsp:
                session.command("lsp-describe-thing-at-point")
            screen.wait(r"@shop/cart\.py.* is included, \d+ tokens")
            screen.type("\x181")

        def go_to_definition() -> None:
            screen.type("\x1b.")
            screen.wait(r"^class Cart:")
            session.switch("price.prompt.md")

        def show_code_lenses() -> None:
            screen.wait(r"\d+ of 8,000 tokens, 1 mention")
            screen.wait(r"Build prompt.*Copy prompt")

        def build_prompt() -> None:
            screen.type("\x03\x03")
            screen.wait(r"## In the prompt: \d+")
            screen.wait(r"✓ @shop/cart\.py")
            session.screenshot("preview")

        def decide_about_items() -> None:
            screen.type("\x18o")
            screen.click("[drop]")
            screen.wait(r"## Dropped: 1")
            screen.click("[restore]")
            screen.wait_until_gone(r"## Dropped: 1")
            screen.type("b")
            screen.wait("Token budget")
            screen.type("3000\r")
            screen.wait(r"of 3,000 tokens")

        def visit_place_by_mouse() -> None:
            screen.click("shop/cart.py:1-29")
            screen.wait(r"^class Cart:")
            session.switch("price.prompt.md")

        def show_diagnostic() -> None:
            screen.type("\x181")
            session.write("Why is the price wrong? @shop/crat.py ?")
            screen.wait(r"FlyC:1[|/]0|Flymake\[1 0\]")
            screen.type("\x1bb\x02\x02")
            session.command("flycheck-list-errors" if lsp else "flymake-show-buffer-diagnostics")
            screen.wait('error.*File "shop')
            screen.type("\x181")

        def apply_code_action() -> None:
            screen.type("\x03\x06")
            screen.wait("Select code action|Pick an action")
            screen.type("Change\t\r" if lsp else "\r")
            screen.wait(r"wrong\? @shop/cart\.py \?")
            screen.wait(r"FlyC(?!:[1-9])|Flymake\[0 0\]")

        def build_with_unsaved_edit() -> None:
            session.visit("shop/cart.py")
            screen.type(END_OF_BUFFER + "UNSAVED_LIMIT = 4711")
            session.switch("price.prompt.md")
            session.write("What is the limit? @shop/cart.py")
            screen.type("\x03\x03")
            screen.wait(r"✓ @shop/cart\.py")
            screen.type("\x18o\x13UNSAVED_LIM")
            screen.wait("UNSAVED_LIMIT = 4711")
            screen.type("\r\x18o\x181")

        def ask_about_selection() -> None:
            session.switch("cart.py")
            screen.type("\x1b<\x00" + "\x0e" * 8)
            session.command("promptls-ask")
            screen.wait(r"Ask \(selection: \d+ tokens\): @selection")
            screen.type("what is @shop/mon\t")
            screen.wait(r"@selection what is @shop/money\.py")
            screen.type("\r")
            screen.wait(r"✓ @shop/money\.py")
            screen.wait(r" selected +shop/cart\.py")
            screen.type("w")
            screen.wait(r"Prompt copied: \d+ tokens")
            screen.type("\x181")

        def search_from_menu() -> None:
            screen.type("\x03p")
            screen.wait("Knowledge graph")
            session.screenshot("menu")
            screen.type("s")
            screen.wait("Search for")
            screen.type("regular customers pay less\r")
            screen.wait(r"results? for: regular customers")
            screen.type("\x1bgn")
            screen.wait(r"(cart|test_cart|orders)\.(py|md) ")
            screen.type("\x181")

        def wait_for_new_server(before: int) -> None:
            deadline = time.monotonic() + 30
            while session.server() in (0, before):
                if time.monotonic() > deadline:
                    raise ScreenTimeout(f"the server is still {before}:\n{screen.text()}")
                screen.read(0.1)

        def restart_server() -> None:
            session.switch("price.prompt.md")
            before = session.server()
            session.command("promptls-restart")
            wait_for_new_server(before)
            session.write("What is this? @shop/stock.py")
            screen.wait(r"promptls\[ready\]", 60)
            screen.type("\x03\x03")
            screen.wait(r"✓ @shop/stock\.py")
            screen.type("\x181")

        def kill_server() -> None:
            before = session.server()
            os.kill(before, signal.SIGKILL)
            if lsp:
                screen.wait("Do you want to restart it")
                screen.type("y")
            session.write("And this? @http.ts and @shop/cart.py")
            screen.type("\x03\x03")
            screen.wait(r"✓ @http\.ts", 60)
            wait_for_new_server(before)
            screen.type("\x18o\x13UNSAVED_LIM")
            screen.wait("UNSAVED_LIMIT = 4711")

        session.check("opening a prompt document starts the server", open_prompt_document)
        session.check("@ lists the mention kinds", type_at_sign)
        session.check("an accepted candidate is inserted", accept_completion)
        session.check("hover shows the outcome of a mention", hover)
        session.check("M-. visits the mentioned file", go_to_definition)
        session.check("the header line shows the code lenses", show_code_lenses)
        session.check("C-c C-c shows the preview", build_prompt)
        session.check("buttons drop and restore an item by mouse, and b changes the budget", decide_about_items)
        session.check("a click on a place visits it", visit_place_by_mouse)
        session.check("an unresolved mention has a diagnostic", show_diagnostic)
        session.check("C-c C-f applies the code action", apply_code_action)
        session.check("an unsaved edit is in the prompt", build_with_unsaved_edit)
        session.check("promptls-ask completes mentions and includes the selection", ask_about_selection)
        session.check("the menu runs a search and next-error visits its results", search_from_menu)
        session.check("restart starts a new server", restart_server)
        session.check("a killed server is restarted and receives unsaved edits", kill_server)


def starting(report: Report, client: str, pictures: bool) -> None:
    """Type while the server starts: it is only in ~/.local/bin, and waits for a file."""
    with Session(report, client, pictures, PROMPTLS_COMMAND="") as session:
        screen, program = session.terminal, session.home / ".local" / "bin" / "promptls"
        program.parent.mkdir(parents=True)
        gate, candidates = session.home / "gate", r"@shop/cart\.py.*\s+@tests/test_cart\.py"

        def write_server() -> None:
            gate.unlink(missing_ok=True)
            command = os.environ["PROMPTLS_COMMAND"]
            program.write_text(f'#!/bin/sh\nuntil [ -e "{gate}" ]; do sleep 0.05; done\nexec {command} "$@"\n')
            program.chmod(0o755)

        def type_in_document() -> None:
            screen.wait("scratch")
            session.visit("price.promptls.md")
            screen.wait(r"promptls\[starting\]")
            screen.type("Why is the price wrong? @car")
            gate.touch()
            screen.wait(candidates, 60)

        def type_question() -> None:
            session.command("promptls-restart")
            session.visit("shop/stock.py")
            session.command("promptls-ask")
            screen.wait(r"Ask \(starting\):")
            screen.type("what is @car")
            gate.touch()
            screen.wait(candidates, 60)
            screen.wait(r"Ask: what is")

        write_server()
        session.check("candidates of a mention appear when the server has started", type_in_document)
        write_server()
        session.check("a question can be typed while the server starts", type_question)
    with Session(report, client, pictures) as session:

        def visit_instructions() -> None:
            (session.root / "AGENTS.md").write_text("Edit `shop/cash.py`.\n")
            session.terminal.wait("scratch")
            session.visit("AGENTS.md")
            session.terminal.wait(r"FlyC:0[|/]1|Flymake\[0 1\]", 60)
            session.terminal.wait(r"^ ?\d+ tokens")
            session.terminal.wait(r"promptls\[ready\]")

        session.check("visiting an instruction file starts the server and checks the file", visit_instructions)


def main() -> int:
    parser = argparse.ArgumentParser(description="Test the Emacs package in the real Emacs.")
    parser.add_argument("--pictures", action="store_true", help="write the images of the README")
    parser.add_argument("--only", help="run only the parts whose name contains this text")
    options = parser.parse_args()
    begin, report = time.monotonic(), Report()
    parts: dict[str, Callable[[], None]] = {
        "units": lambda: batch(report, "units", "units.el"),
        "readme": lambda: batch(report, "readme", "readme.el"),
        "sending": lambda: sending(report),
        "package of a release": lambda: installed_package(report),
        "package": lambda: batch(report, "package", "static.el"),
        "package without clients": lambda: batch(report, "package", "static.el", EMACS_PACKAGES=None),
    }
    for client in CLIENTS:
        parts[f"{client} batch"] = lambda client=client: batch(report, client, "e2e.el", CLIENT=client)
        parts[f"{client} starting"] = lambda client=client: starting(report, client, options.pictures)
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
