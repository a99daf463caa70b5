"""Permissions of files: those of promptls are for the user only, those of a workspace have the mode of the user."""

from __future__ import annotations

import os
from functools import cache


@cache
def private_umask() -> int:
    """Set the umask of this process to that of private files, once, and return the one before."""
    return os.umask(0o077)


def shared_mode(mode: int) -> int:
    """Return the mode that a file or folder of a workspace has by the umask of the user."""
    return mode & ~private_umask()
