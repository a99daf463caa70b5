"""Module paths in expressions, for languages whose expressions contain them, and packages without imports.

Each case is a workspace, a definition, and its resolved calls.  Unresolved calls are not listed: each workspace also
contains definitions with the same name to which no call must resolve.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import calls, view_of

ELIXIR = """
-- lib/shop/store.ex --
defmodule Shop.Store do
  defmacro __using__(_opts) do
    quote do
      import Shop.Fields
      def insert(x), do: x
      def all(), do: []
    end
  end

  @type t() :: integer
  def open(x), do: hidden(x)
  defp hidden(x), do: x
end
-- lib/shop/fields.ex --
defmodule Shop.Fields do
  def field(x), do: secret(x)
  defp secret(x), do: x
  defp inner(x), do: x
end
-- lib/other.ex --
defmodule Other.Store do
  def open(x), do: x
  def field(x), do: x
end
-- lib/shop.ex --
defmodule Shop do
  defmodule Inner do
    def open(x), do: x
  end
  def local(), do: Inner.open(1)
end
-- lib/repo.ex --
defmodule Shop.Repo do
  use Shop.Store, otp_app: :shop
  def mine(), do: insert(field(1))
end
-- lib/use.ex --
defmodule Use do
  alias Shop.Store
  alias Shop.{Inner, Repo}
  alias Other.Store, as: Else

  @spec whole(Shop.Store.t()) :: Shop.Store.t()
  def whole(x), do: Shop.Store.open(x)
  def short(x), do: Store.open(x)
  def group(x), do: Inner.open(x)
  def other(x), do: x |> Else.open()
  def used(x), do: Repo.insert(Repo.all())
  def none(x), do: Enum.open(List.field(x))
  def own(x), do: __MODULE__.none(x)
end
-- lib/imports.ex --
defmodule Imports do
  import Shop.Fields
  def run(x), do: field(x) + inner(x)
end
"""

RUBY = """
-- lib/shop.rb --
module Shop
  class Error < StandardError; end
end
-- lib/shop/queue.rb --
module Shop
  class Base
    def clear; end
  end
  class Queue < Base
    include Shop::Counted
    def size; end
    def self.all; end
    def fill
      Jobs::Each.new.each_one
    end
  end
end
-- lib/shop/counted.rb --
module Shop
  module Counted
    def count_them; end
    module ClassMethods
      def counted; end
    end
  end
  module Jobs
    class Each
      def each_one; end
    end
  end
end
-- lib/rival.rb --
module Rival
  class Queue
    def size; end
    def self.all; end
    def clear; end
    def each_one; end
    def counted; end
    def count_them; end
  end
end
-- test/queue_test.rb --
def sizes
  Shop::Queue.new("a").size
  Shop::Queue.new.clear
  Shop::Queue.new.count_them
end
def classes
  Shop::Queue.all
  Shop::Queue.counted
  Nowhere::Queue.all
end
"""

HASKELL = """
-- src/Shop/Till.hs --
module Shop.Till where

total :: Int -> Int
total x = x

ring :: Int -> Int
ring x = x
-- src/Shop/Rival.hs --
module Shop.Rival where

total :: Int -> Int
total x = x

only :: Int -> Int
only x = x
-- src/Use.hs --
module Use where

import Shop.Till
import qualified Shop.Rival as R

plain :: Int -> Int
plain x = total (ring x)

named :: Int -> Int
named x = R.total x

composed :: Int -> Int
composed = plain . R.only

unknown :: Int -> Int
unknown x = only x
"""

OCAML = """
-- src/path.ml --
module Build = struct
  let relative x = x
end
let to_string x = x
-- src/path.mli --
val to_string : string -> string
-- src/build.ml --
let relative x = x
-- src/import.ml --
include Stdune
module Short = Path.Build
let shared x = x
-- stdune/stdune.ml --
module Listed = Listed
-- stdune/listed.ml --
let map f x = f x
-- other/rival.ml --
let to_string x = x
let shared x = x
let only x = x
let map f x = f x
-- src/use.ml --
open Import
let one x = Path.to_string x
let nested x = Path.Build.relative x
let alias x = Short.relative x
let passed x = Listed.map Path.to_string x
let local x = Rival.(only x)
let none x = String.to_string (ref x)
-- other/refs.ml --
let ref x = x
"""

ZIG = """
-- src/store.zig --
const std = @import("std");
const Store = @This();

allocator: std.mem.Allocator,
till: *Till,

const Till = @import("till.zig").Till;

pub fn close(self: *Store) void {
    self.till.ring();
    self.allocator.free(self);
    self.flush();
}
pub fn flush(self: *@This()) void {}
pub fn make() !*Store {}
-- src/till.zig --
pub const Till = struct {
    sum: u32,
    pub fn ring(self: *Till) void {}
    pub fn open() Till {
        return .{ .sum = 1 };
    }
};
-- src/rival.zig --
pub const Rival = struct {
    pub fn ring(self: *Rival) void {}
    pub fn free(self: *Rival) void {}
    pub fn close(self: *Rival) void {}
};
-- src/use.zig --
const tills = @import("till.zig");
const Store = @import("store.zig");
const Alias = tills.Till;

pub fn parameter(store: *Store, till: ?*const tills.Till) void {
    store.close();
    till.ring();
    store.till.ring();
}
pub fn made() !void {
    var a = tills.Till.open();
    a.ring();
    const b = Alias{ .sum = 1 };
    b.ring();
    var c = try Store.make();
    c.flush();
}
"""

JULIA = """
-- Shop/Project.toml --
name = "Shop"
-- Shop/src/Shop.jl --
module Shop
include("cart.jl")
end
-- Shop/src/cart.jl --
struct Cart
    n::Int
end
Cart() = Cart(1)
total(c::Cart) = c.n
total(c::Int) = c
Base.length(c::Cart) = c.n
-- Shop/src/use.jl --
run() = total(Cart())
long(x) = length(x)
-- Shop/test/Project.toml --
-- Shop/test/runtests.jl --
tested() = total(Cart())
-- Rival/Project.toml --
-- Rival/src/cart.jl --
struct Cart
end
total(c::Cart) = 2
"""

CPP = """
-- include/fmt/base.h --
FMT_BEGIN_NAMESPACE
inline int format(int a) { return a; }
namespace detail { inline int digits(int a) { return a; } }
FMT_END_NAMESPACE
-- include/fmt/color.h --
#include "base.h"
-- other/rival.h --
inline int format(int a) { return a; }
inline int move(int a) { return a; }
-- src/use.cc --
#include "fmt/color.h"
#include "rival.h"
int spaced() { return fmt::format(1); }
int deeper() { return fmt::detail::digits(1); }
int standard() { return std::move(1); }
"""

CASES = {
    ("elixir", "lib/use.ex:Use.whole"): ["lib/shop/store.ex:Shop.Store.open .95"],
    ("elixir", "lib/use.ex:Use.short"): ["lib/shop/store.ex:Shop.Store.open .95"],
    ("elixir", "lib/use.ex:Use.group"): ["lib/shop.ex:Shop.Inner.open .95"],
    ("elixir", "lib/use.ex:Use.other"): ["lib/other.ex:Other.Store.open .95"],
    ("elixir", "lib/use.ex:Use.used"): [
        "lib/shop/store.ex:Shop.Store.__using__.all .90",
        "lib/shop/store.ex:Shop.Store.__using__.insert .90",
    ],
    ("elixir", "lib/use.ex:Use.none"): [],
    ("elixir", "lib/use.ex:Use.own"): ["lib/use.ex:Use.none .95"],
    ("elixir", "lib/shop.ex:Shop.local"): ["lib/shop.ex:Shop.Inner.open .95"],
    ("elixir", "lib/repo.ex:Shop.Repo.mine"): [
        "lib/shop/fields.ex:Shop.Fields.field .95",
        "lib/shop/store.ex:Shop.Store.__using__.insert .90",
    ],
    ("elixir", "lib/imports.ex:Imports.run"): ["lib/shop/fields.ex:Shop.Fields.field .95"],
    ("ruby", "test/queue_test.rb:sizes"): [
        "lib/shop/queue.rb:Shop.Base.clear .85",
        "lib/shop/counted.rb:Shop.Counted.count_them .85",
        "lib/shop/queue.rb:Shop.Queue.size .85",
    ],
    ("ruby", "test/queue_test.rb:classes"): [
        "lib/shop/queue.rb:Shop.Queue.all .95",
        "lib/shop/counted.rb:Shop.Counted.ClassMethods.counted .90",
    ],
    ("ruby", "lib/shop/queue.rb:Shop.Queue.fill"): ["lib/shop/counted.rb:Shop.Jobs.Each.each_one .85"],
    ("haskell", "src/Use.hs:plain"): ["src/Shop/Till.hs:ring .95", "src/Shop/Till.hs:total .95"],
    ("haskell", "src/Use.hs:named"): ["src/Shop/Rival.hs:total .95"],
    ("haskell", "src/Use.hs:composed"): ["src/Use.hs:plain", "src/Shop/Rival.hs:only .95"],
    ("haskell", "src/Use.hs:unknown"): [],
    ("ocaml", "src/use.ml:one"): ["src/path.ml:to_string .95"],
    ("ocaml", "src/use.ml:nested"): ["src/path.ml:Build.relative .95"],
    ("ocaml", "src/use.ml:alias"): ["src/path.ml:Build.relative .95"],
    ("ocaml", "src/use.ml:passed"): ["stdune/listed.ml:map .95", "src/path.ml:to_string .95"],
    ("ocaml", "src/use.ml:local"): ["other/rival.ml:only .95"],
    ("ocaml", "src/use.ml:none"): [],
    ("zig", "src/store.zig:close"): ["src/store.zig:flush .95", "src/till.zig:Till.ring .85"],
    ("zig", "src/use.zig:parameter"): ["src/store.zig:close .95", "src/till.zig:Till.ring .85"],
    ("zig", "src/use.zig:made"): [
        "src/store.zig:flush .95",
        "src/store.zig:make .95",
        "src/till.zig:Till.open .95",
        "src/till.zig:Till.ring .85",
    ],
    ("julia", "Shop/src/use.jl:run"): ["Shop/src/cart.jl:Cart .90", "Shop/src/cart.jl:total .90"],
    ("julia", "Shop/src/use.jl:long"): [],
    ("julia", "Shop/test/runtests.jl:tested"): ["Shop/src/cart.jl:Cart .90", "Shop/src/cart.jl:total .90"],
    ("cpp", "src/use.cc:spaced"): ["include/fmt/base.h:format .95"],
    ("cpp", "src/use.cc:deeper"): ["include/fmt/base.h:detail.digits .95"],
    ("cpp", "src/use.cc:standard"): [],
}

WORKSPACES = {
    "elixir": ELIXIR,
    "ruby": RUBY,
    "haskell": HASKELL,
    "ocaml": OCAML,
    "zig": ZIG,
    "julia": JULIA,
    "cpp": CPP,
}


@pytest.mark.parametrize(("language", "name"), list(CASES), ids=lambda value: value)
def test_module_paths_resolve(tmp_path: Path, language: str, name: str) -> None:
    assert sorted(calls(view_of(WORKSPACES[language], tmp_path), name)) == sorted(CASES[language, name])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.zig:f", "const A = B;\nconst B = A;\nconst C = C.D;\nfn f(x: A, y: *C) void {\n    A.go();\n    x.go();\n    y.go();\n}\n"),
        ("a.ml:f", "module A = B\nmodule B = A\nmodule C = C.D\nlet f x = A.go (C.go x)\n"),
        ("a.js:f", "const a = b.c;\nconst b = a.c;\nfunction f() {\n  a.go();\n  b.c.go();\n}\n"),
        ("a.ex:A.f", "defmodule A do\n  use A\n  alias A, as: B\n  defmacro __using__(_), do: use(A)\n  def f(), do: B.C.go(1)\nend\n"),
        ("a.rb:f", "module A\n  include A\n  B = A\nend\nclass C < C\n  include C\nend\ndef f\n  C.new.go\n  A::B.go\nend\n"),
    ],
)  # fmt: skip
def test_cyclic_aliases_end_unresolved(tmp_path: Path, name: str, text: str) -> None:
    view = view_of(f"-- {name.partition(':')[0]} --\n{text}", tmp_path)
    assert calls(view, name) == []
