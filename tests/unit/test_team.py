"""Team knowledge: CODEOWNERS and contributors."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.git.commit_history import Commit, CommitLog, FileChange, History, build_history
from promptls.knowledge.code_owners import file_owners, load_codeowners, parse_codeowners, team_entries
from promptls.model import SectionEntry
from workspaces import context_of, snapshot_of

DAY = 86_400
NOW = 1_700_000_000

SHOP = """
-- .github/CODEOWNERS --
*            @org/everyone
/src/pay/    @org/payments ann@example.org
*.ts         @web
-- src/pay/card.py --
x = 1
-- src/pay/money.py --
x = 1
-- src/ui/page.ts --
let x = 1
-- CHANGELOG.md --
# Changes
"""


def history_of(top: Path, *commits: tuple[str, int, str]) -> History:
    """Return the history of commits given as (author, days ago, files), newest first."""
    log = CommitLog(
        tuple(
            Commit(str(i), NOW - days * DAY, who, f"commit {i}", tuple(FileChange("M", n) for n in names.split()),
                   len(names.split()), who.endswith("[bot]"))
            for i, (who, days, names) in enumerate(commits)
        ),
        {"ann@example.org": "Ann Lee"},
    )  # fmt: skip
    return build_history(top.resolve().as_posix(), "x", "main", log)


def owners(text: str, *names: str) -> list[str]:
    parsed = parse_codeowners(text)
    return [" ".join(file_owners(parsed, name)) for name in names]


# ---- CODEOWNERS


@pytest.mark.parametrize(
    ("pattern", "name", "owned"),
    [
        ("*.js", "a/b.ts", False),
        ("/build/logs/", "build/logs/x/y.log", True),
        ("/build/logs/", "a/build/logs/y.log", False),
        ("docs/*", "docs/a.md", True),
        ("docs/*", "docs/deep/a.md", False),
        ("apps/", "a/apps/b.py", True),
        ("apps/", "apps", False),
        ("/scripts", "scripts", True),
        ("/a/**/z.py", "a/b/c/z.py", True),
        ("/a/**/z.py", "b/z.py", False),
        ("src/a?.py", "src/ab.py", True),
        (r"/with\ space.md", "with space.md", True),
        (r"/\#file", "#file", True),
        ("a/b", "x/a/b", False),
    ],
)
def test_codeowners_patterns_match_like_on_the_hosts(pattern: str, name: str, owned: bool) -> None:
    assert owners(f"{pattern} @me", name) == ["@me" if owned else ""]


def test_last_matching_pattern_wins_and_may_remove_owners() -> None:
    text = "* @all\n/apps/ @octocat\n/apps/github\n"
    assert owners(text, "a.py", "apps/b.py", "apps/github/c.py") == ["@all", "@octocat", ""]


def test_each_section_has_its_own_last_match() -> None:
    text = """
        * @all
        [Documentation] @docs
        docs/
        README.md @readme
        ^[Database][2]
        model/db/ @dba
        docs/schema.md @dba # and a remark
        """
    assert owners(text, "docs/a.md", "docs/schema.md", "README.md", "model/db/x.sql") == [
        "@all @docs",
        "@all @docs @dba",
        "@all @readme",
        "@all @dba",
    ]


def test_invalid_lines_own_nothing() -> None:
    assert parse_codeowners("# only\n\n   \n") == ()
    assert owners("*.py not-an-owner <script>\n", "a.py") == [""]


def test_file_in_folder_of_host_takes_precedence(tmp_path: Path) -> None:
    text = "-- CODEOWNERS --\n* @second\n-- .github/CODEOWNERS --\n* @first\n-- a.py --\nx = 1\n"
    snapshot = snapshot_of(text, tmp_path)
    ((label, sections),) = load_codeowners(context_of(snapshot).sources).values()
    assert (label, file_owners(sections, "a.py")) == (".github/CODEOWNERS", ("@first",))


# ---- prompt entries


def noted(top: Path, history: History, *files: str, text: str = SHOP) -> tuple[SectionEntry, ...]:
    snapshot = snapshot_of(text, top)
    sources = context_of(snapshot).sources
    paths = [f"{snapshot.roots[0].path}/{name}" for name in files]
    return team_entries(snapshot, [history], load_codeowners(sources), paths, NOW)


def test_team_entries_show_owners_authors_and_cochanged_files(tmp_path: Path) -> None:
    past = history_of(
        tmp_path,
        ("Bob", 1, "src/pay/card.py src/pay/money.py CHANGELOG.md"),
        ("renovate[bot]", 2, "src/pay/card.py"),
        ("Ann Lee", 400, "src/pay/card.py src/pay/money.py CHANGELOG.md"),
        ("Ann Lee", 500, "src/pay/card.py"),
        ("Cy", 3, "src/ui/page.ts"),
    )
    assert noted(tmp_path, past, "src/pay/card.py") == (
        SectionEntry("Owners of the code in play:\n- @org/payments, Ann Lee: src/pay/card.py", ".github/CODEOWNERS"),
        SectionEntry(
            "Who changed this code, recent changes first in weight:\n"
            "- Bob: 1 change, the last in 2023-11\n- Ann Lee: 2 changes, the last in 2022-10",
            "git history",
        ),
        SectionEntry("What changes together:\n- src/pay/card.py with src/pay/money.py: 2 of 4 changes", "git history"),
    )


def test_addresses_bots_and_hidden_files_are_not_shown(tmp_path: Path) -> None:
    past = history_of(
        tmp_path,
        ("renovate[bot]", 1, "src/pay/card.py src/hidden.py"),
        ("Bob", 1, "src/pay/card.py src/hidden.py"),
        ("Bob", 1, "src/pay/card.py src/hidden.py"),
    )
    text = SHOP.replace("ann@example.org", "zoe@example.org")
    content = "\n".join(note.text for note in noted(tmp_path, past, "src/pay/card.py", text=text))
    assert "Bob" in content
    assert "@example" not in content and "renovate" not in content and "hidden" not in content


def test_people_and_pairs_are_limited_to_five(tmp_path: Path) -> None:
    files = [f"src/f{i}.py" for i in range(9)]
    text = "\n".join(f"-- {name} --\nx = {i}" for i, name in enumerate(files))
    past = history_of(tmp_path, *((f"Person {i}", i, " ".join(files)) for i in range(9)))
    knowing, together = noted(tmp_path, past, *files, text=text)
    assert [line.split(":")[0] for line in knowing.text.splitlines()[1:]] == [f"- Person {i}" for i in range(5)]
    assert len(together.text.splitlines()) == 1 + 5


def test_unknown_history_gives_no_entries(tmp_path: Path) -> None:
    assert noted(tmp_path, history_of(tmp_path), "a.py", text="-- a.py --\nx = 1\n") == ()
    assert noted(tmp_path, history_of(tmp_path), "missing.py") == ()
