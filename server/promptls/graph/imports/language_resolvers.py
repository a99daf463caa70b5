"""Import resolvers by language: from a module and names to files of the workspace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from promptls.graph.imports.file_tree import (
    WILDCARD,
    FileTree,
    LanguageResolver,
    Names,
    ResolutionContext,
    Targets,
    folder_of,
    make_targets,
    nearest_path,
    unambiguous_nearest,
)
from promptls.graph.resolution.resolved_names import Target
from promptls.languages import LANGUAGES, ClassImports, ImportResolution, PathImports
from promptls.languages.c_family import STANDARD_HEADERS
from promptls.model import FileEntry

_PYTHON_STDLIB = sys.stdlib_module_names - {"test"}
"""Modules of the standard library; a module named "test" usually belongs to the project."""


def resolve_python(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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
        path = f"{folder}/{relative}".rstrip("/")
        return _find_file(tree, path) or (path if path in tree.folders else "")
    if not tail:
        return ""
    bases = list(_search_folders(context, entry, top))
    path = next((path for base in bases if (path := _find_file(tree, f"{base}/{relative}"))), "")
    if path or top in _PYTHON_STDLIB:
        return path
    return next((f"{base}/{relative}" for base in bases if f"{base}/{relative}" in tree.folders), "")


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
    if top in _PYTHON_STDLIB:
        return
    packages = [p.rpartition("/")[0] for p in tree.files_named("__init__.py") if p.endswith(f"/{top}/__init__.py")]
    packages = [p for p in packages if not tree.has_file(f"{p.rpartition('/')[0]}/__init__.py")]
    if packages:
        yield nearest_path(packages, entry.path).rpartition("/")[0]


def _find_file(tree: FileTree, path: str) -> str:
    return tree.first_file((f"{path}.py", f"{path}/__init__.py", f"{path}.pyi", f"{path}/__init__.pyi"))


# ---- JavaScript and TypeScript

_SCRIPT_EXTENSIONS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte", ".json")
_SOURCE_EXTENSIONS = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_CONVENTIONAL_ALIASES = {"$lib": ("src/lib",), "@": ("src",), "~": ("src", "app", "")}
"""Conventional aliases of bundlers and frameworks that are not declared in tsconfig.json."""


def resolve_script(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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
    candidates = [
        path,
        *swapped,
        *(path + e for e in _SCRIPT_EXTENSIONS),
        *(f"{path}/index{e}" for e in _SCRIPT_EXTENSIONS),
    ]
    return tree.first_file(candidates)


def _package_file(context: ResolutionContext, entry: FileEntry, module: str) -> str:
    """Return a file of a workspace package, which is identified by the name in its package.json."""
    packages = context.configs.folders("package.json")
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


# ---- Rust


def resolve_rust(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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
        return _rust_module_file(tree, folder)
    if first == "crate":
        config = context.configs.nearest(entry.path, "Cargo.toml")
        top = config.rpartition("/")[0]
        return _crate_root(tree, entry.path, top) if top else ""
    folder = context.configs.folders("Cargo.toml").get(first, "")
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


def _rust_module_file(tree: FileTree, folder: str) -> str:
    """Return the file of the module whose submodules are in a folder."""
    return tree.first_file((f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"))


def _walk_modules(tree: FileTree, file: str, parts: list[str]) -> tuple[str, list[str]]:
    """Follow a path through module files; return the last file and the remaining parts."""
    for i, part in enumerate(parts):
        if part == "super":
            folder, _, base = file.rpartition("/")
            up = folder.rpartition("/")[0] if base in ("mod.rs", "lib.rs", "main.rs") else folder
            below = _rust_module_file(tree, up)
        else:
            folder, _, base = file.rpartition("/")
            home = folder if base in ("mod.rs", "lib.rs", "main.rs") else file.removesuffix(".rs")
            below = tree.first_file((f"{home}/{part}.rs", f"{home}/{part}/mod.rs"))
        if not below:
            return file, parts[i:]
        file = below
    return file, []


# ---- imports of paths


def path_resolver(
    suffixes: tuple[str, ...] = ("",), name: str = WILDCARD, anywhere: bool = False, partial: bool = False
) -> LanguageResolver:
    """Return a resolver for imports that are paths relative to the importing file.

    Args:
        suffixes: Suffixes tried after the path.
        name: Name of the target without imported names.
        anywhere: Otherwise, use the nearest file whose path ends with the import.
        partial: Also try the file name with a leading underscore.
    """

    def resolve(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
        tree, module = context.tree, module.removeprefix("package:").split("#", 1)[0].split("?", 1)[0]
        path_without_suffix = tree.join(folder_of(entry), module.lstrip("/") if module.startswith("/") else module)
        folder, _, base = path_without_suffix.rpartition("/")
        bases = [path_without_suffix, *([f"{folder}/_{base}"] if partial else [])] if path_without_suffix else []
        path = tree.first_file(p + suffix for p in bases for suffix in suffixes)
        if not path and anywhere:
            relative = module.lstrip("./")
            path = tree.nearest_file([relative + suffix for suffix in suffixes], entry.path) if relative else ""
        return make_targets(path, names or (name,))

    return resolve


resolve_relative = path_resolver()
_anywhere = path_resolver(anywhere=True)
_ruby, _julia = path_resolver((".rb", "")), path_resolver(("", ".jl"))


def resolve_c(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve a header by relative path, otherwise by the end of its path.

    Standard headers are only resolved in the same folder or in an include folder.
    """
    if module not in STANDARD_HEADERS:
        return _anywhere(context, entry, module, names)
    targets_found = resolve_relative(context, entry, module, names) or _anywhere(
        context, entry, f"include/{module}", names
    )
    return () if targets_found and targets_found[0].path == entry.path else targets_found


def resolve_dart(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve relative files, and package:name/x.dart to lib/x.dart of the package named in pubspec.yaml."""
    if module.startswith("dart:"):
        return ()
    if module.startswith("package:"):
        package, _, below = module.removeprefix("package:").partition("/")
        folder = context.configs.folders("pubspec.yaml").get(package)
        path = context.tree.first_file((f"{folder}/lib/{below}",)) if folder is not None else ""
        return make_targets(path, names or (WILDCARD,))
    return resolve_relative(context, entry, module, names)


_RUBY_LOAD_PATH = ("lib", "test", "spec", "app")
"""Folders that are usually on the load path of Ruby programs."""


def resolve_ruby(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve require_relative to relative files, and require to files below the load path or the root."""
    if module.startswith("."):
        return _ruby(context, entry, module, names)
    tree = context.tree
    at_root = tree.join(tree.root_of(entry.path), module)
    path = tree.nearest_file([f"{folder}/{module}.rb" for folder in _RUBY_LOAD_PATH], entry.path)
    path = path or (tree.first_file((f"{at_root}.rb", at_root)) if at_root else "")
    return (Target(path, WILDCARD),) if path else ()


def resolve_julia(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve included files by relative path, and packages of the workspace to src/Package.jl."""
    targets_found = _julia(context, entry, module, names)
    if targets_found or not module.isidentifier():
        return targets_found
    return make_targets(context.tree.nearest_file([f"src/{module}.jl"], entry.path), names)


# ---- imports of qualified names


def class_resolver(suffixes: tuple[str, ...], separator: str = ".", members: bool = False) -> LanguageResolver:
    """Return a resolver for classes by qualified name: the file whose path ends with it; "*" is a whole folder.

    With `members`, a name below a file is a member of the type named like the file.
    """

    def resolve(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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


_PHP_CLASSES = class_resolver((".php",), "\\")


def resolve_php(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve a class by the namespaces in composer.json, otherwise by the end of its path.

    Included files are resolved by relative path, because the prefix is usually __DIR__.
    """
    if module.endswith((".php", ".inc", ".phtml")):
        return resolve_relative(context, entry, module, names)
    for prefix, folder in context.configs.namespaces():
        if f"{module}\\".startswith(prefix):
            location = f"{folder[len(context.tree.root_of(folder)) :]}/{module[len(prefix) :]}"
            matches = _PHP_CLASSES(context, entry, location.replace("/", "\\"), names)
            if matches:
                return matches
    return _PHP_CLASSES(context, entry, module, names)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def resolve_elixir(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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


def module_resolver(separator: str, suffix: str) -> LanguageResolver:
    """Return a resolver for modules by their full name: App.Some.Thing is …/App/Some/Thing.hs."""

    def resolve(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
        return make_targets(_module_file(context.tree, module.split(separator), suffix, entry.path), names)

    return resolve


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


def resolve_ocaml(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
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


def resolve_go(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve a package by the module paths in go.mod to a file in its folder, which represents the package."""
    tree = context.tree
    for name, folder in sorted(context.configs.folders("go.mod").items(), key=lambda item: -len(item[0])):
        if module == name or module.startswith(name + "/"):
            location = folder + module[len(name) :]
            files = [p for p in tree.files_in(location) if p.endswith(".go")]
            sources = [p for p in files if not p.endswith("_test.go")]
            return (Target((sources or files)[0]),) if files else ()
    return ()


def resolve_lua(context: ResolutionContext, entry: FileEntry, module: str, names: Names) -> Targets:
    """Resolve require "a.b" to …/a/b.lua or …/a/b/init.lua."""
    base = module.replace(".", "/") if "/" not in module else module
    return make_targets(context.tree.nearest_file([f"{base}.lua", f"{base}/init.lua", base], entry.path), ())


# ---- registry

_RESOLVERS: dict[str, LanguageResolver] = {
    "python": resolve_python,
    "ecmascript": resolve_script,
    "go": resolve_go,
    "rust": resolve_rust,
    "c": resolve_c,
    "ruby": resolve_ruby,
    "php": resolve_php,
    "lua": resolve_lua,
    "elixir": resolve_elixir,
    "haskell": module_resolver(".", ".hs"),
    "ocaml": resolve_ocaml,
    "dart": resolve_dart,
    "zig": path_resolver(name=""),
    "julia": resolve_julia,
    "perl": module_resolver("::", ".pm"),
}


def _resolver_for(resolution: ImportResolution) -> LanguageResolver:
    if isinstance(resolution, ClassImports):
        return class_resolver(resolution.suffixes, members=resolution.members)
    if isinstance(resolution, PathImports):
        name = "" if resolution.as_module else WILDCARD
        return path_resolver(resolution.suffixes, name, anywhere=resolution.anywhere, partial=resolution.partials)
    return _RESOLVERS[resolution]


RESOLVERS: dict[str, LanguageResolver] = {
    name: _resolver_for(language.imports.resolution)
    for name, language in LANGUAGES.items()
    if language.imports is not None and language.imports.resolution
}
"""Import resolver by language."""
