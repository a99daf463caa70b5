"""A git process ends in time, and leaves no child process behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from processes import alive, until
from promptls.git.runner import query_git
from promptls.util.git_process import GitResult

pytestmark = pytest.mark.process


@pytest.mark.skipif(os.name != "posix", reason="a shell script replaces git")
@pytest.mark.parametrize("redirection", ["", "2>/dev/null"])
def test_background_child_of_git_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redirection: str) -> None:
    """A background helper keeps the pipe open after git has exited."""
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\nsleep 1000 {redirection} &\necho $!\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    result = query_git(str(tmp_path), "log", timeout_s=1.0)
    assert isinstance(result, GitResult) and not result.complete
    until(lambda: not alive(int(result.stdout)), "the child of git to end")
