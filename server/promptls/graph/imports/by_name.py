"""Import resolution for imports that name a module or class, by the file path that corresponds to the name."""

from __future__ import annotations

import re

from promptls.graph.imports.by_path import resolve_relative
from promptls.graph.imports.file_tree import FileTree, nearest_path, unambiguous_nearest
from promptls.graph.imports.types import WILDCARD, LanguageResolver, ResolutionContext, Target, make_targets
from promptls.model import FileEntry


def class_resolver(suffixes: tuple[str, ...], separator: str = ".", members: bool = False) -> LanguageResolver:
    """Return a resolver for classes by qualified name: the file whose path ends with it; "*" is a whole folder.

    Args:
        endings: File suffixes.
        separator: Separator in qualified names.
        members: A name below a file is a member of the type named like the file.
    """

    def resolve(
        context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
    ) -> tuple[Target, ...]:
        tree = context.tree
        base = module.strip(separator).replace(separator, "/").removesuffix("/Companion")
        type_prefix = base.rpartition("/")[2] + "." if members else ""
        out: list[Target] = []
        for name in names or ("",):
            if name == WILDCARD:
                folder = tree.nearest_folder(base, entry.path)
                out += [Target(p, WILDCARD) for p in tree.files_in(folder) if p.endswith(suffixes)] if folder else []
                inner = tree.nearest_file([f"{base}{suffix}" for suffix in suffixes], entry.path)
                out += [Target(inner, type_prefix + WILDCARD)] if inner else []
                continue
            qualified = f"{base}/{name}" if base and name else base or name
            path = tree.nearest_file([f"{qualified}{suffix}" for suffix in suffixes], entry.path)
            if path:
                out.append(Target(path, qualified.rpartition("/")[2]))
            elif name and (owner := tree.nearest_file([f"{base}{suffix}" for suffix in suffixes], entry.path)):
                out.append(Target(owner, type_prefix + name))
            elif name and (folder := tree.nearest_folder(base, entry.path)):
                files = [p for p in tree.files_in(folder) if p.endswith(suffixes)]
                out += [Target(files[0], name)] if files else []
        return tuple(out)

    return resolve


_CLASSES = class_resolver((".php",), "\\")


def resolve_php(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve a class by the namespaces in composer.json, otherwise by the end of its path.

    Included files are resolved by relative path, because the prefix is usually __DIR__.
    """
    if module.endswith((".php", ".inc", ".phtml")):
        return resolve_relative(context, entry, module, names)
    for prefix, folder in context.configs.namespaces():
        if f"{module}\\".startswith(prefix):
            location = f"{folder[len(context.tree.root_of(folder)) :]}/{module[len(prefix) :]}"
            matches = _CLASSES(context, entry, location.replace("/", "\\"), names)
            if matches:
                return matches
    return _CLASSES(context, entry, module, names)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def resolve_elixir(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve App.Some.Thing to …/app/some/thing.ex, or to …/some/thing.ex inside the app."""
    tree = context.tree
    matches: list[Target] = []
    for name in names or ("",):
        qualified = f"{module}.{name}" if name and name != WILDCARD else module
        base = "/".join(_snake(part) for part in qualified.split("."))
        app, _, inner = base.partition("/")
        is_own_app = inner and (tree.files_named(f"{app}.ex") or tree.nearest_folder(app, entry.path))
        bases = (base, inner) if is_own_app else (base,)
        path = tree.nearest_file(
            [f"{b}{suffix}" for b in bases for suffix in (".ex", *([".exs"] if inner else []))], entry.path
        )
        matches += [Target(path, qualified.rpartition(".")[2])] if path else []
    return tuple(matches)


def resolve_haskell(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve App.Some.Thing to …/App/Some/Thing.hs."""
    return make_targets(_module_file(context.tree, module.split("."), ".hs", entry.path), names)


def resolve_perl(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve App::Some::Thing to …/App/Some/Thing.pm."""
    return make_targets(_module_file(context.tree, module.split("::"), ".pm", entry.path), names)


def _module_file(tree: FileTree, parts: list[str], suffix: str, near: str) -> str:
    """Return the nearest file of a module by its full name: "JSON" is not Mojo/JSON.pm, which is Mojo::JSON.

    The folder above the module must be lower-case or at the top of the workspace.
    """

    def is_top(folder: str) -> bool:
        parent, _, last = folder.rpartition("/")
        return not last[:1].isupper() or tree.root_of(folder) in (folder, parent)

    tail = "/" + "/".join(parts) + suffix
    matches = [
        path for path in tree.files_named(parts[-1] + suffix) if path.endswith(tail) and is_top(path[: -len(tail)])
    ]
    return nearest_path(matches, near) if matches else ""


def resolve_ocaml(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve a module to the unambiguously nearest file of its name, for a path to its last part that is a file.

    The first part may be a library that wraps its modules, which is a folder.
    """
    tree, location = context.tree, entry.path
    for part in module.split("."):
        matches = _ocaml_file(tree, location, part)
        if not matches:
            folder = tree.nearest_folder(part.lower(), entry.path) if location == entry.path else ""
            inside = [path for path in tree.files_in(folder) if path.endswith(".ml")] if folder else []
            if not inside:
                break
            matches = inside[0]
        location = matches
    return make_targets(location, names) if location != entry.path else ()


def _ocaml_file(tree: FileTree, path: str, name: str) -> str:
    file_stem = name[:1].lower() + name[1:]
    for suffix in (".ml", ".mli"):
        files = [
            f
            for f in tree.files_named(file_stem + suffix)
            if f.rpartition("/")[2] in (file_stem + suffix, name + suffix)
        ]
        if matches := unambiguous_nearest([file for file in files if file != path], path):
            return matches
    return ""


def resolve_go(context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Resolve a package by the module paths in go.mod to a file in its folder, which represents the package."""
    tree = context.tree
    for name, folder in sorted(context.configs.modules().items(), key=lambda item: -len(item[0])):
        if module == name or module.startswith(name + "/"):
            location = folder + module[len(name) :]
            files = [p for p in tree.files_in(location) if p.endswith(".go")]
            sources = [p for p in files if not p.endswith("_test.go")]
            return (Target((sources or files)[0]),) if files else ()
    return ()


def resolve_lua(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve require "a.b" to …/a/b.lua or …/a/b/init.lua."""
    base = module.replace(".", "/") if "/" not in module else module
    path = context.tree.nearest_file([f"{base}.lua", f"{base}/init.lua", base], entry.path)
    return (Target(path),) if path else ()
