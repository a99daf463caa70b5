"""Where imports lead that are a path, from here or from a folder where such files are looked for."""

from __future__ import annotations

from promptls.graph.imports.types import ALL, Ground, Target, Way, folder_of, targets
from promptls.model import FileEntry


def file_at(endings: tuple[str, ...] = ("",), name: str = ALL, anywhere: bool = False, partial: bool = False) -> Way:
    """A file by its path from here; `anywhere`: else by the end of its path; `partial`: "_name" as well."""

    def way(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
        tree, module = ground.tree, module.removeprefix("package:").split("#", 1)[0].split("?", 1)[0]
        place = tree.join(folder_of(entry), module.lstrip("/") if module.startswith("/") else module)
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


here = file_at()
_header = file_at(("", ".in"), anywhere=True)
_anywhere = file_at(anywhere=True)
_ruby, _julia, _zig = file_at((".rb", "")), file_at(("", ".jl")), file_at(("",), "")


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
        return _header(ground, entry, module, names)
    found = here(ground, entry, module, names) or _anywhere(ground, entry, f"include/{module}", names)
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
    return here(ground, entry, module, names)


_LOADED = ("lib", "test", "spec", "app")
"""Folders that Ruby programs put on the load path."""


def ruby(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """require_relative from here, require below a folder of the load path or the root: "logger" is seldom one's own.

    Scripts that are in no such folder have what is beside them.
    """
    if module.startswith("."):
        return _ruby(ground, entry, module, names)
    tree = ground.tree
    root = tree.root_of(entry.path)
    at_root = tree.join(root, module)
    path = tree.ending([f"{folder}/{module}.rb" for folder in _LOADED], entry.path)
    path = path or (tree.first((f"{at_root}.rb", at_root)) if at_root else "")
    if path:
        return (Target(path, ALL),)
    is_script = set(_LOADED).isdisjoint(entry.path[len(root) :].split("/"))
    return _ruby(ground, entry, module, names) if is_script else ()


def julia(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """What is included, from here; a package of the workspace, which is src/Package.jl."""
    found = _julia(ground, entry, module, names)
    if found or not module.isidentifier():
        return found
    return targets(ground.tree.ending([f"src/{module}.jl"], entry.path), names)


_ZIGS = frozenset({"std", "builtin", "root"})
"""Modules that are not the project's, or not one file."""


def zig(ground: Ground, entry: FileEntry, module: str, names: tuple[str, ...]) -> tuple[Target, ...]:
    """A file from here, or a module that build.zig names: the nearest file of sources that is called so."""
    if module.endswith((".zig", ".zon")) or module in _ZIGS:
        return _zig(ground, entry, module, names)
    path = ground.tree.ending([f"src/{module}.zig", f"{module}/{module}.zig", f"{module}/src/root.zig"], entry.path)
    return targets(path, names)
