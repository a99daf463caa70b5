"""Import resolution for JavaScript and TypeScript: relative files, aliases and packages of the workspace."""

from __future__ import annotations

import re

from promptls.graph.imports.file_tree import FileTree
from promptls.graph.imports.types import ResolutionContext, Target, folder_of, make_targets
from promptls.model import FileEntry

_EXTENSIONS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte", ".json")
_SOURCE_EXTENSIONS = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_CONVENTIONAL_ALIASES = {"$lib": ("src/lib",), "@": ("src",), "~": ("src", "app", "")}
"""Conventional aliases of bundlers and frameworks that are not declared in tsconfig.json."""


def resolve_script(
    context: ResolutionContext, entry: FileEntry, module: str, names: tuple[str, ...]
) -> tuple[Target, ...]:
    """Resolve relative files, index files, aliases (declared or conventional) and packages of the workspace."""
    module = module.split("?", 1)[0]
    tree = context.tree
    if module.startswith("."):
        path = tree.join(folder_of(entry), module)
        return make_targets(_find_script(tree, path) or _package_entry(context, path), names)
    if module.startswith("/"):
        return ()
    for pattern, places in context.configs.aliases(entry.path):
        before, star, after = pattern.partition("*")
        if module != pattern and not (star and module.startswith(before) and module.endswith(after)):
            continue
        middle = module[len(before) : len(module) - len(after)] if star else ""
        for path in places:
            if (path := path.replace("*", middle, 1)) and (path := _find_script(tree, tree.join(path, "."))):
                return make_targets(path, names)
    return make_targets(_package_file(context, entry, module) or _conventional_file(tree, entry, module), names)


def _conventional_file(tree: FileTree, entry: FileEntry, module: str) -> str:
    head, _, below = module.partition("/")
    bases = (
        f"{above}/{folder}"
        for folder in _CONVENTIONAL_ALIASES.get(head, ())
        for above in tree.parent_folders(entry.path)
    )
    return next((path for base in bases if (path := _find_script(tree, tree.join(base, below)))), "")


def _find_script(tree: FileTree, path: str) -> str:
    if not path:
        return ""
    stem, dot, ending = path.rpartition(".")
    swapped = [stem + other for other in _SOURCE_EXTENSIONS.get(dot + ending, ())]
    candidates = [path, *swapped, *(path + e for e in _EXTENSIONS), *(f"{path}/index{e}" for e in _EXTENSIONS)]
    return tree.first_file(candidates)


def _package_file(context: ResolutionContext, entry: FileEntry, module: str) -> str:
    """Return a file of a workspace package, which is identified by the name in its package.json."""
    packages = context.configs.packages()
    parts = module.split("/")
    name = "/".join(parts[: 2 if module.startswith("@") else 1])
    if module.startswith("#"):
        package_json = context.configs.nearest(entry.path, "package.json")
        path = dict(context.configs.manifest(package_json).subpath_imports).get(module, "") if package_json else ""
        return _find_script(context.tree, context.tree.join(package_json.rpartition("/")[0], path)) if path else ""
    folder = packages.get(name)
    if not folder:
        return ""
    below = module[len(name) :].strip("/")
    exports = dict(context.configs.manifest(f"{folder}/package.json").exports)
    exported = exports.get(f"./{below}" if below else ".", "")
    return (
        _source_or_built(context.tree, folder, [exported, below, f"src/{below}"])
        if below
        else _package_entry(context, folder, exported)
    )


def _package_entry(context: ResolutionContext, folder: str, exported: str = "") -> str:
    """Return the entry file of a folder with a package.json."""
    if not folder or not context.tree.has_file(f"{folder}/package.json"):
        return ""
    main_files = context.configs.manifest(f"{folder}/package.json").main_files
    return _source_or_built(context.tree, folder, [exported, *main_files, "src/index", "index"])


def _source_or_built(tree: FileTree, folder: str, candidates: list[str]) -> str:
    """Return the first existing file of a package, sources before build output."""
    candidates = [candidate for candidate in candidates if candidate]
    sources = [re.sub(r"^(?:\./)?(?:dist|lib|build|esm|cjs)/", "src/", candidate) for candidate in candidates]
    return next(
        (path for candidate in [*sources, *candidates] if (path := _find_script(tree, tree.join(folder, candidate)))),
        "",
    )
