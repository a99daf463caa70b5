"""Folders of promptls itself: logs, caches and the user's memory.  Their files are never part of a workspace."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_IGNORE_ALL = "# Created by promptls.\n*\n"


def make_own_folder(folder: Path) -> None:
    """Create a folder of promptls, with a `.gitignore` that keeps its files out of indexes and repositories.

    A folder of another name that already has other files gets no `.gitignore`: they may belong to the user.

    Raises:
        OSError: The folder cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ignore_file = folder / ".gitignore"
    if not ignore_file.exists() and ("promptls" in folder.parts[-2:] or not any(folder.iterdir())):
        with suppress(OSError):  # the folder may be read-only
            ignore_file.write_text(_IGNORE_ALL, encoding="utf-8")
