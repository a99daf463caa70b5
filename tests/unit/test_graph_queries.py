"""Graph queries: neighbors, call paths, search, explanations, and their Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_graph_view import APP

from graphkit import all_refs, ref_of, short_name, view_of
from promptls.graph import graph_markdown
from promptls.graph.graph import GraphView
from promptls.graph.node_explanation import explain_position, explain_symbol, render_explanation
from promptls.graph.node_search import search_nodes
from promptls.graph.traversal import (
    MAX_PER_NODE,
    call_paths,
    find_neighbors,
    graph_for_call_paths,
    graph_for_query,
    graph_for_target,
    resolve_position,
    resolve_target,
)
from promptls.knowledge.project.facts import ProjectHeader
from promptls.model import Cancelled, CancelToken

HUB = "-- hub.py --\ndef hub(): ...\n" + "".join(
    f"-- spoke{i:03}.py --\nfrom hub import hub\ndef spoke{i:03}():\n    hub()\n" for i in range(300)
)

CHAIN = """
-- a.py --
from b import Middle, other
def start():
    left()
    other()
def left():
    Middle().go()
def lonely(): ...
-- b.py --
class Middle:
    def __init__(self):
        prepare()
    def go(self):
        end()
def prepare():
    end()
def other():
    end()
def end():
    end()
"""


# ---- neighbors


def test_hub_does_not_dominate_neighbors(tmp_path: Path) -> None:
    view = view_of(HUB, tmp_path)
    hub = ref_of(view, "hub.py:hub")
    assert len(view.incoming(hub)) > 300
    assert len(find_neighbors(view, [hub])) == MAX_PER_NODE
    around_spoke = find_neighbors(view, [ref_of(view, "spoke007.py:spoke007")])
    assert short_name(view, around_spoke[0].ref) == "spoke007.py"  # its own file says more than what everybody calls


def test_neighbor_scores_match_manual_calculation(tmp_path: Path) -> None:
    view = view_of("-- a.py --\ndef f():\n    g()\ndef g(): ...\n", tmp_path)
    f = ref_of(view, "a.py:f")
    assert [(short_name(view, one.ref), one.score) for one in find_neighbors(view, [f])] == [
        ("a.py:g", pytest.approx(0.8)),  # a call, certain, the only one
        ("a.py", pytest.approx(0.4)),  # what contains it
    ]
    assert find_neighbors(view, [f], limit=1)[0].ref == ref_of(view, "a.py:g")


def test_search_can_be_cancelled(tmp_path: Path) -> None:
    view = view_of(CHAIN, tmp_path)
    token = CancelToken()
    token.cancel()
    for work in (
        lambda: find_neighbors(view, [ref_of(view, "a.py:start")], token=token),
        lambda: search_nodes(view, "start", token=token),
        lambda: call_paths(view, [ref_of(view, "a.py:start")], [ref_of(view, "b.py:end")], token=token),
    ):
        with pytest.raises(Cancelled):
            work()


# ---- call paths


def paths(view: GraphView, source: str, target: str, limit: int = 5) -> list[list[str]]:
    found = call_paths(view, [ref_of(view, source)], [ref_of(view, target)], limit)
    return [[short_name(view, place).partition(":")[2] for place in path] for path in found]


def test_shortest_call_paths(tmp_path: Path) -> None:
    view = view_of(CHAIN, tmp_path)
    assert paths(view, "a.py:start", "b.py:end") == [["start", "other", "end"]]
    assert paths(view, "a.py:left", "b.py:end") == [["left", "Middle.go", "end"]]
    assert paths(view, "a.py:left", "b.py:prepare") == [["left", "Middle", "Middle.__init__", "prepare"]]
    assert paths(view, "b.py:end", "a.py:start") == []
    assert paths(view, "a.py:lonely", "b.py:end") == []
    assert paths(view, "b.py:end", "b.py:end") == [["end"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "-- a.py --\ndef f():\n    def inner():\n        g()\n    return inner\ndef g(): ...\n",
            ["f", "f.inner", "g"],
        ),
        (
            "-- a.tsx --\nexport const f = () => {\n  const onClick = () => { g() }\n  return <b onClick={onClick}/>\n}\nfunction g() {}\n",
            ["f", "f.onClick", "g"],
        ),
        (
            "-- a.py --\ndef f():\n    class Handler:\n        def get(self):\n            g()\n    return Handler\ndef g(): ...\n",
            ["f", "f.Handler.get", "g"],
        ),
    ],
    ids=["returned function", "callback", "local class"],
)
def test_call_path_continues_in_nested_functions(tmp_path: Path, text: str, expected: list[str]) -> None:
    view = view_of(text, tmp_path)
    name = text.partition(" --")[0].removeprefix("-- ")
    assert paths(view, f"{name}:f", f"{name}:g") == [expected]
    assert paths(view, f"{name}:g", f"{name}:f") == []


def test_call_paths_are_rendered(tmp_path: Path) -> None:
    view = view_of(CHAIN, tmp_path)
    result = graph_for_call_paths(view, "start", "b.py:end")
    assert "## Call Paths\n\n- start (a.py:2-4) → other (b.py:8-9) → end (b.py:10-11)" in graph_markdown.render_graph(
        result
    )
    assert "start --[calls]--> other: line 4" in graph_markdown.render_graph(result)
    nothing = graph_for_call_paths(view, "lonely", "end")
    assert nothing.nodes == ()
    assert "No call path from lonely to end" in nothing.problem
    assert "Did you mean: `start`?" in graph_markdown.render_graph(graph_for_call_paths(view, "strt", "end"))


# ---- search


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("where are orders checked", "app/service.py:check"),
        ("ServiceTest test_send", "tests/test_service.py:TestService.test_send"),
        ("context manager of a session", "app/service.py:Service.session"),
        ("sesion", "app/service.py:Service.session"),
        ("immutable", "app/service.py:Order"),
    ],
)
def test_search_finds_nodes(tmp_path: Path, query: str, first: str) -> None:
    view = view_of(APP, tmp_path)
    hits = search_nodes(view, query)
    assert short_name(view, hits[0].ref) == first
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.ref))
    assert all(0 < hit.score <= 1 for hit in hits)


@pytest.mark.parametrize("query", ["", "  ", "how does the it of", "!!! ??", "zzzzqqqq"])
def test_questions_without_match(tmp_path: Path, query: str) -> None:
    assert search_nodes(view_of(APP, tmp_path), query) == ()


@pytest.mark.parametrize(
    "query", ["end", "starting", "middel", "kelvin", "istanbul", "größe", "b.py", "lonely or left", "zzzzqqqq"]
)
def test_large_workspace_search_decodes_only_matching_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    folded = "-- c.py --\ndef \u212aelvin(): ...\ndef \u0130stanbul(): ...\ndef Größe(): ...\n"
    found = search_nodes(view_of(CHAIN + folded, tmp_path), query)
    monkeypatch.setattr("promptls.graph.node_search.MAX_CACHED_FILES", 0)
    assert search_nodes(view_of(CHAIN + folded, tmp_path), query) == found
    assert found or query == "zzzzqqqq"


# ---- queries


def test_graph_for_question(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    header = ProjectHeader("app", "", ("Python",), ())
    result = graph_for_query(view, "where are orders checked", header, seeds=1, limit=4)
    assert short_name(view, result.nodes[0].ref) == "app/service.py:check"
    assert len(result.nodes) == 4
    text = graph_markdown.render_graph(result)
    assert text.startswith("# Project: app\n\nLanguages: Python\n\n## Relevant Layers\n\n### Service\n\n")
    assert "### check (function)\n\n- File: app/service.py:28-36\n- Complexity: moderate\n- Summary: " in text
    assert "Frameworks" not in text
    assert "- Service.send --[calls]--> check: line 23" in text
    assert [layer.name for layer in result.layers] == ["Service", "Test"]


def test_question_expands_to_neighbors_in_both_directions(tmp_path: Path) -> None:
    """The 15 best matches are seeds; typed neighbors follow, at most 8 of each seed."""
    matching = "".join(f"def pay_{n:02}():\n    charge()\n" for n in range(20))
    view = view_of(f"-- pay.py --\n{matching}def charge(): ...\ndef shop():\n    pay_03()\n", tmp_path)
    result = graph_for_query(view, "pay")
    seeds = [node.qualified for node in result.nodes[:15]]
    assert all(name.startswith("pay_") for name in seeds if name) and "pay_03" in seeds
    neighbors = {node.qualified for node in result.nodes[15:]}
    assert {"charge", "shop"} <= neighbors
    types = {(edge.type, view.node(edge.source).name, view.node(edge.target).name) for edge in result.edges}  # type: ignore[union-attr]
    assert ("calls", "pay_03", "charge") in types and ("calls", "shop", "pay_03") in types
    assert len(graph_for_query(view, "pay", limit=17).nodes) == 17


def test_question_without_match_returns_header_and_problem(tmp_path: Path) -> None:
    result = graph_for_query(view_of(APP, tmp_path), "zzzzqqqq", ProjectHeader("app"))
    assert (result.nodes, result.edges, result.layers) == ((), (), ())
    assert graph_markdown.render_graph(result) == "# Project: app\n\nNothing in the workspace matches the question."


def test_all_edges_adds_all_neighbors(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    result = graph_for_query(view, "checked", all_edges=True)
    assert set(result.edges) >= set(graph_for_query(view, "checked", seeds=15).edges)
    assert [node.ref for node in result.nodes[: len(search_nodes(view, "checked"))]] == [
        h.ref for h in search_nodes(view, "checked")
    ]


def test_graph_around_symbol_and_position(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    path, _ = check = ref_of(view, "app/service.py:check")
    around = graph_for_target(view, resolve_target(view, "check"))
    assert around.nodes[0].ref == check
    assert around == graph_for_target(view, resolve_position(view, path, 35))
    assert graph_for_target(view, resolve_position(view, path, -1)).nodes[0].type == "file"
    problem = graph_for_target(view, resolve_position(view, "/nowhere.py", -1)).problem
    assert problem.startswith("Nothing in the workspace is called /nowhere.py")


# ---- targets and explanations


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("app/service.py", ["app/service.py"]),
        ("service.py", ["app/service.py"]),
        ("app/service.py:check", ["app/service.py:check"]),
        ("service.py#Service.send", ["app/service.py:Service.send"]),
        ("Service.send", ["app/service.py:Service.send"]),
        ("app.service.check", ["app/service.py:check"]),
        ("Service::send", ["app/service.py:Service.send"]),
        ("@#check()", ["app/service.py:check"]),
        ("service.SEND", ["app/service.py:Service.send"]),
        ("send", ["app/service.py:Port.send", "app/service.py:Service.send"]),
        ("function:app/service.py:check", ["app/service.py:check"]),
        ("file:app/service.py", ["app/service.py"]),
    ],
)
def test_targets_are_resolved(tmp_path: Path, target: str, expected: list[str]) -> None:
    view = view_of(APP, tmp_path)
    assert [short_name(view, place) for place in resolve_target(view, target).refs] == expected


NAMESAKES = """
-- spec/support/priced.rb --
shared_examples_for Priced do
end
-- app/concerns/priced.rb --
module Priced
end
-- examples/app/main.tf --
variable "zone" {}
-- modules/net-beta/main.tf --
variable "zone" {}
-- modules/net/main.tf --
variable "zone" {}
"""


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("Priced", "app/concerns/priced.rb:Priced"),
        ("var.zone", "modules/net/main.tf:var.zone"),
    ],
)
def test_first_definition_of_a_name(tmp_path: Path, target: str, first: str) -> None:
    """The project's own code, types and short paths come first."""
    view = view_of(NAMESAKES, tmp_path)
    assert short_name(view, resolve_target(view, target).refs[0]) == first


def test_node_ids_resolve_to_their_nodes(tmp_path: Path) -> None:
    view = view_of(APP + "-- b.py --\ndef f(): ...\ndef f(): ...\n", tmp_path)
    for place in all_refs(view):
        assert resolve_target(view, view.id(place)).refs == (place,)


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("Servise", "Service"),
        ("app/servce.py", "app/service.py"),
        ("app/service.py:chck", "app/service.py:check"),
        ("", ""),
    ],
)
def test_unknown_target_suggests_similar_names(tmp_path: Path, target: str, near: str) -> None:
    found = resolve_target(view_of(APP, tmp_path), target)
    assert found.refs == ()
    assert found.problem
    assert near == "" or near in found.suggestions
    assert render_explanation(view_of(APP, tmp_path), explain_symbol(view_of(APP, tmp_path), target)).startswith(
        "# Not found"
    )


def test_explanation_of_a_method(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    found = explain_symbol(view, "Service.send")
    assert found.node is not None
    assert found.signature == "def send(self, order: Order) -> bool"
    assert [one.node.name for one in found.callees] == ["check"]
    assert [one.node.name for one in found.tests] == ["test_send"]
    assert [one.node.label for one in found.documents] == ["README.md"]
    assert found.parent is not None
    assert found.parent.name == "Service"
    text = render_explanation(view, found)
    assert text.startswith(
        "# Service.send (method)\n\n- File: app/service.py:22-23\n- Layer: Service\n- Complexity: simple (1)\n"
    )
    assert "## Calls\n\n- check (function), app/service.py:28-36: line 23" in text
    assert (
        "## Tested by\n\n- TestService.test_send (method), tests/test_service.py:8-9: line 9, by a declared type"
        in text
    )


def test_explanations_of_types_files_and_lines(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    service = explain_symbol(view, "Service")
    assert [one.node.name for one in service.supertypes] == ["Port"]
    assert [child.name for child in service.children] == ["each", "session", "send", "__enter__", "__exit__"]
    assert [one.node.name for one in explain_symbol(view, "Port").subtypes] == ["Service"]
    file = explain_symbol(view, "app/service.py")
    assert [one.node.label for one in file.importers] == ["app/__init__.py", "tests/test_service.py"]
    path = ref_of(view, "app/service.py")[0]
    assert explain_position(view, path, 15).node == view.node(ref_of(view, "app/service.py:Service.each"))
    assert explain_position(view, path, 0).node == view.node((path, -1))
    test = ref_of(view, "tests/test_service.py")[0]
    assert explain_position(view, test, 4, "check").node == view.node(ref_of(view, "app/service.py:check"))
    assert explain_position(view, test, 4, "assert").node == view.node(ref_of(view, "tests/test_service.py:test_check"))


def test_word_whose_stem_begins_differently_is_found(tmp_path: Path) -> None:
    hits = search_nodes(
        view_of("-- a.py --\ndef lie():\n    pass\n\ndef sky():\n    pass\n\ndef other():\n    pass\n", tmp_path),
        "using skies of lying",
    )
    assert sorted(hit.ref[1] for hit in hits) == [0, 1]
