"""Extent of mentions: the longest part of a token that names something is the mention, the rest is text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphkit import context_for
from promptls.mentions.completion.complete import complete
from promptls.mentions.context import ResolveContext
from promptls.mentions.extent import MAX_TOKENS, find_mentions
from promptls.mentions.resolve import resolve_mentions
from promptls.mentions.resolvers.symbol import spellings
from promptls.mentions.syntax.grammar import parse_lines
from workspaces import context_of, snapshot_of

SHOP = """
-- src/app.py --
class Cart:
    def total(self):
        return 1

    def save(self):
        return 2
one = 1
two = 2
three = 3
four = 4
-- src/b.py --
x = 1
-- (auth)/page.tsx --
x
-- routes/_auth(.admin).tsx --
x
-- report(1).md --
# Report
-- a,b.csv --
a
-- C#/Program.cs --
class Program {
}
-- C/Program.c --
int main() { return 0; }
-- Makefile --
all:
-- docs/読み方.md --
# 2024
text
-- 設計/仕様書.md --
text
-- lib/cart.rb --
class Basket
  def empty?
    true
  end

  def save!
    save
  end

  def <=>(other)
    0
  end
end
-- lib/cart.ex --
defmodule Shop.Store do
  def save!(cart) do
    cart
  end
end
-- lib/stack.rs --
pub struct Stack<T> { items: Vec<T> }

impl<T> Stack<T> {
    pub fn push(&mut self, x: T) {
        self.items.push(x);
    }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        self.items.clear();
    }
}
"""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ResolveContext:
    return context_for(SHOP, tmp_path_factory.mktemp("shop"))


def shown(message: str, context: ResolveContext) -> list[str]:
    """Return each mention with the lines that it includes, or with its status."""
    lines = []
    for outcome in resolve_mentions(message, context):
        included = [f"{context.snapshot.label(t.path)}:{t.span.label}" for t in outcome.targets if t.kind != "folder"]
        lines.append(f"{outcome.mention.text} → {', '.join(included) or outcome.status}")
    return lines


APP, B = "src/app.py:1-10", "src/b.py:1"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        # scripts without spaces, particles
        ("比较@src/app.py和@src/b.py", [f"@src/app.py → {APP}", f"@src/b.py → {B}"]),
        ("비교 @src/app.py와", [f"@src/app.py → {APP}"]),
        ("ดู@src/app.pyหน่อย", [f"@src/app.py → {APP}"]),
        ("看@読み方.md吧", ["@読み方.md → docs/読み方.md:1-2"]),
        ("@設計について", ["@設計 → 設計/仕様書.md:1"]),
        ("@設計/仕様書.md：1", ["@設計/仕様書.md：1 → 設計/仕様書.md:1"]),
        # punctuation and symbols around it
        ("see:@src/app.py", [f"@src/app.py → {APP}"]),
        ("👉@src/app.py→@src/b.py", [f"@src/app.py → {APP}", f"@src/b.py → {B}"]),
        ("@src/app.py\u200f, \u2068@src/b.py\u2069", [f"@src/app.py → {APP}", f"@src/b.py → {B}"]),
        ("@src/app.py+@src/b.py", [f"@src/app.py → {APP}", f"@src/b.py → {B}"]),
        ("_@src/app.py_ @src/b.py—why", [f"@src/app.py → {APP}", f"@src/b.py → {B}"]),
        (
            "@“src/app.py” @`src/b.py` @[src/b.py]",
            [f"@“src/app.py” → {APP}", f"@`src/b.py` → {B}", f"@[src/b.py] → {B}"],
        ),
        ("@src/typo.pyを", ["@src/typo.py → unresolved"]),
        ("@src/app.py.bak", ["@src/app.py.bak → unresolved"]),
        ("@src/app.py_new", ["@src/app.py_new → unresolved"]),
        # paths that the grammar alone would cut
        ("@(auth)/page.tsx?", ["@(auth)/page.tsx → (auth)/page.tsx:1"]),
        ("@routes/_auth(.admin).tsx.", ["@routes/_auth(.admin).tsx → routes/_auth(.admin).tsx:1"]),
        ("@report(1).md, @a,b.csv.", ["@report(1).md → report(1).md:1", "@a,b.csv → a,b.csv:1"]),
        ("@C#/Program.cs:1", ["@C#/Program.cs:1 → C#/Program.cs:1"]),
        # other tools' prefixes
        ("@file:src/app.py @folder:設計", [f"@file:src/app.py → {APP}", "@folder:設計 → 設計/仕様書.md:1"]),
        ("#file:src/b.py #file:nothing.py", [f"#file:src/b.py → {B}"]),
        ("@symbol:Cart.total", ["@symbol:Cart.total → src/app.py:2-3"]),
        ("@class:Stack @def:one", ["@class:Stack → lib/stack.rs:1, lib/stack.rs:3-7", "@def:one → src/app.py:7"]),
        ("#sym:Cart.total(), #symbol:Nothing", ["#sym:Cart.total → src/app.py:2-3"]),
        # the full-width sign of Chinese and Japanese input methods
        ("请解释＠src/app.py和＠#Cart.total。", [f"＠src/app.py → {APP}", "＠#Cart.total → src/app.py:2-3"]),
        # not mentions
        ("bob@src/app.py, объясни@src/app.py", []),
        ("https://x.org/@src/app.py postgres://u:@localhost/b.py", []),
        (".@Makefile x.@attr \\@src/app.py", []),
        ('@file:JvmName("app")', []),
    ],
)
def test_extent(context: ResolveContext, message: str, expected: list[str]) -> None:
    assert shown(message, context) == expected


@pytest.mark.parametrize(
    ("mention", "lines"),
    [
        ("@src/app.py:2-3", "2-3"),
        ("@src/app.py:2,3", "2-3"),
        ("@src/app.py:2-3,5-6", "2-3, src/app.py:5-6"),
        ("@src/app.py#L2-L3,L6", "2-3, src/app.py:6"),
        ("@src/app.py(2,5)", "2"),
        ("@src/app.py(2,1-3,4)", "2-3"),
        ("@src/app.py#2-3", "2-3"),
        ("@src/app.py:2..3", "2-3"),
        ("@src/app.py:２-３", "2-3"),
        ("@src/app.py@2-3", "2-3"),
        ("@src/app.py:2:5", "2"),
    ],
)
def test_lines(context: ResolveContext, mention: str, lines: str) -> None:
    assert shown(f"why {mention} now", context) == [f"{mention} → src/app.py:{lines}"]
    assert shown(f"{mention}行目", context) == [f"{mention} → src/app.py:{lines}"]


@pytest.mark.parametrize("location", [":2+5", ":2.5", ":2/3", ":2-3x", ":-5", ":2-3-4", "#2+1"])
def test_unknown_location_is_reported(context: ResolveContext, location: str) -> None:
    (outcome,) = resolve_mentions(f"@src/app.py{location}", context)
    assert outcome.status == "unresolved"
    assert "neither a symbol" in outcome.reason


def test_heading_of_digits_precedes_a_line(context: ResolveContext) -> None:
    assert shown("@読み方.md#2024 @読み方.md#2", context) == [
        "@読み方.md#2024 → docs/読み方.md:1-2",
        "@読み方.md#2 → docs/読み方.md:2",
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("what does @#empty? do", "@#empty? → lib/cart.rb:2-4"),
        ("is it @#Cart.total?", "@#Cart.total → src/app.py:2-3"),
        ("@src/app.py#Cart.totalを", "@src/app.py#Cart.total → src/app.py:2-3"),
        ("@#Basket.<=> x", "@#Basket.<=> → lib/cart.rb:10-12"),
        ("@#Stack<T>::push x", "@#Stack<T>::push → lib/stack.rs:4-6"),
        ("@#<Stack<T> as Drop>::drop x", "@#<Stack<T> as Drop>::drop → lib/stack.rs:10-12"),
        ("@#crate::Stack::push x", "@#crate::Stack::push → lib/stack.rs:4-6"),
        ("@#(*Cart).total x", "@#(*Cart).total → src/app.py:2-3"),
        ("@#Cart->total() x", "@#Cart->total → src/app.py:2-3"),
        ("@#save!/1 x", "@#save!/1 → lib/cart.ex:2-4"),
        # never another symbol
        ("@#Cart<T>.totl x", "@#Cart<T>.totl → unresolved"),
        ("@#Cart.total.x", "@#Cart.total.x → unresolved"),
        ("@#Cart->totl() x", "@#Cart->totl → unresolved"),
    ],
)
def test_symbols(context: ResolveContext, message: str, expected: str) -> None:
    assert shown(message, context) == [expected]


def test_note_on_a_receiver_that_is_not_known(context: ResolveContext) -> None:
    (outcome,) = resolve_mentions("@#self.total", context)
    assert outcome.reason == "@#self.total was resolved to Cart.total."


@pytest.mark.skipif(sys.platform == "win32", reason="a backslash is never a part of a name")
@pytest.mark.parametrize("path", ["1\\😀", "1/\\😀", "a/1\\😀.py"])
def test_name_with_a_backslash_is_not_the_folder_before_it(tmp_path: Path, path: str) -> None:
    context = context_of(snapshot_of(f"-- {path} --\nx\n-- 1/y.py --\n-- a/1/y.py --\n", tmp_path))
    items = [item for item in complete("@1", 2, context).items if item.label == path]
    assert [o.mention.text for item in items for o in resolve_mentions(f"{item.insert_text} x", context)] == [
        f"@{path}"
    ]


def test_many_tokens_are_parsed_by_the_grammar_alone(context: ResolveContext) -> None:
    mentions = find_mentions("@report(1).md " * (MAX_TOKENS + 1), context)
    assert [m.target for m in mentions[MAX_TOKENS - 1 :]] == ["report(1).md", "report"]


@pytest.mark.parametrize("text", [":10", "#L10", "(10)", ":10-", "{10-12}"])
def test_location_at_the_end_of_a_text(text: str) -> None:
    lines = parse_lines(text, 0)
    assert lines is not None
    assert (lines.end, lines.spans[0].start) == (len(text), 9)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("App\\Models\\User::fullName", "App.Models.User.fullName"),
        ("Map[K, V].get", "Map.get"),
        ("Repo.operator==", "Repo.=="),
        ("A._A__private", "A.__private"),
        ("type", "r#type"),
    ],
)
def test_spelling_of_an_outline(written: str, expected: str) -> None:
    names = [spelling.name for spelling in spellings(written)]
    assert names[0] == written
    assert expected in names
