"""Folder trees for tests, written as text with one entry per line.

src/a.py                     a file that contains its own name
src/.gitignore = *.o | !k.o  a file with these lines
empty/                       a folder
link -> src/a.py             a symbolic link
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


def files_of(text: str) -> dict[str, str]:
    """Return the text of each file in a workspace string, by path."""
    files: dict[str, str] = {}
    name = ""
    for line in text.strip("\n").split("\n"):
        if line.startswith("-- ") and line.endswith(" --"):
            name = line[3:-3]
            files[name] = ""
        elif name:
            files[name] += line + "\n"
    return files


def plant(root: Path, text: str) -> str:
    """Create the tree below `root` and return the path of the root with forward slashes."""
    root.mkdir(parents=True, exist_ok=True)
    for line in filter(None, map(str.strip, text.splitlines())):
        name, arrow, target = line.partition(" -> ")
        name, equals, content = (name, "", "") if arrow else line.partition(" = ")
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if arrow:
            place.symlink_to(target)
        elif name.endswith("/"):
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes((content.replace(" | ", "\n") if equals else name).encode() + b"\n")
    return root.as_posix()


def git(root: str | Path, *args: str, data: bytes | None = None, fine: tuple[int, ...] = (0,)) -> bytes:
    """Run git and return its output; `fine` are the accepted exit statuses."""
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *args], cwd=root, input=data, capture_output=True, check=False)
    assert done.returncode in fine, done.stderr.decode()
    return done.stdout


def alone(home: Path, patch: pytest.MonkeyPatch) -> None:
    """Isolate git from the configuration of the user and the system."""
    home.mkdir(parents=True, exist_ok=True)
    for name in [k for k in os.environ if k.startswith("GIT_")]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("USERPROFILE", str(home))
    patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
