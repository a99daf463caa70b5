"""Import resolution: from import statements to files of the workspace and names defined in them.

`ImportResolver` belongs to one snapshot.  Its caches are reused for the next snapshot, so that an edit costs one file.
It reads outlines and a few configuration files, and never follows a path out of the workspace.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from promptls.graph.imports.file_tree import WILDCARD, Configs, FileTree, Read, ResolutionContext
from promptls.graph.imports.language_resolvers import RESOLVERS, find_python_module
from promptls.graph.resolution.resolved_names import Target
from promptls.index import Derived, FileLimits, Snapshot, UnreadableFile, read_text
from promptls.languages import language_named
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.model import FileEntry, Import

__all__ = ["ImportResolver", "ImportResolvers", "Target"]

CONFIG_NAMES = (
    "package.json",
    "tsconfig.json",
    "jsconfig.json",
    "go.mod",
    "cargo.toml",
    "composer.json",
    "pubspec.yaml",
)
"""Lower-case names of configuration files that affect import resolution."""

Bindings = Mapping[str, Target]
InnerBindings = tuple[tuple[int, Target], ...]

_LIMITS = FileLimits()


class ImportResolver:
    """Import resolution of one snapshot.  Safe to call from any thread."""

    def __init__(self, snapshot: Snapshot, previous: ImportResolver | None = None) -> None:
        """Create a resolver that reuses the caches of `previous`, as far as they are still valid."""
        self.snapshot = snapshot
        self._config_hashes = _hash_configs(snapshot)
        self._target_cache: dict[tuple[str, Import], tuple[Target, ...]] = {}
        self._binding_cache: dict[str, tuple[FileEntry, Bindings, Mapping[str, InnerBindings]]] = {}
        self._context: ResolutionContext
        if previous is not None and previous._is_valid_for(snapshot, self._config_hashes):
            self._context, self._target_cache, self._binding_cache = (
                previous._context,
                previous._target_cache,
                previous._binding_cache,
            )
        else:
            tree = FileTree(snapshot)
            self._context = ResolutionContext(tree, Configs(tree, _text_reader(snapshot)))

    def _is_valid_for(self, snapshot: Snapshot, config_hashes: tuple[tuple[str, bytes], ...]) -> bool:
        """Return true if another snapshot has the same file names and configuration."""
        own = self.snapshot
        return (
            own.basenames is snapshot.basenames and own.roots == snapshot.roots and self._config_hashes == config_hashes
        )

    def targets(self, entry: FileEntry, imported: Import) -> tuple[Target, ...]:
        """Return the targets of an import, one per name if possible; () for third-party modules."""
        key = (entry.path, imported)
        cached = self._target_cache.get(key)
        if cached is None:
            language = entry.outline.language if entry.outline is not None else ""
            resolver = RESOLVERS.get(language)
            cached = resolver(self._context, entry, imported.module, imported.names) if resolver is not None else ()
            self._target_cache[key] = cached
        return cached

    def bindings(self, entry: FileEntry) -> Bindings:
        """Return the targets of all imported names of a file that are in the workspace.

        Names imported inside a function are included unless the file imports the same name elsewhere.
        """
        return self._file_bindings(entry)[1]

    def inner_bindings(self, entry: FileEntry) -> Mapping[str, InnerBindings]:
        """Return the names imported inside functions of a file, each with lines and targets."""
        return self._file_bindings(entry)[2]

    def _file_bindings(self, entry: FileEntry) -> tuple[FileEntry, Bindings, Mapping[str, InnerBindings]]:
        cached = self._binding_cache.get(entry.path)
        if cached is None or cached[0] is not entry:
            imports = entry.outline.imports if entry.outline is not None else ()
            inner_imports = _imports_in_functions(entry, imports)
            inner: dict[str, InnerBindings] = {}
            for imported in inner_imports:
                for name, target in self._bind(entry, (imported,)).items():
                    inner[name] = (*inner.get(name, ()), (imported.line, target))
            own_imports = set(inner_imports)
            outer = [imported for imported in imports if imported not in own_imports]
            bindings = {name: targets[-1][1] for name, targets in inner.items()} | self._bind(entry, outer)
            cached = self._binding_cache[entry.path] = (entry, bindings, inner)
        return cached

    def _bind(self, entry: FileEntry, imports: Sequence[Import]) -> dict[str, Target]:
        bindings: dict[str, Target] = {}
        language = entry.outline.language if entry.outline is not None else ""
        rules = language_named(language).imports
        for imported in imports:
            if imported.names:
                targets = self.targets(entry, imported)
                if len(targets) != len(imported.names):
                    continue  # "*" resolved to many files, or only some names are in the workspace
                for name, local, target in zip(
                    imported.names, imported.local_names or imported.names, targets, strict=True
                ):
                    if local == WILDCARD:
                        continue
                    bindings[local] = Target(target.path) if name == WILDCARD else target
                continue
            if language == "python" and not imported.local_names:
                head = imported.module.partition(".")[0]
                path = find_python_module(self._context, entry, head) if head else ""
                if path:
                    bindings[head] = Target(path)
                continue
            targets = self.targets(entry, imported)
            own_name = rules.local_name(imported.module) if rules is not None else ""
            local = imported.local_names[0] if imported.local_names else own_name
            if targets and local:
                bindings[local] = Target(targets[0].path, "" if targets[0].name == WILDCARD else targets[0].name)
        return bindings


def _imports_in_functions(entry: FileEntry, imports: Sequence[Import]) -> list[Import]:
    """Return the imports inside functions."""
    if entry.outline is None or not imports:
        return []
    starts: list[int] = []
    ends: list[int] = []  # ends of outermost functions; nested functions end before them
    for span in (symbol.span for symbol in entry.outline.symbols if symbol.kind in CALLABLE_KINDS):
        if not ends or span.start >= ends[-1]:
            starts.append(span.start)
            ends.append(span.end)
    return [
        imported for imported in imports if (at := bisect_left(starts, imported.line)) and imported.line < ends[at - 1]
    ]


class ImportResolvers:
    """The import resolver of the latest snapshot.  Safe to call from any thread."""

    def __init__(self) -> None:
        self._latest: Derived[ImportResolver | None] = Derived(
            None, lambda previous, change: ImportResolver(change.snapshot, previous), lambda snapshot: snapshot
        )

    def at(self, snapshot: Snapshot) -> ImportResolver:
        """Return the resolver of a snapshot, which reuses results of the previous one."""
        resolver = self._latest.at(snapshot)
        assert resolver is not None
        return resolver


def _hash_configs(snapshot: Snapshot) -> tuple[tuple[str, bytes], ...]:
    """Return paths and hashes of the configuration files, on which all targets depend."""
    paths = [path for name in CONFIG_NAMES for path in snapshot.basenames.get(name, ())]
    return tuple((path, entry.content_hash) for path in paths if (entry := snapshot.files.get(path)) is not None)


def _text_reader(snapshot: Snapshot) -> Read:
    lock = threading.Lock()
    roots = [root.path for root in snapshot.roots]

    def read(path: str) -> str:
        document = snapshot.documents.get(path)
        if document is not None:
            return document.text
        if path not in snapshot.files:
            return ""
        with lock:
            got = read_text(path, _LIMITS, roots)
        return "" if isinstance(got, UnreadableFile) else got.text

    return read
