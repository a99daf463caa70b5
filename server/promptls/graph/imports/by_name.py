"""Where imports lead that name a module or a class: the file whose path is spelled like it."""

from __future__ import annotations

import re

from promptls.graph.imports.by_path import here
from promptls.graph.imports.file_tree import Tree, by_far_nearest, nearest
from promptls.graph.imports.types import ALL, Ground, Target, Way, targets
from promptls.model import FileEntry


def dotted(endings: tuple[str, ...], separator: str = ".", members: bool = False) -> Way:
    """A class by its qualified name: the file whose path ends like it; "*" is everything in the folder.

    `members`: what is named below a file is a member of the type that the file is called after.
    """

    def way(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
        tree = ground.tree
        base = module.strip(separator).replace(separator, "/").removesuffix("/Companion")
        within = base.rpartition("/")[2] + "." if members else ""
        out: list[Target] = []
        for name in names or ("",):
            if name == ALL:
                folder = tree.folder_ending(base, entry.path)
                out += [Target(p, ALL) for p in tree.inside(folder) if p.endswith(endings)] if folder else []
                inner = tree.ending([f"{base}{e}" for e in endings], entry.path)
                out += [Target(inner, within + ALL)] if inner else []
                continue
            full = f"{base}/{name}" if base and name else base or name
            path = tree.ending([f"{full}{e}" for e in endings], entry.path)
            if path:
                out.append(Target(path, full.rpartition("/")[2]))
            elif name and (owner := tree.ending([f"{base}{e}" for e in endings], entry.path)):
                out.append(Target(owner, within + name))
            elif name and (folder := tree.folder_ending(base, entry.path)):
                files = [p for p in tree.inside(folder) if p.endswith(endings)]
                out += [Target(files[0], name)] if files else []
        return tuple(out)

    return way


_CLASSES = dotted((".php",), "\\")


def php(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A class by its namespace: where composer.json says that it lives, else where the end of its path fits.

    What is included is a file from here: what stands before its path is __DIR__, as a rule.
    """
    if module.endswith((".php", ".inc", ".phtml")):
        return here(ground, entry, module, names)
    for start, folder in ground.configs.namespaces():
        if f"{module}\\".startswith(start):
            place = f"{folder[len(ground.tree.root_of(folder)) :]}/{module[len(start) :]}"
            found = _CLASSES(ground, entry, place.replace("/", "\\"), names)
            if found:
                return found
    return _CLASSES(ground, entry, module, names)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def elixir(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """App.Some.Thing is …/app/some/thing.ex, or …/some/thing.ex where there is an app."""
    tree = ground.tree
    found: list[Target] = []
    for name in names or ("",):
        full = f"{module}.{name}" if name and name != ALL else module
        base = "/".join(_snake(part) for part in full.split("."))
        app, _, inner = base.partition("/")
        ours = inner and (tree.called(f"{app}.ex") or tree.folder_ending(app, entry.path))
        bases = (base, inner) if ours else (base,)
        path = tree.ending([f"{b}{e}" for b in bases for e in (".ex", *([".exs"] if inner else []))], entry.path)
        found += [Target(path, full.rpartition(".")[2])] if path else []
    return tuple(found)


def haskell(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """App.Some.Thing is …/App/Some/Thing.hs."""
    return targets(_whole_path(ground.tree, module.split("."), ".hs", entry.path), names)


def perl(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """App::Some::Thing is …/App/Some/Thing.pm."""
    return targets(_whole_path(ground.tree, module.split("::"), ".pm", entry.path), names)


def _whole_path(tree: Tree, parts: list[str], ending: str, near: str) -> str:
    """The nearest file that is this module: "JSON" is not Mojo/JSON.pm, which is called Mojo::JSON.

    Folders of sources are in lower case, or stand at the top.
    """

    def is_top(folder: str) -> bool:
        above, _, last = folder.rpartition("/")
        return not last[:1].isupper() or tree.root_of(folder) in (folder, above)

    tail = "/" + "/".join(parts) + ending
    found = [path for path in tree.called(parts[-1] + ending) if path.endswith(tail) and is_top(path[: -len(tail)])]
    return nearest(found, near) if found else ""


def ocaml(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A module is the file of its name, beside this one or by far the nearest; of a path that which is a file.

    A library may wrap its modules: then it is a folder, or a file beside them.
    """
    tree, place = ground.tree, entry.path
    for part in module.split("."):
        found = _ocaml_file(tree, place, part)
        if not found:
            folder = tree.folder_ending(part.lower(), entry.path) if place == entry.path else ""
            inside = [path for path in tree.inside(folder) if path.endswith(".ml")] if folder else []
            if not inside:
                break
            found = inside[0]
        place = found
    return targets(place, names) if place != entry.path else ()


def _ocaml_file(tree: Tree, path: str, name: str) -> str:
    wanted = name[:1].lower() + name[1:]
    for ending in (".ml", ".mli"):
        files = [f for f in tree.called(wanted + ending) if f.rpartition("/")[2] in (wanted + ending, name + ending)]
        if found := by_far_nearest([file for file in files if file != path], path):
            return found
    return ""


def go(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """The folder of a package, by the module paths of go.mod; any file of it stands for it."""
    tree = ground.tree
    for name, folder in sorted(ground.configs.modules().items(), key=lambda item: -len(item[0])):
        if module == name or module.startswith(name + "/"):
            place = folder + module[len(name) :]
            files = [p for p in tree.inside(place) if p.endswith(".go")]
            plain = [p for p in files if not p.endswith("_test.go")]
            return (Target((plain or files)[0]),) if files else ()
    return ()


def lua(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """require "a.b" is …/a/b.lua or …/a/b/init.lua."""
    base = module.replace(".", "/") if "/" not in module else module
    path = ground.tree.ending([f"{base}.lua", f"{base}/init.lua", base], entry.path)
    return (Target(path),) if path else ()
