"""Traversal of the graph: call paths, ranked neighbors, and the results of promptls/graph.

Call paths are found by bidirectional breadth-first search over "calls" edges.  A call of a type continues in its
constructor, and a function in its nested functions that nothing calls.  The search is bounded by visited nodes and path length, and deterministic.

Neighbors are ranked so that hubs do not dominate.  The score of a neighbor is a fraction of its parent's score: factor
of the edge type × certainty of the edge.  It is divided by 1 + log10 of the number of such edges, and by 1 + log10 of the
number of mentioning files.  All functions are pure functions of a graph view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import log10

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.graph.centrality import is_project_code
from promptls.graph.graph import GraphView
from promptls.graph.node_search import MAX_RESULTS, search_nodes
from promptls.graph.nodes import Edge, EdgeType, GraphLayer, GraphResult, Node, ScoredNeighbor
from promptls.index import OutlineRef
from promptls.knowledge.project.facts import ProjectHeader
from promptls.knowledge.project.file_kind import CORE, LAYER_DESCRIPTIONS, LAYERS
from promptls.languages import implementation_paths
from promptls.languages.kinds import CALLABLE_KINDS, REPEATED_KINDS, SYMBOL_KINDS, TYPE_KINDS
from promptls.model import CALL, CancelToken
from promptls.util.text.unicode_forms import nfc

MAX_VISITED = 4_000
"""Maximum number of visited nodes; bounds the time."""
MAX_LENGTH = 16
"""Maximum number of search levels."""
MIN_CERTAINTY = 0.3
"""Minimum certainty of edges that are followed."""


def call_paths(
    view: GraphView,
    sources: Iterable[OutlineRef],
    targets: Iterable[OutlineRef],
    limit: int = 5,
    token: CancelToken | None = None,
) -> tuple[tuple[OutlineRef, ...], ...]:
    """Return at most `limit` shortest paths, all of the same length, sorted; () if there is none."""
    start = {ref for source in sources for ref in callables_in(view, source)}
    goal = {ref for target in targets for ref in callables_in(view, target)}
    both = sorted(start & goal)
    if both:
        return tuple((ref,) for ref in both[:limit])
    forward: dict[OutlineRef, list[OutlineRef]] = {ref: [] for ref in start}  # node → predecessors
    backward: dict[OutlineRef, list[OutlineRef]] = {ref: [] for ref in goal}  # node → successors
    forward_level, backward_level = sorted(start), sorted(goal)
    for _ in range(MAX_LENGTH):
        if not forward_level or not backward_level or len(forward) + len(backward) > MAX_VISITED:
            return ()
        if token is not None:
            token.check()
        if len(forward_level) <= len(backward_level):
            forward_level = _next_level(view, forward_level, forward, successors)
            meeting = [ref for ref in forward_level if ref in backward]
        else:
            backward_level = _next_level(view, backward_level, backward, predecessors)
            meeting = [ref for ref in backward_level if ref in forward]
        if meeting:
            paths = [
                (*reversed(head), ref, *tail)
                for ref in sorted(meeting)
                for head in _paths_from(forward, ref, limit)
                for tail in _paths_from(backward, ref, limit)
            ]
            return tuple(sorted(paths))[:limit]
    return ()


def _next_level(
    view: GraphView,
    previous: list[OutlineRef],
    visited: dict[OutlineRef, list[OutlineRef]],
    steps: Callable[[GraphView, OutlineRef], list[OutlineRef]],
) -> list[OutlineRef]:
    """Return the next level of the search and record the predecessors of its nodes."""
    level: dict[OutlineRef, list[OutlineRef]] = {}
    for ref in previous:
        for other in steps(view, ref):
            if other not in visited:
                level.setdefault(other, []).append(ref)
    visited.update(level)
    return sorted(level)


def _paths_from(
    visited: dict[OutlineRef, list[OutlineRef]], ref: OutlineRef, limit: int
) -> list[tuple[OutlineRef, ...]]:
    """Return at most `limit` paths from a node to the start of its search, without the node itself."""
    previous = visited[ref]
    if not previous:
        return [()]
    out: list[tuple[OutlineRef, ...]] = []
    for other in sorted(previous):
        out += [(other, *rest) for rest in _paths_from(visited, other, limit)]
        if len(out) >= limit:
            break
    return out[:limit]


def callables_in(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the callables that a node represents: itself, or the callables in a type or file."""
    file_symbols, symbol = view.file_symbols(ref[0]), view.symbol(ref)
    if file_symbols is None or (symbol is not None and symbol.kind in CALLABLE_KINDS):
        return [ref]
    span = symbol.span if symbol is not None else None
    nested = [
        (ref[0], i)
        for i, inner in enumerate(file_symbols.symbols)
        if inner.kind in CALLABLE_KINDS | TYPE_KINDS and (span is None or (span.contains(inner.span) and i != ref[1]))
    ]
    return [ref, *nested]


def callees(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the nodes called by a definition, and for a type its constructors."""
    symbol, file_symbols = view.symbol(ref), view.file_symbols(ref[0])
    out = [edge.target for edge in view.outgoing(ref) if edge.type == "calls" and edge.weight >= MIN_CERTAINTY]
    if symbol is not None and file_symbols is not None and symbol.kind in TYPE_KINDS:
        out += [
            (ref[0], i) for i in file_symbols.children.get(ref[1], ()) if file_symbols.symbols[i].kind == "constructor"
        ]
    return sorted(set(out))


def callers(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the callers of a definition, and for a constructor its type."""
    symbol = view.symbol(ref)
    out = [edge.source for edge in view.incoming(ref) if edge.type == "calls" and edge.weight >= MIN_CERTAINTY]
    if symbol is not None and symbol.kind == "constructor" and symbol.parent >= 0:
        out.append((ref[0], symbol.parent))
    return sorted(set(out))


def successors(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the nodes in which a call path continues: the callees, and the nested functions without a call.

    A nested function without a call is passed as a callback, or returned.
    """
    return sorted({*callees(view, ref), *_nested_callables(view, ref)})


def predecessors(view: GraphView, ref: OutlineRef) -> list[OutlineRef]:
    """Return the callers of a definition, and for a nested function without a call the function that contains it."""
    return sorted({*callers(view, ref), *_enclosing_callable(view, ref)})


def _nested_callables(view: GraphView, ref: OutlineRef) -> Iterator[OutlineRef]:
    """Yield the outermost callables inside a callable, also in its local types, that nothing in the file calls."""
    symbol, file_symbols = view.symbol(ref), view.file_symbols(ref[0])
    if symbol is None or file_symbols is None or symbol.kind not in CALLABLE_KINDS:
        return
    waiting = list(file_symbols.children.get(ref[1], ()))
    while waiting:
        index = waiting.pop()
        kind = file_symbols.symbols[index].kind
        if kind in CALLABLE_KINDS:
            if not _is_called(view, (ref[0], index)):
                yield ref[0], index
        elif kind in TYPE_KINDS:
            waiting += file_symbols.children.get(index, ())


def _enclosing_callable(view: GraphView, ref: OutlineRef) -> Iterator[OutlineRef]:
    """Yield the callable that `_nested_callables` leads from, if there is one."""
    symbol = view.symbol(ref)
    if symbol is None or symbol.kind not in CALLABLE_KINDS or _is_called(view, ref):
        return
    index = symbol.parent
    while (outer := view.symbol((ref[0], index))) is not None:
        if outer.kind in CALLABLE_KINDS:
            yield ref[0], index
            return
        if outer.kind not in TYPE_KINDS:
            return
        index = outer.parent


def _is_called(view: GraphView, ref: OutlineRef) -> bool:
    """Return true if other code of the file calls a callable."""
    symbol, file_symbols = view.symbol(ref), view.file_symbols(ref[0])
    return (
        symbol is not None
        and file_symbols is not None
        and any(
            found.ref == ref
            for owner, use in file_symbols.references_named(symbol.name)
            if use.kind == CALL and owner != ref[1]
            for found in view.resolver.resolve(ref[0], owner, use)
        )
    )


# ---- neighbors

OUTGOING_FACTORS: Mapping[EdgeType, float] = {
    "calls": 0.8,
    "inherits": 0.8,
    "implements": 0.8,
    "uses": 0.6,
    "tested_by": 0.6,
    "contains": 0.5,
    "imports": 0.5,
    "documents": 0.5,
    "exports": 0.3,
}
"""Fraction of the score passed from the source of an edge to its target, by edge type."""

INCOMING_FACTORS: Mapping[EdgeType, float] = {
    "calls": 0.7,
    "inherits": 0.6,
    "implements": 0.7,
    "uses": 0.4,
    "tested_by": 0.5,
    "contains": 0.4,
    "imports": 0.3,
    "documents": 0.5,
    "exports": 0.2,
}
"""Fraction of the score passed from the target of an edge to its source, by edge type."""

MAX_PER_NODE = 8
"""Maximum number of neighbors of one node."""
MAX_NEIGHBORS = 40
"""Maximum number of neighbors of all seeds."""
MAX_FILES_PER_NODE = 60
"""Maximum number of files searched for incoming edges of a node; more files add cost, but little relevance."""


def find_neighbors(
    view: GraphView,
    seeds: Mapping[OutlineRef, float] | Iterable[OutlineRef],
    limit: int = MAX_NEIGHBORS,
    per_node: int = MAX_PER_NODE,
    token: CancelToken | None = None,
) -> tuple[ScoredNeighbor, ...]:
    """Return the neighbors of seed nodes, best first, without the seeds; ties are broken by path and position.

    Seeds have scores 0..1, or score 1.  One node has at most `per_node` neighbors.
    """
    scores = dict(seeds) if isinstance(seeds, Mapping) else dict.fromkeys(seeds, 1.0)
    best: dict[OutlineRef, ScoredNeighbor] = {}
    for seed, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        if token is not None:
            token.check()
        for neighbor in _neighbors_of(view, seed, score)[:per_node]:
            known = best.get(neighbor.ref)
            if neighbor.ref not in scores and (known is None or known.score < neighbor.score):
                best[neighbor.ref] = neighbor
    return tuple(sorted(best.values(), key=lambda one: (-one.score, one.ref))[:limit])


def _neighbors_of(view: GraphView, parent: OutlineRef, score: float) -> list[ScoredNeighbor]:
    """Return all neighbors of one node, best first."""
    edges = view.edges(parent, MAX_FILES_PER_NODE)
    counts = Counter((edge.type, edge.source == parent) for edge in edges)
    best: dict[OutlineRef, ScoredNeighbor] = {}
    for edge in edges:
        is_outgoing = edge.source == parent
        other = edge.target if is_outgoing else edge.source
        if other == parent:
            continue
        factor = (OUTGOING_FACTORS if is_outgoing else INCOMING_FACTORS)[edge.type] * edge.weight
        symbol = view.symbol(other)
        mentions = view.mention_count(symbol.name) if symbol is not None else 1
        divisor = (1 + log10(counts[edge.type, is_outgoing])) * (1 + log10(max(1, mentions)))
        neighbor = ScoredNeighbor(other, score * factor / divisor, edge)
        if other not in best or best[other].score < neighbor.score:
            best[other] = neighbor
    return sorted(best.values(), key=lambda one: (-one.score, one.ref))


def all_neighbors(
    view: GraphView, seeds: Iterable[OutlineRef], limit: int = 2_000
) -> tuple[tuple[OutlineRef, ...], tuple[Edge, ...]]:
    """Return all unweighted neighbors one hop from the seeds, and the edges between all these nodes.

    Seeds come first in their order, then neighbors in the order of the edges, at most `limit` nodes.
    """
    order = dict.fromkeys(seeds)
    for seed in tuple(order):
        for edge in view.edges(seed, MAX_FILES_PER_NODE):
            if len(order) >= limit:
                break
            order.setdefault(edge.target if edge.source == seed else edge.source)
    return tuple(order), edges_between(view, order)


def edges_between(view: GraphView, refs: Collection[OutlineRef]) -> tuple[Edge, ...]:
    """Return the edges with both ends in a set of nodes, in order of the source."""
    nodes = frozenset(refs)
    return tuple(edge for ref in refs for edge in view.outgoing(ref, MAX_FILES_PER_NODE) if edge.target in nodes)


# ---- results

MAX_RESULT_NODES = 60
"""Maximum number of nodes in a result."""
NO_HEADER = ProjectHeader()


def graph_for_query(
    view: GraphView,
    query: str,
    header: ProjectHeader = NO_HEADER,
    seeds: int = MAX_RESULTS,
    limit: int = MAX_RESULT_NODES,
    all_edges: bool = False,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around at most `seeds` nodes that match a question, with at most `limit` nodes.

    With `all_edges`, all neighbors over all edges are added, without a limit, instead of ranked neighbors.
    """
    matches = search_nodes(view, query, seeds, token=token)
    if not matches:
        return GraphResult(header, (), (), (), problem="Nothing in the workspace matches the question.")
    if all_edges:
        refs, edges = all_neighbors(view, [match.ref for match in matches])
        return _build_result(view, refs, edges, header)
    neighbors = find_neighbors(
        view, {match.ref: match.score for match in matches}, max(0, limit - len(matches)), token=token
    )
    refs = (*(match.ref for match in matches), *(neighbor.ref for neighbor in neighbors))[:limit]
    return _build_result(view, refs, edges_between(view, refs), header)


def graph_for_target(
    view: GraphView,
    target: TargetMatches,
    header: ProjectHeader = NO_HEADER,
    limit: int = MAX_RESULT_NODES,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the graph around the nodes that match a target, from `resolve_target` or `resolve_position`."""
    if not target.refs:
        return GraphResult(header, (), (), (), problem=target.problem, suggestions=target.suggestions)
    seeds = target.refs[:MAX_RESULTS]
    remaining = max(0, limit - len(seeds))
    neighbors = find_neighbors(view, seeds, remaining, per_node=max(8, remaining // len(seeds)), token=token)
    nodes = (*seeds, *(neighbor.ref for neighbor in neighbors))[:limit]
    return _build_result(view, nodes, edges_between(view, nodes), header)


def graph_for_call_paths(
    view: GraphView,
    source: str,
    target: str,
    header: ProjectHeader = NO_HEADER,
    limit: int = 5,
    token: CancelToken | None = None,
) -> GraphResult:
    """Return the shortest call paths from one target to another."""
    ends = [resolve_target(view, source), resolve_target(view, target)]
    for end in ends:
        if not end.refs:
            return GraphResult(header, (), (), (), problem=end.problem, suggestions=end.suggestions)
    paths = call_paths(view, ends[0].refs, ends[1].refs, limit, token)
    if not paths:
        problem = f"No call path from {source} to {target} was found by static analysis."
        return GraphResult(header, (), (), (), problem=problem)
    refs = tuple(dict.fromkeys(ref for path in paths for ref in path))
    edges = tuple(edge for edge in edges_between(view, refs) if edge.type in ("calls", "contains"))
    result = _build_result(view, refs, edges, header)
    return GraphResult(result.project, result.layers, result.nodes, result.edges, paths)


def _build_result(
    view: GraphView, refs: Iterable[OutlineRef], edges: Iterable[Edge], header: ProjectHeader
) -> GraphResult:
    nodes = tuple(node for ref in refs if (node := view.node(ref)) is not None)
    shown = {node.ref for node in nodes}
    return GraphResult(
        header,
        layers_with_nodes(nodes, view.custom_layers),
        nodes,
        tuple(edge for edge in edges if edge.source in shown and edge.target in shown),
    )


def layers_with_nodes(
    nodes: Iterable[Node], custom: Mapping[str, Iterable[str]] | None = None
) -> tuple[GraphLayer, ...]:
    """Return the layers of the nodes, custom layers first, then in order of the built-in layers."""
    ids_by_layer: dict[str, list[str]] = {
        name: [] for name in [*(custom or {}), *(layer.name for layer in LAYERS), CORE]
    }
    for node in nodes:
        ids_by_layer.setdefault(node.layer, []).append(node.id)
    return tuple(
        GraphLayer(name, LAYER_DESCRIPTIONS.get(name, ""), tuple(ids)) for name, ids in ids_by_layer.items() if ids
    )


# ---------------------------------------------------------------- targets: "src/a.py", "src/a.py:run", "Server.run", "run", or the id of a node


MAX_MATCHES = 50
"""Maximum number of definitions for one target."""
MAX_SUGGESTIONS = 5
"""Maximum number of similar names."""


class TargetMatches(Struct, frozen=True):
    """Nodes that match a target, most likely first, or the reason why there are none."""

    refs: tuple[OutlineRef, ...] = ()
    problem: str = ""
    suggestions: tuple[str, ...] = ()


def resolve_target(view: GraphView, target: str) -> TargetMatches:
    """Return the nodes that match a target."""
    target = nfc(target.strip().lstrip("@#").removesuffix("()"))
    if not target:
        return TargetMatches(problem="The target is blank; give a path, a name, or both as path:name.")
    head, _, rest = target.partition(":")
    if rest and (head == "file" or head in SYMBOL_KINDS):
        found = _by_id(view, target)
        if found:
            return TargetMatches(found)
    file = _matching_files(view, target)
    if file:
        return TargetMatches(file)
    for separator in ("#", ":"):
        path, mark, name = target.rpartition(separator)
        if mark and name:
            files = _matching_files(view, path)
            if files:
                definitions = tuple(p for f, _ in files for p in _definitions_in_file(view, f, name))
                if definitions:
                    return TargetMatches(definitions)
                return _not_in_file(view, name, f"{path} has no definition called {name}.", files[0][0])
    found = definitions_named(view, target) or inherited_definitions(view, target)
    return TargetMatches(found) if found else _not_found(view, target)


def resolve_position(view: GraphView, path: str, line: int, word: str = "") -> TargetMatches:
    """Return the nodes at a 0-based line of a file.

    This is the target of the reference `word` if it can be resolved, otherwise the innermost definition, otherwise
    the file.
    """
    if view.entry(path) is None:
        return _not_found(view, path)
    file_symbols = view.file_symbols(path)
    for owner, use in file_symbols.references_named(word) if file_symbols is not None and word else ():
        if use.line == line:
            found = view.resolver.resolve(path, owner, use)
            if found:
                return TargetMatches(tuple(match.ref for match in found))
    index = -1
    for i, symbol in enumerate(file_symbols.symbols if file_symbols is not None else ()):
        if line in symbol.span or symbol.doc_start <= line < symbol.span.start:
            index = i
    return TargetMatches(((path, index),))


def inherited_definitions(view: GraphView, name: str) -> tuple[OutlineRef, ...]:
    """Return the members that the types of a qualified name inherit: of "Child.run", the method `run` of a base."""
    owner, _, member = _dotted(name).rpartition(".")
    owners = definitions_named(view, owner) if owner else ()
    found = (view.resolver.types.member(ref, member) for ref in owners if _is_type(view, ref))
    return tuple(dict.fromkeys(one.ref for one in found if one is not None))


def _is_type(view: GraphView, ref: OutlineRef) -> bool:
    symbol = view.symbol(ref)
    return symbol is not None and symbol.kind in TYPE_KINDS


def _dotted(name: str) -> str:
    return name.replace("::", ".").replace("#", ".").replace("\\", ".")


def definitions_named(view: GraphView, name: str) -> tuple[OutlineRef, ...]:
    """Return the definitions of a name or qualified name ("Server.run", "pkg::Server::run")."""
    name = _dotted(name)
    module, _, last = name.rpartition(".")
    found: list[tuple[tuple[int, ...], OutlineRef]] = []
    for ref in view.snapshot.names.get(last.lower(), ()):
        symbol = view.symbol(ref)
        if symbol is None:
            continue
        full, dotted = f".{symbol.qualified}", "." + ref[0].rpartition(".")[0].replace("/", ".")
        if full.endswith("." + name):
            rank = 0
        elif full.lower().endswith("." + name.lower()):
            rank = 1
        elif symbol.name == last and module and dotted.removesuffix(".__init__").endswith("." + module):
            rank = 0
        else:
            continue
        is_other_code = view.is_test(ref) or not is_project_code(view.snapshot.label(ref[0]))
        kind_rank = 0 if symbol.kind in TYPE_KINDS | {"module"} else 1 if symbol.kind in CALLABLE_KINDS else 2
        found.append(((rank, is_other_code, symbol.qualified != name, kind_rank), ref))
    paths = {ref[0] for _, ref in found}

    def order(pair: tuple[tuple[int, ...], OutlineRef]) -> tuple[object, ...]:
        rank, ref = pair
        parts = ref[0].split("/")  # fewer folders first, and "api" before "api-beta"
        is_declaration = not paths.isdisjoint(implementation_paths(ref[0]))
        return rank, is_declaration, len(parts), parts, ref

    return tuple(ref for _, ref in sorted(found, key=order))[:MAX_MATCHES]


def _by_id(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    kind, _, rest = target.partition(":")
    for path in view.snapshot.files:
        label = view.snapshot.label(path)
        if rest == label and kind == "file":
            return ((path, -1),)
        if rest.startswith(label + ":"):
            file_symbols = view.file_symbols(path)
            for i in range(len(file_symbols.symbols) if file_symbols is not None else 0):
                if view.id((path, i)) == target:
                    return ((path, i),)
    return ()


def _matching_files(view: GraphView, target: str) -> tuple[OutlineRef, ...]:
    """Return the files that match a path: absolute, relative to a root, or by the end of the path."""
    if not target:
        return ()
    if target in view.snapshot.files:
        return ((target, -1),)
    base = target.rpartition("/")[2].lower()
    found: list[tuple[int, OutlineRef]] = []
    for path in view.snapshot.basenames.get(base, ()):
        label = view.snapshot.label(path)
        if label == target or label.partition(":")[2] == target:
            found.append((0, (path, -1)))
        elif path.endswith("/" + target.removeprefix("./")):
            found.append((1, (path, -1)))
    best = min((rank for rank, _ in found), default=0)
    return tuple(sorted(ref for rank, ref in found if rank == best))


def _definitions_in_file(view: GraphView, path: str, name: str) -> list[OutlineRef]:
    """Return the definitions of a file by name, or by the end of a qualified name."""
    file_symbols = view.file_symbols(path)
    suffix = "." + name.replace("::", ".")
    symbols = file_symbols.symbols if file_symbols is not None else ()
    found = [(path, i) for i, s in enumerate(symbols) if s.name and f".{s.qualified}".endswith(suffix)]
    return sorted(found, key=lambda ref: (symbols[ref[1]].kind in REPEATED_KINDS, ref[1]))


def _not_in_file(view: GraphView, name: str, problem: str, path: str) -> TargetMatches:
    file_symbols = view.file_symbols(path)
    names = sorted({s.qualified for s in file_symbols.symbols if s.name}) if file_symbols is not None else []
    similar = process.extract(name, names, scorer=fuzz.WRatio, limit=MAX_SUGGESTIONS, score_cutoff=60)
    label = view.snapshot.label(path)
    return TargetMatches(problem=problem, suggestions=tuple(f"{label}:{found}" for found, _, _ in similar))


def _not_found(view: GraphView, target: str) -> TargetMatches:
    """Return similar names, and the possible reasons for no match."""
    last = target.replace("::", ".").rpartition(".")[2] or target
    labels = {view.snapshot.label(path): path for path in view.snapshot.files}
    similar: list[tuple[float, str]] = []
    if "/" in target or "." in target:
        similar += [
            (score, label)
            for label, score, _ in process.extract(target, list(labels), scorer=fuzz.WRatio, limit=3, score_cutoff=70)
        ]
    for name, score, _ in process.extract(
        last.lower(), list(view.snapshot.names), scorer=fuzz.ratio, limit=MAX_SUGGESTIONS, score_cutoff=60
    ):
        symbol = view.symbol(view.snapshot.names[name][0])
        if symbol is not None:
            similar.append((score, symbol.qualified))
    similar.sort(key=lambda match: (-match[0], match[1]))
    waiting = sum(1 for entry in view.snapshot.files.values() if not entry.encoded_outline and not entry.skip_reason)
    wait = f"is not indexed yet ({waiting} files are not)" if waiting else "was removed or renamed"
    ignored = "its file may be ignored (.gitignore, .promptlsignore, another ignore file or the setting index.exclude)"
    return TargetMatches(
        problem=f"Nothing in the workspace is called {target}: the name may not exist, {ignored}, or it {wait}.",
        suggestions=tuple(dict.fromkeys(name for _, name in similar))[:MAX_SUGGESTIONS],
    )
