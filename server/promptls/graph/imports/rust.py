"""Import resolution for Rust: use declarations through crates and module files."""

from __future__ import annotations

from promptls.graph.imports.file_tree import FileTree
from promptls.graph.imports.types import WILDCARD, ResolutionContext, Target, folder_of
from promptls.model import FileEntry


def resolve_rust(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve paths from crate, self, super and crates of the workspace; parts below a file are names in it."""
    parts = [part for part in module.split("::") if part]
    if not parts:
        return tuple(t for name in names for t in resolve_rust(context, entry, name, ()))
    start = _first_module(context, entry, parts[0])
    if not start:
        return ()
    file, rest = _walk_modules(context.tree, start, parts[1:])
    if not context.tree.has_file(file):
        return ()
    out: list[Target] = []
    for name in names or ("",):
        if name == WILDCARD:
            out.append(Target(file, rest[0] if rest else WILDCARD))
            continue
        below, remaining = (
            _walk_modules(context.tree, file, [name]) if name and name != "self" and not rest else (file, [name])
        )
        out.append(
            Target(below) if not remaining else Target(file, rest[0] if rest else name if name != "self" else "")
        )
    return tuple(out)


def _first_module(context: ResolutionContext, entry: FileEntry, first: str) -> str:
    tree = context.tree
    if first == "self":
        return entry.path
    if first == "super":
        folder, base = folder_of(entry), entry.path.rpartition("/")[2]
        if base in ("mod.rs", "lib.rs", "main.rs"):
            folder = folder.rpartition("/")[0]
        return _module_file(tree, folder)
    if first == "crate":
        config = context.configs.nearest(entry.path, "Cargo.toml")
        top = config.rpartition("/")[0]
        return _crate_root(tree, entry.path, top) if top else ""
    folder = context.configs.crates().get(first, "")
    if folder:
        return tree.first_file((f"{folder}/src/lib.rs", f"{folder}/src/main.rs", f"{folder}/lib.rs"))
    below, remaining = _walk_modules(tree, entry.path, [first])  # paths may begin with a sibling module
    return "" if remaining else below


def _crate_root(tree: FileTree, path: str, top: str) -> str:
    """Return the root file of a file's crate, whose Cargo.toml is in the folder `top`.

    Outside of src, the crate root is the first lib.rs or main.rs above the file.  Tests may have any root file; its
    sibling modules are resolved by a path that does not need to exist.
    """
    if not path.startswith(f"{top}/src/"):
        for folder in tree.parent_folders(path):
            if len(folder) <= len(top):
                break
            if root_file := tree.first_file((f"{folder}/lib.rs", f"{folder}/main.rs")):
                return root_file
        for kind in ("tests", "benches", "examples"):
            if path.startswith(f"{top}/{kind}/"):
                return f"{top}/{kind}/main.rs"
    return tree.first_file((f"{top}/src/lib.rs", f"{top}/src/main.rs", f"{top}/lib.rs", f"{top}/main.rs"))


def _module_file(tree: FileTree, folder: str) -> str:
    """Return the file of the module whose submodules are in a folder."""
    return tree.first_file((f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"))


def _walk_modules(tree: FileTree, file: str, parts: list[str]) -> tuple[str, list[str]]:
    """Follow a path through module files; return the last file and the remaining parts."""
    for i, part in enumerate(parts):
        if part == "super":
            folder, _, base = file.rpartition("/")
            up = folder.rpartition("/")[0] if base in ("mod.rs", "lib.rs", "main.rs") else folder
            below = _module_file(tree, up)
        else:
            folder, _, base = file.rpartition("/")
            home = folder if base in ("mod.rs", "lib.rs", "main.rs") else file.removesuffix(".rs")
            below = tree.first_file((f"{home}/{part}.rs", f"{home}/{part}/mod.rs"))
        if not below:
            return file, parts[i:]
        file = below
    return file, []
