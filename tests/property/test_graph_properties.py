"""Properties of the graph of generated workspaces with random imports, calls and bases."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from graphkit import all_refs
from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import ImportResolver
from promptls.graph.traversal import find_neighbors
from promptls.index.snapshot import Snapshot, with_files
from promptls.index.syntax.parse import parse_source
from promptls.model import FileEntry, Root, encode_outline
from promptls.util.hashing import content_hash

ROOT = "/w"
FILES = ("a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "tests/test_a.py")
NAMES = st.sampled_from(["f", "g", "h", "A", "B"])
MODULES = st.sampled_from(["a", "b", "pkg", "pkg.c", ".c", ".", "..a", "elsewhere"])
RECEIVERS = st.sampled_from(["", "self.", "x.", "a.", "pkg.c.", "A().", "super().", "self.x.", "A.B.", "''."])

IMPORTS = st.one_of(
    st.builds("import {}".format, MODULES.filter(lambda m: not m.startswith("."))),
    st.builds("from {} import {}".format, MODULES, NAMES),
    st.builds("from {} import *".format, MODULES),
)
CALLS = st.builds("{}{}()".format, RECEIVERS, NAMES)
BODIES = st.lists(st.one_of(CALLS, st.builds("x = {}()".format, NAMES), st.just("self.x = x")), min_size=1, max_size=4)


def _function(name: str, body: list[str], indent: str) -> str:
    lines = "".join(f"{indent}    {line}\n" for line in body)
    return f"{indent}def {name}(self, x: A) -> B:\n{lines}"


FUNCTIONS = st.builds(lambda name, body: _function(name, body, ""), NAMES, BODIES)
CLASSES = st.builds(
    lambda name, base, methods: f"class {name}({base}):\n" + "".join(_function(m, b, "    ") for m, b in methods),
    NAMES,
    NAMES,
    st.lists(st.tuples(NAMES, BODIES), min_size=1, max_size=3),
)
TEXTS = st.builds(
    "".join,
    st.lists(st.one_of(IMPORTS.map(lambda i: i + "\n"), CALLS.map(lambda c: c + "\n"), FUNCTIONS, CLASSES), max_size=6),
)
WORKSPACES = st.dictionaries(st.sampled_from(FILES), TEXTS, max_size=4)


def entries(texts: dict[str, str]) -> dict[str, FileEntry | None]:
    return {
        f"{ROOT}/{name}": FileEntry(
            f"{ROOT}/{name}",
            ROOT,
            name,
            content_hash=content_hash(text),
            encoded_outline=encode_outline(parse_source(text, "python").outline),
        )
        for name, text in texts.items()
    }


def snapshot_of(texts: dict[str, str]) -> Snapshot:
    return with_files(Snapshot(roots=(Root(ROOT, "w", "file:///w"),)), entries(texts).items())


def view_of(texts: dict[str, str]) -> GraphView:
    return Graph(ImportResolver).at(snapshot_of(texts))


@settings(max_examples=60, deadline=None)
@given(WORKSPACES)
def test_edges_are_equal_from_both_ends(texts: dict[str, str]) -> None:
    view = view_of(texts)
    refs = list(all_refs(view))
    outgoing = {(edge.source, edge.target, edge.type) for ref in refs for edge in view.outgoing(ref)}
    incoming = {(edge.source, edge.target, edge.type) for ref in refs for edge in view.incoming(ref)}
    assert outgoing == incoming
    assert {end for edge in outgoing for end in edge[:2]} <= set(refs)


@settings(max_examples=60, deadline=None)
@given(WORKSPACES, WORKSPACES)
def test_graph_does_not_depend_on_history(before: dict[str, str], after: dict[str, str]) -> None:
    graph = Graph(ImportResolver)
    old = snapshot_of(before)
    for ref in all_refs(graph.at(old)):
        graph.at(old).edges(ref)
    gone: dict[str, FileEntry | None] = dict.fromkeys(entries(before))
    view, fresh = graph.at(with_files(old, (gone | entries(after)).items())), view_of(after)
    assert list(all_refs(view)) == list(all_refs(fresh))
    assert all(view.edges(ref) == fresh.edges(ref) for ref in all_refs(fresh))


@settings(max_examples=60, deadline=None)
@given(WORKSPACES, st.integers(1, 10), st.integers(1, 5))
def test_neighbors_are_ranked_and_limited(texts: dict[str, str], limit: int, per_node: int) -> None:
    view = view_of(texts)
    seeds = dict.fromkeys(list(all_refs(view))[:3], 0.5)
    found = find_neighbors(view, seeds, limit, per_node)
    assert len(found) <= limit
    assert all(0 < one.score < 0.5 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert not {one.ref for one in found} & set(seeds)
    assert found == find_neighbors(view_of(texts), seeds, limit, per_node)
