"""Approximate import resolution by paths, to count the importers of each file.

Sufficient to find the hubs of a project, and cheap to update file by file; `graph.imports` resolves imports exactly.
Ambiguous imports are not counted.  Uses names and outlines only, no text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice

from msgspec import Struct

from promptls.languages import ECMASCRIPT, Language, PathImports, names_where
from promptls.languages.c_family import STANDARD_HEADERS
from promptls.model import Import

MAX_IMPORTS = 300
"""Maximum number of imports resolved per file; bounds the time."""
MAX_NAMES = 50
"""Maximum number of names resolved per import; bounds the time."""
_MAX_TAIL_SEGMENTS = 4
"""Maximum number of trailing path segments by which files in other folders are found."""
_INDEX_STEMS = ("index", "__init__", "mod")
_SEPARATORS = re.compile(r"::|[.\\/]")


def _imports_paths(language: Language) -> bool:
    """Return whether imports are file paths, among other things."""
    resolution = language.imports.resolution if language.imports is not None else ""
    return isinstance(resolution, PathImports) or resolution in ("c", "dart", "julia", "php", "ruby", "zig")


def _imports_from_anywhere(language: Language) -> bool:
    """Return whether a file of any folder can be imported by its name."""
    resolution = language.imports.resolution if language.imports is not None else ""
    return resolution == "c" or (isinstance(resolution, PathImports) and resolution.anywhere)


_PATH_IMPORTS, _IMPORTS_FROM_ANYWHERE = names_where(_imports_paths), names_where(_imports_from_anywhere)


class PathTables(Struct, frozen=True):
    """Lookup tables for the files of a root by the forms of imports."""

    exact: Mapping[str, str]  # path with and without extension → name; the folder of an index file → name
    tails: Callable[[], Mapping[str, str]]  # trailing segments of both → name, "" if ambiguous; built lazily
    modules: Mapping[str, str]  # Python: "a/b" for module a.b → name
    go_folders: Mapping[str, str]  # folder with Go files → label


def build_path_tables(names: Iterable[str]) -> PathTables:
    """Build the lookup tables for files with these names, relative to the root."""
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
            for key in _module_paths(stem, name, packages):
                modules.setdefault(key, name)
        elif name.endswith(".go") and not name.endswith("_test.go"):
            folder = posixpath.dirname(name)
            folders[folder] = f"{folder}/" if folder else "./"
    return PathTables(exact, cache(lambda: _build_tails(listed)), modules, folders)


def _build_tails(names: Iterable[str]) -> Mapping[str, str]:
    """Build the table of path tails, which is large and only needed for languages without explicit import paths."""
    tails: dict[str, str] = {}
    for name in names:
        for key in {name, _stem(name)}:
            parts = key.split("/")
            for count in range(1, min(_MAX_TAIL_SEGMENTS, len(parts)) + 1):
                tail = "/".join(parts[-count:])
                tails[tail] = name if tails.get(tail, name) == name else ""
    return tails


def _stem(name: str) -> str:
    folder, _, base = name.rpartition("/")
    stem = base.partition(".")[0] if not base.startswith(".") else base
    if folder and stem in _INDEX_STEMS:
        return folder
    return f"{folder}/{stem}" if folder else stem


def _module_paths(stem: str, name: str, packages: set[str]) -> Iterator[str]:
    folder = posixpath.dirname(name)
    if folder in packages:
        while folder in packages:
            folder = posixpath.dirname(folder)
        yield stem[len(folder) + 1 :] if folder else stem
    elif "/" in stem:  # a namespace package, below the root or the source folder
        yield stem
        yield stem.removeprefix("src/").removeprefix("lib/")
    else:
        yield stem


_Finder = Callable[[PathTables, str, Import, Mapping[str, str]], Iterator[str]]
"""Yields the targets of an import, given the name of its file and the folders of Go modules."""

ImportCache = dict[tuple[str, str, str, tuple[str, ...]], frozenset[str]]
"""Resolved imports for one `PathTables`; the files of a folder have many imports in common."""


def resolve_imports(
    tables: PathTables,
    name: str,
    language: str,
    imports: Iterable[Import],
    go_modules: Mapping[str, str],
    cache: ImportCache,
) -> frozenset[str]:
    """Return the files of the root that a file imports.

    Args:
        tables: Lookup tables of the root.
        name: Name of the importing file.
        language: Language of the importing file.
        imports: Imports of the file.
        go_modules: Module path → folder of its go.mod.
        cache: Resolved imports for the same tables.
    """
    targets: set[str] = set()
    find: _Finder = _FINDERS.get(language) or partial(_other_targets, language=language)
    scope_of = _SCOPES.get(language, _folder_scope)
    for imported in islice(imports, MAX_IMPORTS):
        key = (language, scope_of(tables, name, imported.module), imported.module, imported.names)
        cached = cache.get(key)
        if cached is None:
            cached = cache[key] = frozenset(find(tables, name, imported, go_modules))
        targets |= cached
    targets.discard(name)
    return frozenset(targets)


def _folder_scope(tables: PathTables, name: str, module: str) -> str:
    return posixpath.dirname(name)


def _python_scope(tables: PathTables, name: str, module: str) -> str:
    folder = posixpath.dirname(name)
    is_packaged = posixpath.join(folder, "__init__.py") in tables.exact
    return "\0" if is_packaged and not module.startswith(".") else folder


_SCOPES: dict[str, Callable[[PathTables, str, str], str]] = {
    "python": _python_scope,
    "rust": lambda tables, name, module: name,
}
"""What the targets of an import depend on, apart from the import; elsewhere the folder of the file."""


def _imported_names(imported: Import) -> list[str]:
    return [name for name in imported.names[:MAX_NAMES] if name != "*"] or [""]


def _go_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    for module, top in go_modules.items():
        if imported.module == module or imported.module.startswith(module + "/"):
            folder = posixpath.join(top, imported.module[len(module) + 1 :]).rstrip("/")
            yield from _first_match(tables.go_folders, [folder])


def _rust_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    for used in _imported_names(imported):
        yield from _first_match(tables.exact, _rust_paths(name, imported.module, used))


def _script_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    yield from _first_match(tables.exact, _script_paths(posixpath.dirname(name), imported.module))


def _first_match(table: Mapping[str, str], keys: Iterable[str]) -> Iterator[str]:
    """Yield the value of the first known key."""
    target = next((table[key] for key in keys if table.get(key)), "")
    if target:
        yield target


def _python_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    folder, module, names = posixpath.dirname(name), imported.module, _imported_names(imported)
    rest = module.lstrip(".")
    dots = len(module) - len(rest)
    path = rest.replace(".", "/")
    if dots:
        base = folder
        for _ in range(min(dots, 50) - 1):
            base = posixpath.dirname(base)
        path = posixpath.join(base, path) if path else base
        for used in names:
            yield from _first_match(tables.exact, [f"{path}/{used}" if used else path, path])
        return
    for used in names:
        packaged = posixpath.join(folder, "__init__.py") in tables.exact  # siblings in a package need a relative import
        siblings = [posixpath.join(folder, path)] if "/" not in path and not packaged else []
        targets = list(_first_match(tables.modules, [f"{path}/{used}" if used else path, path]))
        yield from targets or _first_match(tables.exact, (key for key in siblings if key + ".py" in tables.exact))


def _script_paths(folder: str, module: str) -> Iterator[str]:
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


def _rust_paths(name: str, module: str, used: str) -> Iterator[str]:
    parts = [part for part in module.split("::") if part]
    folder, base = posixpath.split(name)
    base_path = folder if base in ("mod.rs", "lib.rs", "main.rs") else _stem(name)
    if not parts or parts[0] not in ("crate", "self", "super"):
        return
    if parts[0] == "crate":
        at = f"/{name}".rfind("/src/")
        base_path = name[: at + 3] if at >= 0 else folder
    for part in parts[:50]:
        if part == "super":
            base_path = posixpath.dirname(base_path)
    path = "/".join([base_path, *(part for part in parts if part not in ("crate", "self", "super"))]).strip("/")
    yield f"{path}/{used}" if used else path
    while path and path != base_path:
        yield path
        path = posixpath.dirname(path)
    yield base_path


def _other_targets(
    tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str], language: str
) -> Iterator[str]:
    for used in _imported_names(imported):
        yield from _other_target(tables, posixpath.dirname(name), language, imported.module, used)


def _other_target(tables: PathTables, folder: str, language: str, module: str, used: str) -> Iterator[str]:
    if language in _PATH_IMPORTS and "\\" not in module:
        path = module.partition("/")[2] if module.startswith("package:") else module
        relative = posixpath.normpath(posixpath.join(folder, path))
        siblings = [] if language == "ruby" and not path.startswith(".") else [relative]
        targets = list(_first_match(tables.exact, [*siblings, f"lib/{path}", f"include/{path}", f"src/{path}"]))
        if targets or "/" not in path:
            by_tail = language in _IMPORTS_FROM_ANYWHERE and path not in STANDARD_HEADERS
            yield from targets or _first_match(tables.tails(), [path] if by_tail else [])
            return
        yield from _first_match(tables.tails(), ["/".join(path.split("/")[-_MAX_TAIL_SEGMENTS:])])
        return
    parts = [part for part in _SEPARATORS.split(module) if part]
    for segments in ([*parts, used] if used else parts, parts):
        if len(segments) >= 2:
            targets = list(_first_match(tables.tails(), ["/".join(segments[-_MAX_TAIL_SEGMENTS:])]))
            if targets:
                yield from targets
                return


_FINDERS: dict[str, _Finder] = {
    "python": _python_targets,
    "go": _go_targets,
    "rust": _rust_targets,
    **dict.fromkeys(ECMASCRIPT, _script_targets),
}
