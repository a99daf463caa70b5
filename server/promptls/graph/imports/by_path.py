"""Import resolution for imports that are paths, relative to the file or to a search folder."""

from __future__ import annotations

from promptls.graph.imports.types import WILDCARD, LanguageResolver, ResolutionContext, Target, folder_of, make_targets
from promptls.languages import LANGUAGES
from promptls.model import FileEntry


def path_resolver(
    suffixes: tuple[str, ...] = ("",), name: str = WILDCARD, anywhere: bool = False, partial: bool = False
) -> LanguageResolver:
    """Return a resolver for imports that are paths relative to the importing file.

    Args:
        endings: Suffixes tried after the path.
        name: Name of the target without imported names.
        anywhere: Otherwise, use the nearest file whose path ends with the import.
        partial: Also try the file name with a leading underscore.
    """

    def resolve(
        context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
    ) -> tuple[Target, ...]:
        tree, module = context.tree, module.removeprefix("package:").split("#", 1)[0].split("?", 1)[0]
        path_without_suffix = tree.join(folder_of(entry), module.lstrip("/") if module.startswith("/") else module)
        folder, _, base = path_without_suffix.rpartition("/")
        bases = [path_without_suffix, *([f"{folder}/_{base}"] if partial else [])] if path_without_suffix else []
        path = tree.first_file(p + suffix for p in bases for suffix in suffixes)
        if not path and anywhere:
            relative = module.lstrip("./")
            path = tree.nearest_file([relative + suffix for suffix in suffixes], entry.path) if relative else ""
        if not path:
            return ()
        return tuple(Target(path, n) for n in names) if names else (Target(path, name),)

    return resolve


resolve_relative = path_resolver()
_header = path_resolver(("", ".in"), anywhere=True)
_anywhere = path_resolver(anywhere=True)
_ruby, _julia, _zig = path_resolver((".rb", "")), path_resolver(("", ".jl")), path_resolver(("",), "")


_STANDARD_HEADERS = LANGUAGES["c"].standard_headers


def resolve_c(context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Resolve a header by relative path, otherwise by the end of its path.

    Standard headers are only resolved in the same folder or in an include folder.  A generated header resolves to its
    template, "config.h.in".
    """
    if module not in _STANDARD_HEADERS:
        return _header(context, entry, module, names)
    targets_found = resolve_relative(context, entry, module, names) or _anywhere(
        context, entry, f"include/{module}", names
    )
    return () if targets_found and targets_found[0].path == entry.path else targets_found


def resolve_dart(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve relative files, and package:name/x.dart to lib/x.dart of the package named in pubspec.yaml."""
    if module.startswith("dart:"):
        return ()
    if module.startswith("package:"):
        package, _, below = module.removeprefix("package:").partition("/")
        packages = context.configs.pubs()
        if packages:
            path = context.tree.first_file((f"{packages[package]}/lib/{below}",)) if package in packages else ""
        else:
            path = context.tree.nearest_file([f"lib/{below}"], entry.path)
        return tuple(Target(path, n) for n in names or (WILDCARD,)) if path else ()
    return resolve_relative(context, entry, module, names)


_RUBY_LOAD_PATH = ("lib", "test", "spec", "app")
"""Folders that are usually on the load path of Ruby programs."""


def resolve_ruby(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve require_relative to relative files, and require to files below the load path or the root.

    In scripts outside of the load path, require also resolves to files in the same folder.
    """
    if module.startswith("."):
        return _ruby(context, entry, module, names)
    tree = context.tree
    root = tree.root_of(entry.path)
    at_root = tree.join(root, module)
    path = tree.nearest_file([f"{folder}/{module}.rb" for folder in _RUBY_LOAD_PATH], entry.path)
    path = path or (tree.first_file((f"{at_root}.rb", at_root)) if at_root else "")
    if path:
        return (Target(path, WILDCARD),)
    is_script = set(_RUBY_LOAD_PATH).isdisjoint(entry.path[len(root) :].split("/"))
    return _ruby(context, entry, module, names) if is_script else ()


def resolve_julia(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve included files by relative path, and packages of the workspace to src/Package.jl."""
    targets_found = _julia(context, entry, module, names)
    if targets_found or not module.isidentifier():
        return targets_found
    return make_targets(context.tree.nearest_file([f"src/{module}.jl"], entry.path), names)


_ZIG_BUILTINS = frozenset({"std", "builtin", "root"})
"""Modules that do not correspond to a file of the project."""


def resolve_zig(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve relative files, and modules of build.zig to the nearest source file of that name."""
    if module.endswith((".zig", ".zon")) or module in _ZIG_BUILTINS:
        return _zig(context, entry, module, names)
    path = context.tree.nearest_file(
        [f"src/{module}.zig", f"{module}/{module}.zig", f"{module}/src/root.zig"], entry.path
    )
    return make_targets(path, names)
