"""What is read of a repository's past, and that nothing a repository says is ever started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import git
from promptls.git import (
    Freshness,
    History,
    Past,
    authors,
    changed_with,
    freshness,
    freshness_note,
    past_of,
    read_commits,
    recency,
    subjects,
)
from promptls.git.diff import staged, texts, working
from promptls.git.log import Log, is_bot, name_of, parse
from promptls.git.runner import Answer, ask, refusal
from promptls.git.statistics import decay
from promptls.git.tracking import parse as freshness_of
from promptls.model import CancelToken, Problem

DAY = 86_400
NOON = 1_700_000_000


def commit(
    root: Path, subject: str, files: dict[str, str | None], who: str = "Ann Lee <ann@example.org>", days: int = 0
) -> None:
    """One commit, `days` after NOON; None removes a file."""
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
    held = {k: os.environ.get(k) for k in ("GIT_COMMITTER_DATE",)}
    os.environ["GIT_COMMITTER_DATE"] = at
    try:
        git(root, "commit", "-q", "--allow-empty", "-m", subject, f"--author={name} <{mail}", f"--date={at}")
    finally:
        for key, value in held.items():
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
def history() -> Iterator[History]:
    owner = History()
    yield owner
    owner.close()


def past(root: Path, folder: str = "") -> Past:
    at = (root / folder).resolve().as_posix()
    log = read_commits(at)
    assert isinstance(log, Log), log
    return past_of(at, "x", "main", log)


def test_a_file_knows_its_commits_and_its_last_change(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1", "b.py": "1"})
    commit(repo, "more", {"a.py": "2"}, days=3)
    found = past(repo)
    assert found.files["a.py"].changes == 2
    assert found.files["a.py"].last == NOON + 3 * DAY
    assert found.files["b.py"].last == NOON
    assert subjects(found, "a.py") == ("more", "begin")


def test_a_renamed_file_keeps_its_past_and_its_old_name_is_gone(repo: Path) -> None:
    commit(repo, "begin", {"old.py": "a long enough text\n" * 5})
    commit(repo, "change", {"old.py": "another text of some length\n" * 5}, days=1)
    git(repo, "mv", "old.py", "new.py")
    commit(repo, "move", {}, days=2)
    assert {name: file.changes for name, file in past(repo).files.items()} == {"new.py": 3}


def test_a_removed_file_has_no_past(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1", "gone.py": "1"})
    commit(repo, "remove", {"gone.py": None}, days=1)
    assert set(past(repo).files) == {"a.py"}


def test_a_folder_of_a_repository_has_its_own_past(repo: Path) -> None:
    commit(repo, "begin", {"front/a.ts": "1", "back/b.py": "1"})
    commit(repo, "only the front", {"front/a.ts": "2"}, days=1)
    found = past(repo, "back")
    assert set(found.files) == {"b.py"}
    assert [c.subject for c in found.commits] == ["begin"]


def test_names_are_those_of_the_mailmap_and_have_no_address(repo: Path) -> None:
    commit(repo, "begin", {".mailmap": "Ann Lee <ann@example.org> <old@example.org>\n"})
    commit(repo, "one", {"a.py": "1"}, "al <old@example.org>")
    commit(repo, "two", {"b.py": "1"}, "bob@example.org <bob@example.org>")
    names = [c.author for c in past(repo).commits]
    assert names == ["", "Ann Lee", "Ann Lee"]


def test_two_names_with_one_address_are_one_person_and_shared_addresses_are_none(repo: Path) -> None:
    commit(repo, "one", {"a.py": "1"}, "ann <ann@example.org>")
    commit(repo, "two", {"a.py": "2"}, "Ann Lee <ANN@example.org>", days=1)
    commit(repo, "three", {"a.py": "3"}, "Bob <root@localhost>", days=2)
    commit(repo, "four", {"a.py": "4"}, "Cy <root@localhost>", days=3)
    assert [c.author for c in past(repo).commits] == ["Cy", "Bob", "Ann Lee", "Ann Lee"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such names on Windows")
def test_strange_names_are_read_to_the_letter(repo: Path) -> None:
    names = {"ü ö.py": "1", "a\nb.py": "1", '"q".py': "1", "\x01x.py": "1"}
    commit(repo, "strange\x01 subject", names)
    commit(repo, "again", {"ü ö.py": "2"}, days=1)
    found = past(repo)
    assert set(found.files) == set(names)
    assert found.files["ü ö.py"].changes == 2
    assert "\x01" not in found.commits[1].subject


def test_merges_count_for_nobody(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    git(repo, "checkout", "-qb", "side")
    commit(repo, "side", {"b.py": "1"}, days=1)
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", {"a.py": "2"}, days=2)
    git(repo, "merge", "-q", "--no-ff", "-m", "merge", "side")
    assert [c.subject for c in past(repo).commits] == ["main", "side", "begin"]


def test_co_change_has_support_and_confidence(repo: Path) -> None:
    for i in range(4):
        commit(repo, f"both {i}", {"a.py": f"{i}", "b.py": f"{i}"}, days=i)
    commit(repo, "a alone", {"a.py": "x"}, days=5)
    commit(repo, "a and c", {"a.py": "y", "c.py": "1"}, days=6)
    pair, *others = changed_with(past(repo), "a.py")
    assert (pair.other, pair.support, round(pair.confidence, 3)) == ("b.py", 4, round(4 / 6, 3))
    assert others == []  # once is no support


def test_a_bulk_commit_makes_no_pairs(repo: Path) -> None:
    many = {f"f{i}.py": "1" for i in range(31)}
    commit(repo, "import", many)
    commit(repo, "format", dict.fromkeys(many, "2"), days=1)
    assert changed_with(past(repo), "f0.py") == ()


def test_authors_are_weighed_by_age_and_programs_are_left_out(repo: Path) -> None:
    for i in range(3):
        commit(repo, "old", {"a.py": f"old {i}"}, "Old Hand <o@x.org>", days=0)
    commit(repo, "new", {"a.py": "new"}, "New Comer <n@x.org>", days=720)
    commit(repo, "bump", {"a.py": "bump"}, "dependabot[bot] <b@x.org>", days=720)
    path = (repo / "a.py").resolve().as_posix()
    found = authors([past(repo)], [path], NOON + 720 * DAY)
    assert [(a.name, a.changes) for a in found] == [("New Comer", 1), ("Old Hand", 3)]
    assert found[1].weight == pytest.approx(3 * 2 ** (-720 / 180))


@pytest.mark.parametrize(
    ("name", "bot"),
    [
        ("renovate[bot]", True),
        ("github-actions", True),
        ("Travis CI", True),
        ("release-bot", True),
        ("DeployBot", True),
        ("Abbot Costello", False),
        ("Jenkins Smith", False),
        ("Talbot", False),
        ("Ann Lee", False),
    ],
)
def test_programs_are_known_by_their_names(name: str, bot: bool) -> None:
    assert is_bot(name, "x@example.org") is bot


@pytest.mark.parametrize(
    ("written", "shown"),
    [("Ann Lee", "Ann Lee"), ("ann@example.org", ""), ("Ann <ann@example.org>", "Ann"), ("@ann", "@ann")],
)
def test_a_shown_name_holds_no_address(written: str, shown: str) -> None:
    assert name_of(written) == shown


def test_recency_halves_and_knows_no_future(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    path, found = (repo / "a.py").resolve().as_posix(), [past(repo)]
    assert recency(found, path, NOON) == 1.0
    assert recency(found, path, NOON - DAY) == 1.0
    assert recency(found, path, NOON + 30 * DAY) == 0.5
    assert recency(found, path, NOON + 7 * DAY, half_life_days=7) == 0.5
    assert recency(found, path + "x", NOON) == 0.0
    assert decay(DAY, 0) == 0.0


# ---- a repository that nobody trusts


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_nothing_that_the_configuration_names_is_started(repo: Path, tmp_path: Path) -> None:
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
    assert len(past(repo).commits) == 2
    assert freshness(repo.as_posix()).changed >= 1
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_what_a_partial_clone_lacks_is_not_fetched(repo: Path, tmp_path: Path) -> None:
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
    got = read_commits(repo.as_posix())
    assert isinstance(got, Problem)
    assert not ran.exists()


def test_a_mailmap_and_an_order_of_files_that_are_devices_are_not_read(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    git(repo, "config", "mailmap.file", "/dev/zero")
    git(repo, "config", "diff.orderFile", "/dev/zero")
    (repo / "a.py").write_text("2", encoding="utf-8")
    assert len(past(repo).commits) == 1
    assert freshness(repo.as_posix()).state == "dirty"
    differ = working(repo.as_posix())
    assert not isinstance(differ, Problem) and [file.name for file in differ] == ["a.py"]


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_filter_that_git_cannot_be_told_to_leave_out_ends_the_question(repo: Path, tmp_path: Path) -> None:
    commit(repo, "begin", {"a.py": "1", ".gitattributes": "* filter=e=v\n"})
    (repo / "a.py").write_text("2", encoding="utf-8")
    git(repo, "config", "filter.e=v.clean", f"touch {tmp_path / 'ran'}")
    for told in (working(repo.as_posix()), freshness(repo.as_posix()).problem):
        assert isinstance(told, Problem) and "= in its name" in told.message
    assert not (tmp_path / "ran").exists()


def test_texts_come_by_their_ids(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "one\n", "empty.py": "", "big.py": "x" * 200})
    (repo / "b.bin").write_bytes(b"\0\1")
    commit(repo, "more", {}, days=1)
    names = ("a.py", "empty.py", "big.py", "b.bin")
    ids = [git(repo, "rev-parse", f"HEAD:{name}").strip() for name in names]
    got = texts(repo.as_posix(), [*ids, "0" * 39 + "1", git(repo, "rev-parse", "HEAD").strip()], 100)
    assert list(got.values() if isinstance(got, dict) else ()) == [
        "one\n",
        "",
        Problem("200 bytes is over the limit of 100 bytes"),
        Problem("it is a binary file"),
        Problem("git could not give it"),
        Problem("git could not give it"),
    ]


def test_a_submodule_is_known_by_its_commit(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    head = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    differ = staged(repo.as_posix(), head)
    assert not isinstance(differ, Problem)
    assert [(f.name, f.old, f.new and (f.new.submodule, f.new.id)) for f in differ] == [("module", None, (True, head))]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"fatal: detected dubious ownership in repository at '/x'", "belongs to somebody else"),
        (b"fatal: not a git repository (or any parent", "not in a git repository"),
        (b"fatal: ambiguous argument 'HEAD': unknown revision", "no commits yet"),
        (b"error: inflate: data stream error", "damaged"),
    ],
)
def test_a_refusal_is_a_sentence(said: bytes, expected: str) -> None:
    assert expected in refusal(said, "/x").message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_somebody_else_is_not_read(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo, "begin", {"a.py": "1"})
    monkeypatch.setenv("HOME", repo.parent.as_posix())
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    got = read_commits(repo.as_posix())
    assert isinstance(got, Problem) and "safe.directory" in got.suggestion
    assert freshness(repo.as_posix()).state == "unknown"


def test_an_empty_repository_and_no_repository_are_problems(repo: Path, tmp_path: Path) -> None:
    assert isinstance(read_commits(repo.as_posix()), Problem)
    assert isinstance(read_commits((tmp_path / "nowhere").as_posix()), Problem)


def test_without_git_there_is_a_sentence(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    got = read_commits(repo.as_posix())
    assert isinstance(got, Problem) and "not installed" in got.message


# ---- bounds


def test_output_over_the_bound_is_cut_at_a_whole_commit(repo: Path) -> None:
    for i in range(20):
        commit(repo, f"commit {i}", {f"f{i}.py": "1"}, days=i)
    whole = read_commits(repo.as_posix())
    assert isinstance(whole, Log) and whole.whole
    answer = ask(repo.as_posix(), "log", "-z", "--format=%x01%H%x00%ct%x00%aN%x00%aE%x00%s", "--name-status", most=700)
    assert isinstance(answer, Answer) and not answer.whole
    cut = parse(answer)
    assert not cut.whole
    assert 0 < len(cut.commits) < 20
    assert [c.changes for c in cut.commits] == [c.changes for c in whole.commits[: len(cut.commits)]]


def test_only_the_latest_commits_are_read(repo: Path) -> None:
    for i in range(5):
        commit(repo, f"{i}", {"a.py": f"{i}"}, days=i)
    got = read_commits(repo.as_posix(), most=3)
    assert isinstance(got, Log) and [c.subject for c in got.commits] == ["4", "3", "2"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe that nobody writes to")
@pytest.mark.parametrize("cancelled", [True, False])
def test_git_that_does_not_end_is_stopped(repo: Path, cancelled: bool) -> None:
    commit(repo, "begin", {"a.py": "1"})
    os.mkfifo(repo / "pipe")
    token = CancelToken()
    if cancelled:
        token.cancel()
    answer = ask(repo.as_posix(), "hash-object", "pipe", seconds=600 if cancelled else 0.1, token=token)
    assert answer == Answer(b"", whole=False)


# ---- the owner


def test_history_follows_head(repo: Path, history: History) -> None:
    commit(repo, "begin", {"a.py": "1"})
    root = repo.resolve().as_posix()
    (first,) = history.at([root], wait_s=60)
    assert (len(first.commits), first.branch, first.problem) == (1, "main", None)
    assert history.at([root], wait_s=0)[0] is first
    commit(repo, "more", {"a.py": "2"}, days=1)
    assert len(history.at([root], wait_s=60)[0].commits) == 2
    git(repo, "checkout", "-q", "--detach", "HEAD~1")
    (third,) = history.at([root], wait_s=60)
    assert (len(third.commits), third.branch) == (1, "")


def test_a_folder_outside_of_git_has_no_past(tmp_path: Path, history: History) -> None:
    (found,) = history.at([tmp_path.as_posix()], wait_s=60)
    assert found.commits == () and found.problem is not None


def test_a_closed_history_reads_no_more(repo: Path) -> None:
    commit(repo, "begin", {"a.py": "1"})
    owner = History()
    owner.close()
    assert owner.at([repo.as_posix()], wait_s=0)[0].commits == ()
    assert owner.freshness(repo.as_posix(), wait_s=0).state == "unknown"


# ---- freshness


def test_freshness_of_a_working_tree(repo: Path, tmp_path: Path, history: History) -> None:
    commit(repo, "begin", {"a.py": "1"})
    assert freshness(repo.as_posix()) == Freshness("fresh", "main")
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", repo.as_posix(), "copy")
    (copy / "a.py").write_text("dirty", encoding="utf-8")
    assert freshness(copy.as_posix()) == Freshness("dirty", "main", "origin/main", changed=1)
    commit(repo, "more", {"b.py": "2"}, days=1)
    git(copy, "fetch", "-q")
    behind = history.freshness(copy.as_posix(), wait_s=60)
    assert (behind.state, behind.standing, behind.behind) == ("stale", "behind", 1)
    note = freshness_note(behind)
    assert note is not None and "1 commit behind origin/main" in note.text
    commit(copy, "mine", {"c.py": "1"}, days=2)
    assert freshness(copy.as_posix()).standing == "diverged"
    git(copy, "reset", "-q", "--hard", "origin/main")
    commit(copy, "mine", {"c.py": "1"}, days=2)
    ahead = freshness(copy.as_posix())
    assert (ahead.state, ahead.standing) == ("stale", "ahead")
    assert freshness_note(ahead) is None
    assert freshness(tmp_path.as_posix()).state == "unknown"


def test_a_branch_whose_upstream_is_gone_stands_for_itself() -> None:
    assert freshness_of(b"# branch.oid 1\0# branch.head x\0# branch.upstream origin/x\0") == Freshness(
        "fresh", "x", "origin/x"
    )
