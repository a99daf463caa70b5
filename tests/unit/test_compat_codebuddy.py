"""CodeBuddy's sections, budgets and text transformations."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from promptls.extensions.compat.codebuddy import model_budget
from promptls.extensions.compat.codebuddy.codebuddy_sections import common_files, memory_list, team_summary
from promptls.git.commit_history import Commit, CommitLog, FileChange, History, build_history
from promptls.knowledge.memory_store import MemoryEntry
from workspaces import context_of, snapshot_of

NOW = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)
DAY = 86_400

# ---------------------------------------------------------------- sections


def memory_entry(title: str, content: str, category: str = "knowledge", scope: str = "user") -> MemoryEntry:
    return MemoryEntry(
        id=title,
        category=category,
        title=title,
        content=content,
        created=NOW,
        updated=NOW,
        scope=scope,  # type: ignore[arg-type]
    )


def test_memory_is_grouped_by_scope_with_one_line_per_entry() -> None:
    entries = [
        memory_entry("Tabs", "Never.", category="rule"),
        memory_entry("Db", "Postgres\n15", scope="workspace"),
        memory_entry("Flaky", "Retry.", category="experience"),
    ]
    assert memory_list(entries) == (
        "User memory:\n- [Rule] Tabs: Never.\n- [Experience] Flaky: Retry.\n\n"
        "Project memory:\n- [Knowledge] Db: Postgres\n  15"
    )
    assert memory_list(()) == ""


def test_common_files_are_cut_at_5000_characters(tmp_path: Path) -> None:
    text = f"-- README.md --\n{'word ' * 2000}\n-- package.json --\n{{}}\n-- docs/architecture.md --\n# A\n-- src/a.py --\n"
    notes = common_files(context_of(snapshot_of(text, tmp_path)).sources)
    assert [(n.source, len(n.text), n.score) for n in notes] == [
        ("README.md", 5000, 1.0),
        ("package.json", 3, 1.0),
        ("docs/architecture.md", 4, 1.0),
    ]


def history_of(root: Path, *commits: tuple[str, int, str]) -> History:
    """Return a history of commits (author, days ago, files), newest first."""
    log = CommitLog(
        tuple(
            Commit(str(i), 1_700_000_000 - days * DAY, who, f"commit {i}",
                   tuple(FileChange("M", n) for n in names.split()), len(names.split()), who.endswith("[bot]"))
            for i, (who, days, names) in enumerate(commits)
        ),
    )  # fmt: skip
    return build_history(root.resolve().as_posix(), "x", "main", log)


def test_team_summary_has_twenty_people_by_last_commit_and_five_collaborations(tmp_path: Path) -> None:
    history = history_of(
        tmp_path,
        *((f"P{i:02}", i, "a.py") for i in range(25)),
        *((f"P{i:02}", 30, "b.py c.py") for i in range(3)),
        ("bot[bot]", 0, "a.py"),
    )
    people, collaborations = team_summary([history])
    assert [line[2:5] for line in people.text.splitlines()[1:]] == [f"P{i:02}" for i in range(20)]
    assert collaborations.text.splitlines()[1:] == [
        "- P00 and P01: 3 files",
        "- P00 and P02: 3 files",
        "- P01 and P02: 3 files",
        "- P00 and P03: 1 file",
        "- P00 and P04: 1 file",
    ]


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("qwen2.5-coder", 4000),
        ("qwen2.5-coder:3b", 3000),
        ("llama3.2", 3000),
        ("gpt-4", 6000),
        ("GPT-4o", 20000),
        ("gpt-4o-mini", 6000),  # "gpt-4" is the first entry that it contains
        ("claude-3-5-sonnet", 4000),  # neither contains nor is contained: the default
        ("claude-3-opus-20240229", 50000),
        ("llama3", 3000),  # contained in "llama3.2"
        ("", 4000),  # contained in the first entry
        ("codellama", 3000),  # according to the documentation; 4000 in the code
    ],
)
def test_budget_by_model_name(model: str, tokens: int) -> None:
    assert model_budget(model) == tokens
