"""Import resolution for Python: absolute and relative modules, packages, namespace packages and src layouts."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from promptls.graph.imports.file_tree import FileTree, nearest_path
from promptls.graph.imports.types import WILDCARD, ResolutionContext, Target, folder_of
from promptls.model import FileEntry

_STDLIB = sys.stdlib_module_names - {"test"}
"""Modules of the standard library; a module named "test" usually belongs to the project."""


def resolve_python(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve an import; an imported name that is a submodule resolves to its file."""
    path = find_python_module(context, entry, module)
    if not path:
        return ()
    if not names:
        return (Target(path),)
    package = path.rpartition("/")[0] if path.endswith(("/__init__.py", "/__init__.pyi")) else path
    inside = path.endswith(("__init__.py", "__init__.pyi")) or not path.endswith((".py", ".pyi"))
    out: list[Target] = []
    for name in names:
        below = _find_file(context.tree, f"{package}/{name}") if inside and name != WILDCARD else ""
        out.append(Target(below) if below else Target(path, name))
    return tuple(out)


def find_python_module(context: ResolutionContext, entry: FileEntry, module: str) -> str:
    """Return the file of a module, the folder of a namespace package, or "" if it is not in the workspace."""
    tree = context.tree
    tail = module.lstrip(".")
    dots = len(module) - len(tail)
    relative, top = tail.replace(".", "/"), tail.partition(".")[0]
    if dots:
        folder = folder_of(entry)
        for _ in range(dots - 1):
            folder = folder.rpartition("/")[0]
        if not tree.root_of(folder):
            return ""
        return _find_module(tree, f"{folder}/{relative}".rstrip("/"))
    if not tail:
        return ""
    for find in (_find_file, _find_folder)[
        : 1 if top in _STDLIB else 2
    ]:  # namespace packages have the lowest precedence
        for base in _search_folders(context, entry, top):
            if path := find(tree, f"{base}/{relative}"):
                return path
    return ""


def _search_folders(context: ResolutionContext, entry: FileEntry, top: str) -> Iterator[str]:
    """Yield folders that may contain a top-level module: parent folders that are not packages, then any other package.

    Modules of the standard library are only searched in parent folders.
    """
    tree = context.tree
    for folder in tree.parent_folders(entry.path):
        if not tree.has_file(f"{folder}/__init__.py"):
            yield folder
            yield f"{folder}/src"
            yield f"{folder}/lib"
    if top in _STDLIB:
        return
    packages = [p.rpartition("/")[0] for p in tree.files_named("__init__.py") if p.endswith(f"/{top}/__init__.py")]
    packages = [p for p in packages if not tree.has_file(f"{p.rpartition('/')[0]}/__init__.py")]
    if packages:
        yield nearest_path(packages, entry.path).rpartition("/")[0]


def _find_module(tree: FileTree, path: str) -> str:
    return _find_file(tree, path) or _find_folder(tree, path)


def _find_folder(tree: FileTree, path: str) -> str:
    return path if path in tree.folders else ""


def _find_file(tree: FileTree, path: str) -> str:
    return tree.first_file((f"{path}.py", f"{path}/__init__.py", f"{path}.pyi", f"{path}/__init__.pyi"))
