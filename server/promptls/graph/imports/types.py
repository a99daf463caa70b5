"""Types of import resolution: targets, and the interface of the resolver of a language."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from promptls.graph.imports.configs import Configs
from promptls.graph.imports.file_tree import FileTree
from promptls.model import FileEntry

WILDCARD = "*"
"""Stands for all names of a module."""


class Target(NamedTuple):
    """The target of an import: a file, or a name defined in it."""

    path: str  # path of a file, or of a folder for packages without a file
    name: str = ""  # "" for the file as a module, "*" for all its names; "A.b" and "A.*" for members of a type


class ResolutionContext(NamedTuple):
    """Files and configuration of a snapshot, the input of all resolvers."""

    tree: FileTree
    configs: Configs


LanguageResolver = Callable[[ResolutionContext, FileEntry, str, tuple[str, ...]], tuple[Target, ...]]
"""Maps (context, importing file, module, names) to one target per name, or one for the module; () for third parties."""


def folder_of(entry: FileEntry) -> str:
    """Return the folder of a file."""
    return entry.path.rpartition("/")[0]


def make_targets(path: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Return targets for imported names, or for the file as a module without names; () without a file."""
    if not path:
        return ()
    return tuple(Target(path, name) for name in names) if names else (Target(path),)
