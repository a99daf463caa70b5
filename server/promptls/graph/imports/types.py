"""What an import leads to, and what every way to find it looks at.

A way takes (entry, module, names) and gives targets, one for each name where names are imported, one for the
module otherwise; () for what is not in the workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from promptls.graph.imports.configs import Configs
from promptls.graph.imports.file_tree import Tree
from promptls.model import FileEntry

ALL = "*"


class Target(NamedTuple):
    """What an import leads to: a file, or what it offers under a name."""

    path: str  # of a file; of a folder where a language has packages without a file of their own
    name: str = ""  # "" for the file as a module, "*" for all that it offers; "A.b" and "A.*" for members of a type


class Ground(NamedTuple):
    """What the ways look at."""

    tree: Tree
    configs: Configs


Way = Callable[[Ground, FileEntry, str, tuple[str, ...]], tuple[Target, ...]]


def folder_of(entry: FileEntry) -> str:
    """The folder that a file is in."""
    return entry.path.rpartition("/")[0]


def targets(path: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """What of a file is imported: these names, or the file as a module; () where there is none."""
    if not path:
        return ()
    return tuple(Target(path, name) for name in names) if names else (Target(path),)
