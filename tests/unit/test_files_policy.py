"""File policy of the settings, in walks, ignored paths and explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.index.files.policy import FilePolicy
from promptls.index.files.read import FileLimits
from promptls.index.files.walk import explain_path, ignored_paths, walk_files
from trees import alone, git, plant

pytestmark = pytest.mark.process

TREE = """
src/a.py
src/gen/b.py
src/gen/keep.py
docs/a.md
.github/ci.yml
.hidden
secret plans.txt
"""

CASES = {
    "nothing said": (
        FilePolicy(),
        ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py src/gen/b.py src/gen/keep.py",
    ),
    "a folder out": (FilePolicy(exclude=("gen/",)), ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py"),
    "a folder out but for one file": (
        FilePolicy(exclude=("gen/", "!keep.py")),
        ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py src/gen/keep.py",
    ),
    "only some": (FilePolicy(include=("*.py",)), "src/a.py src/gen/b.py src/gen/keep.py"),
    "only some, less others": (FilePolicy(include=("/src/",), exclude=("b.py",)), "src/a.py src/gen/keep.py"),
    "nothing hidden": (
        FilePolicy(include_hidden=False),
        "docs/a.md secret plans.txt src/a.py src/gen/b.py src/gen/keep.py",
    ),
    "only what is not there": (FilePolicy(include=("nothing",)), ""),
    "patterns without a rule match nothing": (FilePolicy(include=("# a comment",)), ""),
}


@pytest.mark.parametrize("repo", [False, True], ids=["folder", "repository"])
@pytest.mark.parametrize(("policy", "expected"), CASES.values(), ids=CASES.keys())
def test_walk_ignored_paths_and_explanations_agree(
    policy: FilePolicy, expected: str, repo: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone(tmp_path / "home", monkeypatch)
    root = plant(tmp_path / "root", TREE)
    if repo:
        git(root, "init", "-q")
    limits = FileLimits(policy=policy)
    listed = sorted(found.name for found in walk_files(root, limits))
    assert " ".join(listed) == expected
    every = [found.path for found in walk_files(root, FileLimits())]
    ignored = ignored_paths(root, every, limits)
    assert {path for path in every if path not in ignored} == {f"{root}/{name}" for name in listed}
    for path in every:
        decision = explain_path(root, path, limits)
        assert decision.indexed == (path not in ignored)
        assert decision.indexed or "index." in decision.reason
