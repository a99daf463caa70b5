"""Project index: facts about each workspace folder, updated incrementally with the snapshot.

A request updates the facts for the files changed since the last request.  While files are still being indexed, and in
large workspaces where an update can take seconds, a request gets the previous facts; `follow` updates them in idle
time.  Only manifests, readmes and a few scripts are read, once per version.

The importers of each file are counted by approximate import resolution, which uses names and outlines only: sufficient
for the hubs of a project, and cheap to update file by file.  `graph.imports` resolves imports exactly.
"""

from __future__ import annotations

import posixpath
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice

from msgspec import Struct

from promptls.index import Change, Derived, Snapshot, SourceReader, file_stat, split_lines
from promptls.knowledge.project.facts import (
    PROSE_AND_DATA_LANGUAGES,
    EntryPoint,
    FileTally,
    ProjectFacts,
    classify_dependencies,
    entry_point_kind,
    entry_points,
    import_hubs,
    language_shares,
    layer_stats,
    main_dependencies,
    naming_manifests,
    outermost,
    project_commands,
    required_versions,
    top_level_folders,
)
from promptls.knowledge.project.file_kind import is_peripheral, layer_of
from promptls.knowledge.project.folder_tree import folder_tree
from promptls.knowledge.project.manifests import ProjectManifest, parse_manifest, parser_for
from promptls.knowledge.project.readme import ReadmeOpening, is_readme, read_opening, readme_order
from promptls.languages import ECMASCRIPT, Language, PathImports, names_where
from promptls.languages.c_family import STANDARD_HEADERS
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import FileEntry, Import, Root
from promptls.util.hashing import content_hash

MAX_INTERFACES = 4
"""Maximum number of packages whose interface is listed."""
MAX_DOCUMENTED = 200
"""Maximum number of index files that are read for the documentation of their package."""
MIN_EXPORTS = 2
"""Minimum number of names in a public interface."""
MAX_DEPTH = 3
"""Maximum number of folders above an index file of an outermost package: "packages/core/src/index.ts"."""

_INDEX_FILE = re.compile(
    r"(?:.*/)?(?:__init__\.pyi?|index\.(?:[cm]?[jt]sx?|d\.ts)|lib\.rs|mod\.rs|doc\.go|package-info\.java)"
    r"|[^/]+(?<!_test)\.go|(?:.*/)?([\w-]{1,100})/\1\.go"
)
_INTERFACE_FILE = re.compile(r"(?:.*/)?(?:__init__\.py|index\.[cm]?[jt]sx?|lib\.rs)")
_DOCUMENTED_FILE = re.compile(r".*\.(?:pyi?|rs|go|java)")
"""Index files whose first comment documents the package."""
_SCRIPT_ENDS = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx")
"""Ends of JavaScript files, in which an import is an export too only if the file does nothing else."""
_OWN_MODULE = re.compile(r"\.|self::|crate::|super::")


def is_index_file(name: str) -> bool:
    """Return true for files that represent the package in their folder."""
    return _INDEX_FILE.fullmatch(name) is not None


def package_docs(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> dict[str, str]:
    """Return the documentation of packages by folder, from at most `MAX_DOCUMENTED` index files, outermost first."""
    base = root.path.rstrip("/")
    docs: dict[str, str] = {}
    for name in outermost(filter(_DOCUMENTED_FILE.fullmatch, index_files))[:MAX_DOCUMENTED]:
        outline = snapshot.outline(f"{base}/{name}")
        doc = outline.doc if outline is not None else ""
        if doc and (not name.endswith(".go") or doc.startswith("Package ")):
            docs.setdefault(posixpath.dirname(name), doc)
    return docs


def library_interfaces(snapshot: Snapshot, root: Root, index_files: Collection[str]) -> tuple[EntryPoint, ...]:
    """Return the public interfaces of the outermost packages of a workspace folder.

    Args:
        snapshot: Snapshot of the index.
        root: The workspace folder.
        index_files: Names of the index files in the folder.
    """
    found: list[EntryPoint] = []
    folders: list[str] = []
    for name in outermost(filter(_INTERFACE_FILE.fullmatch, index_files)):
        folder = posixpath.dirname(name)
        is_inner = any(folder == other or other == "" or folder.startswith(f"{other}/") for other in folders)
        if is_inner or is_peripheral(name) or name.count("/") > MAX_DEPTH:
            continue
        exports = _exported_names(snapshot, f"{root.path.rstrip('/')}/{name}")
        if len(exports) >= MIN_EXPORTS:
            folders.append(folder)
            found.append(EntryPoint("public interface", name, exports=exports))
        if len(found) == MAX_INTERFACES:
            break
    return tuple(found)


def _exported_names(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    outline = snapshot.outline(path)
    if outline is None:
        return ()
    kinds = CALLABLE_KINDS | TYPE_KINDS | SPACE_KINDS
    defined = [s for s in outline.symbols if s.parent < 0 and s.kind in kinds and s.name]
    exports_imports = not path.endswith(_SCRIPT_ENDS) or not any(s.kind in CALLABLE_KINDS for s in defined)
    names = [name for imported in outline.imports if exports_imports for name in _imported_names(imported)]
    names += [s.name for s in defined if s.exported]
    return tuple(dict.fromkeys(name for name in names if name.isidentifier() and not name.startswith("_")))


def _imported_names(imported: Import) -> Iterable[str]:
    """Return the names that an import of the library's own modules brings into the index file."""
    if _OWN_MODULE.match(imported.module) is None:
        return ()
    return imported.local_names or imported.names or (re.split(r"[./:]", imported.module)[-1],)


# ---- index

MAX_SYNC_FILES = 8_000
"""Workspace size in files up to which a request waits for a complete update, about 200 ms after added files."""
MAX_CHANGED_PER_REQUEST = 200
"""Maximum number of changed files for which a request waits in a larger workspace, about 10 ms."""
IDLE_FACTOR = 20
"""Pause after an update in multiples of its duration; limits the load to 1/20 of a core."""
MAX_MANIFESTS = 200
"""Maximum number of manifests read in a workspace folder, outermost first."""
MAX_MANIFEST_DEPTH = 4
"""Maximum number of folders above a manifest."""
MAX_SCRIPTS = 60
"""Maximum number of scripts read to detect a main guard, outermost first."""

_MAIN_GUARD = re.compile(r"^if[ \t]+__name__[ \t]*==[ \t]*['\"]__main__['\"]", re.MULTILINE)
_SCRIPT = re.compile(
    r"(?:[^/]+/)?(?:main|app|cli|run|server|manage|train|worker|bot)\w*\.py|[^/]+\.py|(?:scripts|bin)/[^/]+\.py"
)


class _ParsedFile(Struct, frozen=True):
    """Data from one version of a manifest, readme or script."""

    content_hash: bytes
    stat: tuple[int, int] | None = None  # (size, mtime in ns) before it was read, None for an open document
    manifest: ProjectManifest | None = None
    opening: ReadmeOpening | None = None
    has_main_guard: bool = False


class _RootState:
    """Tallies and parsed files of one root."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.tally = FileTally(0, Counter(), Counter(), Counter(), Counter())
        self.names: set[str] = set()
        self.manifests: set[str] = set()
        self.readmes: set[str] = set()
        self.scripts: set[str] = set()  # may have a main guard
        self.entry_files: set[str] = set()  # conventional names of entry points
        self.index_files: set[str] = set()  # represent a package
        self.tables: PathTables | None = None  # None: must be rebuilt
        self.targets: dict[str, frozenset[str]] = {}  # name → names of imported files
        self.import_cache: ImportCache = {}
        self.parsed: dict[str, _ParsedFile] = {}
        self.go_modules: dict[str, str] = {}  # module path → folder


_RootStates = dict[str, _RootState]


class ProjectIndex:
    """Facts about all workspace folders.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all fields
        self._states: Derived[_RootStates] = Derived({}, _update_states)
        self._next_update = 0.0  # time.monotonic()
        self._facts: tuple[ProjectFacts, ...] = ()
        self._roots: tuple[Root, ...] = ()
        self.is_outdated = False
        """True after a request got outdated facts, until the next `follow`."""

    def get(self, sources: SourceReader, complete: bool = True) -> tuple[ProjectFacts, ...]:
        """Return the facts of each workspace folder in the order of the snapshot; () if not known yet.

        Args:
            sources: Snapshot and texts.
            complete: The index contains all files.
        """
        snapshot = sources.snapshot
        is_large = len(snapshot.files) > MAX_SYNC_FILES
        must_be_exact = complete and not is_large
        if not self._lock.acquire(blocking=must_be_exact):
            return self._known_facts(snapshot)
        try:
            is_slow = not must_be_exact and self._is_update_slow(snapshot)
            if is_slow and (is_large or self._known_facts(snapshot)):
                self.is_outdated = True
                return self._known_facts(snapshot)
            return self._update(sources)
        finally:
            self._lock.release()

    def follow(self, sources: SourceReader) -> None:
        """Update the facts if requests do not; returns at once during the pause after the last update."""
        start = time.monotonic()
        with self._lock:
            if start >= self._next_update and (not self._facts or self._is_update_slow(sources.snapshot)):
                self._update(sources)
                self.is_outdated = False
                end = time.monotonic()
                self._next_update = end + IDLE_FACTOR * (end - start)

    def _known_facts(self, snapshot: Snapshot) -> tuple[ProjectFacts, ...]:
        return self._facts if self._roots == snapshot.roots else ()

    def _is_update_slow(self, snapshot: Snapshot) -> bool:
        """Return true if many files have changed.

        In a large workspace, added or removed files are slow too, because the imports of all files are resolved again.
        """
        change = self._states.pending(snapshot)
        if change is None:
            return False
        if self._roots != snapshot.roots or not change.is_incremental:
            return True
        added = any(entry.path not in change.before for entry in change.changed)
        if len(snapshot.files) > MAX_SYNC_FILES and (change.gone or added):
            return True
        return len(change.changed) + len(change.gone) > MAX_CHANGED_PER_REQUEST

    def _update(self, sources: SourceReader) -> tuple[ProjectFacts, ...]:
        snapshot = sources.snapshot
        if self._roots != snapshot.roots:
            self._roots = snapshot.roots
            self._states.reset({root.path: _RootState(root) for root in snapshot.roots})
            self._facts = ()
        is_modified = any(_is_modified(sources, state) for state in self._states.value.values())
        if not self._facts or is_modified or self._states.pending(snapshot) is not None:
            states = self._states.at(snapshot)
            self._facts = tuple(_build_facts(sources, state) for state in states.values())
        return self._facts


def _update_states(states: _RootStates, change: Change) -> _RootStates:
    pairs_by_root: dict[str, list[tuple[FileEntry | None, FileEntry | None]]] = {}
    for entry in change.changed:
        pairs_by_root.setdefault(entry.root, []).append((change.before.get(entry.path), entry))
    for entry in change.gone:
        pairs_by_root.setdefault(entry.root, []).append((entry, None))
    for root, pairs in pairs_by_root.items():
        if root in states:
            _update_state(states[root], pairs)
    for root, state in states.items():
        if root in pairs_by_root:
            _update_importers(state, change.snapshot, [new for _, new in pairs_by_root[root] if new is not None])
    return states


def _update_state(state: _RootState, pairs: Iterable[tuple[FileEntry | None, FileEntry | None]]) -> None:
    for old, new in pairs:
        for entry, sign in ((old, -1), (new, 1)):
            if entry is not None:
                _update_tally(state.tally, entry, sign)
        if new is None and old is not None:
            for names in (
                state.names,
                state.manifests,
                state.readmes,
                state.scripts,
                state.entry_files,
                state.index_files,
            ):
                names.discard(old.name)
            state.parsed.pop(old.name, None)
            state.tables = None
        elif new is not None and new.name not in state.names:
            _add_name(state, new.name)
            state.tables = None


def _add_name(state: _RootState, name: str) -> None:
    state.names.add(name)
    if parser_for(name) is not None and name.count("/") <= MAX_MANIFEST_DEPTH:
        state.manifests.add(name)
    if "/" not in name and is_readme(name):
        state.readmes.add(name)
    if _SCRIPT.fullmatch(name):
        state.scripts.add(name)
    if entry_point_kind(name):
        state.entry_files.add(name)
    if is_index_file(name):
        state.index_files.add(name)


def _update_tally(tally: FileTally, entry: FileEntry, sign: int) -> None:
    tally.files += sign
    folder = posixpath.dirname(entry.name)
    outline = entry.outline
    language = outline.language if outline is not None else "text"
    if outline is not None:
        tally.lines[language] += sign * outline.lines
        if language not in PROSE_AND_DATA_LANGUAGES:
            tally.layers[layer_of(entry.name), folder] += sign
    tally.folders[folder, language] += sign


def _update_importers(state: _RootState, snapshot: Snapshot, changed: list[FileEntry]) -> None:
    """Resolve the imports of the changed files, or of all files after files were added or removed."""
    base = state.root.path.rstrip("/")
    entries: Iterable[FileEntry] = changed
    go_modules = _find_go_modules(state)
    if state.tables is None or go_modules != state.go_modules:
        state.tables, state.go_modules = build_path_tables(state.names), go_modules
        state.targets.clear()
        state.import_cache.clear()
        state.tally.importers.clear()
        entries = (snapshot.files[f"{base}/{name}"] for name in state.names)
    for entry in entries:
        before = state.targets.pop(entry.name, frozenset())
        after = _imported_files(state.tables, entry, go_modules, state.import_cache)
        if after:
            state.targets[entry.name] = after
        state.tally.importers.subtract(before)
        state.tally.importers.update(after)


def _imported_files(
    tables: PathTables, entry: FileEntry, go_modules: dict[str, str], cache: ImportCache
) -> frozenset[str]:
    outline = entry.outline
    if outline is None or outline.language in PROSE_AND_DATA_LANGUAGES or not outline.imports:
        return frozenset()
    if is_peripheral(entry.name):
        return frozenset()
    names = resolve_imports(tables, entry.name, outline.language, outline.imports, go_modules, cache)
    return frozenset(name for name in names if not is_peripheral(name))


def _find_go_modules(state: _RootState) -> dict[str, str]:
    modules = {}
    for name, file in state.parsed.items():
        if file.manifest is not None and file.manifest.ecosystem == "go" and file.manifest.name:
            modules[file.manifest.name] = posixpath.dirname(name)
    return modules


def _build_facts(sources: SourceReader, state: _RootState) -> ProjectFacts:
    manifest_names = outermost(state.manifests)[:MAX_MANIFESTS]
    readmes = sorted(state.readmes, key=readme_order)[:1]
    scripts = outermost(state.scripts)[:MAX_SCRIPTS]
    for name in {*manifest_names, *readmes, *scripts}:
        _parse_file(sources, state, name)
    if _find_go_modules(state) != state.go_modules:
        _update_importers(state, sources.snapshot, [])
    parsed = state.parsed
    parsed_manifests = ((name, parsed[name].manifest) for name in manifest_names if name in parsed)
    manifests = [(name, m) for name, m in parsed_manifests if m is not None and m != ProjectManifest()]
    opening = next((parsed[name].opening for name in readmes if name in parsed), None) or ReadmeOpening("", "")
    guarded = [name for name in scripts if name in parsed and parsed[name].has_main_guard]
    project, main_part = naming_manifests(manifests, state.names)
    frameworks, libraries = classify_dependencies(manifests)
    interfaces = library_interfaces(sources.snapshot, state.root, state.index_files)
    docs = package_docs(sources.snapshot, state.root, state.index_files)
    package_doc = docs.get("", "") or next((docs.get(posixpath.dirname(one.target), "") for one in interfaces), "")
    return ProjectFacts(
        root=state.root.path,
        label=state.root.name,
        name=project.name or opening.title or main_part.name,
        description=project.description or opening.paragraph or main_part.description or package_doc,
        files=state.tally.files,
        lines=sum(n for n in state.tally.lines.values() if n > 0),
        languages=language_shares(state.tally.lines),
        frameworks=frameworks,
        libraries=libraries,
        commands=project_commands(manifests),
        layers=layer_stats(state.tally.layers),
        entry_points=(*entry_points(manifests, state.entry_files, guarded, state.names), *interfaces),
        hubs=import_hubs(state.tally.importers),
        folders=top_level_folders(state.tally.folders),
        manifests=tuple(name for name, _ in manifests),
        versions=required_versions(manifests),
        dependencies=main_dependencies(manifests),
        tree=folder_tree(state.tally.folders, state.names, docs),
    )


def _is_modified(sources: SourceReader, state: _RootState) -> bool:
    """Return whether a parsed file has changed, on disk or in the editor; the index may not know it yet."""
    base = state.root.path.rstrip("/")
    return any(_is_outdated(sources, f"{base}/{name}", file) for name, file in state.parsed.items())


def _is_outdated(sources: SourceReader, path: str, file: _ParsedFile) -> bool:
    document = sources.snapshot.documents.get(path)
    if document is not None:
        return content_hash(document.text) != file.content_hash
    return file.stat is None or _current_stat(sources, path) != file.stat


def _current_stat(sources: SourceReader, path: str) -> tuple[int, int] | None:
    return None if path in sources.snapshot.documents else file_stat(path)


def _parse_file(sources: SourceReader, state: _RootState, name: str) -> None:
    """Read and parse a file unless this version of it is already parsed."""
    path = f"{state.root.path.rstrip('/')}/{name}"
    stat = _current_stat(sources, path)
    known = state.parsed.get(name)
    if known is not None and not _is_outdated(sources, path, known):
        return
    state.parsed.pop(name, None)
    text_or_problem = sources.read_text(path)
    if not isinstance(text_or_problem, str):
        return
    text = "\n".join(split_lines(text_or_problem))
    state.parsed[name] = _ParsedFile(
        content_hash(text_or_problem),
        stat,
        parse_manifest(name, text) if parser_for(name) is not None else None,
        read_opening(text) if is_readme(name) else None,
        name.endswith(".py") and _MAIN_GUARD.search(text) is not None,
    )


# ---------------------------------------------------------------- import counts


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


def _used_names(imported: Import) -> list[str]:
    return [name for name in imported.names[:MAX_NAMES] if name != "*"] or [""]


def _go_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    for module, top in go_modules.items():
        if imported.module == module or imported.module.startswith(module + "/"):
            folder = posixpath.join(top, imported.module[len(module) + 1 :]).rstrip("/")
            yield from _first_match(tables.go_folders, [folder])


def _rust_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    for used in _used_names(imported):
        yield from _first_match(tables.exact, _rust_paths(name, imported.module, used))


def _script_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    yield from _first_match(tables.exact, _script_paths(posixpath.dirname(name), imported.module))


def _first_match(table: Mapping[str, str], keys: Iterable[str]) -> Iterator[str]:
    """Yield the value of the first known key."""
    target = next((table[key] for key in keys if table.get(key)), "")
    if target:
        yield target


def _python_targets(tables: PathTables, name: str, imported: Import, go_modules: Mapping[str, str]) -> Iterator[str]:
    folder, module, names = posixpath.dirname(name), imported.module, _used_names(imported)
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
    for used in _used_names(imported):
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
