"""Where Python's imports lead: absolute and relative modules, packages with and without files, src layouts."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from promptls.graph.imports.file_tree import Tree, nearest
from promptls.graph.imports.types import ALL, Ground, Target, folder_of
from promptls.model import FileEntry

_BROUGHT = sys.stdlib_module_names - {"test"}
"""Modules that come with Python; "test" is more often one's own."""


def python(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Absolute and relative modules; packages with and without __init__; src layouts; names that are modules."""
    place = python_module(ground, entry, module)
    if not place:
        return ()
    if not names:
        return (Target(place),)
    package = place.rpartition("/")[0] if place.endswith(("/__init__.py", "/__init__.pyi")) else place
    inside = place.endswith(("__init__.py", "__init__.pyi")) or not place.endswith((".py", ".pyi"))
    out: list[Target] = []
    for name in names:
        below = _python_file(ground.tree, f"{package}/{name}") if inside and name != ALL else ""
        out.append(Target(below) if below else Target(place, name))
    return tuple(out)


def python_module(ground: Ground, entry: FileEntry, module: str) -> str:
    """The file of a module, or its folder where it has none; "" if it is not in the workspace."""
    tree = ground.tree
    tail = module.lstrip(".")
    dots = len(module) - len(tail)
    relative, top = tail.replace(".", "/"), tail.partition(".")[0]
    if dots:
        folder = folder_of(entry)
        for _ in range(dots - 1):
            folder = folder.rpartition("/")[0]
        if not tree.root_of(folder):
            return ""
        return _python_place(tree, f"{folder}/{relative}".rstrip("/"))
    if not tail:
        return ""
    for find in (_python_file, _python_folder)[: 1 if top in _BROUGHT else 2]:  # a package without files goes last
        for base in _python_bases(ground, entry, top):
            if place := find(tree, f"{base}/{relative}"):
                return place
    return ""


def _python_bases(ground: Ground, entry: FileEntry, top: str) -> Iterator[str]:
    """Folders where a top-level name may live: those around that are no packages, then wherever it is a package.

    What Python brings is nowhere else.
    """
    tree = ground.tree
    for folder in tree.above(entry.path):
        if not tree.has(f"{folder}/__init__.py"):
            yield folder
            yield f"{folder}/src"
            yield f"{folder}/lib"
    if top in _BROUGHT:
        return
    found = [p.rpartition("/")[0] for p in tree.called("__init__.py") if p.endswith(f"/{top}/__init__.py")]
    found = [p for p in found if not tree.has(f"{p.rpartition('/')[0]}/__init__.py")]
    if found:
        yield nearest(found, entry.path).rpartition("/")[0]


def _python_place(tree: Tree, path: str) -> str:
    return _python_file(tree, path) or _python_folder(tree, path)


def _python_folder(tree: Tree, path: str) -> str:
    return path if path in tree.folders else ""


def _python_file(tree: Tree, path: str) -> str:
    return tree.first((f"{path}.py", f"{path}/__init__.py", f"{path}.pyi", f"{path}/__init__.pyi"))
