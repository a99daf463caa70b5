"""Mentions of what has changed: each file is called what it is, in a repository as git and people leave them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from conftest import git
from promptls.mentions.context import Request
from promptls.mentions.resolve import resolve_all
from promptls.model import MentionOutcome, TextView
from workspaces import request_of, snapshot_of

FILES = """
-- a.py --
x = 1
y = 2
-- gone.py --
z = 3
-- run.sh --
echo
-- data.csv --
1;2
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    snapshot_of(FILES, root)
    git(root, "init", "-q", "-b", "main")
    commit(root, "Begin")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "--allow-empty", "-m", message)


def request(root: Path, unsaved: dict[str, str] | None = None) -> Request:
    return request_of(snapshot_of("", root, unsaved=unsaved))


def shown(message: str, asked: Request) -> dict[str, str]:
    """What is shown of each file, by its name and what it is shown of; of differences by their name alone."""
    texts: dict[str, str] = {}
    for outcome in resolve_all(message, asked):
        for item in outcome.targets:
            view = asked.sources.read(item.path)
            assert isinstance(view, TextView)
            texts[re.sub(r"\(diff .*\)$", "(diff)", asked.snapshot.label(item.path))] = view.text
    return texts


def outcome(message: str, asked: Request) -> MentionOutcome:
    (found,) = resolve_all(message, asked)
    return found


# ---------------------------------------------------------------- what a change is


def change_everything(root: Path) -> None:
    (root / "a.py").write_text("x = 1\ny = 3\n")
    (root / "gone.py").unlink()
    (root / "new.py").write_text("n = 1\n")
    (root / "empty.py").write_text("")
    (root / "run.sh").chmod(0o755)
    (root / "data.csv").write_bytes(b"\0\1")
    (root / "big.py").write_text("b = 1\n" * 300_000)


EVERYTHING = {
    "a.py (diff)": "@@ -1,2 +1,2 @@ y\n x = 1\n-y = 2\n+y = 3",
    "gone.py (diff)": "deleted file\n@@ -1,1 +0,0 @@\n-z = 3",
    "new.py (diff)": "new file\n@@ -0,0 +1,1 @@ n\n+n = 1",
    "empty.py (diff)": "new file",
    "run.sh (diff)": "old mode 100644\nnew mode 100755",
    "data.csv (diff)": "Its text is not shown: it is a binary file.",
    "big.py (diff)": "new file\nIts text is not shown: 1.8 MB is over the limit of 1 MB.",
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize("mention", ["@diff", "@diff:unstaged", "@diff:main"])
def test_a_file_of_the_working_tree_is_called_what_it_is(repo: Path, mention: str) -> None:
    change_everything(repo)
    assert shown(mention, request(repo)) == EVERYTHING


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_file_that_is_staged_is_called_what_it_is(repo: Path) -> None:
    change_everything(repo)
    git(repo, "add", "-A")
    assert shown("@staged", request(repo)) == EVERYTHING
    assert shown("@diff", request(repo)) == EVERYTHING
    assert outcome("@diff:unstaged", request(repo)).reason == "Nothing is unstaged in the workspace."


def test_what_is_taken_away_from_a_big_file_or_a_binary_one_is_not_all_of_it(repo: Path) -> None:
    (repo / "big.py").write_text("b = 1\n" * 300_000)
    (repo / "data.csv").write_bytes(b"\0\1")
    commit(repo, "Big")
    (repo / "big.py").write_text("b = 1\n" * 200_000)
    (repo / "data.csv").write_bytes(b"\0\2")
    for mention in ("@diff", "@diff:HEAD"):
        texts = shown(mention, request(repo))
        assert texts["big.py (diff)"] == "Its text is not shown: 1.2 MB is over the limit of 1 MB."
        assert texts["data.csv (diff)"] == "Its text is not shown: it is a binary file."


def test_a_file_in_conflict_says_so(repo: Path) -> None:
    git(repo, "checkout", "-qb", "other")
    (repo / "a.py").write_text("x = 1\ny = 4\n")
    commit(repo, "Four")
    git(repo, "checkout", "-q", "main")
    (repo / "a.py").write_text("x = 1\ny = 5\n")
    commit(repo, "Five")
    with pytest.raises(Exception, match="merge"):
        git(repo, "merge", "-q", "other")
    assert shown("@staged", request(repo)) == {"a.py (diff)": "in conflict\nIts text is not shown: it is in conflict."}
    assert "+<<<<<<< HEAD" in shown("@diff", request(repo))["a.py (diff)"]
    assert shown("@diff:unstaged", request(repo))["a.py (diff)"].startswith("in conflict\n@@ -1,2 +1,6 @@")


def test_before_the_first_commit_all_is_new(tmp_path: Path) -> None:
    snapshot_of(FILES, tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py")
    assert shown("@staged", request(tmp_path)) == {"a.py (diff)": "new file\n@@ -0,0 +1,2 @@ x\n+x = 1\n+y = 2"}
    assert set(shown("@diff", request(tmp_path))) == {f"{n} (diff)" for n in ("a.py", "gone.py", "run.sh", "data.csv")}
    assert "no commit" in outcome("@commit:HEAD", request(tmp_path)).reason


def test_a_hunk_is_headed_by_the_definition_that_it_begins_in(repo: Path) -> None:
    text = "def first():\n" + "    a = 1\n" * 9 + "def second():\n" + "    b = 1\n" * 9
    (repo / "a.py").write_text(text)
    commit(repo, "Two")
    (repo / "a.py").write_text(text[:-6] + "c = 1\n")
    commit(repo, "Three")
    (repo / "a.py").write_text(text.replace("second", "last"))
    assert "@@ def second():" in shown("@commit:HEAD", request(repo))["a.py (commit HEAD)"]
    assert "@@ last" in shown("@diff", request(repo))["a.py (diff)"]


# ---------------------------------------------------------------- bytes and texts


def test_on_a_clean_tree_no_open_document_has_changed(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    for name, data in (("w.py", b"x = 1\r\ny = 2\r\n"), ("bom.py", b"\xef\xbb\xbfx = 1\n"), ("lat.txt", b"caf\xe9\n")):
        (repo / name).write_bytes(data)
    commit(repo, "Odd bytes")
    clean = {"w.py": "x = 1\r\ny = 2\r\n", "bom.py": "x = 1\n", "lat.txt": "café\n", "a.py": "x = 1\r\ny = 2\r\n"}
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD", "@diff:unsaved"):
        assert outcome(mention, request(repo, clean)).status == "unresolved", mention
    edited = {"w.py": "x = 1\r\ny = 3\r\n", "bom.py": "x = 2\n", "lat.txt": "cafés\n"}
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD", "@diff:unsaved"):
        texts = shown(mention, request(repo, edited))
        assert texts["w.py (diff)"].endswith("\n x = 1\n-y = 2\n+y = 3"), mention
        assert texts["bom.py (diff)"].endswith("\n-x = 1\n+x = 2"), mention
        assert texts["lat.txt (diff)"].endswith("\n-café\n+cafés"), mention


def test_what_an_editor_has_taken_back_has_not_changed(repo: Path) -> None:
    (repo / "a.py").write_text("x = 9\n")
    found = outcome("@diff", request(repo, {"a.py": "x = 1\ny = 2\n"}))
    assert (found.status, found.reason) == ("unresolved", "Nothing has changed in the workspace.")
    (repo / "gone.py").unlink()
    assert shown("@diff", request(repo, {"a.py": "x = 1\ny = 2\n", "gone.py": "z = 4\n"})) == {
        "gone.py (diff)": "@@ -1,1 +1,1 @@ z\n-z = 3\n+z = 4"
    }


def test_a_change_of_line_ends_alone_is_told_as_that(repo: Path) -> None:
    (repo / "a.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    assert shown("@diff", request(repo)) == {"a.py (diff)": "Only its encoding or the ends of its lines have changed."}


def test_a_document_that_is_longer_than_files_may_be_is_compared(repo: Path) -> None:
    text = "b = 1\n" * 300_000
    (repo / "big.py").write_text(text)
    commit(repo, "Big")
    assert outcome("@diff:unsaved", request(repo, {"big.py": text})).status == "unresolved"
    assert shown("@diff", request(repo, {"big.py": text + "c = 2\n"}))["big.py (diff)"].endswith("\n+c = 2")


# ---------------------------------------------------------------- commits


def test_a_merge_has_changed_what_it_brought(repo: Path) -> None:
    git(repo, "checkout", "-qb", "other")
    (repo / "new.py").write_text("n = 1\n")
    commit(repo, "New")
    git(repo, "checkout", "-q", "main")
    commit(repo, "Empty")
    git(repo, "merge", "-q", "--no-edit", "other")
    assert set(shown("@commit:HEAD", request(repo))) == {"commit HEAD", "new.py (commit HEAD)"}
    assert set(shown("@commit:HEAD~1", request(repo))) == {"commit HEAD~1"}
    assert len(shown("@commit:HEAD~2", request(repo))) == 5  # the first of all


def test_a_file_that_was_renamed_is_one_file(repo: Path) -> None:
    git(repo, "mv", "gone.py", "here.py")
    commit(repo, "Rename")
    assert shown("@commit:HEAD", request(repo))["here.py (commit HEAD)"] == "rename from gone.py\nrename to here.py"


@pytest.mark.parametrize("name", ["fix/#12", "ünï", "a,b", "it's", 'x"y', "(x)", "50%"])
def test_git_says_what_the_name_of_a_branch_is(repo: Path, name: str) -> None:
    git(repo, "checkout", "-qb", name)
    (repo / "a.py").write_text("x = 5\n")
    commit(repo, "Five")
    written = name.replace('"', '\\"')
    assert any("+x = 5" in text for text in shown(f'@branch:"{written}"', request(repo)).values())


def test_what_git_alone_understands_is_left_to_it(repo: Path) -> None:
    git(repo, "tag", "v1")
    (repo / "a.py").write_text("x = 5\n")
    commit(repo, "fix: five")
    for revision in ("v1..HEAD", "@~..", "main^{/^Begin}..main", "HEAD@{1}..HEAD", "HEAD^{/fix: five}^..HEAD"):
        texts = shown(f'@commit:"{revision}"', request(repo))
        assert "+x = 5" in texts[f"a.py ({revision}{'HEAD' * revision.endswith('..')})"]


@pytest.mark.parametrize(
    "revision",
    ["--output=x", "-p", "--all", "HEAD:a.py", ":0:a.py", ":a.py", "^HEAD", "HEAD^{tree}", "HEAD^@", "HEAD^!", "a\0b", "HEAD\n", "nowhere", "\ud800"],
)  # fmt: skip
def test_what_is_no_commit_is_not_shown(repo: Path, revision: str) -> None:
    (repo / "a.py^{commit}").write_text("x = 1\n")  # "HEAD:a.py^{commit}" is the path of a file
    commit(repo, "Two")
    for kind in ("commit", "diff", "branch"):
        for target in (revision, f"{revision}..HEAD", f"HEAD..{revision}"):
            assert shown(f'@{kind}:"{target}"', request(repo)) == {}
    assert not (repo / "x").exists()


# ---------------------------------------------------------------- configuration


ODD = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.srcPrefix": "x",
    "diff.dstPrefix": "",
    "diff.renames": "copies",
    "diff.renameLimit": "1",
    "diff.context": "40",
    "diff.interHunkContext": "40",
    "diff.relative": "true",
    "diff.submodule": "log",
    "diff.ignoreSubmodules": "all",
    "diff.suppressBlankEmpty": "true",
    "diff.wordRegex": ".",
    "diff.algorithm": "minimal",
    "diff.wsErrorHighlight": "all",
    "diff.colorMoved": "zebra",
    "diff.external": "false",
    "diff.evil.textconv": "false",
    "diff.evil.command": "false",
    "color.ui": "always",
    "color.diff": "always",
    "core.quotePath": "false",
    "core.abbrev": "4",
    "core.pager": "false",
    "format.pretty": "raw",
    "log.date": "raw",
    "log.decorate": "full",
    "log.showSignature": "true",
    "log.diffMerges": "combined",
    "i18n.logOutputEncoding": "utf-16",
    "status.relativePaths": "false",
}


def test_no_configuration_says_how_differences_look(repo: Path) -> None:
    (repo / "ü b.py").write_text("x = 1\n\ny = 2\n" * 9)
    (repo / ".gitattributes").write_text("* diff=evil\n")
    commit(repo, "Grüße\n\nvon hier")
    git(repo, "tag", "first")
    git(repo, "mv", "gone.py", "here.py")
    (repo / "ü b.py").write_text("x = 1\n\ny = 2\n" * 8 + "x = 3\n")
    commit(repo, "Zwei")
    (repo / "a.py").write_text("staged = 1\n")
    git(repo, "add", "-A")
    (repo / "run.sh").write_text("here\n")
    message = "@diff @staged @diff:unstaged @commit:HEAD @commit:first @diff:first..HEAD @diff:first @branch:first"
    plain = {label: without_ids(text) for label, text in shown(message, request(repo)).items()}
    assert len(plain) > 10
    for name, value in ODD.items():
        git(repo, "config", name, value)
    assert {label: without_ids(text) for label, text in shown(message, request(repo)).items()} == plain


def without_ids(text: str) -> str:
    """A text without the ids of commits: how long they are the configuration may say."""
    return re.sub(r"\b[0-9a-f]{4,}\b", "", text)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_an_order_of_files_that_is_a_pipe_is_not_read(repo: Path) -> None:
    os.mkfifo(repo / ".git" / "order")
    git(repo, "config", "diff.orderFile", (repo / ".git" / "order").as_posix())
    (repo / "a.py").write_text("x = 5\n")
    for mention in ("@diff", "@diff:HEAD", "@diff:unstaged"):
        assert "+x = 5" in shown(mention, request(repo))["a.py (diff)"]
