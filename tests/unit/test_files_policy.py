"""What the settings include and exclude: the same for listing, asking and explaining."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.index import files
from promptls.index.files import Policy
from trees import alone, git, plant

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
        Policy(),
        ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py src/gen/b.py src/gen/keep.py",
    ),
    "a folder out": (Policy(exclude=("gen/",)), ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py"),
    "a folder out but for one file": (
        Policy(exclude=("gen/", "!keep.py")),
        ".github/ci.yml .hidden docs/a.md secret plans.txt src/a.py src/gen/keep.py",
    ),
    "only some": (Policy(include=("*.py",)), "src/a.py src/gen/b.py src/gen/keep.py"),
    "only some, less others": (Policy(include=("/src/",), exclude=("b.py",)), "src/a.py src/gen/keep.py"),
    "nothing hidden": (Policy(hidden=False), "docs/a.md secret plans.txt src/a.py src/gen/b.py src/gen/keep.py"),
    "only what is not there": (Policy(include=("nothing",)), ""),
    "patterns that mean nothing pick nothing": (Policy(include=("# a comment",)), ""),
}


@pytest.mark.parametrize("repo", [False, True], ids=["folder", "repository"])
@pytest.mark.parametrize(("policy", "expected"), CASES.values(), ids=CASES.keys())
def test_what_is_listed_ignored_and_explained_agrees(
    policy: Policy, expected: str, repo: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone(tmp_path / "home", monkeypatch)
    root = plant(tmp_path / "root", TREE)
    if repo:
        git(root, "init", "-q")
    limits = files.Limits(policy=policy)
    listed = sorted(found.name for found in files.walk(root, limits))
    assert " ".join(listed) == expected
    every = [found.path for found in files.walk(root, files.Limits())]
    ignored = files.ignored(root, every, limits)
    assert {path for path in every if path not in ignored} == {f"{root}/{name}" for name in listed}
    for path in every:
        verdict = files.explain(root, path, limits)
        assert verdict.indexed == (path not in ignored)
        assert verdict.indexed or "index." in verdict.reason
