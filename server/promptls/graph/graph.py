"""The code graph of a snapshot, computed lazily.

`Graph.at(snapshot)` returns the view that a request works on.  Outgoing edges of a node are resolved from the outline
of its file, incoming edges from the files that mention its name, which the reference index maps to their paths.  The
index is updated with the changed files of a snapshot; the graph is never built as a whole.
"""

from __future__ import annotations

import posixpath
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar, cast

from msgspec.structs import replace

from promptls.graph.nodes import (
    Edge,
    EdgeType,
    Node,
    complexity_level,
    deduplicate_edges,
    language_notes,
    node_tags,
    summarize,
)
from promptls.graph.resolution import name_lookup
from promptls.graph.resolution.file_tables import FileSymbols, FileSymbolsCache
from promptls.graph.resolution.name_lookup import common_segments
from promptls.graph.resolution.name_resolution import NameResolver
from promptls.graph.resolution.resolved_names import CERTAINTY, Imports, Instance, Resolution
from promptls.index import Change, Derived, OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import TEST, CustomLayers, is_test_path, layer_of
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.model import (
    CALL,
    IMPLEMENT,
    INHERIT,
    PROSE,
    USE,
    CancelToken,
    FileEntry,
    Import,
    Reference,
    Span,
    Symbol,
    decode_references,
)
from promptls.util.mappings import PersistentMap, clear_if_full

IMPORT = "\0"
"""Prefix of words from imports, which separates them from names; IMPORT + "." is the key of modules with only dots."""

_IMPORT_WORD = re.compile(r"[\w-]+")
_TEST_ATTRIBUTE = re.compile(
    r"@(?:\w+(?:::|\.))*(?:test|rstest|test_case|wasm_bindgen_test|Test|ParameterizedTest|TestMethod|Fact|Theory)(?= |$)"
)
"""Attribute or annotation of a test in Rust, Java, Kotlin or C#, whose tests may be in the file that they test."""


ReferenceIndex = PersistentMap[str, tuple[str, ...]]
"""Paths of the files that reference a name, or import a word prefixed by `IMPORT`."""


def reference_keys(encoded_outline: bytes) -> frozenset[str]:
    """Return the names and import words of an encoded outline."""
    imports, names = decode_references(encoded_outline)
    keys = set(names)
    for imported in imports:
        keys.update(IMPORT + word.lower() for word in _IMPORT_WORD.findall(imported.module)[-3:] or ["."])
        keys.update(IMPORT + name.lower() for name in imported.names)
    return frozenset(keys)


def update_reference_index(index: ReferenceIndex, change: Change) -> ReferenceIndex:
    """Return the index after a change of the files."""
    if not index:
        return _build_index(change.changed)
    gone = {entry.path for entry in change.gone}
    paths = index.mutate()
    for entry in (*change.changed, *change.gone):
        path = entry.path
        previous = entry if path in gone else change.before.get(path)
        old = previous.encoded_outline if previous is not None else b""
        new = b"" if path in gone else entry.encoded_outline
        if old == new:
            continue
        before, after = reference_keys(old), reference_keys(new)
        for key in before - after:
            remaining = tuple(p for p in paths.get(key, ()) if p != path)
            if remaining:
                paths[key] = remaining
            else:
                del paths[key]
        for key in after - before:
            paths[key] = (*paths.get(key, ()), path)
    return paths.finish()


def _build_index(entries: Iterable[FileEntry]) -> ReferenceIndex:
    """Build the index from scratch; appending to lists is much cheaper than extending tuples."""
    lists: dict[str, list[str]] = {}
    for entry in entries:
        for key in reference_keys(entry.encoded_outline):
            lists.setdefault(key, []).append(entry.path)
    return PersistentMap({key: tuple(paths) for key, paths in lists.items()})


# ---- targets of prose

LINK, PATH, QUALIFIED_NAME, NAME_ALONE = 1.0, 0.8, 0.9, 0.6
"""Certainty of a target by the form of the reference."""


def _prose_file(path: str, named: str, snapshot: Snapshot) -> tuple[OutlineRef, float, str] | None:
    """Return (file, certainty, form) of a path or link in the prose of the file `path`."""
    linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), named))
    if linked in snapshot.files and linked != path:
        return (linked, -1), LINK, "link"
    tail = "/" + named.lstrip("./")
    base = named.rpartition("/")[2].lower()
    found = sorted(p for p in snapshot.basenames.get(base, ()) if p.endswith(tail) and p != path)
    return ((found[0], -1), PATH, "path") if len(found) == 1 else None


def _is_named(ref: OutlineRef, use: Reference, symbol: Symbol | None) -> bool:
    if symbol is None or symbol.name != use.name or symbol.kind not in TYPE_KINDS | CALLABLE_KINDS:
        return False
    if not use.receiver or f".{symbol.qualified}".endswith(f".{use.receiver}.{use.name}"):
        return True
    stem = ref[0].rpartition("/")[2].partition(".")[0]
    return use.receiver.rpartition(".")[2] == stem


# ---- graph

MAX_FILES_PER_NODE = 400
"""Maximum number of files searched for incoming edges of a node, nearest folders first; bounds the time."""

INDEX_STEMS = ("__init__", "index", "mod", "lib")
"""Stems of files that represent their folder and re-export what they import."""

T = TypeVar("T")

EdgeCache = dict[tuple[OutlineRef, int], tuple[Edge, ...]]

_EDGE_TYPES: dict[int, EdgeType] = {
    CALL: "calls",
    INHERIT: "inherits",
    IMPLEMENT: "implements",
    USE: "uses",
    PROSE: "documents",
}

MAX_NAME_DEFINITIONS = 4
"""Names with more definitions are ignored by the repo map, because their references are ambiguous."""
MAX_NAME_WEIGHT = 20.0
"""Maximum weight of one name, so that a single popular name does not dominate the repo map."""


class Graph:
    """Owner of the data shared between requests: reference index, file tables and the latest view."""

    def __init__(self, imports: Callable[[Snapshot], Imports]) -> None:
        self._imports = imports
        self._lock = threading.Lock()
        self._references: Derived[ReferenceIndex] = Derived(PersistentMap(), update_reference_index)
        self._tables = FileSymbolsCache()
        self._view: GraphView | None = None

    def at(self, snapshot: Snapshot, custom_layers: CustomLayers | None = None) -> GraphView:
        """Return the view of a snapshot.  Safe to call from any thread.

        The first call scans all files, later calls the changed files.
        """
        with self._lock:
            view = self.latest(snapshot, custom_layers)
            if view is not None:
                return view
            references = self._references.at(snapshot)
            self._view = GraphView(snapshot, references, self._tables, self._imports(snapshot), custom_layers)
            return self._view

    def latest(self, snapshot: Snapshot, custom_layers: CustomLayers | None = None) -> GraphView | None:
        """Return the view of a snapshot if it was the last one, without waiting; else None."""
        view = self._view
        is_current = view is not None and view.snapshot.files is snapshot.files
        return view if view is not None and is_current and view.custom_layers == dict(custom_layers or {}) else None


class GraphView:
    """The graph of one snapshot, with caches of computed nodes and edges."""

    def __init__(
        self,
        snapshot: Snapshot,
        references: ReferenceIndex,
        tables: FileSymbolsCache,
        imports: Imports,
        custom_layers: CustomLayers | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.custom_layers = dict(custom_layers or {})
        self.resolver = NameResolver(snapshot, imports, tables)
        self._references = references
        self._outgoing_cache: EdgeCache = {}
        self._incoming_cache: EdgeCache = {}
        self._nodes: dict[OutlineRef, Node] = {}
        self._results: dict[object, object] = {}

    def memoize(self, compute: Callable[[GraphView, CancelToken | None], T], token: CancelToken | None = None) -> T:
        """Return `compute(view, token)`, computed at the first call for this view."""
        if compute not in self._results:
            self._results[compute] = compute(self, token)
        return cast("T", self._results[compute])

    # ---- nodes

    def entry(self, path: str) -> FileEntry | None:
        """Return the index entry of a file."""
        return self.snapshot.files.get(path)

    def file_symbols(self, path: str) -> FileSymbols | None:
        """Return the tables of a file, or None if it has no outline."""
        return self.resolver.file_symbols(path)

    def symbol(self, ref: OutlineRef) -> Symbol | None:
        """Return the symbol of a node, or None for a file."""
        return self.snapshot.symbol(ref) if ref[1] >= 0 else None

    def node(self, ref: OutlineRef) -> Node | None:
        """Return the node of a file (index -1) or definition, or None if it does not exist."""
        node = self._nodes.get(ref)
        if node is None:
            clear_if_full(self._nodes)
            node = self._node(ref)
            if node is not None:
                self._nodes[ref] = node
        return node

    def _node(self, ref: OutlineRef) -> Node | None:
        path, index = ref
        entry, file_symbols = self.entry(path), self.file_symbols(path)
        if entry is None or (index >= 0 and (file_symbols is None or index >= len(file_symbols.symbols))):
            return None
        label = self.snapshot.label(path)
        layer = layer_of(label, self.custom_layers)
        if file_symbols is None:
            return Node(f"file:{label}", "file", label.rpartition("/")[2], path, label, Span(0, 0), layer=layer)
        symbol = file_symbols.symbols[index] if index >= 0 else None
        return Node(
            id=self.id(ref),
            type=symbol.kind if symbol else "file",
            name=(symbol.name or symbol.qualified) if symbol else label.rpartition("/")[2],
            path=path,
            label=label,
            span=symbol.span if symbol else Span(0, file_symbols.outline.lines),
            index=index,
            qualified=symbol.qualified if symbol else "",
            complexity=complexity_level(file_symbols, index),
            summary=summarize(file_symbols, index),
            tags=node_tags(file_symbols, index, label, layer),
            language_notes=language_notes(file_symbols, index),
            layer=layer,
        )

    def id(self, ref: OutlineRef) -> str:
        """Return the id of a node, "type:path[:qualified]"; duplicates after the first one end in "@line"."""
        label = self.snapshot.label(ref[0])
        symbol, file_symbols = self.symbol(ref), self.file_symbols(ref[0])
        if symbol is None or file_symbols is None:
            return f"file:{label}"
        duplicates = [
            i for i in file_symbols.by_qualified_name[symbol.qualified] if file_symbols.symbols[i].kind == symbol.kind
        ]
        name = f"{symbol.kind}:{label}:{symbol.qualified}"
        return name if duplicates[0] == ref[1] else f"{name}@{symbol.span.start + 1}.{duplicates.index(ref[1])}"

    def is_test(self, ref: OutlineRef) -> bool:
        """Return true if a node is a test, by its kind or an attribute, or is in a test file."""
        symbol = self.symbol(ref)
        if symbol is not None and (symbol.kind == "test" or _TEST_ATTRIBUTE.search(symbol.traits)):
            return True
        return self._in_tests(ref[0])

    def _in_tests(self, path: str) -> bool:
        label = self.snapshot.label(path)
        return is_test_path(label) or layer_of(label, self.custom_layers) == TEST

    # ---- edges

    def outgoing(self, ref: OutlineRef, files: int = MAX_FILES_PER_NODE) -> tuple[Edge, ...]:
        """Return the outgoing edges of a node in document order of their evidence; tests from at most `files` files."""
        cached = self._outgoing_cache.get((ref, files))
        if cached is None:
            clear_if_full(self._outgoing_cache)
            cached = self._outgoing_cache[ref, files] = deduplicate_edges(self._compute_outgoing(ref, files))
        return cached

    def incoming(self, ref: OutlineRef, files: int = MAX_FILES_PER_NODE) -> tuple[Edge, ...]:
        """Return the incoming edges of a node by path and line, from at most `files` files that mention it."""
        cached = self._incoming_cache.get((ref, files))
        if cached is None:
            clear_if_full(self._incoming_cache)
            cached = self._incoming_cache[ref, files] = deduplicate_edges(
                sorted(self._compute_incoming(ref, files), key=lambda e: (e.path, e.line, e.type, e.source[1]))
            )
        return cached

    def edges(self, ref: OutlineRef, files: int = MAX_FILES_PER_NODE) -> tuple[Edge, ...]:
        """Return all edges of a node, outgoing edges first."""
        return (*self.outgoing(ref, files), *self.incoming(ref, files))

    def _compute_outgoing(self, ref: OutlineRef, files: int) -> Iterator[Edge]:
        path, index = ref
        file_symbols = self.file_symbols(path)
        if file_symbols is None:
            return
        for child in file_symbols.children.get(index, ()):
            yield Edge(ref, (path, child), "contains", 1.0, path, file_symbols.symbols[child].span.start)
        if index < 0:
            yield from self._import_edges(path)
            yield from self._export_edges(path, file_symbols)
        for use in file_symbols.references_in(index):
            yield from self._reference_edges(ref, use)
        for test, edge in self._referring_nodes(ref, files) if not self.is_test(ref) else ():
            if edge.type == "calls" and self.is_test(test):
                yield Edge(ref, test, "tested_by", edge.weight, edge.path, edge.line, edge.note)

    def _compute_incoming(self, ref: OutlineRef, files: int) -> Iterator[Edge]:
        path, index = ref
        file_symbols = self.file_symbols(path)
        if file_symbols is None:
            return
        if index < 0:
            yield from self._importer_edges(path, files)
        else:
            symbol = file_symbols.symbols[index]
            yield Edge((path, symbol.parent), ref, "contains", 1.0, path, symbol.span.start)
            if symbol.exported and index in file_symbols.visible.get(symbol.name, ()):
                yield Edge((path, -1), ref, "exports", 1.0, path, symbol.span.start)
            if symbol.parent < 0:
                yield from self._reexport_edges(ref, symbol)
        yield from (edge for _, edge in self._referring_nodes(ref, files))
        if self.is_test(ref):
            for use in file_symbols.references_in(index):
                for edge in self._reference_edges(ref, use):
                    if edge.type == "calls" and not self.is_test(edge.target):
                        yield Edge(edge.target, ref, "tested_by", edge.weight, edge.path, edge.line, edge.note)

    def _reference_edges(self, ref: OutlineRef, use: Reference) -> Iterator[Edge]:
        """Yield the edges of one reference in the code of a node."""
        if use.kind == PROSE:
            yield from self._prose_edges(ref, use)
            return
        type_ = _EDGE_TYPES[use.kind]
        for found in self.resolver.resolve(ref[0], ref[1], use):
            if found.ref == ref and type_ != "calls":
                continue
            target = self.symbol(found.ref)
            kind: EdgeType = type_
            if type_ == "inherits" and target is not None and target.kind in ("interface", "trait"):
                source = self.symbol(ref)
                kind = "implements" if source is None or source.kind not in ("interface", "trait") else "inherits"
            yield Edge(ref, found.ref, kind, found.certainty, ref[0], use.line, found.method)

    def _prose_edges(self, ref: OutlineRef, use: Reference) -> Iterator[Edge]:
        """Yield the edge from prose to the file or the definition that it mentions, if there is only one."""
        if use.receiver.endswith("/") or "." in use.name or not use.name:
            found = _prose_file(ref[0], use.receiver + use.name, self.snapshot)
        else:
            named = self.snapshot.names.get(use.name.lower(), ())
            refs = [one for one in named if _is_named(one, use, self.symbol(one)) and not self._in_tests(one[0])]
            certainty = QUALIFIED_NAME if use.receiver else NAME_ALONE
            found = (refs[0], certainty, "name") if len(refs) == 1 else None
        if found is not None:
            yield Edge(ref, found[0], "documents", found[1], ref[0], use.line, found[2])

    def _import_edges(self, path: str) -> Iterator[Edge]:
        entry = self.snapshot.files[path]
        for imported in entry.outline.imports if entry.outline else ():
            for target in self.resolver.imports.targets(entry, imported):
                if target.path != path and target.path in self.snapshot.files:
                    yield Edge((path, -1), (target.path, -1), "imports", 1.0, path, imported.line, imported.module)

    def _importer_edges(self, path: str, files: int) -> Iterator[Edge]:
        *_, folder, file = ("", *path.split("/"))
        stem = file.partition(".")[0].lower()
        keys = {stem, folder.lower(), *(["."] if stem in INDEX_STEMS else [])}
        symbols = self.file_symbols(path)
        if symbols is not None:
            keys.update(name.lower() for name in symbols.visible)
        seen = {p for word in keys for p in self.files_using(IMPORT + word)}
        for other in self._nearest_files(seen, path, files):
            if other != path:
                yield from (edge for edge in self._import_edges(other) if edge.target[0] == path)

    def _export_edges(self, path: str, file_symbols: FileSymbols) -> Iterator[Edge]:
        for found in file_symbols.visible.values():
            for i in found:
                if file_symbols.symbols[i].exported:
                    yield Edge((path, -1), (path, i), "exports", 1.0, path, file_symbols.symbols[i].span.start)
        if is_index(path):
            entry = self.snapshot.files[path]
            for name, target in self.resolver.imports.bindings(entry).items():
                if target.name and target.name != "*" and not name.startswith("_"):
                    entity = self.resolver.resolve_target(target)
                    ref = entity.ref if isinstance(entity, Resolution | Instance) else None
                    if ref is not None and ref[0] != path:
                        yield Edge((path, -1), ref, "exports", CERTAINTY["import"], path, 0, "re-export")

    def _reexport_edges(self, ref: OutlineRef, symbol: Symbol) -> Iterator[Edge]:
        """Yield edges from index files that re-export a definition."""
        keys = (symbol.name.lower(), "default")
        for path in sorted({p for word in keys for p in self.files_using(IMPORT + word) if is_index(p)}):
            file_symbols = self.file_symbols(path)
            if file_symbols is not None and path != ref[0]:
                yield from (edge for edge in self._export_edges(path, file_symbols) if edge.target == ref)

    def _referring_nodes(self, ref: OutlineRef, files: int) -> Iterator[tuple[OutlineRef, Edge]]:
        """Yield (source, edge) for each reference to a definition."""
        symbol = self.symbol(ref)
        if symbol is None or (symbol.kind in REPEATED_KINDS and symbol.parent >= 0):
            if ref[1] < 0:
                yield from self._prose_mentions(ref, files)
            return
        names = {symbol.name}
        file_symbols = self.file_symbols(ref[0])
        if symbol.kind == "constructor" and symbol.parent >= 0 and file_symbols is not None:
            names.add(file_symbols.symbols[symbol.parent].name)
        ignores_case = file_symbols is not None and file_symbols.language.ignores_case
        mentions = {
            (path, name)
            for name in names - {""}
            for spelling in (self._spellings.get(name.lower(), ()) if ignores_case else (name,))
            for path in self.files_using(spelling)
        }
        if symbol.parent < 0:
            mentions |= self._import_aliases(ref, symbol)
        versions = name_lookup.equivalent_definitions(self.snapshot, ref)
        by_path: dict[str, list[str]] = {}
        for path, name in sorted(mentions):
            by_path.setdefault(path, []).append(name)
        for path in self._nearest_files(set(by_path), ref[0], files):
            file_symbols = self.file_symbols(path)
            for name in by_path[path]:
                for owner, use in file_symbols.references_named(name) if file_symbols is not None else ():
                    for edge in self._reference_edges((path, owner), use):
                        if edge.target in versions:
                            yield (path, owner), replace(edge, target=ref)

    def _import_aliases(self, ref: OutlineRef, symbol: Symbol) -> set[tuple[str, str]]:
        """Return (file, local name) for imports that rename a definition."""
        out: set[tuple[str, str]] = set()
        keys = {symbol.name.lower(), "default", ref[0].rpartition("/")[2].partition(".")[0].lower()}
        for path in {p for word in keys for p in self.files_using(IMPORT + word)}:
            entry = self.entry(path)
            for local, target in self.resolver.imports.bindings(entry).items() if entry is not None else ():
                if target.name in (symbol.name, "default") and local != symbol.name:
                    out.add((path, local))
        return out

    def import_uses(self, ref: OutlineRef, files: int = MAX_FILES_PER_NODE) -> tuple[Edge, ...]:
        """Return the imports of a definition by name, re-exports included, from at most `files` files, nearest first.

        The source of an edge is the importing file, even if the import is in a function.
        """
        symbol = self.symbol(ref)
        if symbol is None or not symbol.name or (symbol.kind in REPEATED_KINDS and symbol.parent >= 0):
            return ()
        versions = name_lookup.equivalent_definitions(self.snapshot, ref)
        own = {path for path, _ in versions}
        named = set(self.files_using(IMPORT + symbol.name.lower())) - own
        default = set(self.files_using(IMPORT + "default")) - own - named
        wildcard = {path for path in self.files_using(IMPORT + "*") if is_index(path)} - own - named - default
        groups = (named, wildcard if symbol.exported and symbol.parent < 0 else set(), default)
        paths = [path for group in groups for path in self._nearest_files(group, ref[0], files)]
        uses: list[Edge] = []
        for path in paths[:files]:
            entry = self.snapshot.files[path]
            for imported in entry.outline.imports if entry.outline else ():
                if self._imports_definition(entry, imported, symbol, versions):
                    uses.append(Edge((path, -1), ref, "imports", CERTAINTY["import"], path, imported.line))
        return tuple(uses)

    def _imports_definition(
        self, entry: FileEntry, imported: Import, symbol: Symbol, versions: Collection[OutlineRef]
    ) -> bool:
        """Return true if an import names a definition, or if an index file re-exports all names of its file."""
        if imported.names and {symbol.name, "default", "*"}.isdisjoint(imported.names):
            return False
        targets = self.resolver.imports.targets(entry, imported)
        if "*" in imported.names and is_index(entry.path) and symbol.exported and symbol.parent < 0:
            return any(target.name == "*" and target.path == path for target in targets for path, _ in versions)
        resolved = map(self.resolver.resolve_target, targets)
        return any(isinstance(target, Resolution) and target.ref in versions for target in resolved)

    def mention_count(self, name: str) -> int:
        """Return the number of files that mention a name."""
        return len(self.files_using(name))

    def files_using(self, key: str) -> tuple[str, ...]:
        """Return the paths of the files that refer to a name, or import a word prefixed by `IMPORT`."""
        return self._references.get(key, ())

    @cached_property
    def _spellings(self) -> Mapping[str, Sequence[str]]:
        """Names that files refer to, by lower-case name."""
        out: dict[str, list[str]] = {}
        for word in self._references:
            out.setdefault(word.lower(), []).append(word)
        return out

    @cached_property
    def reference_counts(self) -> Mapping[str, int]:
        """Number of files that mention a name, by lower-case name."""
        out: dict[str, int] = {}
        for word, paths in self._references.items():
            if not word.startswith(IMPORT):
                name = word.lower()
                out[name] = out.get(name, 0) + len(paths)
        return out

    @cached_property
    def file_weights(self) -> Mapping[str, float]:
        """Number of references to the top-level symbols of a file, shared between equal names, by path."""
        weights: dict[str, float] = {}
        counts = self.reference_counts
        for name, refs in self.snapshot.names.items():
            if name not in counts or len(refs) > MAX_NAME_DEFINITIONS:
                continue
            weight = min(MAX_NAME_WEIGHT, counts[name] / len(refs))
            weighed: set[str] = set()
            for ref in refs:
                if ref[0] not in weighed and (symbol := self.symbol(ref)) is not None and symbol.parent < 0:
                    weighed.add(ref[0])
                    weights[ref[0]] = weights.get(ref[0], 0.0) + weight
        return weights

    def _prose_mentions(self, ref: OutlineRef, files: int) -> Iterator[tuple[OutlineRef, Edge]]:
        """Yield (source, edge) for prose that mentions a file by name."""
        name = ref[0].rpartition("/")[2]
        for path in self._nearest_files(set(self.files_using(name)), ref[0], files):
            file_symbols = self.file_symbols(path)
            for owner, use in file_symbols.references_named(name) if file_symbols is not None else ():
                if use.kind == PROSE:
                    for edge in self._prose_edges((path, owner), use):
                        if edge.target == ref:
                            yield (path, owner), edge

    def _nearest_files(self, paths: set[str], path: str, files: int) -> list[str]:
        """Return at most `files` of the paths, longest common folder first."""
        existing = [p for p in paths if p in self.snapshot.files]
        return sorted(existing, key=lambda other: (-common_segments(other, path), other))[:files]


def is_index(path: str) -> bool:
    """Return whether a file represents its folder, so that others can import its names from the folder."""
    return path.rpartition("/")[2].partition(".")[0] in INDEX_STEMS
