"""What completion inserts names what it showed, and search finds what a plain look at every name finds."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from immutables import Map
from msgspec.structs import replace

from promptls.graph.graph import Graph
from promptls.graph.imports import Resolver
from promptls.index import files as disk
from promptls.index.snapshot import OpenDocument, Snapshot, Sources, with_entries
from promptls.mentions.completion.complete import complete
from promptls.mentions.completion.fuzzy import Haystack, Tier
from promptls.mentions.context import Around, Client, Request
from promptls.mentions.grammar import parse
from promptls.mentions.path_lookup import find_files, find_folders
from promptls.mentions.resolve import resolve_all
from promptls.model import FileEntry, Outline, Root, Span, Symbol, pack
from promptls.util.hashing import digest_of
from workspaces import snapshot_of

SEGMENT = st.text(st.sampled_from(" .:#@'\"`\\%()[]-~*?!,;+$é😀_aAbB1"), min_size=1, max_size=6).filter(
    lambda part: part.strip(".") and part.strip() == part
)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12, unique=True)
NAMES = st.lists(st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=8), min_size=1, max_size=30, unique=True)
QUERIES = st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=4)


def snapshot(paths: list[str], roots: list[str]) -> Snapshot:
    tops = tuple(Root(f"/ws/{name}", name, f"file:///ws/{name}") for name in roots)
    symbol = Symbol("one", "function", "one", "def one()", "", Span(0, 1), 0, 0, -1)
    entries = [
        FileEntry(f"{root.path}/{path}", root.path, path, 1, 1, b"x" * 16, outlined=pack(Outline("text", 1, (symbol,))))
        for root in tops
        for path in paths
        if not any(other.startswith(path + "/") for other in paths)
    ]
    return with_entries(Snapshot(roots=tops), [(e.path, e) for e in entries])


@given(PATHS, st.sampled_from([["r"], ["r", "other root"]]), st.sampled_from(["@", "@a", "@1", '@"', "@b/"]))
@settings(max_examples=400, deadline=None)
def test_what_is_inserted_names_what_was_shown(paths: list[str], roots: list[str], typed: str) -> None:
    current = snapshot(paths, roots)
    request = Request(Sources(current, disk.Limits()))
    for item in complete(typed, len(typed), request, limit=200).items:
        if item.kind not in ("file", "folder"):
            continue
        (mention,) = parse(item.insert_text)
        assert mention.text == item.insert_text
        assert mention.kind == item.kind
        wanted = tuple(r for r in current.roots if r.name == mention.root) or current.roots
        find = find_files if item.kind == "file" else find_folders
        found = find(request, mention.target, wanted).paths
        assert [current.label(path) for path in found] == [item.label.rstrip("/")]


TITLE = st.text(st.sampled_from(" .:#'\"`\\aAbB1[]-"), min_size=1, max_size=6).filter(lambda name: name.strip() == name)
DEFINED = st.lists(st.tuples(TITLE, st.integers(0, 5)), min_size=1, max_size=6)
"""(name, which of those before holds it; 0 for none) of each definition of a file"""


def defined(files: dict[str, list[tuple[str, int]]], roots: list[str]) -> Snapshot:
    """Roots with these files and definitions, one on each line, all of them open."""
    tops = tuple(Root(f"/ws/{name}", name, f"file:///ws/{name}") for name in roots)
    entries: list[tuple[str, FileEntry]] = []
    documents: dict[str, OpenDocument] = {}
    for root in tops:
        for path, names in files.items():
            symbols: list[Symbol] = []
            for i, (name, holder) in enumerate(names):
                parent = min(holder, i) - 1
                qualified = f"{symbols[parent].qualified}.{name}" if parent >= 0 else name
                symbols.append(Symbol(name, "function", qualified, name, "", Span(i, i + 1), i, i, parent))
            text = "".join(f"{name}\n" for name, _ in names)
            whole = f"{root.path}/{path}"
            outlined = pack(Outline("text", len(names), tuple(symbols)))
            entries.append((whole, FileEntry(whole, root.path, path, 1, 1, digest_of(text), outlined=outlined)))
            documents[whole] = OpenDocument(text, 1)
    return replace(with_entries(Snapshot(roots=tops), entries), documents=Map(documents))


@given(DEFINED, DEFINED, st.sampled_from([["r"], ["r", "other root"]]))
@settings(max_examples=300, deadline=None)
def test_definitions_that_are_inserted_are_found(
    some: list[tuple[str, int]], more: list[tuple[str, int]], roots: list[str]
) -> None:
    current = defined({"x.py": some, "my dir/y.py": more}, roots)
    graph = Graph(Resolver)
    around = Around(graph=lambda: graph.at(current))
    request = Request(Sources(current, disk.Limits()), Client(open=tuple(current.files)), around=around)
    what_is_inserted_is_found(request, ["x.py", "my dir/y.py"])


MANY = """
-- src/cart.py --
def total(items):
    return sum(items)
-- my dir/a b.py --
def total(items):
    return 1
-- web/counter.js --
class Counter {
  #inc(n) { return n + 1; }
  bump() { return this.#inc(1); }
  get value() { return 1; }
  static of() { return new Counter(); }
}
export const handler = () => new Counter().bump();
-- web/x.ts --
export namespace NS { export function inner() {} }
export class K { m() {} "quoted-name"() {} [Symbol.iterator]() {} }
describe("it works", () => { it("does x.y #1", () => {}); });
-- lib/x.rb --
class Foo
  def ok?
    true
  end
  def ==(other)
    ok?
  end
  def [](i)
  end
end
-- c/op.cpp --
struct V { int x; };
V operator+(const V& a, const V& b) { return V{a.x + b.x}; }
namespace ns { class Q { public: ~Q(); bool operator==(const Q& o) const; void f(); }; }
ns::Q::~Q() {}
void ns::Q::f() {}
-- s/rs.rs --
pub trait Shape { fn area(&self) -> f64; }
pub struct Sq<T>(T);
impl<T> Shape for Sq<T> { fn area(&self) -> f64 { 1.0 } }
-- g/m.go --
package g
type T[K any] struct { x K }
func (t *T[K]) Do() {}
-- j/A.java --
class A { void f() {} void f(int x) { f(); } class B { void f() {} } A() {} }
-- cs/p.cs --
namespace N { class P { public int X { get; set; } P() {} void M<T>() {} int this[int i] => i; } }
-- php/p.php --
<?php
namespace App;
class P { public function __construct() {} }
-- d.md --
# Title: with colon
## Use `code` and "quotes"
### a.b.c
### C#
## [1.2.0] - 2024-01-01
-- data.json --
{"a.b": {"c d": 1}, "#x": 2}
-- s.css --
.foo > .bar:hover { color: red }
#id { x: y }
-- q.sql --
create table "my table" (id int);
-- el.ex --
defmodule A.B do
  def ok?(x), do: x
end
"""


def test_definitions_of_many_languages_are_found(tmp_path: Path) -> None:
    graph, current = Graph(Resolver), snapshot_of(MANY, tmp_path)
    opened = tuple(current.files)
    what_is_inserted_is_found(
        Request(Sources(current, disk.Limits()), Client(open=opened), around=Around(graph=lambda: graph.at(current))),
        [current.label(path) for path in opened],
    )


def what_is_inserted_is_found(request: Request, labels: list[str]) -> None:
    """For the definitions of all open documents, and those of each of these files."""
    label = request.snapshot.label
    for typed in ("@#", *(f'@"{name}"#' for name in labels)):
        for item in complete(typed, len(typed), request, limit=200).items:
            (outcome,) = resolve_all(f"{item.insert_text} x", request)
            assert (outcome.mention.text, outcome.status) == (item.insert_text, "included"), outcome
            assert item.detail in [f"{i.kind}, {label(i.path)}:{i.span.start + 1}" for i in outcome.targets]
            assert {i.symbol for i in outcome.targets} == {item.label}
    for typed in ("@callers:", *(f'@callers:"{name}#' for name in labels)):
        for item in complete(typed, len(typed), request, limit=200).items:
            (outcome,) = resolve_all(f"{item.insert_text} x", request)
            assert outcome.mention.text == item.insert_text
            assert "as far as the syntax tells" in outcome.reason, outcome


@given(PATHS, QUERIES)
@settings(max_examples=200, deadline=None)
def test_completion_is_deterministic_and_without_doubles(paths: list[str], query: str) -> None:
    request = Request(Sources(snapshot(paths, ["r"]), disk.Limits()))
    first = complete("@" + query, len(query) + 1, request)
    assert first == complete("@" + query, len(query) + 1, request)
    inserts = [item.insert_text for item in first.items]
    assert len(inserts) == len(set(inserts))


@given(NAMES, QUERIES)
@settings(max_examples=500, deadline=None)
def test_search_finds_what_a_look_at_every_name_finds(names: list[str], query: str) -> None:
    hay = Haystack([(name, name) for name in names], paths=False)
    found = {hay.keys[index]: tier for tier, index in hay.search(query, 1000)}
    low = unicodedata.normalize("NFC", query).lower()
    for name in names:
        tier = found.get(name, Tier.SCATTERED)
        there = name.lower()
        assert (tier == Tier.EXACT) == (there == low)
        assert (tier <= Tier.PREFIX) == there.startswith(low)
        if low in there:
            assert tier <= Tier.INSIDE


@given(NAMES, QUERIES, st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_a_limit_keeps_the_best(names: list[str], query: str, limit: int) -> None:
    hay = Haystack([(name, name) for name in names], paths=False)
    assert hay.search(query, limit)[:limit] == hay.search(query, 1000)[:limit]
