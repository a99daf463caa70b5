"""Git history is read correctly, and no program of a repository is started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git
from promptls.git.commit_history import (
    CommitLog,
    History,
    authors,
    build_history,
    co_changes,
    exponential_decay,
    parse_log,
    read_commits,
    recency,
)
from promptls.git.diff import diff_working_tree, read_blobs
from promptls.git.history_cache import Freshness, HistoryCache, freshness_warning, read_freshness
from promptls.git.runner import MISSING_OBJECTS, explain_failure, query_git
from promptls.model import CancelToken, Problem
from promptls.util.git_process import GitResult

pytestmark = pytest.mark.process

DAY = 86_400
NOON = 1_700_000_000


def commit(
    root: Path, subject: str, files: dict[str, str | None], who: str = "Ann Lee <ann@example.org>", days: int = 0
) -> None:
    """Create a commit `days` after NOON; None deletes a file."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    name, _, mail = who.partition(" <")
    at = f"{NOON + days * DAY} +0000"
    saved = {k: os.environ.get(k) for k in ("GIT_COMMITTER_DATE",)}
    os.environ["GIT_COMMITTER_DATE"] = at
    try:
        git(root, "commit", "-q", "--allow-empty", "-m", subject, f"--author={name} <{mail}", f"--date={at}")
    finally:
        for key, value in saved.items():
            os.environ.pop(key, None)
            if value is not None:
                os.environ[key] = value


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


@pytest.fixture
def history() -> Iterator[HistoryCache]:
    cache = HistoryCache()
    yield cache
    cache.close()


def read_history(root: Path, folder: str = "") -> History:
    at = (root / folder).resolve().as_posix()
    log = read_commits(at)
    assert isinstance(log, CommitLog), log
    return build_history(at, "x", "main", log)


def test_history_follows_renames(repo: Path) -> None:
    commit(repo, "begin", {"old.py": "a long enough text\n" * 5})
    commit(repo, "change", {"old.py": "another text of some length\n" * 5}, days=1)
    git(repo, "mv", "old.py", "new.py")
    commit(repo, "move", {}, days=2)
    assert {name: file.change_count for name, file in read_history(repo).files.items()} == {"new.py": 3}


def test_outsideis_limited_to_the_folder(repo: Path) -> None:
    commit(repo, "begin", {"front/a.ts": "1", "back/b.py": "1"})
    commit(repo, "only the front", {"front/a.ts": "2"}, days=1)
    history = read_history(repo, "back")
    assert set(history.files) == {"b.py"}
    assert [c.subject for c in history.commits] == ["begin"]


def test_author_names_follow_mailmap_without_addresses(repo: Path) -> None:
    commit(repo, "begin", {".mailmap": "Ann Lee <ann@example.org> <old@example.org>\n"})
    commit(repo, "one", {"a.py": "1"}, "al <old@example.org>")
    commit(repo, "two", {"b.py": "1"}, "bob@example.org <bob@example.org>")
    names = [c.author for c in read_history(repo).commits]
    assert names == ["", "Ann Lee", "Ann Lee"]


def test_authors_with_one_personal_address_are_merged(repo: Path) -> None:
    commit(repo, "one", {"a.py": "1"}, "ann <ann@example.org>")
    commit(repo, "two", {"a.py": "2"}, "Ann Lee <ANN@example.org>", days=1)
    commit(repo, "three", {"a.py": "3"}, "Bob <root@localhost>", days=2)
    commit(repo, "four", {"a.py": "4"}, "Cy <root@localhost>", days=3)
    assert [c.author for c in read_history(repo).commits] == ["Cy", "Bob", "Ann Lee", "Ann Lee"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such names on Windows")
def test_unusual_file_names_are_read_verbatim(repo: Path) -> None:
    names = {"ü ö.py": "1", "a\nb.py": "1", '"q".py': "1", "\x01x.py": "1"}
    commit(repo, "strange\x01 subject", names)
    commit(repo, "again", {"ü ö.py": "2"}, days=1)
    history = read_history(repo)
    assert set(history.files) == set(names)
    assert history.files["ü ö.py"].change_count == 2
    assert "\x01" not in history.commits[1].subject


def test_co_change_has_support_and_confidence(repo: Path) -> None:
    for i in range(4):
        commit(repo, f"both {i}", {"a.py": f"{i}", "b.py": f"{i}"}, days=i)
    commit(repo, "a alone", {"a.py": "x"}, days=5)
    commit(repo, "a and c", {"a.py": "y", "c.py": "1"}, days=6)
    pair, *others = co_changes(read_history(repo), "a.py")
    assert (pair.other, pair.support, round(pair.confidence, 3)) == ("b.py", 4, round(4 / 6, 3))
    assert others == []  # one shared commit is below MIN_SUPPORT


def test_authors_are_weighted_by_age_without_bots(repo: Path) -> None:
    for i in range(3):
        commit(repo, "old", {"a.py": f"old {i}"}, "Old Hand <o@x.org>", days=0)
    commit(repo, "new", {"a.py": "new"}, "New Comer <n@x.org>", days=720)
    commit(repo, "bump", {"a.py": "bump"}, "dependabot[bot] <b@x.org>", days=720)
    path = (repo / "a.py").resolve().as_posix()
    people = authors([read_history(repo)], [path], NOON + 720 * DAY)
    assert [(a.name, a.change_count) for a in people] == [("New Comer", 1), ("Old Hand", 3)]
    assert people[1].weight == pytest.approx(3 * 2 ** (-720 / 180))


def test_recency_halves_per_half_life_and_is_at_most_one(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    path, histories = (repo / "a.py").resolve().as_posix(), [read_history(repo)]
    assert recency(histories, path, NOON) == 1.0
    assert recency(histories, path, NOON - DAY) == 1.0
    assert recency(histories, path, NOON + 30 * DAY) == 0.5
    assert recency(histories, path, NOON + 7 * DAY, half_life_days=7) == 0.5
    assert recency(histories, path + "x", NOON) == 0.0
    assert exponential_decay(DAY, 0) == 0.0


# ---- untrusted repositories


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_no_configured_program_is_started(repo: Path, tmp_path: Path) -> None:
    commit(repo, "begin", {"a.py": "1", ".gitattributes": "* filter=evil diff=evil\n"})
    commit(repo, "more", {"a.py": "2"}, days=1)
    ran = tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\necho $0 $@ >> {ran}\ncat\n", encoding="utf-8")
    evil.chmod(0o755)
    for name in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "gpg.program",
        "credential.helper",
        "core.askPass",
        "uploadpack.packObjectsHook",
    ):
        git(repo, "config", name, evil.as_posix())
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "filter.evil.required", "true")
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"):
        (repo / ".git" / "hooks" / hook).parent.mkdir(exist_ok=True)
        (repo / ".git" / "hooks" / hook).symlink_to(evil)
    (repo / "a.py").write_text("3 and dirty", encoding="utf-8")
    assert len(read_history(repo).commits) == 2
    assert read_freshness(repo.as_posix()).changed_files >= 1
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_partial_clone_does_not_fetch(repo: Path, tmp_path: Path) -> None:
    commit(repo, "begin", {"d/a.py": "1"})
    commit(repo, "more", {"d/a.py": "2"}, days=1)
    ran = tmp_path / "ran"
    tree = git(repo, "rev-parse", "HEAD~1:d").strip()
    (repo / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "remote.origin.url", f"ext::sh -c touch% {ran}")
    git(repo, "config", "protocol.ext.allow", "always")
    result = read_commits(repo.as_posix())
    assert isinstance(result, Problem)
    assert not ran.exists()


def test_configured_device_files_are_not_read(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    git(repo, "config", "mailmap.file", "/dev/zero")
    git(repo, "config", "diff.orderFile", "/dev/zero")
    (repo / "a.py").write_text("2", encoding="utf-8")
    assert len(read_history(repo).commits) == 1
    assert read_freshness(repo.as_posix()).state == "dirty"
    differ = diff_working_tree(repo.as_posix())
    assert not isinstance(differ, Problem) and [file.name for file in differ] == ["a.py"]


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_filter_name_with_equals_sign_is_a_problem(repo: Path, tmp_path: Path) -> None:
    commit(repo, "begin", {"a.py": "1", ".gitattributes": "* filter=e=v\n"})
    (repo / "a.py").write_text("2", encoding="utf-8")
    git(repo, "config", "filter.e=v.clean", f"touch {tmp_path / 'ran'}")
    for problem in (diff_working_tree(repo.as_posix()), read_freshness(repo.as_posix()).problem):
        assert isinstance(problem, Problem) and "= in its name" in problem.message
    assert not (tmp_path / "ran").exists()


def test_blobs_are_read_by_object_id(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "one\n", "empty.py": "", "big.py": "x" * 200})
    (repo / "b.bin").write_bytes(b"\0\1")
    commit(repo, "more", {}, days=1)
    names = ("a.py", "empty.py", "big.py", "b.bin")
    ids = [git(repo, "rev-parse", f"HEAD:{name}").strip() for name in names]
    result = read_blobs(repo.as_posix(), [*ids, "0" * 39 + "1", git(repo, "rev-parse", "HEAD").strip()], 100)
    assert list(result.values() if isinstance(result, dict) else ()) == [
        "one\n",
        "",
        Problem("200 bytes is over the limit of 100 bytes"),
        Problem("it is a binary file"),
        Problem(MISSING_OBJECTS),
        Problem(MISSING_OBJECTS),
    ]


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (b"fatal: detected dubious ownership in repository at '/x'", "another user owns"),
        (b"fatal: not a git repository (or any parent", "not in a git repository"),
        (b"fatal: ambiguous argument 'HEAD': unknown revision", "no commits yet"),
        (b"error: inflate: data stream error", "damaged"),
        (b"fatal: bad config line 3 in file /x/.git/config", "its configuration: bad config line 3 in file"),
        (
            b"warning: unable to access '/h/.gitconfig': Is a directory\nfatal: unable to access '/h/.gitconfig'",
            "config",
        ),
        (b"fatal: unknown repository extension found:\n\trefstorage", "newer version of git"),
        (b"fatal: Expected git repo version <= 1, found 99", "newer version of git: Expected git repo version"),
    ],
)
def test_git_failure_is_explained(stderr: bytes, expected: str) -> None:
    assert expected in explain_failure(stderr, "/x").message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_repository_of_another_user_is_not_read(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo, "begin", {"a.py": "1"})
    monkeypatch.setenv("HOME", repo.parent.as_posix())
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    result = read_commits(repo.as_posix())
    assert isinstance(result, Problem) and "safe.directory" in result.suggestion
    assert read_freshness(repo.as_posix()).state == "unknown"


def test_missing_or_empty_repository_is_a_problem(repo: Path, tmp_path: Path) -> None:
    assert isinstance(read_commits(repo.as_posix()), Problem)
    assert isinstance(read_commits((tmp_path / "nowhere").as_posix()), Problem)


# ---- limits


def test_output_over_the_limit_is_cut_at_a_commit(repo: Path) -> None:
    for i in range(20):
        commit(repo, f"commit {i}", {f"f{i}.py": "1"}, days=i)
    whole = read_commits(repo.as_posix())
    assert isinstance(whole, CommitLog) and whole.complete
    answer = query_git(
        repo.as_posix(), "log", "-z", "--format=%x01%H%x00%ct%x00%aN%x00%aE%x00%s", "--name-status", max_bytes=700
    )
    assert isinstance(answer, GitResult) and not answer.complete
    cut = parse_log(answer)
    assert not cut.complete
    assert 0 < len(cut.commits) < 20
    assert [c.changes for c in cut.commits] == [c.changes for c in whole.commits[: len(cut.commits)]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe without a writer")
@pytest.mark.parametrize("cancelled", [True, False])
def test_hanging_git_is_stopped(repo: Path, cancelled: bool) -> None:
    commit(repo, "begin", {"a.py": "1"})
    os.mkfifo(repo / "pipe")
    token = CancelToken()
    if cancelled:
        token.cancel()
    answer = query_git(repo.as_posix(), "hash-object", "pipe", timeout_s=600 if cancelled else 0.1, token=token)
    assert answer == GitResult(b"", complete=False)


# ---- cache


def test_outsidefollows_head(repo: Path, history: HistoryCache) -> None:
    commit(repo, "begin", {"a.py": "1"})
    root = repo.resolve().as_posix()
    (first,) = history.histories([root], wait_s=60)
    assert (len(first.commits), first.branch, first.problem) == (1, "main", None)
    assert history.histories([root], wait_s=0)[0] is first
    commit(repo, "more", {"a.py": "2"}, days=1)
    assert len(history.histories([root], wait_s=60)[0].commits) == 2
    git(repo, "checkout", "-q", "--detach", "HEAD~1")
    (third,) = history.histories([root], wait_s=60)
    assert (len(third.commits), third.branch) == (1, "")


def test_folder_outside_of_git_has_no_history(tmp_path: Path, history: HistoryCache) -> None:
    (outside,) = history.histories([tmp_path.as_posix()], wait_s=60)
    assert outside.commits == () and outside.problem is not None


# ---- freshness


def test_freshness_of_a_working_tree(repo: Path, tmp_path: Path, history: HistoryCache) -> None:
    commit(repo, "begin", {"a.py": "1"})
    assert read_freshness(repo.as_posix()) == Freshness("fresh", "main")
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", repo.as_posix(), "copy")
    (copy / "a.py").write_text("dirty", encoding="utf-8")
    assert read_freshness(copy.as_posix()) == Freshness("dirty", "main", "origin/main", changed_files=1)
    commit(repo, "more", {"b.py": "2"}, days=1)
    git(copy, "fetch", "-q")
    behind = history.freshness(copy.as_posix(), wait_s=60)
    assert (behind.state, behind.ahead, behind.behind) == ("stale", 0, 1)
    note = freshness_warning(behind)
    assert note is not None and "1 commit behind origin/main" in note.text
    commit(copy, "mine", {"c.py": "1"}, days=2)
    assert freshness_warning(read_freshness(copy.as_posix())) is not None
    git(copy, "reset", "-q", "--hard", "origin/main")
    commit(copy, "mine", {"c.py": "1"}, days=2)
    ahead = read_freshness(copy.as_posix())
    assert (ahead.state, ahead.ahead, ahead.behind) == ("stale", 1, 0)
    assert freshness_warning(ahead) is None
    assert read_freshness(tmp_path.as_posix()).state == "unknown"
