"""Which files many others import: a cheap reading of imports, by paths alone.

Good enough to tell the hubs of a project, and to be kept up file by file; the graph has the exact answer.
An import that could mean two files counts for neither.  Must not know text, only names and outlines.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice

from msgspec import Struct

from promptls.graph.imports import STANDARD_HEADERS
from promptls.model import Import

MOST_IMPORTS = 300  # of one file that are looked at
MOST_NAMES = 50  # of one import
_TAIL = 4  # segments by which a file is found from afar
_STANDS_FOR_FOLDER = ("index", "__init__", "mod")
_SCRIPT = frozenset({"javascript", "jsx", "typescript", "tsx", "vue", "svelte"})
_BY_PATH = frozenset(
    "c cpp proto css scss html bash make ruby php vim zig r julia dart nix hcl graphql".split()
)  # languages whose imports are paths of files, among other things
_APART = re.compile(r"::|[.\\/]")


class Places(Struct, frozen=True):
    """The files of a root, by the ways that imports name them."""

    exact: Mapping[str, str]  # path with and without its ending → name; a folder's "index" also as the folder
    tails: Callable[[], Mapping[str, str]]  # the last segments of both → name, "" for several; made when asked for
    modules: Mapping[str, str]  # Python: "a/b" of a.b → name
    folders: Mapping[str, str]  # folder with Go files → what it is called


def places_of(names: Iterable[str]) -> Places:
    """The look-up tables for these files (names relative to the root)."""
    exact: dict[str, str] = {}
    modules: dict[str, str] = {}
    folders: dict[str, str] = {}
    listed = sorted(names)
    packages = {posixpath.dirname(name) for name in listed if name.endswith(("/__init__.py", "/__init__.pyi"))}
    for name in listed:
        stem = _stem(name)
        for key in (name, stem):
            exact.setdefault(key, name)
        if name.endswith((".py", ".pyi")):
            for key in _modules(stem, name, packages):
                modules.setdefault(key, name)
        elif name.endswith(".go") and not name.endswith("_test.go"):
            folder = posixpath.dirname(name)
            folders[folder] = f"{folder}/" if folder else "./"
    return Places(exact, cache(lambda: _tails(listed)), modules, folders)


def _tails(names: Iterable[str]) -> Mapping[str, str]:
    """Large, and of no use to languages whose imports say where a file is."""
    tails: dict[str, str] = {}
    for name in names:
        for key in {name, _stem(name)}:
            parts = key.split("/")
            for count in range(1, min(_TAIL, len(parts)) + 1):
                tail = "/".join(parts[-count:])
                tails[tail] = name if tails.get(tail, name) == name else ""
    return tails


def _stem(name: str) -> str:
    folder, _, base = name.rpartition("/")
    stem = base.partition(".")[0] if not base.startswith(".") else base
    if folder and stem in _STANDS_FOR_FOLDER:
        return folder
    return f"{folder}/{stem}" if folder else stem


def _modules(stem: str, name: str, packages: set[str]) -> Iterator[str]:
    folder = posixpath.dirname(name)
    if folder in packages:
        while folder in packages:
            folder = posixpath.dirname(folder)
        yield stem[len(folder) + 1 :] if folder else stem
    elif "/" in stem:  # a namespace package, below the root or below its sources
        yield stem
        yield stem.removeprefix("src/").removeprefix("lib/")
    else:
        yield stem


Seen = dict[tuple[str, str, str, tuple[str, ...]], frozenset[str]]
"""What imports were found to mean, for one `Places`: the files of a folder import much the same."""


def imported(
    places: Places, name: str, language: str, imports: Iterable[Import], go_modules: Mapping[str, str], seen: Seen
) -> frozenset[str]:
    """The files of the root that a file imports.  `go_modules`: module path → folder of its go.mod."""
    found: set[str] = set()
    folder = posixpath.dirname(name)
    if language == "rust":
        place = name
    elif language == "python" and posixpath.join(folder, "__init__.py") in places.exact:
        place = "\0"  # an absolute import means the same in all packages
    else:
        place = folder
    for one in islice(imports, MOST_IMPORTS):
        key = (language, folder if place == "\0" and one.module.startswith(".") else place, one.module, one.names)
        known = seen.get(key)
        if known is None:
            known = seen[key] = frozenset(_targets(places, name, language, one, go_modules))
        found |= known
    found.discard(name)
    return frozenset(found)


def _targets(places: Places, name: str, language: str, one: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    folder = posixpath.dirname(name)
    names = [n for n in one.names[:MOST_NAMES] if n != "*"] or [""]
    if language == "python":
        yield from _python(places, folder, one.module, names)
    elif language in _SCRIPT:
        yield from _known(places.exact, _script(folder, one.module))
    elif language == "go":
        for module, top in go_modules.items():
            if one.module == module or one.module.startswith(module + "/"):
                yield from _known(places.folders, [posixpath.join(top, one.module[len(module) + 1 :]).rstrip("/")])
    elif language == "rust":
        for used in names:
            yield from _known(places.exact, _rust(name, one.module, used))
    else:
        for used in names:
            yield from _elsewhere(places, folder, language, one.module, used)


def _known(table: Mapping[str, str], keys: Iterable[str]) -> Iterator[str]:
    """What the first of the keys that is known stands for."""
    found = next((table[key] for key in keys if table.get(key)), "")
    if found:
        yield found


def _python(places: Places, folder: str, module: str, names: list[str]) -> Iterator[str]:
    rest = module.lstrip(".")
    dots = len(module) - len(rest)
    path = rest.replace(".", "/")
    if dots:
        base = folder
        for _ in range(min(dots, 50) - 1):
            base = posixpath.dirname(base)
        path = posixpath.join(base, path) if path else base
        for used in names:
            yield from _known(places.exact, [f"{path}/{used}" if used else path, path])
        return
    for used in names:
        packaged = posixpath.join(folder, "__init__.py") in places.exact  # what is beside is not seen by its bare name
        beside = [posixpath.join(folder, path)] if "/" not in path and not packaged else []
        found = list(_known(places.modules, [f"{path}/{used}" if used else path, path]))
        yield from found or _known(places.exact, (key for key in beside if key + ".py" in places.exact))


def _script(folder: str, module: str) -> Iterator[str]:
    module = module.partition("?")[0]
    if module.startswith("."):
        path = posixpath.normpath(posixpath.join(folder, module))
    elif module.startswith(("@/", "~/")):
        path = "src/" + module[2:]
    elif module.startswith("src/"):
        path = module
    else:
        return
    yield path
    yield path.rpartition(".")[0] if "." in posixpath.basename(path) else path


def _rust(name: str, module: str, used: str) -> Iterator[str]:
    parts = [part for part in module.split("::") if part]
    folder, base = posixpath.split(name)
    here = folder if base in ("mod.rs", "lib.rs", "main.rs") else _stem(name)
    if not parts or parts[0] not in ("crate", "self", "super"):
        return
    if parts[0] == "crate":
        at = f"/{name}".rfind("/src/")
        here = name[: at + 3] if at >= 0 else folder
    for part in parts[:50]:
        if part == "super":
            here = posixpath.dirname(here)
    path = "/".join([here, *(part for part in parts if part not in ("crate", "self", "super"))]).strip("/")
    yield f"{path}/{used}" if used else path
    while path and path != here:
        yield path
        path = posixpath.dirname(path)
    yield here


def _elsewhere(places: Places, folder: str, language: str, module: str, used: str) -> Iterator[str]:
    if language in _BY_PATH and "\\" not in module:
        path = module.partition("/")[2] if module.startswith("package:") else module
        near = posixpath.normpath(posixpath.join(folder, path))
        beside = [] if language == "ruby" and not path.startswith(".") else [near]
        found = list(_known(places.exact, [*beside, f"lib/{path}", f"include/{path}", f"src/{path}"]))
        if found or "/" not in path:
            by_tail = language in ("c", "cpp", "proto") and path not in STANDARD_HEADERS
            yield from found or _known(places.tails(), [path] if by_tail else [])
            return
        yield from _known(places.tails(), ["/".join(path.split("/")[-_TAIL:])])
        return
    parts = [part for part in _APART.split(module) if part]
    for given in ([*parts, used] if used else parts, parts):
        if len(given) >= 2:
            found = list(_known(places.tails(), ["/".join(given[-_TAIL:])]))
            if found:
                yield from found
                return
