"""Relation mentions (@callers, @callees, @usages, …): arguments, targets and reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import context_for
from promptls.mentions.context import ResolveContext
from promptls.mentions.resolve import resolve_mentions

SHOP = """
-- src/cart.py --
def total(items):
    return weigh(items)


def weigh(items):
    return len(items)
-- src/other.py --
def total(items):
    return 1


def main():
    total(1)
-- my dir/a b.py --
def spaced():
    return 1


def user():
    spaced()
-- web/c.js --
class C {
  #inc(n) {
    return n;
  }
  bump() {
    return this.#inc(1);
  }
}
-- bin/shop --
#!/usr/bin/env python
def shop():
    return 1
-- web/c.test.js --
it("bumps", () => run("c"));
-- c/notes.txt --
none
-- app/[...slug]/page.js --
export function page() {
  return slugs();
}
export function slugs() {
  return 1;
}
-- tests/test_cart.py --
from src.cart import total


def test_total():
    assert total([1]) == 1
-- README.md --
# cart.py
"""


def summarize(message: str, context: ResolveContext) -> list[str]:
    """Return each outcome as "status: targets or candidates", or with its reason if it has neither."""
    out = []
    for outcome in resolve_mentions(message, context):
        label = context.snapshot.label
        targets = ", ".join(f"{label(item.path)} {item.symbol}".strip() for item in outcome.targets)
        out.append(f"{outcome.status}: {targets or ', '.join(outcome.candidates) or outcome.reason}")
    return out


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@callers:weigh", "included: src/cart.py total"),
        ("@callers:src/cart.py#weigh", "included: src/cart.py total"),
        ('@callers:"my dir/a b.py"#spaced', "included: my dir/a b.py user"),
        ("@callers:total", "ambiguous: @callers:src/cart.py#total, @callers:src/other.py#total"),
        ("@callers:nope.py#total", 'unresolved: File "nope.py" not found in the workspace.'),
        # names and paths may contain "#"
        ("@callers:C.#inc", "included: web/c.js C.bump"),
        ("@callers:#inc", "included: web/c.js C.bump"),
        ("@callers:web/c.js##inc", "included: web/c.js C.bump"),
        ("@callees:C#bump", "included: web/c.js C.#inc"),  # there is a folder c as well
        ("@callers:src/#weigh", "included: src/cart.py total"),
        ("@callers:src#weigh", "included: src/cart.py total"),
        # the other end of a call path is kept as written
        ("@path:main..total", "ambiguous: @path:main..src/cart.py#total, @path:main..src/other.py#total"),
        ("@path:total..main", "ambiguous: @path:src/cart.py#total..main, @path:src/other.py#total..main"),
        ("@path:src/cart.py#total..weigh", "included: src/cart.py total, src/cart.py weigh"),
        (
            "@path:app/[...slug]/page.js#page..slugs",
            "included: app/[...slug]/page.js page, app/[...slug]/page.js slugs",
        ),
        ("@tests:src/cart.py#total", "included: tests/test_cart.py test_total"),
        ("@tests:src/cart.py", "included: tests/test_cart.py test_total"),
        ("@tests:src/other.py", "unresolved: No tests of src/other.py found (syntactic analysis)."),
        ("@tests:bin/shop", "unresolved: No tests of bin/shop found (syntactic analysis)."),
        ("@tests:bin/nope", 'unresolved: File "bin/nope" not found in the workspace.'),
        ("@tests:web/c.js", "included: web/c.test.js"),
        ("@tests:src/nope.py", 'unresolved: File "src/nope.py" not found in the workspace.'),
    ],
)
def test_arguments(tmp_path: Path, mention: str, expected: str) -> None:
    assert summarize(f"see {mention} there", context_for(SHOP, tmp_path)) == [expected]


@pytest.mark.parametrize(
    ("mention", "sites"),
    [
        ("@callers:weigh", {"total": (1,)}),
        ("@callers:src/other.py#total", {"main": (5,)}),
        ("@callers:web/c.js##inc", {"C.bump": (5,)}),
        ("@tests:src/cart.py", {"test_total": (4,)}),
        ("@usages:weigh", {"total": (1,)}),
        ("@callees:src/cart.py#total", {"weigh": ()}),
    ],
)
def test_targets_have_call_sites(tmp_path: Path, mention: str, sites: dict[str, tuple[int, ...]]) -> None:
    (outcome,) = resolve_mentions(f"{mention} there", context_for(SHOP, tmp_path))
    assert {item.symbol: item.call_sites for item in outcome.targets} == sites


def test_test_files_by_name_are_a_fallback(tmp_path: Path) -> None:
    (outcome,) = resolve_mentions("@tests:web/c.js there", context_for(SHOP, tmp_path))
    assert [(item.kind, item.span.start) for item in outcome.targets] == [("file", 0)]
    assert outcome.reason == "No calling test found (syntactic analysis); 1 test file by the name of web/c.js."


def test_suggestion_is_a_whole_mention(tmp_path: Path) -> None:
    (outcome,) = resolve_mentions("@path:src/other.py#main..wegh", context_for(SHOP, tmp_path))
    assert outcome.suggestion == "@path:src/other.py#main..weigh"


def test_candidates_can_be_resolved(tmp_path: Path) -> None:
    context = context_for(SHOP.replace("src/other.py", "my src/other.py"), tmp_path)
    for mention in ("@callers:total", "@path:main..total", "@path:total..main"):
        (outcome,) = resolve_mentions(mention, context)
        assert len(outcome.candidates) == 2
        for candidate in outcome.candidates:
            (again,) = resolve_mentions(f"{candidate} there", context)
            assert (again.mention.text, again.status != "ambiguous") == (candidate, True)
            assert "(syntactic analysis)" in again.reason


SHAPES = """
-- cs/Shapes.cs --
namespace Geo
{
    public interface IShape
    {
        double Area();
    }
    public class Square : IShape
    {
        public Square(int n)
        {
        }
        public double Area()
        {
            return 1;
        }
    }
}
-- py/m.py --
class Outer:
    class Base:
        def go(self):
            return 1
    class Child(Base):
        def go(self):
            return 2
-- rs/m.rs --
mod mesh {
    pub trait Face {
        fn edges(&self) -> f64;
    }
    pub struct Tri;
    impl Face for Tri {
        fn edges(&self) -> f64 {
            1.0
        }
    }
}
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@implementations:Geo.IShape", "cs/Shapes.cs Geo.Square"),
        ("@implementations:IShape.Area", "cs/Shapes.cs Geo.Square.Area"),
        ("@implementations:Outer.Base", "py/m.py Outer.Child"),
        ("@implementations:Outer.Base.go", "py/m.py Outer.Child.go"),
        ("@implementations:mesh::Face", "rs/m.rs mesh.Tri"),
        ("@implementations:Face::edges", "rs/m.rs mesh.Tri.edges"),
    ],
)
def test_implementations_of_nested_types(tmp_path: Path, mention: str, expected: str) -> None:
    assert summarize(mention, context_for(SHAPES, tmp_path)) == [f"included: {expected}"]


TWO = """
-- api/src/app.py --
def main():
    helper()


def helper():
    pass
-- web/my src/app.py --
def main():
    pass
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@callers:api:src/app.py#helper", "included: api:src/app.py main"),
        ("@callers:api:#helper", "included: api:src/app.py main"),
        ("@callees:main", 'ambiguous: @callees:api:src/app.py#main, @callees:"web:my src/app.py#main"'),
        ("@path:api:src/app.py#main..helper", "included: api:src/app.py main, api:src/app.py helper"),
        (
            "@path:main..helper",
            'ambiguous: @path:api:src/app.py#main..helper, @path:"web:my src/app.py#main..helper"',
        ),
        ("@tests:api:src/app.py", "unresolved: No tests of api:src/app.py found (syntactic analysis)."),
        (
            '@callees:"web:my src/app.py#main"',
            "unresolved: No callees of web:my src/app.py#main found (syntactic analysis).",
        ),
        ("@callers:nope:src/app.py#helper", 'unresolved: File "nope:src/app.py" not found in the workspace.'),
    ],
)
def test_arguments_in_several_roots(tmp_path: Path, mention: str, expected: str) -> None:
    assert summarize(mention, context_for(TWO, tmp_path, ("api", "web"))) == [expected]


PLATFORMS = """
-- sys/dir_unix.go --
package sys

func open(name string) int { return 1 }

func use() int { return open("a") }
-- sys/dir_windows.go --
package sys

func open(name string) int { return 2 }
-- sys/read.go --
package sys

func Read(name string) int { return open(name) }
-- other/open.go --
package other

func open(name string) int { return 3 }

func Other() int { return open("a") }
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@callers:sys/dir_windows.go#open", "included: sys/dir_unix.go use, sys/read.go Read"),
        ("@callers:sys/dir_unix.go#open", "included: sys/dir_unix.go use, sys/read.go Read"),
        (
            "@callers:open",
            "ambiguous: @callers:other/open.go#open, @callers:sys/dir_unix.go#open, @callers:sys/dir_windows.go#open",
        ),
    ],
)
def test_callers_of_build_variants(tmp_path: Path, mention: str, expected: str) -> None:
    assert summarize(f"see {mention} there", context_for(PLATFORMS, tmp_path)) == [expected]


def test_usages_include_imports_and_reexports(tmp_path: Path) -> None:
    text = (
        "-- pkg/__init__.py --\nimport os\nfrom pkg.money import Money\n-- pkg/money.py --\nclass Money: ...\n"
        "-- shop.py --\nfrom pkg import (\n    Money,\n    other,\n)\n\ndef price():\n    return Money()\n"
    )
    (outcome,) = resolve_mentions("@usages:Money there", context_for(text, tmp_path))
    lines = [(Path(item.path).name, item.span.label, item.symbol) for item in outcome.targets]
    assert lines == [("shop.py", "6-7", "price"), ("__init__.py", "2", ""), ("shop.py", "1-2", "")]
    assert outcome.reason == "3 uses (syntactic analysis)."


VALUES = """
-- app/views.py --
def show_ship(request):
    return 1


def count_ships(request):
    return 2


def unused_view(request):
    return 3
-- app/urls.py --
from app.views import show_ship, count_ships

# show_ship is the start page
ROUTES = {"": show_ship}


def register(router):
    router.add("/count", count_ships)
-- other/jobs.py --
def run(show_ship):
    return show_ship
-- web/util.ts --
export function dockClass(level) {
  return level > 2;
}
-- web/Card.vue --
<script setup>
import { dockClass } from './util'
</script>

<template>
  <div :class="dockClass(level)"></div>
</template>
-- docs/views.md --
`unused_view` is not registered.
"""


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("@callers:count_ships", ["app/urls.py register"]),
        ("@callers:dockClass", ["web/Card.vue"]),
        ("@callers:unused_view", []),
        ("@usages:unused_view", []),
    ],
)
def test_values_and_templates_are_uses(tmp_path: Path, mention: str, expected: list[str]) -> None:
    context = context_for(VALUES, tmp_path)
    (outcome,) = resolve_mentions(f"{mention} there", context)
    assert [f"{context.snapshot.label(item.path)} {item.symbol}".strip() for item in outcome.targets] == expected


def test_uses_as_a_value_are_code_that_sees_the_name(tmp_path: Path) -> None:
    context = context_for(VALUES, tmp_path)
    (outcome,) = resolve_mentions("@usages:show_ship there", context)
    assert [(context.snapshot.label(i.path), i.symbol, i.span.start) for i in outcome.targets] == [
        ("app/urls.py", "", 0),  # the import
        ("app/urls.py", "ROUTES", 3),
    ]
