"""Who is said to know the code in play, and who is not named."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.git.log import Change, Commit, Log
from promptls.git.statistics import Past, past_of
from promptls.knowledge.team import codebuddy_team, find_owners, find_people, owners_of, parse_owners, team_notes
from promptls.model import Note
from workspaces import request_of, snapshot_of

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


def history_of(top: Path, *commits: tuple[str, int, str]) -> Past:
    """(author, days ago, files) of each commit, newest first."""
    log = Log(
        tuple(
            Commit(str(i), NOW - days * DAY, who, f"commit {i}", tuple(Change("M", n) for n in names.split()),
                   len(names.split()), who.endswith("[bot]"))
            for i, (who, days, names) in enumerate(commits)
        ),
        {"ann@example.org": "Ann Lee"},
    )  # fmt: skip
    return past_of(top.resolve().as_posix(), "x", "main", log)


def owners(text: str, *names: str) -> list[str]:
    parsed = parse_owners(text)
    return [" ".join(owners_of(parsed, name)) for name in names]


# ---- CODEOWNERS


@pytest.mark.parametrize(
    ("pattern", "name", "owned"),
    [
        ("*", "a/b.py", True),
        ("*.js", "a/b.js", True),
        ("*.js", "a/b.ts", False),
        ("/build/logs/", "build/logs/x/y.log", True),
        ("/build/logs/", "a/build/logs/y.log", False),
        ("docs/*", "docs/a.md", True),
        ("docs/*", "docs/deep/a.md", False),
        ("/*", "a.md", True),
        ("/*", "docs/a.md", False),
        ("apps/", "a/apps/b.py", True),
        ("apps/", "apps", False),
        ("/docs/", "docs/a/b.md", True),
        ("/scripts", "scripts/a.sh", True),
        ("/scripts", "scripts", True),
        ("**/logs", "a/b/logs/c", True),
        ("/a/**/z.py", "a/z.py", True),
        ("/a/**/z.py", "a/b/c/z.py", True),
        ("/a/**/z.py", "b/z.py", False),
        ("src/a?.py", "src/ab.py", True),
        ("src/a?.py", "src/a.py", False),
        (r"/with\ space.md", "with space.md", True),
        (r"/\#file", "#file", True),
        ("a/b", "x/a/b", False),
    ],
)
def test_a_pattern_is_matched_as_the_hosts_do(pattern: str, name: str, owned: bool) -> None:
    assert owners(f"{pattern} @me", name) == ["@me" if owned else ""]


def test_the_last_match_wins_and_no_owner_is_none() -> None:
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
        !model/db/generated.sql
        """
    assert owners(text, "docs/a.md", "docs/schema.md", "README.md", "model/db/x.sql", "model/db/generated.sql") == [
        "@all @docs",
        "@all @docs @dba",
        "@all @readme",
        "@all @dba",
        "@all",
    ]


def test_garbage_owns_nothing() -> None:
    assert parse_owners("# only\n\n   \n").patterns == ()
    assert owners("*.py not-an-owner <script>\n", "a.py") == [""]


def test_the_file_of_the_host_comes_first(tmp_path: Path) -> None:
    text = "-- CODEOWNERS --\n* @second\n-- .github/CODEOWNERS --\n* @first\n-- a.py --\nx = 1\n"
    snapshot = snapshot_of(text, tmp_path)
    (found,) = find_owners(request_of(snapshot).sources).values()
    assert (found.label, owners_of(found, "a.py")) == (".github/CODEOWNERS", ("@first",))


# ---- notes


def noted(top: Path, history: Past, *files: str, text: str = SHOP) -> tuple[Note, ...]:
    snapshot = snapshot_of(text, top)
    sources = request_of(snapshot).sources
    paths = [f"{snapshot.roots[0].path}/{name}" for name in files]
    people, problems = find_people(sources)
    assert not problems
    return team_notes(snapshot, [history], find_owners(sources), paths, NOW, people)


def test_owners_people_and_pairs_of_the_files_in_play(tmp_path: Path) -> None:
    past = history_of(
        tmp_path,
        ("Bob", 1, "src/pay/card.py src/pay/money.py CHANGELOG.md"),
        ("renovate[bot]", 2, "src/pay/card.py"),
        ("Ann Lee", 400, "src/pay/card.py src/pay/money.py CHANGELOG.md"),
        ("Ann Lee", 500, "src/pay/card.py"),
        ("Cy", 3, "src/ui/page.ts"),
    )
    assert noted(tmp_path, past, "src/pay/card.py") == (
        Note("Owners of the code in play:\n- @org/payments, Ann Lee: src/pay/card.py", ".github/CODEOWNERS"),
        Note(
            "Who changed this code, recent changes first in weight:\n"
            "- Bob: 1 change, the last in 2023-11\n- Ann Lee: 2 changes, the last in 2022-10",
            "git history",
        ),
        Note("What changes together:\n- src/pay/card.py with src/pay/money.py: 2 of 4 changes", "git history"),
    )


def test_no_address_no_program_and_no_hidden_file_is_named(tmp_path: Path) -> None:
    past = history_of(
        tmp_path,
        ("renovate[bot]", 1, "src/pay/card.py src/hidden.py"),
        ("Bob", 1, "src/pay/card.py src/hidden.py"),
        ("Bob", 1, "src/pay/card.py src/hidden.py"),
    )
    text = SHOP.replace("ann@example.org", "zoe@example.org")
    said = "\n".join(note.text for note in noted(tmp_path, past, "src/pay/card.py", text=text))
    assert "Bob" in said
    assert "@example" not in said and "renovate" not in said and "hidden" not in said


def test_at_most_five_people_and_five_pairs(tmp_path: Path) -> None:
    files = [f"src/f{i}.py" for i in range(9)]
    text = "\n".join(f"-- {name} --\nx = {i}" for i, name in enumerate(files))
    past = history_of(tmp_path, *((f"Person {i}", i, " ".join(files)) for i in range(9)))
    knowing, together = noted(tmp_path, past, *files, text=text)
    assert [line.split(":")[0] for line in knowing.text.splitlines()[1:]] == [f"- Person {i}" for i in range(5)]
    assert len(together.text.splitlines()) == 1 + 5


def test_nothing_known_says_nothing(tmp_path: Path) -> None:
    assert noted(tmp_path, history_of(tmp_path), "a.py", text="-- a.py --\nx = 1\n") == ()
    assert noted(tmp_path, history_of(tmp_path), "missing.py") == ()


def test_the_workspace_can_say_more_of_its_people(tmp_path: Path) -> None:
    text = """
-- src/pay/card.py --
x = 1
-- src/ui/page.ts --
let x = 1
-- .promptls/team.toml --
[[person]]
name = "Ann Lee <ann@example.org>"
role = "payments, ann@example.org"
knows = ["src/pay/**"]
[[person]]
name = "Bob"
"""
    past = history_of(tmp_path)
    assert [n.text for n in noted(tmp_path, past, "src/pay/card.py", text=text)] == [
        "Known for it:\n- Ann Lee: payments,\n- Bob"
    ]
    assert [n.text for n in noted(tmp_path, past, "src/ui/page.ts", text=text)] == ["Known for it:\n- Bob"]


@pytest.mark.parametrize("content", ["[[person]", "[[person]]\nname = 3\n", '[[person]]\nnmae = "x"\n', "person = 1\n"])
def test_a_malformed_team_file_is_a_problem(tmp_path: Path, content: str) -> None:
    snapshot = snapshot_of(f"-- .promptls/team.toml --\n{content}\n", tmp_path)
    people, (problem,) = find_people(request_of(snapshot).sources)
    assert people == () and ".promptls/team.toml" in problem.message and "[[person]]" in problem.suggestion


def test_codebuddy_shows_twenty_people_by_last_seen_and_five_collaborations(tmp_path: Path) -> None:
    past = history_of(
        tmp_path,
        *((f"P{i:02}", i, "a.py") for i in range(25)),
        *((f"P{i:02}", 30, "b.py c.py") for i in range(3)),
        ("bot[bot]", 0, "a.py"),
    )
    team, together = codebuddy_team([past])
    assert [line[2:5] for line in team.text.splitlines()[1:]] == [f"P{i:02}" for i in range(20)]
    assert together.text.splitlines()[1:] == [
        "- P00 and P01: 3 files",
        "- P00 and P02: 3 files",
        "- P01 and P02: 3 files",
        "- P00 and P03: 1 file",
        "- P00 and P04: 1 file",
    ]
