"""Where Rust's uses lead: through crates and their modules, file by file."""

from __future__ import annotations

from promptls.graph.imports.file_tree import Tree
from promptls.graph.imports.types import ALL, Ground, Target, folder_of
from promptls.model import FileEntry


def rust(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """crate, self, super, crates of the workspace; what is below a file is a name in it."""
    parts = [part for part in module.split("::") if part]
    if not parts:
        return tuple(t for name in names for t in rust(ground, entry, name, ()))
    start = _rust_start(ground, entry, parts[0])
    if not start:
        return ()
    file, rest = _rust_walk(ground.tree, start, parts[1:])
    if not ground.tree.has(file):
        return ()
    out: list[Target] = []
    for name in names or ("",):
        if name == ALL:
            out.append(Target(file, rest[0] if rest else ALL))
            continue
        below, left = _rust_walk(ground.tree, file, [name]) if name and name != "self" and not rest else (file, [name])
        out.append(Target(below) if not left else Target(file, rest[0] if rest else name if name != "self" else ""))
    return tuple(out)


def _rust_start(ground: Ground, entry: FileEntry, first: str) -> str:
    tree = ground.tree
    if first == "self":
        return entry.path
    if first == "super":
        folder, base = folder_of(entry), entry.path.rpartition("/")[2]
        if base in ("mod.rs", "lib.rs", "main.rs"):
            folder = folder.rpartition("/")[0]
        return _rust_module(tree, folder)
    if first == "crate":
        config = ground.configs.nearest(entry.path, "Cargo.toml")
        top = config.rpartition("/")[0]
        return _rust_root(tree, entry.path, top) if top else ""
    folder = ground.configs.crates().get(first, "")
    if folder:
        return tree.first((f"{folder}/src/lib.rs", f"{folder}/src/main.rs", f"{folder}/lib.rs"))
    below, left = _rust_walk(tree, entry.path, [first])  # a module beside: paths may begin with it
    return "" if left else below


def _rust_root(tree: Tree, path: str, top: str) -> str:
    """The file that the crate of a file begins with, by the Cargo.toml in the folder `top`.

    Its manifest may name one elsewhere: the first lib.rs or main.rs around the file.  Tests may begin with any file,
    and what lies beside that is below the crate: a name that needs no file stands for it.
    """
    if not path.startswith(f"{top}/src/"):
        for folder in tree.above(path):
            if len(folder) <= len(top):
                break
            if found := tree.first((f"{folder}/lib.rs", f"{folder}/main.rs")):
                return found
        for kind in ("tests", "benches", "examples"):
            if path.startswith(f"{top}/{kind}/"):
                return f"{top}/{kind}/main.rs"
    return tree.first((f"{top}/src/lib.rs", f"{top}/src/main.rs", f"{top}/lib.rs", f"{top}/main.rs"))


def _rust_module(tree: Tree, folder: str) -> str:
    """The file of the module whose parts lie in a folder."""
    return tree.first((f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"))


def _rust_walk(tree: Tree, file: str, parts: list[str]) -> tuple[str, list[str]]:
    """Down the modules that are files; what is left are names inside of the last one."""
    for i, part in enumerate(parts):
        if part == "super":
            folder, _, base = file.rpartition("/")
            up = folder.rpartition("/")[0] if base in ("mod.rs", "lib.rs", "main.rs") else folder
            below = _rust_module(tree, up)
        else:
            folder, _, base = file.rpartition("/")
            home = folder if base in ("mod.rs", "lib.rs", "main.rs") else file.removesuffix(".rs")
            below = tree.first((f"{home}/{part}.rs", f"{home}/{part}/mod.rs"))
        if not below:
            return file, parts[i:]
        file = below
    return file, []
