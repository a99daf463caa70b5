"""Git mentions (@diff, @staged, @commit, @branch): every kind of change, revision and git configuration."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from conftest import git
from promptls.mentions.completion.complete import complete
from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import resolve_mentions
from promptls.model import FileText, MentionOutcome
from workspaces import context_of, snapshot_of

pytestmark = pytest.mark.process

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


def context_for(root: Path, unsaved: dict[str, str] | None = None) -> ResolveContext:
    return context_of(snapshot_of("", root, unsaved=unsaved))


def shown(message: str, context: ResolveContext) -> dict[str, str]:
    """Return the text of each virtual document by label, with the arguments of "@diff" left out."""
    texts: dict[str, str] = {}
    for outcome in resolve_mentions(message, context):
        for item in outcome.targets:
            view = context.sources.read(item.path)
            assert isinstance(view, FileText)
            texts[re.sub(r"\(diff .*\)$", "(diff)", context.snapshot.label(item.path))] = view.text
    return texts


def outcome(message: str, context: ResolveContext) -> MentionOutcome:
    (found,) = resolve_mentions(message, context)
    return found


# ---------------------------------------------------------------- kinds of changes


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
def test_every_kind_of_unstaged_change(repo: Path, mention: str) -> None:
    change_everything(repo)
    assert shown(mention, context_for(repo)) == EVERYTHING


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_every_kind_of_staged_change(repo: Path) -> None:
    change_everything(repo)
    git(repo, "add", "-A")
    assert shown("@staged", context_for(repo)) == EVERYTHING
    assert shown("@diff", context_for(repo)) == EVERYTHING
    assert outcome("@diff:unstaged", context_for(repo)).reason == "No unstaged changes in the workspace."


def test_large_and_binary_files_are_not_shown_as_deleted(repo: Path) -> None:
    (repo / "big.py").write_text("b = 1\n" * 300_000)
    (repo / "data.csv").write_bytes(b"\0\1")
    commit(repo, "Big")
    (repo / "big.py").write_text("b = 1\n" * 200_000)
    (repo / "data.csv").write_bytes(b"\0\2")
    for mention in ("@diff", "@diff:HEAD"):
        texts = shown(mention, context_for(repo))
        assert texts["big.py (diff)"] == "Its text is not shown: 1.2 MB is over the limit of 1 MB."
        assert texts["data.csv (diff)"] == "Its text is not shown: it is a binary file."


def test_merge_conflict(repo: Path) -> None:
    git(repo, "checkout", "-qb", "other")
    (repo / "a.py").write_text("x = 1\ny = 4\n")
    commit(repo, "Four")
    git(repo, "checkout", "-q", "main")
    (repo / "a.py").write_text("x = 1\ny = 5\n")
    commit(repo, "Five")
    with pytest.raises(Exception, match="merge"):
        git(repo, "merge", "-q", "other")
    assert shown("@staged", context_for(repo)) == {
        "a.py (diff)": "in conflict\nIts text is not shown: it is in conflict."
    }
    assert "+<<<<<<< HEAD" in shown("@diff", context_for(repo))["a.py (diff)"]
    assert shown("@diff:unstaged", context_for(repo))["a.py (diff)"].startswith("in conflict\n@@ -1,2 +1,6 @@")


def test_repository_without_commits(tmp_path: Path) -> None:
    snapshot_of(FILES, tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.py")
    assert shown("@staged", context_for(tmp_path)) == {"a.py (diff)": "new file\n@@ -0,0 +1,2 @@ x\n+x = 1\n+y = 2"}
    assert set(shown("@diff", context_for(tmp_path))) == {
        f"{n} (diff)" for n in ("a.py", "gone.py", "run.sh", "data.csv")
    }
    assert "has no commits yet" in outcome("@commit:HEAD", context_for(tmp_path)).reason
    assert "has no commits yet" in outcome("@branch", context_for(tmp_path)).reason


@pytest.mark.parametrize(
    ("references", "compared_with"),
    [
        ("heads/main", "main"),
        ("remotes/origin/main", "origin/main"),
        ("remotes/origin/trunk", "origin/trunk"),
        ("remotes/upstream/master remotes/zoo/main", "upstream/master"),
        ("remotes/zoo/develop", "zoo/develop"),
        ("remotes/origin/next remotes/origin/main remotes/origin/HEAD=remotes/origin/next", "origin/next"),
        ("remotes/origin/release=tracked", "origin/release"),
        ("remotes/origin/topic=tracked", ""),
    ],
)
def test_branch_is_compared_with_the_branch_that_others_start_from(
    repo: Path, references: str, compared_with: str
) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    git(repo, "branch", "-D", "main")
    for reference in references.split():
        name, _, target = reference.partition("=")
        if target and target != "tracked":
            git(repo, "symbolic-ref", f"refs/{name}", f"refs/{target}")
            continue
        git(repo, "update-ref", f"refs/{name}", "HEAD")
        if target:
            git(repo, "config", "remote.origin.url", "x")
            git(repo, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
            git(repo, "config", "branch.topic.remote", "origin")
            git(repo, "config", "branch.topic.merge", f"refs/heads/{name.rpartition('/')[2]}")
    (repo / "a.py").write_text("x = 5\n")
    commit(repo, "Change a")
    found = outcome("@branch", context_for(repo))
    if compared_with:
        assert found.reason == f"Changes since {compared_with}. 1 file changed, +1 −2."
    else:
        assert found.reason.startswith("No default branch found")


def test_partial_clone_shows_what_it_has(repo: Path, tmp_path: Path) -> None:
    (repo / "a.py").write_text("x = 5\n")
    (repo / "run.sh").write_text("echo 7\n")
    commit(repo, "Change two")
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", repo.as_uri(), str(clone))
    found = outcome("@commit:HEAD", context_for(clone))
    assert "2 files not shown: objects are missing in this clone" in found.reason
    git(clone, "cat-file", "-p", "HEAD:a.py")
    git(clone, "cat-file", "-p", "HEAD~1:a.py")
    texts = shown("@commit:HEAD", context_for(clone))
    assert "+x = 5" in texts["a.py (commit HEAD)"]
    assert "missing in this clone" in texts["run.sh (commit HEAD)"]


def test_folder_without_repository(tmp_path: Path) -> None:
    snapshot_of(FILES, tmp_path)
    for mention in ("@commit:HEAD", "@commit:main..HEAD", "@branch", "@diff:HEAD"):
        assert "is not in a git repository" in outcome(mention, context_for(tmp_path)).reason, mention


@pytest.mark.parametrize("roots", [("plain", "repo"), ("repo", "plain")])
def test_folder_without_repository_next_to_one_with(tmp_path: Path, roots: tuple[str, str]) -> None:
    snapshot_of("-- repo/a.py --\nx = 1\n-- plain/b.py --\ny = 1\n", tmp_path)
    git(tmp_path / "repo", "init", "-q")
    git(tmp_path / "repo", "add", ".")
    git(tmp_path / "repo", "commit", "-qm", "first")
    context = context_of(snapshot_of("", tmp_path, roots=roots))
    assert shown("@commit:HEAD", context)
    assert outcome("@commit:nope", context).reason == 'Commit "nope" not found in the workspace.'


def test_hunk_heading_names_the_enclosing_definition(repo: Path) -> None:
    text = "def first():\n" + "    a = 1\n" * 9 + "def second():\n" + "    b = 1\n" * 9
    (repo / "a.py").write_text(text)
    commit(repo, "Two")
    (repo / "a.py").write_text(text[:-6] + "c = 1\n")
    commit(repo, "Three")
    (repo / "a.py").write_text(text.replace("second", "last"))
    assert "@@ def second():" in shown("@commit:HEAD", context_for(repo))["a.py (commit HEAD)"]
    assert "@@ last" in shown("@diff", context_for(repo))["a.py (diff)"]


# ---------------------------------------------------------------- encodings and line endings


def test_open_documents_without_edits_are_not_changes(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    for name, data in (("w.py", b"x = 1\r\ny = 2\r\n"), ("bom.py", b"\xef\xbb\xbfx = 1\n"), ("lat.txt", b"caf\xe9\n")):
        (repo / name).write_bytes(data)
    commit(repo, "Odd bytes")
    clean = {"w.py": "x = 1\r\ny = 2\r\n", "bom.py": "x = 1\n", "lat.txt": "café\n", "a.py": "x = 1\r\ny = 2\r\n"}
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD", "@diff:unsaved"):
        assert outcome(mention, context_for(repo, clean)).status == "unresolved", mention
    edited = {"w.py": "x = 1\r\ny = 3\r\n", "bom.py": "x = 2\n", "lat.txt": "cafés\n"}
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD", "@diff:unsaved"):
        texts = shown(mention, context_for(repo, edited))
        assert texts["w.py (diff)"].endswith("\n x = 1\n-y = 2\n+y = 3"), mention
        assert texts["bom.py (diff)"].endswith("\n-x = 1\n+x = 2"), mention
        assert texts["lat.txt (diff)"].endswith("\n-café\n+cafés"), mention


def test_unsaved_revert_of_a_change_on_disk_is_not_a_change(repo: Path) -> None:
    (repo / "a.py").write_text("x = 9\n")
    found = outcome("@diff", context_for(repo, {"a.py": "x = 1\ny = 2\n"}))
    assert (found.status, found.reason) == ("unresolved", "No uncommitted changes in the workspace.")
    (repo / "gone.py").unlink()
    assert shown("@diff", context_for(repo, {"a.py": "x = 1\ny = 2\n", "gone.py": "z = 4\n"})) == {
        "gone.py (diff)": "@@ -1,1 +1,1 @@ z\n-z = 3\n+z = 4"
    }


def test_change_of_line_endings_only(repo: Path) -> None:
    (repo / "a.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    assert shown("@diff", context_for(repo)) == {
        "a.py (diff)": "Only its encoding or the ends of its lines have changed."
    }


def test_open_document_above_the_size_limit_is_compared(repo: Path) -> None:
    text = f"{'b' * 99}\n" * 18_000
    (repo / "big.txt").write_text(text)
    commit(repo, "Big")
    assert outcome("@diff:unsaved", context_for(repo, {"big.txt": text})).status == "unresolved"
    assert shown("@diff", context_for(repo, {"big.txt": text + "c\n"}))["big.txt (diff)"].endswith("\n+c")


# ---------------------------------------------------------------- commits


def test_notebook_is_compared_by_its_cells(repo: Path) -> None:
    def notebook(source: str, picture: str) -> str:
        output = {"output_type": "display_data", "data": {"image/png": picture * 500_000}}
        cells = [{"cell_type": "code", "source": source, "outputs": [output], "execution_count": len(picture)}]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})

    for name, source in (("a.ipynb", "x = 1\ny = 2"), ("b.ipynb", "z = 1")):
        (repo / name).write_text(notebook(source, "abc"))
    commit(repo, "Notebooks")
    (repo / "a.ipynb").write_text(notebook("x = 1\ny = 3", "defg"))
    (repo / "b.ipynb").write_text(notebook("z = 1", "defg"))
    assert shown("@diff", context_for(repo)) == {
        "a.ipynb (diff)": "@@ -2,4 +2,4 @@ y\n \n # %% cell 1\n x = 1\n-y = 2\n+y = 3",
        "b.ipynb (diff)": "Only its outputs or metadata have changed.",
    }


def test_merge_commit_shows_the_merged_changes(repo: Path) -> None:
    git(repo, "checkout", "-qb", "other")
    (repo / "new.py").write_text("n = 1\n")
    commit(repo, "New")
    git(repo, "checkout", "-q", "main")
    commit(repo, "Empty")
    git(repo, "merge", "-q", "--no-edit", "other")
    assert set(shown("@commit:HEAD", context_for(repo))) == {"commit HEAD", "new.py (commit HEAD)"}
    assert set(shown("@commit:HEAD~1", context_for(repo))) == {"commit HEAD~1"}
    assert len(shown("@commit:HEAD~2", context_for(repo))) == 5  # the first of all


def test_renamed_file_is_one_change(repo: Path) -> None:
    git(repo, "mv", "gone.py", "here.py")
    commit(repo, "Rename")
    assert shown("@commit:HEAD", context_for(repo))["here.py (commit HEAD)"] == "rename from gone.py\nrename to here.py"


@pytest.mark.parametrize("name", ["fix/#12", "ünï", "a,b", "it's", 'x"y', "(x)", "50%"])
def test_branch_name_with_special_characters(repo: Path, name: str) -> None:
    git(repo, "checkout", "-qb", name)
    (repo / "a.py").write_text("x = 5\n")
    commit(repo, "Five")
    written = name.replace('"', '\\"')
    assert any("+x = 5" in text for text in shown(f'@branch:"{written}"', context_for(repo)).values())


def test_any_revision_syntax_of_git(repo: Path) -> None:
    git(repo, "tag", "v1")
    (repo / "a.py").write_text("x = 5\n")
    commit(repo, "fix: five")
    for revision in ("v1..HEAD", "@~..", "main^{/^Begin}..main", "HEAD@{1}..HEAD", "HEAD^{/fix: five}^..HEAD"):
        texts = shown(f'@commit:"{revision}"', context_for(repo))
        assert "+x = 5" in texts[f"a.py ({revision}{'HEAD' * revision.endswith('..')})"]


@pytest.mark.parametrize(
    "revision",
    ["--output=x", "-p", "--all", "HEAD:a.py", ":0:a.py", ":a.py", "^HEAD", "HEAD^{tree}", "HEAD^@", "HEAD^!", "a\0b", "HEAD\n", "nowhere", "\ud800"],
)  # fmt: skip
def test_invalid_revision_shows_nothing(repo: Path, revision: str) -> None:
    (repo / "a.py^{commit}").write_text("x = 1\n")  # "HEAD:a.py^{commit}" is the path of a file
    commit(repo, "Two")
    for kind in ("commit", "diff", "branch"):
        for target in (revision, f"{revision}..HEAD", f"HEAD..{revision}"):
            assert shown(f'@{kind}:"{target}"', context_for(repo)) == {}
    assert not (repo / "x").exists()


# ---------------------------------------------------------------- configuration


ODD = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.renames": "copies",
    "diff.context": "40",
    "diff.relative": "true",
    "diff.submodule": "log",
    "diff.ignoreSubmodules": "all",
    "diff.external": "false",
    "diff.evil.textconv": "false",
    "diff.evil.command": "false",
    "color.ui": "always",
    "core.quotePath": "false",
    "core.abbrev": "4",
    "format.pretty": "raw",
    "log.showSignature": "true",
    "log.diffMerges": "combined",
    "i18n.logOutputEncoding": "utf-16",
}


def test_diffs_do_not_depend_on_git_configuration(repo: Path) -> None:
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
    plain = {label: without_ids(text) for label, text in shown(message, context_for(repo)).items()}
    assert len(plain) > 10
    for name, value in ODD.items():
        git(repo, "config", name, value)
    assert {label: without_ids(text) for label, text in shown(message, context_for(repo)).items()} == plain


def without_ids(text: str) -> str:
    """Remove commit ids, whose length depends on the configuration."""
    return re.sub(r"\b[0-9a-f]{4,}\b", "", text)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_diff_order_file_that_is_a_pipe_is_not_read(repo: Path) -> None:
    os.mkfifo(repo / ".git" / "order")
    git(repo, "config", "diff.orderFile", (repo / ".git" / "order").as_posix())
    (repo / "a.py").write_text("x = 5\n")
    for mention in ("@diff", "@diff:HEAD", "@diff:unstaged"):
        assert "+x = 5" in shown(mention, context_for(repo))["a.py (diff)"]


# ---------------------------------------------------------------- suggestions from git


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@branch:", ["feature", "main"]),
        ("@commit:v1", ["v1.0"]),
        ("@diff:fea", ["feature"]),
    ],
)
def test_names_of_branches_and_tags_are_completed(repo: Path, text: str, expected: list[str]) -> None:
    git(repo, "tag", "v1.0")
    git(repo, "checkout", "-qb", "feature")
    items = complete(text, len(text), context_for(repo), 50, count_tokens=lambda path: 1).items
    names = [item.insert_text.rpartition(":")[2] for item in items]
    assert [name for name in expected if name in names] == expected


def test_renamed_file_is_suggested_under_its_new_name(repo: Path) -> None:
    (repo / "lib").mkdir()
    git(repo, "mv", "a.py", "lib/renamed.py")
    git(repo, "commit", "-qm", "Rename")
    found = outcome("@a.py", context_of(snapshot_of("-- lib/renamed.py --\nx = 1\ny = 2\n", repo)))
    assert (found.status, found.suggestion) == ("unresolved", "@lib/renamed.py")


def test_deleted_file_is_not_suggested(repo: Path) -> None:
    git(repo, "rm", "-q", "gone.py")
    found = outcome("@gone.py", context_for(repo))
    assert (found.status, found.suggestion) == ("unresolved", "")


# ---------------------------------------------------------------- submodules


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a submodule in the folder lib."""
    top, library = tmp_path / "top", tmp_path / "library"
    for folder, name in ((library, "lib.py"), (top, "app.py")):
        snapshot_of(f"-- {name} --\nx = 1\n", folder)
        git(folder, "init", "-q", "-b", "main")
        commit(folder, "Begin")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(top, "commit", "-qm", "Add the library")
    return top


def test_other_commit_of_a_submodule_is_shown(top: Path) -> None:
    first = git(top / "lib", "rev-parse", "HEAD").strip()
    commit(top / "lib", "Retry twice")
    last = git(top / "lib", "rev-parse", "HEAD").strip()
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD"):
        (text,) = shown(mention, context_for(top)).values()
        assert text == f"@@ -1,1 +1,1 @@\n-Subproject commit {first}\n+Subproject commit {last}"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_submodule_that_is_a_link_to_another_repository_is_not_read(top: Path, repo: Path) -> None:
    (repo / "a.py").write_text("private = 1\n")
    commit(repo, "Private subject")
    (repo / "a.py").write_text("private = 2\n")
    for revision in ("HEAD~1", "HEAD"):
        git(top, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', revision).strip()},other")
        git(top, "commit", "-qm", "Set the submodule")
    (top / "other").symlink_to(repo)
    for mention in ("@diff", "@diff:unstaged", "@diff:HEAD", "@commit:HEAD"):
        texts = shown(mention, context_for(top))
        assert "rivate" not in "".join(texts.values())
