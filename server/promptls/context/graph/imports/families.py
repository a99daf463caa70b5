"""Where the imports of each family of languages lead: pure functions of a tree, configurations and a statement.

A way takes (entry, module, names) and gives targets, one for each name where names are imported, one for the
module otherwise; () for what is not in the workspace.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from promptls.context.graph.imports.configs import Configs
from promptls.context.graph.imports.tree import Tree, by_far_nearest, nearest
from promptls.model import FileEntry

ALL = "*"


class Target(NamedTuple):
    """What an import leads to: a file, or what it offers under a name."""

    path: str  # of a file; of a folder where a language has packages without a file of their own
    name: str = ""  # "" for the file as a module, "*" for all that it offers; "A.b" and "A.*" for members of a type


class Ground(NamedTuple):
    """What the ways look at."""

    tree: Tree
    configs: Configs


Way = Callable[[Ground, FileEntry, str, tuple[str, ...]], tuple[Target, ...]]


def _folder(entry: FileEntry) -> str:
    return entry.path.rpartition("/")[0]


def _of(path: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    if not path:
        return ()
    return tuple(Target(path, name) for name in names) if names else (Target(path),)


# ---------------------------------------------------------------- Python


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
        folder = _folder(entry)
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


# ---------------------------------------------------------------- JavaScript, TypeScript


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
        place = tree.join(_folder(entry), module)
        return _of(_script(tree, place) or _entry(ground, place), names)
    if module.startswith("/"):
        return ()
    for pattern, places in ground.configs.aliases(entry.path):
        before, star, after = pattern.partition("*")
        if module != pattern and not (star and module.startswith(before) and module.endswith(after)):
            continue
        middle = module[len(before) : len(module) - len(after)] if star else ""
        for place in places:
            if (place := place.replace("*", middle, 1)) and (path := _script(tree, tree.join(place, "."))):
                return _of(path, names)
    return _of(_package(ground, entry, module) or _customary(tree, entry, module), names)


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


# ---------------------------------------------------------------- Go, Rust


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
        folder, base = _folder(entry), entry.path.rpartition("/")[2]
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


# ---------------------------------------------------------------- by the end of a path


def _dotted(endings: tuple[str, ...], separator: str = ".", members: bool = False) -> Way:
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


_CLASSES = _dotted((".php",), "\\")


def php(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A class by its namespace: where composer.json says that it lives, else where the end of its path fits.

    What is included is a file from here: what stands before its path is __DIR__, as a rule.
    """
    if module.endswith((".php", ".inc", ".phtml")):
        return _file()(ground, entry, module, names)
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
    return _of(_whole_path(ground.tree, module.split("."), ".hs", entry.path), names)


def perl(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """App::Some::Thing is …/App/Some/Thing.pm."""
    return _of(_whole_path(ground.tree, module.split("::"), ".pm", entry.path), names)


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
    return _of(place, names) if place != entry.path else ()


def _ocaml_file(tree: Tree, path: str, name: str) -> str:
    wanted = name[:1].lower() + name[1:]
    for ending in (".ml", ".mli"):
        files = [f for f in tree.called(wanted + ending) if f.rpartition("/")[2] in (wanted + ending, name + ending)]
        if found := by_far_nearest([file for file in files if file != path], path):
            return found
    return ""


# ---------------------------------------------------------------- by a path


def _file(endings: tuple[str, ...] = ("",), name: str = ALL, anywhere: bool = False, partial: bool = False) -> Way:
    """A file by its path from here; `anywhere`: else by the end of its path; `partial`: "_name" as well."""

    def way(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
        tree, module = ground.tree, module.removeprefix("package:").split("#", 1)[0].split("?", 1)[0]
        place = tree.join(_folder(entry), module.lstrip("/") if module.startswith("/") else module)
        folder, _, base = place.rpartition("/")
        places = [place, *([f"{folder}/_{base}"] if partial else [])] if place else []
        path = tree.first(p + e for p in places for e in endings)
        if not path and anywhere:
            relative = module.lstrip("./")
            path = tree.ending([relative + e for e in endings], entry.path) if relative else ""
        if not path:
            return ()
        return tuple(Target(path, n) for n in names) if names else (Target(path, name),)

    return way


STANDARD_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "aio assert complex ctype dirent dlfcn errno fcntl fenv float fnmatch grp iconv inttypes iso646"
        " langinfo libgen limits locale math netdb poll pthread pwd regex sched semaphore setjmp signal"
        " spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings"
        " syslog termios tgmath threads time uchar ucontext ulimit unistd wchar wctype"
    ).split()
)
"""Of C and of POSIX: such a name means the system's, whoever else has a file of that name."""


def c(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A header by its path from here, else by the end of its path; a standard one beside here or in an include folder.

    One that a build writes is what it is written from: "config.h.in".
    """
    if module not in STANDARD_HEADERS:
        return _file(("", ".in"), anywhere=True)(ground, entry, module, names)
    found = _file()(ground, entry, module, names) or _file(anywhere=True)(ground, entry, f"include/{module}", names)
    return () if found and found[0].path == entry.path else found


def dart(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """Relative files, and package:name/x.dart as lib/x.dart of the package whose pubspec.yaml has that name."""
    if module.startswith("dart:"):
        return ()
    if module.startswith("package:"):
        package, _, below = module.removeprefix("package:").partition("/")
        known = ground.configs.pubs()
        if known:
            path = ground.tree.first((f"{known[package]}/lib/{below}",)) if package in known else ""
        else:
            path = ground.tree.ending([f"lib/{below}"], entry.path)
        return tuple(Target(path, n) for n in names or (ALL,)) if path else ()
    return _file()(ground, entry, module, names)


_LOADED = ("lib", "test", "spec", "app")
"""Folders that Ruby programs put on the load path."""


def ruby(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """require_relative from here, require below a folder of the load path or the root: "logger" is seldom one's own.

    Scripts that are in no such folder have what is beside them.
    """
    tree, beside = ground.tree, _file((".rb", ""))
    if module.startswith("."):
        return beside(ground, entry, module, names)
    root = tree.root_of(entry.path)
    at_root = tree.join(root, module)
    path = tree.ending([f"{folder}/{module}.rb" for folder in _LOADED], entry.path)
    path = path or (tree.first((f"{at_root}.rb", at_root)) if at_root else "")
    if path:
        return (Target(path, ALL),)
    is_script = set(_LOADED).isdisjoint(entry.path[len(root) :].split("/"))
    return beside(ground, entry, module, names) if is_script else ()


def julia(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """What is included, from here; a package of the workspace, which is src/Package.jl."""
    found = _file(("", ".jl"))(ground, entry, module, names)
    if found or not module.isidentifier():
        return found
    return _of(ground.tree.ending([f"src/{module}.jl"], entry.path), names)


_ZIGS = frozenset({"std", "builtin", "root"})
"""Modules that are not the project's, or not one file."""


def zig(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A file from here, or a module that build.zig names: the nearest file of sources that is called so."""
    if module.endswith((".zig", ".zon")) or module in _ZIGS:
        return _file(("",), "")(ground, entry, module, names)
    path = ground.tree.ending([f"src/{module}.zig", f"{module}/{module}.zig", f"{module}/src/root.zig"], entry.path)
    return _of(path, names)


def lua(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """require "a.b" is …/a/b.lua or …/a/b/init.lua."""
    base = module.replace(".", "/") if "/" not in module else module
    path = ground.tree.ending([f"{base}.lua", f"{base}/init.lua", base], entry.path)
    return (Target(path),) if path else ()


_JVM = (".java", ".kt", ".kts", ".scala", ".groovy")

WAYS: dict[str, Way] = {
    "python": python,
    **dict.fromkeys(("javascript", "jsx", "typescript", "tsx", "vue", "svelte"), script),
    "go": go,
    "rust": rust,
    **dict.fromkeys(("java", "kotlin", "scala"), _dotted(_JVM, members=True)),
    **dict.fromkeys(("c", "cpp"), c),
    "csharp": _dotted((".cs",)),
    "ruby": ruby,
    "php": php,
    "lua": lua,
    "bash": _file(("", ".sh")),
    "elixir": elixir,
    "haskell": haskell,
    **dict.fromkeys(("ocaml", "ocaml_interface"), ocaml),
    "r": _file(("", ".R", ".r")),
    **dict.fromkeys(("css", "scss"), _file(("", ".scss", ".css", "/_index.scss"), "", partial=True)),
    "html": _file(("",), ""),
    "dart": dart,
    "zig": zig,
    "julia": julia,
    "make": _file(),
    "proto": _file(anywhere=True),
    "elisp": _file((".el", ""), anywhere=True),
    "vim": _file(("", ".vim"), anywhere=True),
    "perl": perl,
    "nix": _file(("", ".nix", "/default.nix"), ""),
}
"""By language."""
