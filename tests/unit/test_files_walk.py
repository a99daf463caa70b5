"""File walk: listed files, and the reasons for ignored ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from promptls.index.files.git_ignore import git_head
from promptls.index.files.read import FileLimits
from promptls.index.files.walk import MAX_EMPTY_LEVELS, WalkNotes, explain_path, ignored_paths, record_stats, walk_files
from promptls.model import Cancelled, CancelToken
from trees import alone, git, plant

pytestmark = pytest.mark.process

LIMITS = FileLimits(ignore_files=(".cursorignore", ".aiexclude"))
posix = pytest.mark.skipif(os.name != "posix", reason="names and files that only POSIX has")


@pytest.fixture(autouse=True)
def _no_user_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(tmp_path / "home", monkeypatch)


def listed(root: str, under: str = "") -> list[str]:
    return sorted(found.name for found in walk_files(root, LIMITS, folder=under))


def repo(root: Path, tree: str, track: str = "") -> str:
    plant(root, tree)
    git(root, "init", "-q")
    if track:
        git(root, "add", "-f", "--", *track.split())
    return root.as_posix()


BOTH = {
    "hidden files, not git's own": ("a.py\n.github/w.yml\n.git2/x\nsub/.hid", ".git2/x .github/w.yml a.py sub/.hid"),
    "nested, anchored, negated": (
        """
        .gitignore = *.log | /build/ | !keep.log
        a.log\nkeep.log\nbuild/x\nsub/build/x
        sub/.gitignore = !a.log | /keep.log
        sub/a.log\nsub/keep.log
        """,
        ".gitignore keep.log sub/.gitignore sub/a.log sub/build/x",
    ),
    "nothing again below an ignored folder": (
        ".gitignore = out/ | !out/keep\nout/keep\nout/.gitignore = !*",
        ".gitignore",
    ),
    "everything": (".gitignore = *\na\nb/c", ""),
    "ours without git's": (
        ".promptlsignore = docs/ | *.snap\ndocs/a.md\na.snap\na.py\nb/.promptlsignore = /c\nb/c\nb/d",
        ".promptlsignore a.py b/.promptlsignore b/d",
    ),
    "ours lists what git's ignores": (
        """
        .gitignore = *.gen.py | out/ | dist/
        .promptlsignore = !api.gen.py | !out/
        api.gen.py\nother.gen.py\nout/a.py\nout/b.gen.py\nout/deep/c\ndist/d
        """,
        ".gitignore .promptlsignore api.gen.py out/a.py out/deep/c",
    ),
    "ours: a file is not listed again below a folder that is left out": (
        ".gitignore = out/\n.promptlsignore = !out/a.py\nout/a.py",
        ".gitignore .promptlsignore",
    ),
    "other tools' files exclude only": (
        """
        .gitignore = *.log
        .cursorignore = secret/ | *.csv | !open.csv | !a.log
        .aiexclude = /b.py
        secret/x.py\na.csv\nopen.csv\na.log\nb.py\nsub/b.py
        sub/.cursorignore = !a.csv | c.py
        sub/a.csv\nsub/c.py
        """,
        ".aiexclude .cursorignore .gitignore open.csv sub/.cursorignore sub/a.csv sub/b.py",
    ),
    "ours lists what other tools' files exclude": (
        ".cursorignore = *.csv\n.promptlsignore = !a.csv\na.csv\nb.csv",
        ".cursorignore .promptlsignore a.csv",
    ),
    "folders of version control": (
        "a.py\n.jj/repo/x\n.hg/store/a.py\nsub/.svn/b.py\n_darcs/p\nCVS/Root\nCVS/Base/a.py\nother/CVS/cv.md",
        "a.py other/CVS/cv.md",
    ),
    "copies of notebooks": (
        "a.ipynb\n.ipynb_checkpoints/a-checkpoint.ipynb\nsub/.ipynb_checkpoints/x.py\nsub/b.ipynb",
        "a.ipynb sub/b.ipynb",
    ),
    "secrets are listed, to be named": (".env\nid_rsa\na", ".env a id_rsa"),
}


@pytest.mark.parametrize("kind", ["git", "plain"])
@pytest.mark.parametrize("case", BOTH)
def test_rules_apply_with_and_without_git(tmp_path: Path, kind: str, case: str) -> None:
    tree, expected = BOTH[case]
    root = (repo if kind == "git" else plant)(tmp_path / "r", tree)
    assert listed(root) == expected.split()
    names = [p.relative_to(root).as_posix() for p in Path(root).rglob("*") if p.is_file() and ".git" not in p.parts]
    left_out = ignored_paths(root, [f"{root}/{name}" for name in names], LIMITS)
    assert {f"{root}/{name}" for name in names} - left_out == {f"{root}/{name}" for name in expected.split()}


def test_promptlsignore_applies_to_tracked_files(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", ".gitignore = out/ | *.o\nout/a.c\nout/b.c\nx.o\ny.o", "out/a.c x.o")
    assert listed(root) == [".gitignore", "out/a.c", "x.o"]
    assert ignored_paths(root, [f"{root}/{n}" for n in ("out", "out/a.c", "out/b.c", "x.o", "y.o")]) == {
        f"{root}/out/b.c",
        f"{root}/y.o",
    }
    plant(tmp_path / "r", ".promptlsignore = *.c")
    assert listed(root) == [".gitignore", ".promptlsignore", "x.o"]
    plant(tmp_path / "r", ".promptlsignore = *.c | !y.o")
    assert listed(root) == [".gitignore", ".promptlsignore", "x.o", "y.o"]


def test_deleted_and_conflicting_files_in_a_work_tree(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", "a = 1\nb = 1", "a b")
    git(root, "commit", "-qm", "1")
    git(root, "checkout", "-qb", "side")
    plant(tmp_path / "r", "a = 2")
    git(root, "commit", "-qam", "2")
    git(root, "checkout", "-q", "main")
    plant(tmp_path / "r", "a = 3")
    git(root, "commit", "-qam", "3")
    git(root, "merge", "-q", "side", fine=(1,))
    Path(root, "b").unlink()
    assert listed(root) == ["a"]


def test_rules_from_outside_the_work_tree(tmp_path: Path) -> None:
    plant(tmp_path / "home", ".config/git/ignore = *.everywhere")
    root = repo(tmp_path / "r", "a.everywhere\na.here\na.configured\nsub/a.here\nsub/a.py\n.gitignore = sub/b")
    plant(tmp_path / "r", ".git/info/exclude = *.here\nsub/b")
    assert listed(root) == [".gitignore", "a.configured", "sub/a.py"]
    assert listed(root + "/sub") == ["a.py"]
    plant(tmp_path / "r", ".promptlsignore = !nothing")  # promptls now evaluates the same files itself
    assert listed(root) == [".gitignore", ".promptlsignore", "a.configured", "sub/a.py"]
    git(root, "config", "core.excludesFile", str(plant(tmp_path / "u", "mine = *.configured")) + "/mine")
    assert listed(root) == [".gitignore", ".promptlsignore", "a.everywhere", "sub/a.py"]
    Path(root, ".promptlsignore").unlink()
    assert listed(root) == [".gitignore", "a.everywhere", "sub/a.py"]


def test_ignored_folder_opened_as_root_uses_its_own_rules(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", ".gitignore = *\nsub/.gitignore = *.o\nsub/a.py\nsub/a.o\nsub/node_modules/x")
    assert listed(root + "/sub") == [".gitignore", "a.py"]
    assert explain_path(root + "/sub", root + "/sub/a.py", LIMITS).indexed


def test_nested_repositories(tmp_path: Path) -> None:
    outer = repo(tmp_path / "r", ".gitignore = *.o | skip/\na.py\na.o\n.promptlsignore = *.snap")
    for name in ("lib", "skip/lib", "deep/er/lib"):
        repo(tmp_path / "r" / name, "b.py\nb.o\nb.tmp\nb.snap\n.gitignore = *.tmp\n.git.keep = *")
    inner = [
        ".git.keep",
        ".gitignore",
        "b.o",
        "b.py",
    ]  # rules of git end at a nested repository, those of .promptlsignore do not
    expected = [f"{way}/{name}" for way in ("deep/er/lib", "lib") for name in inner]
    assert listed(outer) == sorted([".gitignore", ".promptlsignore", "a.py", *expected])
    assert listed(outer, "lib") == [f"lib/{name}" for name in inner]
    assert listed(outer, "skip/lib") == []
    paths = [f"{outer}/{name}" for name in ("lib", "lib/b.o", "lib/b.tmp", "lib/b.snap", "skip/lib/b.py", "gone/x.o")]
    assert ignored_paths(outer, paths) == set(paths) - {f"{outer}/lib", f"{outer}/lib/b.o"}
    plant(tmp_path / "r", ".promptlsignore = *.snap | !skip/")
    assert listed(outer, "skip/lib") == [f"skip/lib/{name}" for name in inner]


def test_submodules_and_worktrees(tmp_path: Path) -> None:
    library = repo(tmp_path / "library", "lib.c\nlib.o = x\n.gitignore = *.o", "lib.c .gitignore")
    git(library, "commit", "-qm", "1")
    root = repo(tmp_path / "r", "a.c\n.gitignore = *.c | /vendored", "a.c .gitignore")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "-f", library, "vendored")
    git(root, "commit", "-qm", "1")
    plant(tmp_path / "r", "vendored/new.c\nvendored/new.o")
    both = [".gitignore", ".gitmodules", "a.c", "vendored/.gitignore", "vendored/lib.c", "vendored/new.c"]
    assert listed(root) == both
    paths = [f"{root}/vendored{name}" for name in ("", "/lib.c", "/new.o")]
    assert ignored_paths(root, paths) == {f"{root}/vendored/new.o"}
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    plant(tmp_path / "r", ".git/info/exclude = *.tmp")
    plant(tmp_path / "tree", "b.tmp\nb.h\nvendored/stray.h")  # the submodule is not checked out there
    assert listed((tmp_path / "tree").as_posix()) == [".gitignore", ".gitmodules", "a.c", "b.h"]


def test_linked_work_tree_inside_the_checkout_is_no_copy(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", "a.c\nclone/b.c", "a.c")
    git(root, "commit", "-qm", "1")
    for name in (".claude/worktrees/agent", "next"):
        git(root, "worktree", "add", "-q", str(tmp_path / "r" / name), "-b", name.rpartition("/")[2])
    git(f"{root}/clone", "init", "-q")
    assert listed(root) == ["a.c", "clone/b.c"]
    assert ignored_paths(root, [f"{root}/next/a.c", f"{root}/clone/b.c"]) == {f"{root}/next/a.c"}
    assert listed(f"{root}/next") == ["a.c"]  # as a root of its own


BUILT_IN = """
    a.py\nnode_modules/x/i.js\n.venv/lib/a.py\nvenv/a.py\nsub/__pycache__/a.pyc\n.hg/x\n.svn/x\n.tox/x\n.mypy_cache/x
    x.egg-info/PKG\nx.dist-info/RECORD\nother/target/x\nbare/HEAD\nbare/objects/x\nbare/refs/x
"""


def test_built_in_rules_outside_git(tmp_path: Path) -> None:
    root = plant(tmp_path / "r", BUILT_IN)
    assert listed(root) == ["a.py", "other/target/x"]
    decision = explain_path(root, root + "/node_modules/x/i.js", LIMITS)
    assert (decision.rule, decision.file, decision.indexed) == ("node_modules/", "built-in", False)
    plant(tmp_path / "r", ".gitignore = !venv/")
    assert listed(root) == [
        ".gitignore",
        "a.py",
        "other/target/x",
        "venv/a.py",
    ]


def test_other_tools_files_of_a_nested_repository(tmp_path: Path) -> None:
    plant(
        tmp_path / "r",
        "a.py\nsub/inner/.cursorignore = /x/\nsub/inner/x/a.py\nsub/inner/y/.aiexclude = b.py\nsub/inner/y/b.py",
    )
    expected = ["a.py", "sub/inner/.cursorignore", "sub/inner/y/.aiexclude"]
    assert listed((tmp_path / "r").as_posix()) == expected
    git(tmp_path / "r/sub/inner", "init", "-q")
    assert listed((tmp_path / "r").as_posix()) == expected
    git(tmp_path / "r", "init", "-q")
    assert listed((tmp_path / "r").as_posix()) == expected


def test_hgignore_applies_in_mercurial_repositories(tmp_path: Path) -> None:
    rules = r"^tmp[0-9]+/ | \.pyc$ | glob:*.log | syntax: glob | build/** | {a,b}?.txt | rootglob:top.py | re:(?<=x)y"
    names = "tmp12/a.py tmpx/a.py a.pyc x.log build/deep/c.py a1.txt sub/b2.txt c1.txt top.py sub/top.py".split()
    root = plant(tmp_path / "r", "\n".join([f".hgignore = {rules}", *names]))
    assert listed(root) == sorted([".hgignore", *names])
    (tmp_path / "r/.hg").mkdir()
    assert listed(root) == [".hgignore", "c1.txt", "sub/top.py", "tmpx/a.py"]


BROKEN = ".gitignore = *.o | /sub/out\na.o\na.py\nsub/out/x\nsub/b.py\nsub/venv/x"


@pytest.mark.parametrize("how", ["no git", "bad config", "bad index", "not ours"])
def test_rules_of_repositories_that_git_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    root = repo(tmp_path / "r", BROKEN, "a.py")
    plant(tmp_path / "r", ".git/info/exclude = *.py")
    if how == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    elif how == "bad config":
        plant(tmp_path / "r", ".git/config = [core")
    elif how == "bad index":
        plant(tmp_path / "r", ".git/index = nonsense")
    elif hasattr(os, "geteuid") and os.geteuid() == 0:
        for place in (tmp_path / "r", tmp_path / "r/.git"):
            os.chown(place, 12345, 12345)
        assert git(root, "status", fine=(128,)) == b""
    else:
        pytest.skip("needs another user's repository")
    assert listed(root) == ([".gitignore", "sub/venv/x"] if how == "bad index" else [".gitignore"])
    assert ignored_paths(root, [f"{root}/a.o", f"{root}/sub/out/x", f"{root}/.gitignore"]) == {
        f"{root}/a.o",
        f"{root}/sub/out/x",
    }
    assert not {"out/x", "b.py"} & set(listed(root + "/sub"))


@posix
def test_links_pipes_and_loops_are_not_listed(tmp_path: Path) -> None:
    plant(tmp_path, "outside/secret.py")
    tree = "src/a.py\nloop -> .\nsrc/up -> ..\nfile -> src/a.py\nfolder -> src\nout -> ../outside\nback -> back\ngone -> nowhere"
    for kind in ("git", "plain"):
        root = (repo if kind == "git" else plant)(tmp_path / kind, tree)
        if kind == "git":
            git(root, "add", "--", "file", "folder", "out")
        os.mkfifo(root + "/pipe")
        with socket.socket(socket.AF_UNIX) as server:
            here = Path.cwd()
            os.chdir(root)  # a socket's path must be short
            server.bind("socket")
            os.chdir(here)
        assert listed(root) == ["src/a.py"]
        names = ("file", "folder/a.py", "loop/src/a.py", "out/secret.py", "pipe", "socket", "back", "src/up/src/a.py")
        paths = {f"{root}/{name}" for name in names}
        assert ignored_paths(root, [*paths, f"{root}/src/a.py"]) == paths
        assert "link" in explain_path(root, f"{root}/folder/a.py", LIMITS).reason
        assert "pipe" in explain_path(root, f"{root}/pipe", LIMITS).reason


@posix
@pytest.mark.parametrize("with_git", [True, False])
def test_links_to_folders_outside_are_reported(tmp_path: Path, with_git: bool) -> None:
    root = tmp_path / "root"
    plant(tmp_path / "outside", "deep/a.py = x")
    plant(root, f"in/b.py = y\next -> {tmp_path}/outside\nsame -> in\nfile -> in/b.py\ngone -> z")
    if with_git:
        git(root, "init", "-q")
        git(root, "add", "-A")
    notes = WalkNotes()
    assert [f.name for f in walk_files(root.as_posix(), LIMITS, notes=notes)] == ["in/b.py"]
    assert notes.linked_folders == ["ext"]


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems accept only Unicode names")
@pytest.mark.parametrize("with_git", [True, False])
def test_names_that_are_not_utf8_are_counted(tmp_path: Path, with_git: bool) -> None:
    plant(tmp_path, "a.py = x\nsub/b.py = y")
    top = os.fsencode(tmp_path)
    for name in (b"latin-\xe9.py", b"sub/\xe9t\xe9.py", b"caf\xe9/c.py", b"caf\xe9/deep/d.py"):
        file = Path(os.fsdecode(top + b"/" + name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    if with_git:
        git(tmp_path, "init", "-q")
    notes = WalkNotes()
    assert sorted(f.name for f in walk_files(tmp_path.as_posix(), LIMITS, notes=notes)) == ["a.py", "sub/b.py"]
    assert sorted(map(os.fsencode, notes.undecodable_names)) == [b"caf\xe9", b"latin-\xe9.py", b"sub/\xe9t\xe9.py"]


def test_a_tracked_folder_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    plant(tmp_path, "outside/a.py")
    root = repo(tmp_path / "r", "src/a.py\nb.py", "src/a.py b.py")
    Path(root, "src/a.py").unlink()
    Path(root, "src").rmdir()
    plant(tmp_path / "r", "src -> ../outside")
    assert listed(root) == ["b.py"]


@posix
def test_unusual_file_names(tmp_path: Path) -> None:
    names = [
        "new\nline",
        'quo"te',
        "per%41cent",
        "emoji 😀",
        "[brackets]",
        ":colon",
        "-dash",
        " space ",
        "tab\t",
        "back\\slash",
        "*",
    ]
    for kind in ("git", "plain"):
        root = plant(tmp_path / kind, "")
        for name in names:
            Path(root, name).mkdir()
            Path(root, name, name).touch()
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.py")).touch()
        Path(os.fsdecode(os.fsencode(root) + b"/\xfe")).mkdir()
        Path(os.fsdecode(os.fsencode(root) + b"/\xfe/a.py")).touch()
        if kind == "git":
            git(root, "init", "-q")
            git(root, "add", "--", ":(literal)emoji 😀", ":(literal)*", "\udcff.py")
        assert listed(root) == sorted(f"{name}/{name}" for name in names)
        assert "UTF-8" in explain_path(root, root + "/\udcff.py", LIMITS).reason
        odd = [root + "/\udcff.py", root + "/\udcfe/a.py", root + "/\udcfe"]
        assert ignored_paths(root, [f"{root}/{n}/{n}" for n in names] + odd) == set(odd)
        for name in names:
            assert listed(root, name) == [f"{name}/{name}"]
            assert [f.path for f in walk_files(f"{root}/{name}", LIMITS)] == [f"{root}/{name}/{name}"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folders_are_skipped(tmp_path: Path) -> None:
    for kind in ("git", "plain"):
        root = (repo if kind == "git" else plant)(
            tmp_path / kind, "a.py\nclosed/b.py\nrules/.gitignore = *\nrules/c.py"
        )
        Path(root, "closed").chmod(0)
        Path(root, "rules/.gitignore").chmod(0)
        try:
            assert "closed/b.py" not in listed(root)
            assert "a.py" in listed(root)
        finally:
            Path(root, "closed").chmod(0o700)


def test_ignore_file_that_is_not_a_regular_file(tmp_path: Path) -> None:
    for kind in ("git", "plain"):
        root = (repo if kind == "git" else plant)(
            tmp_path / kind, "a.py\nsub/.gitignore/x\nsub/.promptlsignore/y\nsub/b.py"
        )
        assert listed(root) == ["a.py", "sub/.gitignore/x", "sub/.promptlsignore/y", "sub/b.py"]
        if os.name == "posix":
            plant(tmp_path / kind, "rules = *\nlinked/.gitignore -> ../rules\nlinked/c.py")
            assert "linked/c.py" in listed(root)
            os.mkfifo(root + "/sub/.gitignore/.promptlsignore")
            assert "sub/.gitignore/x" in listed(root)


def test_programs_configured_by_a_repository_are_not_run(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", "a.py\n.gitattributes = * filter=trap diff=trap\n.gitignore = *.o\nb.o", "a.py")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/triggered'\ncat\n")
    trap.chmod(0o755)
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.command", "diff.trap.textconv"),
        *("diff.external", "credential.helper", "pager.ls-files", "alias.ls-files", "gpg.program"),
    ):
        git(root, "config", key, str(trap))
    hooks = plant(tmp_path / "hooks", "")
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit", "reference-transaction"):
        Path(hooks, hook).write_bytes(trap.read_bytes())
        Path(hooks, hook).chmod(0o755)
    git(root, "config", "core.hooksPath", hooks)
    index = Path(root, ".git/index").read_bytes()
    assert listed(root) == [".gitattributes", ".gitignore", "a.py"]
    assert ignored_paths(root, [root + "/b.o"]) == {root + "/b.o"}
    assert not explain_path(root, root + "/b.o", LIMITS).indexed
    plant(tmp_path / "r", ".promptlsignore = !b.o")
    assert "b.o" in listed(root)
    assert git_head(root) == "refs/heads/main" or git_head(root) == "refs/heads/master"
    assert not (tmp_path / "triggered").exists()
    assert Path(root, ".git/index").read_bytes() == index


def test_git_program_in_the_workspace_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plant(tmp_path / "r", "a.py")
    name = "git.exe" if os.name == "nt" else "git"
    Path(root, name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/triggered'\n")
    Path(root, name).chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(tmp_path)]))
    assert listed(root) == ["a.py", name]
    assert not (tmp_path / "triggered").exists()


def test_git_environment_variables_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repo(tmp_path / "other", "x", "x")
    root = repo(tmp_path / "r", "a.py", "a.py")
    monkeypatch.setenv("GIT_DIR", other + "/.git")
    monkeypatch.setenv("GIT_WORK_TREE", other)
    monkeypatch.setenv("GIT_INDEX_FILE", other + "/.git/index")
    assert listed(root) == ["a.py"]


def test_walk_can_be_cancelled(tmp_path: Path) -> None:
    token = CancelToken()
    for kind in ("git", "plain"):
        root = (repo if kind == "git" else plant)(
            tmp_path / kind, "\n".join(f"d{i}/f{j}" for i in range(30) for j in range(20))
        )
        token = CancelToken()
        assert len(list(walk_files(root, LIMITS, token))) == 600
        walk = walk_files(root, LIMITS, token)
        next(walk)
        token.cancel()
        with pytest.raises(Cancelled):
            list(walk)


def test_deep_folder_trees(tmp_path: Path) -> None:
    depth = 300 if sys.platform == "linux" else 50
    root = plant(tmp_path / "r", "/".join(["d"] * depth) + "/f")
    assert listed(root) == ["/".join(["d"] * depth) + "/f"]
    assert ignored_paths(root, [root + "/d" * 1500 + "/x"]) == set()


EXPLAINED = {
    ".gitignore": (True, "", "", 0),
    "a.o": (False, 'the rule "*.o" ignores it ({root}/.gitignore, line 2)', "*.o", 2),
    "keep.o": (True, 'the rule "!keep.o" lists it ({root}/.gitignore, line 3)', "!keep.o", 3),
    "out/deep/x": (False, 'the rule "/out/" ignores it ({root}/.gitignore, line 4)', "/out/", 4),
    "docs/x.md": (False, 'the rule "docs" ignores it ({root}/.promptlsignore, line 1)', "docs", 1),
    "again.o": (True, 'the rule "!again.o" lists it ({root}/.promptlsignore, line 2)', "!again.o", 2),
    ".git/config": (False, "it belongs to git itself", "", 0),
    "../x": (False, "it is outside the workspace folder", "", 0),
    "sub/../../x": (False, "it is outside the workspace folder", "", 0),
    "sub/../a.o": (False, 'the rule "*.o" ignores it ({root}/.gitignore, line 2)', "*.o", 2),
    "gone.py": (False, "the file does not exist", "", 0),
    "gone.o": (False, 'the rule "*.o" ignores it ({root}/.gitignore, line 2)', "*.o", 2),
    "sub": (False, "it is a folder", "", 0),
    "": (False, "it is a folder", "", 0),
    ".env": (False, "a file called .env usually holds secrets (environment file)", "", 0),
    "yarn.lock": (False, "it is generated: a lock file of a package manager", "", 0),
}


@pytest.mark.parametrize("kind", ["git", "plain"])
def test_explanations_name_the_rule(tmp_path: Path, kind: str) -> None:
    tree = """
        .gitignore = # objects | *.o | !keep.o | /out/
        .promptlsignore = docs | !again.o
        a.o\nkeep.o\nagain.o\nout/deep/x\ndocs/x.md\n.env\nyarn.lock\nsub/a.py
    """
    root = (repo if kind == "git" else plant)(tmp_path / "r", tree)
    for name, (indexed, reason, rule, line) in EXPLAINED.items():
        decision = explain_path(root, f"{root}/{name}" if name else root, LIMITS)
        assert (decision.indexed, decision.reason, decision.rule, decision.line) == (
            indexed,
            reason.format(root=root),
            rule,
            line,
        )
        assert (decision.file != "") == (rule != "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_pseudo_file_systems_are_skipped() -> None:
    assert not list(walk_files("/", LIMITS, folder="proc"))
    decision = explain_path("/", "/proc/version", LIMITS)
    assert (decision.indexed, decision.reason) == (False, "it is in a pseudo file system of the kernel")
    within = [found.name for found in walk_files("/proc/sys/kernel", LIMITS)]  # opened explicitly
    assert "ostype" in within


def test_hostile_rules_are_matched_without_backtracking(tmp_path: Path) -> None:
    rules = ["*a" * 20 + "b", "/**/" + "a/**/" * 40 + "b", "[a]*" * 30 + "b", "/**/*a*a*a*a*a*a/**/*a*a*a*a*a/**/c"]
    names = ["a" * 200, "a/" * 40 + "a"]
    root = plant(
        tmp_path / "r", "\n".join([f".gitignore = {' | '.join(rules)}", *(f"x{i}/{n}" for i, n in enumerate(names))])
    )
    assert len(listed(root)) == 1 + len(names)


@pytest.fixture
def count_git_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that returns the number of git processes since the start of the test."""
    log = tmp_path / "log"
    real = subprocess.run(["git", "--exec-path"], capture_output=True, check=True, text=True).stdout.strip()
    if os.name != "posix" or not Path(real, "git").exists():
        pytest.skip("needs a shell to count with")
    counter = Path(plant(tmp_path / "bin", ""), "git")
    counter.write_text(f"#!/bin/sh\necho x >> '{log}'\nexec '{real}/git' \"$@\"\n")
    counter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{counter.parent}{os.pathsep}{os.environ['PATH']}")
    return lambda: len(log.read_text().split())


def test_many_paths_start_few_processes(tmp_path: Path, count_git_calls: Callable[[], int]) -> None:
    root = repo(tmp_path / "r", ".gitignore = *.o")
    before = count_git_calls()
    paths = [f"{root}/d{i % 50}/f{i}.{'o' if i % 2 else 'c'}" for i in range(5000)]
    assert ignored_paths(root, paths) == {path for path in paths if path.endswith(".o")}
    assert count_git_calls() - before <= 3


def test_nested_empty_folders_start_few_processes(tmp_path: Path, count_git_calls: Callable[[], int]) -> None:
    root = repo(tmp_path / "r", "a.py\n" + "e/" * 200)
    files = list(walk_files(root, LIMITS))
    walked = count_git_calls()
    record_stats(root, files, LIMITS, time.time_ns())
    assert count_git_calls() - walked <= 3 * MAX_EMPTY_LEVELS


@posix
def test_walk_fails_without_file_descriptors(tmp_path: Path) -> None:
    import resource

    root = tmp_path / "root"
    (root / "b").mkdir(parents=True)
    (root / "a.py").write_text("x = 1\n")
    (root / "b/c.py").write_text("y = 2\n")
    assert listed(str(root)) == ["a.py", "b/c.py"]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 200), before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(OSError, match="Too many open files"):
            listed(str(root))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in taken:
            os.close(fd)
