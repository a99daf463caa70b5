"""Workspaces that try to block, crash, flood or mislead the server.

In each of them the server becomes ready, answers a fixed question correctly, stays below a memory limit, and gives a
reason for every file that it does not index.
"""

# File names are bytes here, because some of them are not valid UTF-8.
# ruff: noqa: PTH103, PTH109, PTH120, PTH123, PTH211
from __future__ import annotations

import os
import random
import socket
import stat
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import git, make_shop
from lsp import Client, Json, Visit
from processes import family, resident
from tally import Tries

INDEX_TIMEOUT_S = 120.0
MAX_RESIDENT_BYTES = 2_000_000_000
"""Maximum resident memory of the server and its workers together."""


def assert_healthy(client: Client) -> Json:
    """Wait for the index, check a fixed question and the memory usage, and return the status."""
    status = client.wait_indexed(INDEX_TIMEOUT_S)
    assert status["state"] == "ready", status["message"]
    built = client.build("how is a discount applied? @#apply_discount")
    assert built["mentions"][0]["status"] == "included"
    assert "return cart.total().times(100 - percent, 100)" in built["prompt"]
    assert any(hit.get("symbol") == "apply_discount" for hit in client.search("apply discount", 10))
    assert sum(map(resident, family(client.process.pid))) < MAX_RESIDENT_BYTES
    return status


def uri(path: bytes) -> str:
    from promptls.index.files.uris import to_uri

    return to_uri(os.fsdecode(path))


def exclusion_reason(client: Client, path: Path | bytes) -> str:
    """Return the reason why a file is not indexed; "" if it is indexed."""
    answer = client.request("promptls/explainIgnore", {"uri": uri(os.fsencode(path))}, timeout=30)
    assert answer["indexed"] == (not answer["reason"]) or "rule" in answer, answer
    reason: str = "" if answer["indexed"] else answer["reason"]
    assert answer["indexed"] or (len(reason) > 10 and "Traceback" not in reason and "Errno" not in reason), answer
    return reason


# ---------------------------------------------------------------- special files and unusual names


def create_special_files(shop: Path) -> dict[str, tuple[bytes, str]]:
    """Create special files and unusual names; return (path, words of the exclusion reason or "") by description."""
    top = os.fsencode(shop)
    files: dict[str, tuple[bytes, str]] = {}

    def add(what: str, name: bytes, words: str, text: bytes | None = b"def example():\n    return 1\n") -> bytes:
        path = top + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if text is not None:
            with open(path, "wb") as file:
                file.write(text)
        files[what] = (path, words)
        return path

    os.symlink(b"loop_b", add("a loop of links", b"loop_a", "link", None))
    os.symlink(b"loop_a", add("the other link of the loop", b"loop_b", "link", None))
    os.symlink(b".", add("a link to its own folder", b"self", "link", None))
    os.symlink(b"../..", add("a link upwards", b"shop/up", "link", None))
    os.symlink(b"/", add("a link to the root folder", b"everything", "link", None))
    os.symlink(b"/etc/passwd", add("a link out of the workspace", b"passwd.py", "link", None))
    os.symlink(b"nowhere", add("a link to a missing file", b"dangling.py", "link", None))
    os.mkfifo(add("a pipe", b"pipe.py", "pipe, socket or device", None))
    sock = socket.socket(socket.AF_UNIX)
    previous_folder = os.getcwd()
    os.chdir(top)  # the length of a socket address is limited to about 100 bytes
    sock.bind("socket.py")
    os.chdir(previous_folder)
    add("a socket", b"socket.py", "pipe, socket or device", None)
    for what, name, kind, number in (
        ("a device that never ends", b"zero.py", stat.S_IFCHR, (1, 5)),
        ("a device that ends at once", b"null.py", stat.S_IFCHR, (1, 3)),
        ("a terminal", b"tty.py", stat.S_IFCHR, (5, 0)),
        ("a disk", b"disk.py", stat.S_IFBLK, (7, 200)),
    ):
        try:
            os.mknod(top + b"/" + name, kind | 0o666, os.makedev(*number))
        except PermissionError:
            continue  # creating devices requires privileges
        files[what] = (top + b"/" + name, "pipe, socket or device")
    with open(add("a sparse file of ten gigabytes", b"sparse.py", "over the limit", None), "wb") as file:
        file.truncate(10 * 2**30)
    add("a line of ten megabytes", b"web/line.js", "over the limit", b"var a=" + b"1+" * 5_000_000 + b"1;")
    add("a line of a megabyte", b"web/minified.js", "minified", b"var a=" + b"1+" * 450_000 + b"1;")
    add("zero bytes", b"zeros.py", "binary", bytes(100_000))
    add("random bytes", b"random.py", "binary", random.Random(1).randbytes(50_000))
    add("a name with a line end", b"line\nend.py", "")
    add("a name with quotes", b"quo\"te's`.py", "")
    add("a name with percent signs", b"100%25%2e%00.py", "")
    add("a name with an emoji", "😀.py".encode(), "")
    add("a name with a right-to-left override", "\u202eyp.txt.py".encode(), "")
    add("a name that is not valid UTF-8", b"\xff\xfe\xed\xa0\x80.py", "not valid UTF-8")
    add("a name of blanks", b" .py", "")
    add("a name with a backslash", b"a\\b.py", "")
    add("a name with a colon", b"C:evil.py", "")
    add("a name like an option", b"--output=x.py", "")
    add("a name like a pathspec", b":(exclude)x.py", "")
    add("a name like a pattern", b"[a-z]*?.py", "")
    add("a name of 255 bytes", b"n" * 252 + b".py", "")
    add("a name in one form of Unicode", unicodedata.normalize("NFC", "café.py").encode(), "")
    add("the same name in another form of Unicode", unicodedata.normalize("NFD", "café.py").encode(), "")
    add("a name in capitals", b"TWIN.py", "")
    add("the same name in small letters", b"twin.py", "")
    add("a folder with a line end", b"folder\nend/inside.py", "")
    add("a folder of a dot and blanks", b". ./inside.py", "")
    add("an empty file", b"empty.py", "", b"")
    add("a file of line ends", b"ends.py", "", b"\r\n\r\n\n\r" * 9000)
    sock.close()  # the file remains
    return files


SIMILAR_NAMES = (
    "TWIN.py",
    "twin.py",
    "Twin.py",
    unicodedata.normalize("NFC", "é.py"),
    unicodedata.normalize("NFD", "é.py"),
)


def create_similar_names(folder: Path) -> None:
    folder.mkdir()
    for number, name in enumerate(SIMILAR_NAMES):
        (folder / name).write_text(f"twin_{number} = 1\n")


def create_link_maze(folder: Path, root: Path) -> None:
    """Create nested folders with links back: following links never ends, and recursion overflows the stack."""
    for number in range(400):
        folder.mkdir()
        (folder / "back").symlink_to(root)
        (folder / "around").symlink_to("..")
        folder = folder / f"d{number % 10}"
    folder.mkdir()
    (folder / "last.py").write_text("def last_of_all():\n    return 1\n")


class HostileWorkspace(NamedTuple):
    """A server on a workspace with special files, similar names and link cycles."""

    client: Client
    root: Path
    special_files: dict[str, tuple[bytes, str]]


@pytest.fixture(scope="module")
def hostile_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileWorkspace]:
    folder = tmp_path_factory.mktemp("hostile_workspace")
    root = make_shop(folder / "shop-root")
    special_files = create_special_files(root)
    create_similar_names(root / "twins")
    create_link_maze(root / "maze", root)
    with Client(folder / "cache") as client:
        client.initialize(root)
        assert_healthy(client)
        yield HostileWorkspace(client, root, special_files)


def test_special_files_and_unusual_names(hostile_workspace: HostileWorkspace, tries: Tries) -> None:
    client, shop, special_files = hostile_workspace
    tries("files", len(special_files))
    for what, (path, words) in special_files.items():
        reason = exclusion_reason(client, path)
        assert (words in reason) if words else (reason == ""), f"{what}: {reason!r}"
    for what, (path, words) in special_files.items():
        name = os.fsdecode(path)[len(str(shop)) + 1 :]
        if any(sign in name for sign in '"\\\n\udcff') or not name.strip(" .") or len(name) > 240:
            continue  # a mention cannot contain such a name
        mentions = client.build(f'what is @"{name}" for?')["mentions"]
        assert len(mentions) == 1, what
        status, reason = mentions[0]["status"], mentions[0]["reason"]
        if not words:
            assert status == "included" or "empty" in what or "ends" in what, (what, status, reason)
        assert status == "included" or reason, what
    assert_healthy(client)


def test_similar_file_names_are_distinct(hostile_workspace: HostileWorkspace, tries: Tries) -> None:
    tries("files", len(SIMILAR_NAMES))
    for number, name in enumerate(SIMILAR_NAMES):
        prompt = hostile_workspace.client.build(f"@twins/{name}", sections={"retrieval": False})["prompt"]
        assert f"twin_{number} = 1" in prompt and prompt.count(" = 1") == 1, name


def test_deep_folders_with_link_cycles(hostile_workspace: HostileWorkspace) -> None:
    assert hostile_workspace.client.build("@#last_of_all")["mentions"][0]["status"] == "included"


def unprivileged_prefix() -> list[str]:
    """Return a command prefix that drops the permission overrides of root."""
    if os.geteuid():
        return []
    prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    try:
        result = subprocess.run([*prefix, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("setpriv is not installed, and root can read every file")
    if result.returncode:
        pytest.skip(f"cannot drop the capabilities of root: {result.stderr.strip()}")
    return prefix


def test_unreadable_files_and_folders(shop: Path, tmp_path: Path) -> None:
    for name in ("closed/inside.py", "listed/inside.py", "closed.py", "deep/a/b/c.py"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("hidden_word = 1\n")
    command = [*unprivileged_prefix(), sys.executable, "-m", "promptls", "serve"]
    modes = {shop / "closed": 0, shop / "listed": stat.S_IRUSR, shop / "closed.py": 0, shop / "deep/a": stat.S_IXUSR}
    for path, mode in modes.items():
        path.chmod(mode)
    with Client(tmp_path / "cache", command=command) as client:
        client.initialize(shop)
        assert_healthy(client)
        assert "denied" in exclusion_reason(client, shop / "closed.py")
        assert "denied" in exclusion_reason(client, shop / "closed/inside.py")
        built = client.build("@closed.py @closed/ @listed/inside.py", budget={"tokens": 9000})
        assert "hidden_word" not in built["prompt"]
        assert all(m["reason"] for m in built["mentions"])
        (shop / "closed.py").chmod(0o644)
        client.files_changed(shop / "closed.py")
        client.wait_indexed()
        assert "hidden_word" in client.build("@closed.py")["prompt"]
        for path in modes:
            path.chmod(0o755)


# ---------------------------------------------------------------- deeply nested syntax

DEEP = 100_000
NESTED_SOURCES: dict[str, str] = {
    "round.py": "x = " + "(" * DEEP + ")" * DEEP,
    "square.json": "[" * DEEP + "]" * DEEP,
    "blocks.js": "function f() " + "{" * DEEP + "}" * DEEP,
    "arrows.ts": "x = " + "() => " * DEEP + "1",
    "not.py": "x = " + "not " * DEEP + "1",
    "ternary.js": "x = " + "a?" * DEEP + "b" + ":c" * DEEP,
    "elements.html": "<div>" * DEEP + "</div>" * DEEP,
    "quotes.md": "> " * DEEP + "x",
    "lists.md": "".join("  " * min(n, 200) + "- x\n" for n in range(20_000)),
    "words.sh": "$(" * DEEP + ")" * DEEP,
    "strings.py": "f'{" * 20_000,
    "indents.py": "".join(" " * min(n, 300) + "if x:\n" for n in range(3000)),
    "indents.yaml": "".join(" " * n + "a:\n" for n in range(900)),
    "types.rs": "type T = " + "Option<" * DEEP + "u8" + ">" * DEEP + ";",
    "modules.go": "package x\nvar y = " + "func() { " * DEEP,
    "select.sql": "SELECT " + "(SELECT " * DEEP + "1",
    "text.tf": "a {\n" * DEEP,
    "dots.py": "x = a" + ".a" * DEEP,
    "heredoc.rb": "<<A\n" * 5000,
    "php.php": "<?php " * DEEP + "(" * DEEP,
}
OPENED_FILES = ("round.py", "blocks.js", "quotes.md", "strings.py")


def test_deeply_nested_syntax(visit: Visit, shop: Path, tries: Tries) -> None:
    """Such files can crash a parser process; the server reports them and continues."""
    tries("files", len(NESTED_SOURCES))
    for name, text in NESTED_SOURCES.items():
        (shop / "deep" / name).parent.mkdir(exist_ok=True)
        (shop / "deep" / name).write_text(text + "\n")
    client = visit(shop)
    status = assert_healthy(client)
    assert status["roots"][0]["pending"] == 0
    for name in NESTED_SOURCES:
        reason = exclusion_reason(client, shop / "deep" / name)
        mention = client.build(f"@deep/{name}", budget={"tokens": 3000})["mentions"][0]
        assert mention["status"] in ("included", "partial", "omitted"), (name, mention)
        assert mention["status"] == "included" or mention["reason"] or reason, name
    for name in OPENED_FILES:  # also as open documents
        client.open(shop / "deep" / name, NESTED_SOURCES[name] + "\n")
        client.change(shop / "deep" / name, 2, {"text": NESTED_SOURCES[name] + "\ndef seen():\n    return 1\n"})
    assert_healthy(client)
    assert client.build('@*.py @deep/*.js @pattern:"f($A)" @callers:apply_discount')["prompt"]


# ---------------------------------------------------------------- ignore files and git configuration


def test_gitignore_that_matches_everything(visit: Visit, shop: Path) -> None:
    (shop / ".gitignore").write_text("*\n")
    git(shop, "rm", "-rq", "--cached", ".")
    client = visit(shop)
    status = client.wait_indexed(INDEX_TIMEOUT_S)
    assert status["state"] == "ready" and status["roots"][0]["files"] == 0
    answer = client.request("promptls/explainIgnore", {"uri": (shop / "shop/cart.py").as_uri()})
    assert (answer["indexed"], answer["rule"], answer["line"]) == (False, "*", 1)
    built = client.build("how is a discount applied? @shop/cart.py @#apply_discount @workspace")
    assert built["mentions"][0]["status"] == "refused"
    assert "class Cart" not in built["prompt"]
    (shop / ".promptlsignore").write_text("!shop/\n!shop/**\n")
    client.files_changed(shop / ".promptlsignore")
    client.request("promptls/reindex", {})
    assert_healthy(client)


CORE_KEYS = ["fsmonitor", "sshCommand", "pager", "editor", "askPass", "gitProxy", "alternateRefsCommand"]
GIT_COMMANDS = ["diff", "show", "log", "ls-files", "rev-parse", "check-ignore", "cat-file", "config", "symbolic-ref", "blame", "status",
            "shortlog", "rev-list", "for-each-ref", "diff-index", "diff-tree", "name-rev", "merge-base"]  # fmt: skip
HOOKS = ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc",
         "post-rewrite", "query-watchman", "sendemail-validate", "post-merge", "pre-push"]  # fmt: skip


def add_malicious_git_config(root: Path, canary: Path) -> None:
    """Configure commands in every place from which git might execute them."""
    script = root / ".git" / "evil"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {canary}\ncat 2>/dev/null\nexit 0\n')
    script.chmod(0o755)

    def put(key: str, value: str = str(script)) -> None:
        git(root, "config", "--add", key, value)

    for key in CORE_KEYS:
        put(f"core.{key}")
    for kind in ("evil", "python"):
        put(f"diff.{kind}.command")
        put(f"diff.{kind}.textconv")
        put(f"filter.{kind}.clean")
        put(f"filter.{kind}.smudge")
        put(f"filter.{kind}.process")
        put(f"filter.{kind}.required", "true")
        put(f"merge.{kind}.driver")
        put(f"diff.{kind}.xfuncname", "^.*$")
    for key in ("diff.external", "gpg.program", "gpg.ssh.program", "gpg.x509.program", "credential.helper", "interactive.diffFilter",
                "uploadpack.packObjectsHook", "sequence.editor", "trailer.x.command", "trailer.x.cmd", "gpg.ssh.defaultKeyCommand",
                "diff.tool", "difftool.x.cmd", "web.browser", "man.x.cmd", "sendemail.x"):  # fmt: skip
        put(key)
    for name in GIT_COMMANDS:
        put(f"alias.{name}", f"!{script}")
        put(f"pager.{name}")
    put("log.showSignature", "true")
    put("status.submoduleSummary", "true")
    put("diff.submodule", "log")
    put("diff.ignoreSubmodules", "none")
    put("core.untrackedCache", "true")
    put("core.preloadIndex", "true")
    put("remote.origin.url", f"ext::{script} %S")
    put("remote.origin.uploadpack")
    put("remote.origin.promisor", "true")
    put("protocol.ext.allow", "always")
    put("protocol.allow", "always")
    put("extensions.worktreeConfig", "true")
    put("extensions.partialClone", "origin")
    included = root / ".git" / "more"
    included.write_text(f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n[diff]\n\texternal = {script}\n")
    put("include.path", str(included))
    put(f"includeIf.gitdir:{root}/.path", str(included))
    put("includeIf.onbranch:**.path", str(included))
    (root / ".git" / "config.worktree").write_text(included.read_text())
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for folder in (hooks, root / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(script.read_text())
            (folder / name).chmod(0o755)
    put("core.hooksPath", str(root / "hooks"))
    (root / ".gitattributes").write_text(
        "* diff=evil filter=evil merge=evil\n*.py diff=python filter=python ident\n*.txt export-subst\n"
    )
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")


def test_repository_cannot_execute_commands(visit: Visit, shop: Path, tmp_path: Path, tries: Tries) -> None:
    git(shop, "branch", "-M", "main")
    inner = shop / "vendor" / "inner"  # used as a submodule and as a nested repository
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    (inner / "inner.py").write_text("def inner():\n    return 1\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    (shop / "bare").mkdir()
    git(shop / "bare", "init", "-q", "--bare")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "module")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "second")
    signed = git(shop, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    name = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=shop,
        input=signed,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    git(shop, "update-ref", "refs/heads/main", name)
    git(shop, "checkout", "-qb", "feature")
    (shop / "shop/new.py").write_text("def fresh():\n    return 1\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "third")
    git(shop / "module", "commit", "-q", "--allow-empty", "-m", "the submodule at another commit")
    canary = tmp_path / "canary"
    for repository in (shop, inner, shop / "module"):
        if (repository / ".git").is_dir():
            add_malicious_git_config(repository, canary)
    tries("traps", git(shop, "config", "--list").count(str(shop / ".git" / "evil")) + len(HOOKS))
    modules = shop / ".git" / "modules" / "module"
    for key in ("core.fsmonitor", "filter.evil.clean", "diff.external", "alias.status", "status.showUntrackedFiles"):
        subprocess.run(
            ["git", f"--git-dir={modules}", "config", key, str(shop / ".git" / "evil")], cwd=shop, check=True
        )
    (modules / "info").mkdir(exist_ok=True)
    (modules / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    for key in ("core.fsmonitor", "core.hooksPath", "diff.external"):
        git(shop / "bare", "config", key, str(shop / ".git" / "evil"))
    for file in (*shop.glob("shop/*.py"), shop / "module" / "inner.py"):
        file.write_text(file.read_text() + "# touched\n")  # so that git has to read the files and apply clean filters
        os.utime(file, (1, 1))
    (shop / "shop/new.py").write_text("def fresh():\n    return 2\n")
    client = visit(shop)
    assert_healthy(client)
    mentions = "@diff @staged @diff:unstaged @diff:unsaved @branch @branch:main @commit:HEAD @commit:main..HEAD @commit:main @diff:main @recent @diff:main..HEAD".split()
    for mention in mentions:
        built = client.build(
            f"who has changed this? {mention}", sections={"team": True, "architecture": True}, budget={"tokens": 20_000}
        )
        assert built["mentions"][0]["status"] in ("included", "partial", "unresolved"), mention
    assert "return 2" in client.build("@diff")["prompt"] and "touched" in client.build("@diff")["prompt"]
    assert "+Subproject commit" in client.build("@diff")["prompt"]
    for path in (
        "shop/cart.py",
        "module/inner.py",
        "vendor/inner/inner.py",
        "bare/HEAD",
        "nothing.py",
        ".git/config",
        "hooks/pre-commit",
    ):
        client.request("promptls/explainIgnore", {"uri": (shop / path).as_uri()})
    client.open(shop / "module" / "inner.py", "def inner():\n    return 2\n")
    client.open(shop / "vendor" / "inner" / "inner.py", "def inner():\n    return 2\n")
    client.build("@diff @module/inner.py @inner.py @vendor/")
    client.request("promptls/reindex", {"full": True})
    assert_healthy(client)
    executed = canary.read_text() if canary.exists() else ""
    assert executed == ""


def test_malicious_git_config_is_effective(shop: Path, tmp_path: Path) -> None:
    """Control for the test above: git itself executes the configured commands."""
    canary = tmp_path / "canary"
    add_malicious_git_config(shop, canary)
    cart = shop / "shop/cart.py"
    cart.write_text(cart.read_text() + "\n")
    subprocess.run(["git", "--no-pager", "status"], cwd=shop, capture_output=True)
    subprocess.run(["git", "--no-pager", "diff", "--no-ext-diff", "--stat"], cwd=shop, capture_output=True)
    assert canary.read_text()


# ---------------------------------------------------------------- changing files


def test_files_change_and_disappear_while_being_read(visit: Visit, shop: Path, effort: float, tries: Tries) -> None:
    names = [f"moving/m_{number}.py" for number in range(30)]
    (shop / "moving").mkdir()
    (shop / "aside").mkdir()
    stopped = threading.Event()
    errors: list[BaseException] = []

    def unlink(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def disturb() -> None:
        rng = random.Random(8)
        try:
            while not stopped.is_set():
                path = shop / rng.choice(names)
                action = rng.randrange(8)
                if action < 3:
                    if path.is_dir() or path.is_symlink() or path.is_fifo():
                        unlink(path)
                    path.write_text("def moving():\n    return 1\n" * rng.randrange(400))
                    continue
                if action == 3 and path.is_file() and not path.is_symlink():
                    os.truncate(path, rng.randrange(20))
                    continue
                unlink(path)
                if action == 4:
                    os.mkfifo(path)
                elif action == 5:
                    path.mkdir()
                elif action == 6:
                    path.symlink_to(rng.choice(["/dev/zero", path.name, "/etc/passwd", "..", "../shop/cart.py"]))
                elif action == 7:
                    (shop / "moving").rename(shop / "aside" / "moving")
                    (shop / "aside" / "moving").rename(shop / "moving")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=disturb, daemon=True)
    thread.start()
    client = visit(shop)
    prompts = 0
    deadline = time.monotonic() + 2 * effort
    try:
        while time.monotonic() < deadline or prompts < 4:
            prompts += 1
            tries("prompts")
            built = client.build(
                " ".join(f"@{name}" for name in names[:6]) + " @moving/ @diff @#moving", budget={"tokens": 5000}
            )
            assert "root:x:0:0" not in built["prompt"]
            client.search("moving", 50)
            client.files_changed(*(shop / name for name in names[::3]))
    finally:
        stopped.set()
        thread.join(30)
    assert not errors
    for number, name in enumerate(names):
        unlink(shop / name)
        (shop / name).write_text(f"def stable_{number}():\n    return {number}\n")
    client.files_changed(*(shop / name for name in names))
    assert_healthy(client)
    for number in range(len(names)):
        assert client.build(f"@#stable_{number}")["mentions"][0]["status"] == "included"


def test_very_many_files_in_one_folder(visit: Visit, shop: Path, effort: float, tries: Tries) -> None:
    count = max(1000, int(1000 * effort**2))  # 100,000 at ten times the effort
    tries("files", count)
    (shop / "many").mkdir()
    for number in range(count):
        (shop / "many" / f"file_{number}.txt").write_text(f"text {number}\n")
    client = visit(shop)
    status = client.wait_indexed(INDEX_TIMEOUT_S * max(1, effort))
    assert status["roots"][0]["files"] >= count
    assert_healthy(client)
    assert client.build(f"@file_{count - 1}.txt")["mentions"][0]["status"] == "included"
    offered = client.request("promptls/completeMention", {"text": "@many/file_", "offset": 11})
    assert offered["items"] and len(offered["items"]) <= 50
    assert client.build("@many/ @tree @map @glob:many/*.txt", budget={"tokens": 4000})["tokens"]["used"] <= 4000
