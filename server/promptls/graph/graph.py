"""The graph of one snapshot, made as far as somebody asks.

`Graph` is the one mutable owner, held by the engine: `graph.at(snapshot)` gives the immutable view that a
request works on.  Edges out of a node are resolved from its file's outline; edges into it from the files that
speak of its name.  Nothing is ever built as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from msgspec.structs import replace

from promptls.graph import name_lookup, node_summary
from promptls.graph.file_tables import Facts, Tables
from promptls.graph.name_resolution import Imports, Resolver
from promptls.graph.nodes import Edge, EdgeType, Node
from promptls.graph.packages import closeness
from promptls.graph.reference_index import IMPORT, ReferenceIndex, update_reference_index
from promptls.graph.resolution import CERTAINTY
from promptls.index.derived import Derived
from promptls.index.snapshot import OutlineRef, Snapshot
from promptls.knowledge.project.file_kind import is_test_path
from promptls.knowledge.project.layers import TEST, CustomLayers, layer_of
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, TYPE_KINDS
from promptls.model import CALL, IMPLEMENT, INHERIT, PROSE, USE, FileEntry, Reference, Span, Symbol
from promptls.util.lru import clear_if_full

MAX_FILES = 400
"""Files that are looked at for edges into one node: nearest folders first."""

INDEX_FILES = ("__init__", "index", "mod", "lib")
"""Files that stand for their folder, and offer what they import."""

Known = dict[tuple[OutlineRef, int], tuple[Edge, ...]]

_TYPES: dict[int, EdgeType] = {
    CALL: "calls",
    INHERIT: "inherits",
    IMPLEMENT: "implements",
    USE: "uses",
    PROSE: "documents",
}


class Graph:
    """Keeps what can be kept between requests: the words of files, their tables, the last view."""

    def __init__(self, imports: Callable[[Snapshot], Imports]) -> None:
        self._imports = imports
        self._lock = threading.Lock()
        self._references = Derived(ReferenceIndex(), update_reference_index)
        self._tables = Tables()
        self._view: GraphView | None = None

    def at(self, snapshot: Snapshot, extra: CustomLayers | None = None) -> GraphView:
        """The view of a snapshot; any thread.  The first one looks at all files, later ones at those that changed."""
        with self._lock:
            view = self._view
            if view is not None and view.snapshot.files is snapshot.files and view.extra == dict(extra or {}):
                return view
            references = self._references.at(snapshot)
            self._view = GraphView(snapshot, references, self._tables, self._imports(snapshot), extra)
            return self._view


class GraphView:
    """The graph of one snapshot: a value, apart from what it remembers having worked out."""

    def __init__(
        self, snapshot: Snapshot, references: ReferenceIndex, tables: Tables, imports: Imports, extra: CustomLayers | None = None
    ) -> None:
        self.snapshot = snapshot
        self.extra = dict(extra or {})
        self.resolver = Resolver(snapshot, imports, tables)
        self._references = references
        self._out: Known = {}
        self._into: Known = {}
        self._nodes: dict[OutlineRef, Node] = {}

    # ---- nodes

    def entry(self, path: str) -> FileEntry | None:
        return self.snapshot.files.get(path)

    def facts(self, path: str) -> Facts | None:
        """The tables of a file, None if it has no outline."""
        return self.resolver.facts(path)

    def symbol(self, place: OutlineRef) -> Symbol | None:
        """The definition at a place, None for a file."""
        return self.snapshot.symbol(place) if place[1] >= 0 else None

    def node(self, place: OutlineRef) -> Node | None:
        """The node of a file (index -1) or definition, None if there is none."""
        node = self._nodes.get(place)
        if node is None:
            clear_if_full(self._nodes)
            node = self._node(place)
            if node is not None:
                self._nodes[place] = node
        return node

    def _node(self, place: OutlineRef) -> Node | None:
        path, index = place
        entry, facts = self.entry(path), self.facts(path)
        if entry is None or (index >= 0 and (facts is None or index >= len(facts.symbols))):
            return None
        label = self.snapshot.label(path)
        layer = layer_of(label, self.extra)
        if facts is None:
            return Node(f"file:{label}", "file", label.rpartition("/")[2], path, label, Span(0, 0), layer=layer)
        symbol = facts.symbols[index] if index >= 0 else None
        return Node(
            id=self.id(place),
            type=symbol.kind if symbol else "file",
            name=(symbol.name or symbol.qualified) if symbol else label.rpartition("/")[2],
            path=path,
            label=label,
            span=symbol.span if symbol else Span(0, facts.outline.lines),
            index=index,
            qualified=symbol.qualified if symbol else "",
            complexity=node_summary.complexity_of(facts, index),
            summary=node_summary.summary_of(facts, index, label),
            tags=node_summary.tags_of(facts, index, label, layer),
            language_notes=node_summary.notes_of(facts, index),
            layer=layer,
        )

    def id(self, place: OutlineRef) -> str:
        """ "type:path[:qualified]"; of several alike all but the first end in "@line"."""
        label = self.snapshot.label(place[0])
        symbol, facts = self.symbol(place), self.facts(place[0])
        if symbol is None or facts is None:
            return f"file:{label}"
        alike = [i for i in facts.qualified[symbol.qualified] if facts.symbols[i].kind == symbol.kind]
        name = f"{symbol.kind}:{label}:{symbol.qualified}"
        return name if alike[0] == place[1] else f"{name}@{symbol.span.start + 1}.{alike.index(place[1])}"

    def places(self) -> Iterator[OutlineRef]:
        """All nodes, in order of path."""
        for path, entry in sorted(self.snapshot.files.items()):
            yield path, -1
            for i in range(len(entry.outline.symbols) if entry.outline else 0):
                yield path, i

    def is_test(self, place: OutlineRef) -> bool:
        """Whether a node is a test or stands in a file of tests."""
        symbol = self.symbol(place)
        return (symbol is not None and symbol.kind == "test") or self._in_tests(place[0])

    def _in_tests(self, path: str) -> bool:
        label = self.snapshot.label(path)
        return is_test_path(label) or layer_of(label, self.extra) == TEST

    # ---- edges

    def out(self, place: OutlineRef, files: int = MAX_FILES) -> tuple[Edge, ...]:
        """Edges that begin at a node, in document order of their evidence; one for each target and type.

        `files`: how many files are looked at for tests.
        """
        known = self._out.get((place, files))
        if known is None:
            clear_if_full(self._out)
            known = self._out[place, files] = _distinct(self._edges_out(place, files))
        return known

    def into(self, place: OutlineRef, files: int = MAX_FILES) -> tuple[Edge, ...]:
        """Edges that end at a node, in order of path and line, from at most `files` files that speak of it."""
        known = self._into.get((place, files))
        if known is None:
            clear_if_full(self._into)
            known = self._into[place, files] = _distinct(sorted(self._edges_into(place, files), key=_by_evidence))
        return known

    def edges(self, place: OutlineRef, files: int = MAX_FILES) -> tuple[Edge, ...]:
        """All edges of a node: those that begin there first."""
        return (*self.out(place, files), *self.into(place, files))

    def _edges_out(self, place: OutlineRef, files: int) -> Iterator[Edge]:
        path, index = place
        facts = self.facts(path)
        if facts is None:
            return
        for child in facts.children.get(index, ()):
            yield Edge(place, (path, child), "contains", 1.0, path, facts.symbols[child].span.start)
        if index < 0:
            yield from self._imports_of(path)
            yield from self._exports_of(path, facts)
        for use in facts.uses_of(index):
            yield from self._referred(place, use)
        for test, edge in self._callers(place, files) if not self.is_test(place) else ():
            if edge.type == "calls" and self.is_test(test):
                yield Edge(place, test, "tested_by", edge.weight, edge.path, edge.line, edge.note)

    def _edges_into(self, place: OutlineRef, files: int) -> Iterator[Edge]:
        path, index = place
        facts = self.facts(path)
        if facts is None:
            return
        if index < 0:
            yield from self._importers(path, files)
        else:
            symbol = facts.symbols[index]
            yield Edge((path, symbol.parent), place, "contains", 1.0, path, symbol.span.start)
            if symbol.exported and index in facts.top.get(symbol.name, ()):
                yield Edge((path, -1), place, "exports", 1.0, path, symbol.span.start)
            if symbol.parent < 0:
                yield from self._reexported(place, symbol)
        yield from (edge for _, edge in self._callers(place, files))
        if self.is_test(place):
            for use in facts.uses_of(index):
                for edge in self._referred(place, use):
                    if edge.type == "calls" and not self.is_test(edge.target):
                        yield Edge(edge.target, place, "tested_by", edge.weight, edge.path, edge.line, edge.note)

    def _referred(self, place: OutlineRef, use: Reference) -> Iterator[Edge]:
        """Edges of one reference in the code of a node."""
        if use.kind == PROSE:
            yield from self._documented(place, use)
            return
        type_ = _TYPES[use.kind]
        for found in self.resolver.resolve(place[0], place[1], use):
            if found.place == place and type_ != "calls":
                continue
            target = self.symbol(found.place)
            kind: EdgeType = type_
            if type_ == "inherits" and target is not None and target.kind in ("interface", "trait"):
                source = self.symbol(place)
                kind = "implements" if source is None or source.kind not in ("interface", "trait") else "inherits"
            yield Edge(place, found.place, kind, found.certainty, place[0], use.line, found.how)

    def _documented(self, place: OutlineRef, use: Reference) -> Iterator[Edge]:
        """What prose speaks of: a file by its path, a definition by a name that few have."""
        if use.receiver.endswith("/") or "." in use.name or not use.name:
            folder = place[0].rpartition("/")[0]
            wanted = _joined(folder, use.receiver + use.name)
            if wanted in self.snapshot.files and wanted != place[0]:
                yield Edge(place, (wanted, -1), "documents", 1.0, place[0], use.line, "link")
            else:
                tail = "/" + (use.receiver + use.name).lstrip("./")
                base = use.name.lower()
                found = sorted(p for p in self.snapshot.basenames.get(base, ()) if p.endswith(tail) and p != place[0])
                if len(found) == 1:
                    yield Edge(place, (found[0], -1), "documents", 0.8, place[0], use.line, "path")
            return
        places: list[OutlineRef] = []
        for other in self.snapshot.names.get(use.name.lower(), ()):
            symbol = self.symbol(other)
            if symbol is None or symbol.name != use.name or symbol.kind not in TYPE_KINDS | CALLABLE_KINDS:
                continue
            if use.receiver and not f".{symbol.qualified}".endswith(f".{use.receiver}.{use.name}"):
                stem = other[0].rpartition("/")[2].partition(".")[0]
                if use.receiver.rpartition(".")[2] != stem:
                    continue
            if not self._in_tests(other[0]):
                places.append(other)
        if len(places) == 1:
            sure = 0.9 if use.receiver else 0.6
            yield Edge(place, places[0], "documents", sure, place[0], use.line, "name")

    def _imports_of(self, path: str) -> Iterator[Edge]:
        entry = self.snapshot.files[path]
        for one in entry.outline.imports if entry.outline else ():
            for target in self.resolver.imports.targets(entry, one):
                if target.path != path and target.path in self.snapshot.files:
                    yield Edge((path, -1), (target.path, -1), "imports", 1.0, path, one.line, one.module)

    def _importers(self, path: str, files: int) -> Iterator[Edge]:
        *_, folder, file = ("", *path.split("/"))
        stem = file.partition(".")[0].lower()
        words = {stem, folder.lower(), *(["."] if stem in INDEX_FILES else [])}
        symbols = self.facts(path)
        if symbols is not None:
            words.update(name.lower() for name in symbols.top)
        seen = {p for word in words for p in self._references.files_with(IMPORT + word)}
        for other in self._near(seen, path, files):
            if other != path:
                yield from (edge for edge in self._imports_of(other) if edge.target[0] == path)

    def _exports_of(self, path: str, facts: Facts) -> Iterator[Edge]:
        for found in facts.top.values():
            for i in found:
                if facts.symbols[i].exported:
                    yield Edge((path, -1), (path, i), "exports", 1.0, path, facts.symbols[i].span.start)
        if _is_index(path):
            entry = self.snapshot.files[path]
            for name, target in self.resolver.imports.bindings(entry).items():
                if target.name and target.name != "*" and not name.startswith("_"):
                    entity = self.resolver.target(target)
                    place = getattr(entity, "place", None)
                    if place is not None and place[0] != path:
                        yield Edge((path, -1), place, "exports", CERTAINTY["import"], path, 0, "re-export")

    def _reexported(self, place: OutlineRef, symbol: Symbol) -> Iterator[Edge]:
        """Packages that offer a definition of one of their files as their own."""
        words = (symbol.name.lower(), "default")
        for path in sorted({p for word in words for p in self._references.files_with(IMPORT + word) if _is_index(p)}):
            facts = self.facts(path)
            if facts is not None and path != place[0]:
                yield from (edge for edge in self._exports_of(path, facts) if edge.target == place)

    def _callers(self, place: OutlineRef, files: int) -> Iterator[tuple[OutlineRef, Edge]]:
        """(source, edge) for each reference to a definition."""
        symbol = self.symbol(place)
        if symbol is None or (symbol.kind in REPEATED_KINDS and symbol.parent >= 0):
            if place[1] < 0:
                yield from self._spoken_of(place, files)
            return
        names = {symbol.name}
        facts = self.facts(place[0])
        if symbol.kind == "constructor" and symbol.parent >= 0 and facts is not None:
            names.add(facts.symbols[symbol.parent].name)
        sought = {(path, name) for name in names - {""} for path in self._references.files_with(name)}
        if symbol.parent < 0:
            sought |= self._renamed(place, symbol)
        versions = name_lookup.versions(self.snapshot, place)
        by_path: dict[str, list[str]] = {}
        for path, name in sorted(sought):
            by_path.setdefault(path, []).append(name)
        for path in self._near(set(by_path), place[0], files):
            facts = self.facts(path)
            for name in by_path[path] if facts is not None else ():
                for owner, use in facts.uses_named(name) if facts is not None else ():
                    for edge in self._referred((path, owner), use):
                        if edge.target in versions:
                            yield (path, owner), replace(edge, target=place)

    def _renamed(self, place: OutlineRef, symbol: Symbol) -> set[tuple[str, str]]:
        """(file, local name) where an import calls a definition something else."""
        out: set[tuple[str, str]] = set()
        words = {symbol.name.lower(), "default", place[0].rpartition("/")[2].partition(".")[0].lower()}
        for path in {p for word in words for p in self._references.files_with(IMPORT + word)}:
            entry = self.entry(path)
            for local, target in self.resolver.imports.bindings(entry).items() if entry is not None else ():
                if target.name in (symbol.name, "default") and local != symbol.name:
                    out.add((path, local))
        return out

    def popularity(self, place: OutlineRef) -> int:
        """In how many files its name is spoken of, whatever they mean by it."""
        symbol = self.symbol(place)
        return len(self._references.files_with(symbol.name)) if symbol is not None else 0

    @cached_property
    def spoken(self) -> Mapping[str, int]:
        """By name in lower case: in how many files it is spoken of."""
        out: dict[str, int] = {}
        for word, paths in self._references.paths.items():
            if not word.startswith(IMPORT):
                name = word.lower()
                out[name] = out.get(name, 0) + len(paths)
        return out

    def _spoken_of(self, place: OutlineRef, files: int) -> Iterator[tuple[OutlineRef, Edge]]:
        """Prose that names a file."""
        name = place[0].rpartition("/")[2]
        for path in self._near(set(self._references.files_with(name)), place[0], files):
            facts = self.facts(path)
            for owner, use in facts.uses_named(name) if facts is not None else ():
                if use.kind == PROSE:
                    for edge in self._documented((path, owner), use):
                        if edge.target == place:
                            yield (path, owner), edge

    def _near(self, paths: set[str], path: str, files: int) -> list[str]:
        """At most `files` of some paths, those with the longest common folder first."""
        known = [p for p in paths if p in self.snapshot.files]
        return sorted(known, key=lambda other: (-closeness(other, path), other))[:files]


def _is_index(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] in INDEX_FILES


def _by_evidence(edge: Edge) -> tuple[str, int, str, int]:
    return edge.path, edge.line, edge.type, edge.source[1]


def _distinct(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Of edges with the same ends and type the surest one, at the place of the first."""
    out: dict[tuple[OutlineRef, OutlineRef, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.type)
        other = out.get(key)
        if other is None or other.weight < edge.weight:
            out[key] = edge
    return tuple(out.values())


def _joined(folder: str, relative: str) -> str:
    """A path relative to a folder, with "." and ".." taken out."""
    parts = [] if relative.startswith("/") else folder.split("/")
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
