"""Where the imports of JavaScript and TypeScript lead: files, aliases, packages of the workspace."""

from __future__ import annotations

import re

from promptls.graph.imports.file_tree import Tree
from promptls.graph.imports.types import Ground, Target, folder_of, targets
from promptls.model import FileEntry

_SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte", ".json")
_COMPILED = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_CUSTOMARY = {"$lib": ("src/lib",), "@": ("src",), "~": ("src", "app", "")}
"""What bundlers and frameworks call folders of sources that no tsconfig says."""
_ENTRIES = ("source", "module", "main", "types", "typings")


def script(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Relative files with and without ending, index files, aliases of tsconfig and of custom, packages of the workspace."""
    module = module.split("?", 1)[0]
    tree = ground.tree
    if module.startswith("."):
        place = tree.join(folder_of(entry), module)
        return targets(_script(tree, place) or _entry(ground, place), names)
    if module.startswith("/"):
        return ()
    for pattern, places in ground.configs.aliases(entry.path):
        before, star, after = pattern.partition("*")
        if module != pattern and not (star and module.startswith(before) and module.endswith(after)):
            continue
        middle = module[len(before) : len(module) - len(after)] if star else ""
        for place in places:
            if (place := place.replace("*", middle, 1)) and (path := _script(tree, tree.join(place, "."))):
                return targets(path, names)
    return targets(_package(ground, entry, module) or _customary(tree, entry, module), names)


def _customary(tree: Tree, entry: FileEntry, module: str) -> str:
    head, _, below = module.partition("/")
    bases = (f"{above}/{folder}" for folder in _CUSTOMARY.get(head, ()) for above in tree.above(entry.path))
    return next((path for base in bases if (path := _script(tree, tree.join(base, below)))), "")


def _script(tree: Tree, path: str) -> str:
    if not path:
        return ""
    stem, dot, ending = path.rpartition(".")
    swapped = [stem + other for other in _COMPILED.get(dot + ending, ())]
    candidates = [path, *swapped, *(path + e for e in _SCRIPTS), *(f"{path}/index{e}" for e in _SCRIPTS)]
    return tree.first(candidates)


def _package(ground: Ground, entry: FileEntry, module: str) -> str:
    """A file of a package that lies in the workspace, by the name in its package.json."""
    packages = ground.configs.packages()
    parts = module.split("/")
    name = "/".join(parts[: 2 if module.startswith("@") else 1])
    if module.startswith("#"):
        own = ground.configs.nearest(entry.path, "package.json")
        table = ground.configs.json(own).get("imports") if own else None
        place = _export(table.get(module)) if isinstance(table, dict) else ""
        return _script(ground.tree, ground.tree.join(own.rpartition("/")[0], place)) if place else ""
    folder = packages.get(name)
    if not folder:
        return ""
    below = module[len(name) :].strip("/")
    table = ground.configs.json(f"{folder}/package.json")
    exports = table.get("exports")
    wanted = _export(exports.get(f"./{below}" if below else ".")) if isinstance(exports, dict) else ""
    return _built(ground.tree, folder, [wanted, below, f"src/{below}"]) if below else _entry(ground, folder, wanted)


def _entry(ground: Ground, folder: str, wanted: str = "") -> str:
    """The file that stands for a folder with a package.json."""
    if not folder or not ground.tree.has(f"{folder}/package.json"):
        return ""
    table = ground.configs.json(f"{folder}/package.json")
    named = [value for key in _ENTRIES if isinstance(value := table.get(key), str)]
    return _built(ground.tree, folder, [wanted, *named, "src/index", "index"])


def _built(tree: Tree, folder: str, guesses: list[str]) -> str:
    """The first of some files of a package that is here, a source before what is built of it."""
    guesses = [guess for guess in guesses if guess]
    sources = [re.sub(r"^(?:\./)?(?:dist|lib|build|esm|cjs)/", "src/", guess) for guess in guesses]
    return next((path for guess in [*sources, *guesses] if (path := _script(tree, tree.join(folder, guess)))), "")


def _export(value: object, depth: int = 4) -> str:
    """The file that a conditional export names."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and depth:
        for key in ("source", "import", "module", "types", "default", "require", "node"):
            if found := _export(value.get(key), depth - 1):
                return found
    return ""
