"""Nodes and edges of small workspaces, and invariants of every graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_graph_resolve import PACKAGES, SHOP

from graphkit import all_refs, calls, edges, ref_of, short_name, view_of
from promptls.graph.graph import Graph, GraphView
from promptls.graph.imports import ImportResolver
from promptls.graph.traversal import resolve_target
from workspaces import snapshot_of

APP = """
-- app/__init__.py --
'''The application. All of it.'''
from .service import Service
-- app/service.py --
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass

@dataclass
class Order:
    '''What was ordered. Immutable.'''
    item: str

class Port(ABC):
    @abstractmethod
    def send(self, order: Order) -> bool: ...

class Service(Port):
    async def each(self):
        yield 1

    @contextmanager
    def session(self):
        yield self

    def send(self, order: Order) -> bool:
        return check(order)

    def __enter__(self): return self
    def __exit__(self, *a): ...

def check(order, *, strict=False) -> bool:
    for a in order:
        if a and a or a:
            pass
        elif a or a and a:
            pass
    while order or order:
        if order and order: pass
    return True

class Broken(Exception): ...
-- tests/test_service.py --
from app import Service
from app.service import check

def test_check():
    assert check([])

class TestService:
    def test_send(self):
        assert Service().send(1)
-- README.md --
# App

Orders go through `Service.send`; see [the code](app/service.py).
"""


def test_nodes(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    node = view.node(ref_of(view, "app/service.py:Service.each"))
    assert node is not None
    assert (node.id, node.type, node.name) == ("method:app/service.py:Service.each", "method", "each")
    assert (node.span.label, node.complexity, node.layer) == ("15-16", "simple", "Service")
    assert node.summary == "Method each."
    notes = {short_name(view, p): n.language_notes for p in all_refs(view) if (n := view.node(p)) and n.language_notes}
    assert notes == {
        "app/service.py:Order": ("dataclass",),
        "app/service.py:Port": ("abstract base class",),
        "app/service.py:Port.send": ("abstract method",),
        "app/service.py:Service": ("context manager",),
        "app/service.py:Service.each": ("async generator",),
        "app/service.py:Service.session": ("context manager",),
        "app/service.py:Broken": ("exception",),
    }


def test_summaries_complexities_and_tags(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)

    def facts(name: str) -> tuple[str, str, tuple[str, ...]]:
        node = view.node(ref_of(view, name))
        assert node is not None
        return node.summary, node.complexity, node.tags

    assert facts("app/service.py:Order") == (
        "What was ordered.",
        "simple",
        ("service", "dataclass", "exported", "order", "class"),
    )
    assert facts("app/service.py:check") == (
        "Function check that takes order, strict and gives bool.",
        "moderate",
        ("service", "exported", "check", "function"),
    )
    assert facts("app/service.py")[1:] == ("moderate", ("service", "python"))
    assert facts("app/__init__.py")[0] == "The application."
    assert facts("tests/test_service.py:test_check") == (
        "Function test_check.",
        "simple",
        ("test", "exported", "check", "function"),
    )
    assert facts("README.md")[0] == "Orders go through `Service.send`; see [the code](app/service.py)."


def test_every_kind_of_edge(tmp_path: Path) -> None:
    view = view_of(APP, tmp_path)
    service, check = ref_of(view, "app/service.py:Service"), ref_of(view, "app/service.py:check")
    assert edges(view, view.outgoing((service[0], -1)), "imports", "exports") == [
        f"app/service.py exports app/service.py:{name}" for name in ("Order", "Port", "Service", "check", "Broken")
    ]
    assert edges(view, view.outgoing(ref_of(view, "app/__init__.py"))) == [
        "app/__init__.py imports app/service.py",
        "app/__init__.py exports app/service.py:Service .95",
    ]
    assert calls(view, "app/service.py:Service", "inherits") == ["app/service.py:Port"]
    assert calls(view, "app/service.py:check", "tested_by") == ["tests/test_service.py:test_check .95"]
    assert calls(view, "app/service.py:Service.send", "tested_by") == [
        "tests/test_service.py:TestService.test_send .85"
    ]
    assert edges(view, view.incoming(check), "calls", "tested_by") == [
        "app/service.py:Service.send calls app/service.py:check",
        "tests/test_service.py:test_check calls app/service.py:check .95",
    ]
    assert edges(view, view.incoming(ref_of(view, "tests/test_service.py:test_check")), "tested_by") == [
        "app/service.py:check tested_by tests/test_service.py:test_check .95"
    ]
    assert calls(view, "README.md:App", "documents") == ["app/service.py:Service.send .90", "app/service.py"]
    assert edges(view, view.incoming((service[0], -1)), "imports", "documents") == [
        "README.md:App documents app/service.py",
        "app/__init__.py imports app/service.py",
        "tests/test_service.py imports app/service.py",
    ]


def laws(view: GraphView) -> None:
    """Check the invariants of a graph."""
    places = list(all_refs(view))
    ids = [view.id(place) for place in places]
    assert len(set(ids)) == len(ids)
    known = set(places)
    for place in places:
        assert view.node(place) is not None
        for edge in view.outgoing(place):
            assert edge.source == place
            assert edge.target in known
            assert 0 < edge.weight <= 1
            assert any(edge.source == e.source and edge.type == e.type for e in view.incoming(edge.target)), edge
        for edge in view.incoming(place):
            assert edge.target == place
            assert any(edge.target == e.target and edge.type == e.type for e in view.outgoing(edge.source)), edge


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (
            "-- pkg/__init__.py --\nfrom .a import f\n-- pkg/a.py --\ndef f(): ...\n-- use.py --\nimport pkg\nfrom pkg import f as g\n"
            "def h():\n    from pkg.a import f\n-- other.py --\nfrom elsewhere import f\n",
            "pkg/a.py:f",
            ["pkg/__init__.py:1", "use.py:2", "use.py:4"],
        ),
        (
            "-- src/a.ts --\nexport default class A {}\n-- src/b.ts --\nexport default class A {}\n"
            "-- src/index.ts --\nexport { default as A } from './a'\n-- src/use.ts --\nimport B from './a'\nimport type { A } from './index'\n",
            "src/a.ts:A",
            ["src/index.ts:1", "src/use.ts:1", "src/use.ts:2"],
        ),
        (
            "-- pkg/__init__.py --\nfrom .a import *\n-- pkg/a.py --\ndef f(): ...\n-- pkg/b.py --\ndef f(): ...\n"
            "-- use.py --\nfrom pkg.a import *\n",
            "pkg/a.py:f",
            ["pkg/__init__.py:1"],
        ),
    ],
    ids=["python", "typescript", "all names"],
)
def test_imports_of_a_definition(tmp_path: Path, text: str, name: str, expected: list[str]) -> None:
    view = view_of(text, tmp_path)
    assert [f"{view.snapshot.label(e.path)}:{e.line + 1}" for e in view.import_uses(ref_of(view, name))] == expected


def test_edges_are_equal_from_both_ends(tmp_path: Path) -> None:
    for i, text in enumerate((APP, SHOP, PACKAGES)):
        laws(view_of(text, tmp_path / str(i)))


def test_view_of_same_files_is_reused(tmp_path: Path) -> None:
    snapshot = snapshot_of(APP, tmp_path)
    graph = Graph(ImportResolver)
    assert graph.at(snapshot) is graph.at(snapshot)
    assert graph.at(snapshot, {"Own": ["app"]}) is not graph.at(snapshot)


def test_duplicate_definitions_have_distinct_ids(tmp_path: Path) -> None:
    view = view_of("-- a.py --\ndef f(): ...\ndef f(): ...\nclass f: ...\n", tmp_path)
    assert [view.id(place) for place in all_refs(view)] == [
        "file:a.py",
        "function:a.py:f",
        "function:a.py:f@2.1",
        "class:a.py:f",
    ]


def test_roots_are_distinguished(tmp_path: Path) -> None:
    view = view_of("-- one/api/a.py --\ndef f(): ...\n-- two/api/a.py --\ndef f(): ...\n", tmp_path, ["one", "two"])
    ids = [view.id(place) for place in all_refs(view)]
    assert ids == ["file:one:api/a.py", "function:one:api/a.py:f", "file:two:api/a.py", "function:two:api/a.py:f"]
    assert [resolve_target(view, one).refs for one in ids] == [(place,) for place in all_refs(view)]
    assert {view.node(place).layer for place in all_refs(view)} == {"API"}  # type: ignore[union-attr]
