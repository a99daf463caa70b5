"""Whatever a git does, whoever asked it goes on in time and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from processes import alive, until
from promptls.git.runner import Answer, ask


@pytest.mark.skipif(os.name != "posix", reason="a script stands for git")
@pytest.mark.parametrize("holds", ["", ">/dev/null", "2>/dev/null"])
def test_what_git_has_started_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: str) -> None:
    """A helper that stays keeps the ends of the pipes open, as one that git sends into the background does."""
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\nsleep 1000 {holds} &\necho $!\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    got = ask(str(tmp_path), "log", seconds=1.0)
    assert isinstance(got, Answer) and not got.whole
    until(lambda: not alive(int(got.out)), "what git has started to end")
