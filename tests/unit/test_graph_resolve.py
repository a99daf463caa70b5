"""Name resolution: targets of calls by scope, type, import, package, and by names that are unique in the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import all_refs, calls, ref_of, short_name, view_of
from promptls.graph.resolution.name_lookup import MAX_CANDIDATES
from promptls.languages import language_named
from promptls.languages.signature_types import callback_parameter_type
from promptls.model import CALL

SHOP = """
-- shop/__init__.py --
from .store import Store, open_store
from .tools import *
-- shop/store.py --
from .base import Base
from . import tools

class Store(Base):
    limit: int = 3

    def __init__(self, till: Till):
        self.till = till
        self.log = tools.Log()

    def sell(self, item):
        self.check(item)
        self.till.ring(item)
        self.log.write(item)
        self.count(item)
        super().sell(item)
        ", ".join(item)

    def check(self, item):
        def inner():
            check(item)
        inner()
        return self.check(item)

class Till:
    def ring(self, item): ...

def open_store(till) -> "Store":
    return Store(till)

def check(item): ...
-- shop/base.py --
class Root:
    def count(self, item): ...

class Base(Root):
    def sell(self, item): ...
-- shop/tools.py --
class Log:
    def write(self, item): ...

def helper(): ...
-- main.py --
import shop
import shop.tools as t
from shop import Store as S, helper, open_store
from os import path

def run(store: S, other):
    store.sell(1)
    S.check(store, 1)
    made = open_store(2)
    made.sell(2)
    open_store(3).till.ring(3)
    shop.tools.helper()
    t.Log().write(4)
    helper()
    path.join("a")
    other.ring(5)
    other.sell(5)
    len("x")
    S(6).sell(6)

STORE = S(1)

def use():
    STORE.sell(7)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "shop/store.py:Store.sell",
            [
                "shop/store.py:Store.check .95",
                "shop/store.py:Till.ring .85",
                "shop/tools.py:Log.write .85",
                "shop/base.py:Root.count .90",
                "shop/base.py:Base.sell .90",
            ],
        ),
        ("shop/store.py:Store.check", ["shop/store.py:Store.check.inner", "shop/store.py:Store.check .95"]),
        ("shop/store.py:Store.check.inner", ["shop/store.py:check"]),
        ("shop/store.py:open_store", ["shop/store.py:Store"]),
        ("shop/store.py:Store.__init__", ["shop/tools.py:Log .95"]),
        (
            "main.py:run",
            [
                "shop/store.py:Store.sell .85",
                "shop/store.py:Store.check .95",
                "shop/store.py:open_store .95",
                "shop/store.py:Till.ring .85",
                "shop/tools.py:helper .95",
                "shop/tools.py:Log .95",
                "shop/tools.py:Log.write .85",
                "shop/base.py:Base.sell .25",  # other.sell(): one of two definitions with this name
                "shop/store.py:Store .95",
            ],
        ),
        ("main.py:use", ["shop/store.py:Store.sell .85"]),
        ("main.py:STORE", ["shop/store.py:Store .95"]),
    ],
)
def test_python_calls_resolve_by_scope_type_and_import(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert calls(view_of(SHOP, tmp_path), name) == expected


def test_bases_supertypes_and_used_types_resolve(tmp_path: Path) -> None:
    view = view_of(SHOP, tmp_path)
    assert calls(view, "shop/store.py:Store", "inherits") == ["shop/base.py:Base .95"]
    assert calls(view, "shop/store.py:Store.__init__", "uses") == ["shop/store.py:Till"]
    assert calls(view, "main.py:run", "uses") == ["shop/store.py:Store .95"]
    store = ref_of(view, "shop/store.py:Store")
    assert view.resolver.types.supertypes(store) == (
        ref_of(view, "shop/base.py:Base"),
        ref_of(view, "shop/base.py:Root"),
    )


def test_call_on_external_receiver_stays_unresolved(tmp_path: Path) -> None:
    text = """
    -- a.py --
    import requests
    from lib import Thing
    class Mine:
        def fire(self): ...
    def run(x, thing: Thing, plain: dict):
        requests.fire()
        requests.Session().fire()
        thing.fire()
        plain.fire()
        Thing().fire()
        "".fire()
        x.fire()
    """
    text = "\n".join(line[4:] for line in text.split("\n"))
    assert calls(view_of(text, tmp_path), "a.py:run") == ["a.py:Mine.fire .50"]


def test_common_method_names_are_not_resolved_by_name_alone(tmp_path: Path) -> None:
    text = "-- a.py --\nclass A:\n    def get(self): ...\n    def fetch_all(self): ...\ndef f(x):\n    x.get()\n    x.fetch_all()\n"
    assert calls(view_of(text, tmp_path), "a.py:f") == ["a.py:A.fetch_all .50"]


def test_cyclic_imports_and_bases_end(tmp_path: Path) -> None:
    text = """
-- a.py --
from b import B, thing
from a import A as Again
class A(B):
    def f(self): self.g(); thing()
class C(C): ...
x = x()
y = z()
z = y()
y.go()
x.go()
-- b.py --
from a import A, thing
from a import *
class B(A):
    def h(self): self.f()
"""
    view = view_of(text, tmp_path)
    assert calls(view, "a.py:A.f") == []
    assert calls(view, "b.py:B.h") == ["a.py:A.f .90"]
    for ref in all_refs(view):
        assert view.edges(ref) is not None


@pytest.mark.parametrize(
    ("language", "signature", "expected"),
    [
        ("python", "def a(b: C) -> D", "D"),
        ("python", "def a() -> Optional[b.D]", "b.D"),
        ("python", "def a()", ""),
        ("rust", "pub fn a(b: C) -> Result<D, E>", "D"),
        ("typescript", "async a(b: C): Promise<D>", "D"),
        ("typescript", "export const a: <B>(b: C<B>) => D.E<B>", "D.E"),
        ("go", "func New(c net.Conn) *Server", "Server"),
        ("go", "func (s *S) A(b B) (*D, error)", "D"),
        ("java", "public D a(B b) throws E", "D"),
        ("csharp", "public async Task<List<D>> a()", "List"),
        ("cpp", "std::unique_ptr<ns::D> a()", "ns.D"),
        ("swift", "func a(then b: @escaping () -> Bool = { true }) -> D", "D"),
        ("rust", "fn a<F: Fn(u8) -> B>(f: F) -> D where F: Fn() -> E", "D"),
        ("python", "def a(b: Callable[[], B] = lambda: C())", ""),
    ],
)
def test_return_type_is_read_from_signature(language: str, signature: str, expected: str) -> None:
    assert language_named(language).types.return_type(signature) == expected


@pytest.mark.parametrize(
    ("signature", "positions", "expected"),
    [
        ("function each<A>(to: (item: Cart, at: number) => void)", (0, 0), "Cart"),
        ("function each(list: Map<A, B>, to?: (this: X, item: my.Cart<A>) => void): () => D", (1, 0), "my.Cart"),
        ("constructor(private to?: ((item: Cart) => void) | null)", (0, 0), "Cart"),
        ("function each<T extends (a: A) => B>(to: (item: T | Cart) => void)", (0, 0), ""),
        ("function each(to: (item: Cart[]) => void)", (0, 0), ""),
        ("function each(to: (item: Ca…", (0, 0), ""),
    ],
)
def test_callback_parameter_type_is_read_from_signature(
    signature: str, positions: tuple[int, int], expected: str
) -> None:
    assert callback_parameter_type(signature, *positions) == expected


CALLBACKS = """
-- cart.ts --
import * as Kit from "./kit"
import { Pair } from "./kit"
export class Cart {
  constructor(to: (cart: Cart) => void) {}
  add(n: number) {}
}
export function each(label: string, to: (cart: Cart, at: Map<string, number>) => void) {}
export const both = each("a", (cart) => cart.add(1))
export const all = wrap(2, (cart: Cart) => {
  cart.add(2)
  const inner = () => cart.add(3)
  return Pair(inner)
})
declare namespace Nested { type Kit = string }
function run() {
  each("b", (one) => { one.add(1) })
  new Cart((two) => two.add(2))
  unknown((three) => three.add(3))
  Kit.open()
}
-- kit.ts --
export interface Pair<A> { a: A }
export const Pair = <A>(a: A): Pair<A> => ({ a })
export const open = () => {}
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cart.ts:run", ["cart.ts:each", "cart.ts:Cart.add .85", "cart.ts:Cart", "kit.ts:open .95"]),
        ("cart.ts:both", ["cart.ts:each", "cart.ts:Cart.add .85"]),
        ("cart.ts:all", ["cart.ts:Cart.add .85", "kit.ts:Pair .95"]),
    ],
)
def test_callback_parameters_have_types_and_variables_own_their_code(
    tmp_path: Path, name: str, expected: list[str]
) -> None:
    assert calls(view_of(CALLBACKS, tmp_path), name) == expected


REQUIRED = """
-- lib/Store.js --
const { label } = require("./tools")
class Store {
  static open() { return new Store() }
  put() { label() }
}
module.exports = Store
module.exports.Extra = class Extra {}
-- lib/tools.js --
function label() {}
module.exports = { label }
-- lib/run.js --
module.exports = async () => {}
-- package.json --
{ "name": "shop", "main": "./lib/Store.js", "types": "./lib/Store.d.ts" }
-- lib/Store.d.ts --
declare class Store {}
-- test/a.js --
const Shop = require("..")
const tools = require("../lib/tools")
const run = require("../lib/run")
const open = require("../lib/Store").Extra
const path = require("path")
function go(hash) {
  Shop.open()
  new Shop().put()
  tools.label()
  run()
  new open()
  path.label()
}
"""


def test_required_module_refers_to_its_default_export(tmp_path: Path) -> None:
    view = view_of(REQUIRED, tmp_path)
    assert sorted(calls(view, "test/a.js:go")) == [
        "lib/Store.js:Extra .95",
        "lib/Store.js:Store .95",
        "lib/Store.js:Store.open .95",
        "lib/Store.js:Store.put .85",
        "lib/run.js:exports .95",
        "lib/tools.js:label .95",
    ]
    assert calls(view, "lib/Store.js:Store.put") == ["lib/tools.js:label .95"]


def test_type_and_value_with_same_name_are_distinguished(tmp_path: Path) -> None:
    kit = "-- kit.ts --\nexport interface Pair { a: number }\nexport const Pair = () => 1\n"
    view = view_of(kit + "-- use.ts --\nimport { Pair } from './kit'\nclass Deck implements Pair {}\n", tmp_path)
    targets = [view.symbol(edge.target) for edge in view.outgoing(ref_of(view, "use.ts:Deck"))]
    assert [target.kind for target in targets if target is not None] == ["interface"]


def test_mutual_wildcard_reexports_are_each_read_once(tmp_path: Path) -> None:
    wildcards = "".join(f"from m{i} import *\n" for i in range(40))
    text = "".join(f"-- m{i}.py --\n{wildcards}from m{(i + 1) % 40} import far as near\n" for i in range(40))
    view = view_of(text + f"-- a.py --\n{wildcards}def f():\n    missing(); near()\n", tmp_path)
    assert calls(view, "a.py:f") == []


def test_package_binding_hides_module_with_same_name(tmp_path: Path) -> None:
    """`from .ask import ask` in a package binds the name to the function, not to the module."""
    text = """
-- pkg/__init__.py --
from .ask import ask
from .deep import *
from . import plain
-- pkg/ask.py --
def ask(): ...
def other(): ...
-- pkg/plain.py --
def plain(): ...
-- pkg/deep/__init__.py --
from .deep import deep
-- pkg/deep/deep.py --
def deep(): ...
-- pkg/use.py --
from . import ask
from .ask import other

def inside():
    ask(); other()
-- a.py --
from pkg import ask, deep, plain

def f():
    ask()
    deep()
    plain.plain()
"""
    view = view_of(text, tmp_path)
    assert calls(view, "a.py:f") == ["pkg/ask.py:ask .95", "pkg/deep/deep.py:deep .95", "pkg/plain.py:plain .95"]
    assert calls(view, "pkg/use.py:inside") == ["pkg/ask.py:ask .95", "pkg/ask.py:other .95"]


def test_imported_variable_resolves_to_its_value(tmp_path: Path) -> None:
    text = """
-- app.py --
class App:
    def __init__(self):
        self.mail = Mail()
    def run(self): ...
    @property
    def db(self) -> "Db": ...

class Db:
    def get(self): ...

class Mail:
    def send(self): ...

app = App()
call = App()
-- a.py --
import app as whole
from app import app, call

def f():
    app.run()
    app.db.get()
    app.mail.send()
    whole.call()
    app.nothing()

def g():
    whole.app.run()
"""
    view = view_of(text, tmp_path)
    assert calls(view, "a.py:f") == [
        "app.py:App.run .85",
        "app.py:Db.get .75",
        "app.py:Mail.send .85",
        "app.py:call .95",
    ]
    assert calls(view, "a.py:g") == ["app.py:App.run .85"]


def test_very_long_expression_falls_back_to_unique_name(tmp_path: Path) -> None:
    links = ".a()" * 4
    text = f"-- a.py --\nclass A:\n    def a(self) -> 'A': ...\nx: A = A(){links}\ny = x{links}\n"
    text += "".join(f"y{i} = y{i - 1 if i else ''}{links}\n" for i in range(60)) + f"def f():\n    y59{links}.a()\n"
    # The step budget is exhausted, so the call is resolved by its unique name instead of the type of its receiver.
    assert calls(view_of(text, tmp_path), "a.py:f") == ["a.py:A.a .50"]


PACKAGES = """
-- go/server.go --
package srv

type Server struct {
	Base
	conn *Conn
}

func New(c *Conn) *Server { return &Server{conn: c} }

func (s *Server) Handle(f Frame) error {
	s.conn.Write(f)
	s.ping()
	s.Close()
	other := New(nil)
	other.ping()
	return check(f)
}
-- go/conn.go --
package srv

type Conn struct{}
type Base struct{}

func (c *Conn) Write(f Frame) {}
func (b *Base) Close() {}
func (s *Server) ping() {}
func check(f Frame) error { return nil }
-- java/Shop.java --
class Shop extends Store {
    private Till till;
    void sell(Item item) {
        count();
        till.ring(item);
        Till other = new Till();
        other.ring(item);
        this.close();
    }
    void close() {}
}
-- java/Store.java --
class Store { void count() {} }
-- java/Till.java --
class Till { void ring(Item item) {} }
-- ts/shop.ts --
class Till { ring(item: Item): void {} }
class Base { count(): Till { return new Till() } }
class Shop extends Base {
  private spare = new Till()
  constructor(private till: Till) { super() }
  sell(item: Item) {
    this.till.ring(item)
    this.spare.ring(item)
    this.count().ring(item)
    const t = new Till()
    t.ring(item)
    helper(t)
  }
}
function helper(t: Till) { t.ring(1) }
-- rust/shop.rs --
struct Till {}
struct Shop { till: Till }
trait Count { fn count(&self) {} }
impl Till { fn ring(&self) {} }
impl Count for Shop {}
impl Shop {
    fn new() -> Self { Shop { till: Till {} } }
    fn sell(&self, other: &Till) {
        self.till.ring();
        other.ring();
        let made = Shop::new();
        made.close();
        self.count();
        Self::new();
    }
    fn close(&self) {}
}
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "go/server.go:Server.Handle",
            [
                "go/conn.go:Conn.Write .85",
                "go/conn.go:Server.ping .85",
                "go/conn.go:Base.Close .85",
                "go/server.go:New",
                "go/conn.go:check .90",
            ],
        ),
        ("go/server.go:New", ["go/server.go:Server"]),
        (
            "java/Shop.java:Shop.sell",
            [
                "java/Store.java:Store.count .90",
                "java/Till.java:Till.ring .85",
                "java/Till.java:Till .90",
                "java/Shop.java:Shop.close .95",
            ],
        ),
        (
            "ts/shop.ts:Shop.sell",
            ["ts/shop.ts:Till.ring .85", "ts/shop.ts:Base.count .90", "ts/shop.ts:Till", "ts/shop.ts:helper"],
        ),
        ("ts/shop.ts:helper", ["ts/shop.ts:Till.ring .85"]),
        (
            "rust/shop.rs:Shop.sell",
            [
                "rust/shop.rs:Till.ring .85",
                "rust/shop.rs:Shop.new .95",
                "rust/shop.rs:Shop.close .75",
                "rust/shop.rs:Count.count .90",
            ],
        ),
    ],
)
def test_calls_in_packages_of_other_languages_resolve(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert calls(view_of(PACKAGES, tmp_path), name) == expected


CONSTRUCTORS = """
-- java/Base.java --
package shop;
public class Base {
    protected Base() {
    }
    public void go() {
    }
}
-- java/App.java --
package shop;
public class App extends Base {
    public App() {
        super();
    }
    public void go() {
        Base other = new Base();
        other.go();
        App again = new App();
    }
    static class Inner extends App {
    }
}
-- java/Plain.java --
package shop;
public class Plain extends App {
}
-- cpp/shape.h --
class Shape {
public:
    Shape(int n) {
    }
};
-- cpp/shape.cpp --
#include "shape.h"
Shape::Shape(int n) {
}
static Shape *again() {
    return new Shape(1);
}
"""


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("java/App.java:App", "inherits", ["java/Base.java:Base .90"]),
        ("java/Plain.java:Plain", "inherits", ["java/App.java:App .90"]),
        ("java/App.java:App.Inner", "inherits", ["java/App.java:App"]),
        ("java/App.java:App.go", "uses", ["java/Base.java:Base .90", "java/App.java:App"]),
        (
            "java/App.java:App.go",
            "calls",
            ["java/Base.java:Base .90", "java/Base.java:Base.go .85", "java/App.java:App"],
        ),
        ("cpp/shape.cpp:again", "calls", ["cpp/shape.h:Shape .95"]),
    ],
)
def test_constructor_name_refers_to_its_type(tmp_path: Path, name: str, type_: str, expected: list[str]) -> None:
    assert calls(view_of(CONSTRUCTORS, tmp_path), name, type_) == expected


INCLUDED = """
-- include/geo/shape.h --
namespace geo {
class Shape {
public:
    virtual double area() const = 0;
    double twice() const;
};
inline double unit() {
    return 1;
}
}
-- include/geo/all.h --
#include "geo/shape.h"
#include "geo/all.h"
-- src/shape.cpp --
#include "geo/all.h"
double geo::Shape::twice() const {
    return 2 * area();
}
-- src/tri.cpp --
#include "geo/all.h"
class Tri : public geo::Shape {
public:
    double area() const override {
        return geo::unit();
    }
};
double run(geo::Shape &shape) {
    return shape.area();
}
-- other/shape.h --
namespace other {
class Shape {};
}
"""


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("src/tri.cpp:Tri", "inherits", ["include/geo/shape.h:geo.Shape .95"]),
        ("src/tri.cpp:Tri.area", "calls", ["include/geo/shape.h:geo.unit .95"]),
        ("src/tri.cpp:run", "calls", ["include/geo/shape.h:geo.Shape.area .85"]),
        ("src/shape.cpp:geo.Shape.twice", "calls", ["include/geo/shape.h:geo.Shape.area .95"]),
    ],
)
def test_definitions_in_included_files_resolve(tmp_path: Path, name: str, type_: str, expected: list[str]) -> None:
    assert calls(view_of(INCLUDED, tmp_path), name, type_) == expected


IMPORTED = """
-- composer.json --
{ "autoload": { "psr-4": { "App\\\\": "app/" } } }
-- app/Http/Posts.php --
<?php
namespace App\\Http;
use App\\Post\\Post;
class Posts {
    private $last;
    public function __construct(Post $last) {
        $this->last = $last;
    }
    public function show(Post $post) {
        $post->save();
        Post::make();
        return new Post();
    }
    public function again() {
        return $this->last->save();
    }
}
-- app/Post/Post.php --
<?php
namespace App\\Post;
class Post {
    public function save() {
    }
    public static function make() {
    }
}
-- app/Old/Post.php --
<?php
class Post {
}
-- java/tools/Strings.java --
package tools;
public class Strings {
    public static String slug(String s) {
        return s;
    }
    public static String slow(String s) {
        return s;
    }
    public static class Cut {
    }
}
-- java/shop/One.java --
package shop;
import static tools.Strings.slug;
import tools.Strings.Cut;
class One {
    void run() {
        slug("x");
        slow("x");
        new Cut();
    }
}
-- java/shop/All.java --
package shop;
import static tools.Strings.*;
class All {
    void run() {
        slug("x");
        slow("x");
    }
}
"""


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        (
            "app/Http/Posts.php:App.Http.Posts.show",
            "calls",
            [
                "app/Post/Post.php:App.Post.Post.save .85",
                "app/Post/Post.php:App.Post.Post.make .95",
                "app/Post/Post.php:App.Post.Post .95",
            ],
        ),
        ("app/Http/Posts.php:App.Http.Posts.show", "uses", ["app/Post/Post.php:App.Post.Post .95"]),
        ("app/Http/Posts.php:App.Http.Posts.again", "calls", ["app/Post/Post.php:App.Post.Post.save .85"]),
        (
            "java/shop/One.java:One.run",
            "calls",
            ["java/tools/Strings.java:Strings.slug .95", "java/tools/Strings.java:Strings.Cut .95"],
        ),
        (
            "java/shop/All.java:All.run",
            "calls",
            ["java/tools/Strings.java:Strings.slug .95", "java/tools/Strings.java:Strings.slow .95"],
        ),
    ],
)
def test_imports_from_namespaces_and_types_resolve(tmp_path: Path, name: str, type_: str, expected: list[str]) -> None:
    assert calls(view_of(IMPORTED, tmp_path), name, type_) == expected


MODULES = """
-- Cargo.toml --
[package]
name = "shop"
-- src/lib.rs --
mod store;
pub fn top() {}
-- src/store/mod.rs --
pub mod till;
pub fn open() {
    crate::top();
    super::top();
    crate::store::till::Till::new();
}
-- src/store/till.rs --
pub struct Till {}
impl Till {
    pub fn new() -> Self {
        super::open();
        super::super::top();
        super::nothing();
        Till {}
    }
}
fn ring() {}
mod tests {
    fn one() {
        super::ring();
        super::super::open();
    }
    mod deep {
        fn two() {
            super::one();
            super::super::ring();
            super::super::super::super::top();
        }
    }
}
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "src/store/mod.rs:open",
            ["src/lib.rs:top .95", "src/store/till.rs:Till.new .95"],
        ),
        (
            "src/store/till.rs:Till.new",
            ["src/store/mod.rs:open .95", "src/lib.rs:top .95", "src/store/till.rs:Till"],
        ),
        ("src/store/till.rs:tests.one", ["src/store/till.rs:ring .95", "src/store/mod.rs:open .95"]),
        (
            "src/store/till.rs:tests.deep.two",
            ["src/store/till.rs:tests.one .95", "src/store/till.rs:ring .95", "src/lib.rs:top .95"],
        ),
    ],
)
def test_module_functions_resolve(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert calls(view_of(MODULES, tmp_path), name) == expected


SUPER_CALLS = """
-- a.py --
class First:
    def one(self): ...
class Second:
    def two(self): ...
class Both(First, Second):
    def one(self):
        super().one()
        super().two()
        type(self).make()
        self.__class__.make()
        type(other).make()
    @classmethod
    def make(cls): ...
-- b.py --
class Rival:
    def two(self): ...
    def make(self): ...
"""


def test_super_resolves_in_all_bases_and_type_of_self_in_class(tmp_path: Path) -> None:
    view = view_of(SUPER_CALLS, tmp_path)
    path, owner = ref_of(view, "a.py:Both.one")
    file = view.file_symbols(path)
    assert file is not None
    found = [view.resolver.resolve(path, owner, use) for use in file.references_in(owner) if use.kind == CALL]
    shown = [", ".join(f"{short_name(view, one.ref)} {one.method}" for one in ones) for ones in found if ones]
    assert shown == [
        "a.py:First.one inherited",
        "a.py:Second.two inherited",
        "a.py:Both.make member",
        "a.py:Both.make member",
        "a.py:Both.make several, b.py:Rival.make several",
    ]


INNER_IMPORTS = """
-- a.py --
def make(): ...
def own(): ...
-- b.py --
def make(): ...
def only(): ...
-- use.py --
from a import make

class Use:
    def outer(self):
        make()

    def inner(self):
        from b import make, only
        make()
        def nested():
            make()
        only()

    def after(self):
        make()
        only()
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("use.py:Use.outer", ["a.py:make .95"]),
        ("use.py:Use.inner", ["b.py:make .95", "b.py:only .95"]),
        ("use.py:Use.inner.nested", ["b.py:make .95"]),
        ("use.py:Use.after", ["a.py:make .95", "b.py:only .95"]),
    ],
)
def test_import_within_function_is_visible_only_there(tmp_path: Path, name: str, expected: list[str]) -> None:
    assert calls(view_of(INNER_IMPORTS, tmp_path), name) == expected


VISIBLE = """
-- src/main/java/com/x/Cart.java --
package com.x;
public class Cart {
    public int total() { return total(0); }
    public int total(int more) { return more; }
    static Cart of() { return new Cart(); }
}
-- src/test/java/com/x/CartTest.java --
package com.x;
class CartTest {
    void adds() {
        Cart cart = new Cart();
        cart.total();
        Cart.of();
    }
}
-- src/main/java/com/y/Cart.java --
package com.y;
class Cart { int total() { return 2; } }
-- src/test/kotlin/com/y/use.kt --
package com.y
fun use() { Cart().total() }
-- lib/Net/Client.php --
<?php
namespace Shop\\Net;
class Client { function open() {} }
function dial() {}
-- tests/ClientTest.php --
<?php
namespace Shop\\Net;
class ClientTest { function opens() { $c = new Client(); $c->open(); dial(); } }
-- Store/Till.cs --
namespace Shop.Store;
public class Till { public void Ring() {} public static Till New() { return new Till(); } }
-- Web/Pages/Page.cs --
using Shop.Store;
namespace Shop.Web.Pages;
class Page { void Show() { Till till = new Till(); till.Ring(); Till.New(); Header h = new Header(); } }
-- Web/Header.cs --
namespace Shop.Web { class Header { } }
-- Mail/Till.cs --
namespace Shop.Mail;
class Till { void Ring() {} }
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "src/test/java/com/x/CartTest.java:CartTest.adds",
            [
                "src/main/java/com/x/Cart.java:Cart .90",
                "src/main/java/com/x/Cart.java:Cart.total .85",
                "src/main/java/com/x/Cart.java:Cart.of .95",
            ],
        ),
        (
            "src/test/kotlin/com/y/use.kt:use",
            ["src/main/java/com/y/Cart.java:Cart .90", "src/main/java/com/y/Cart.java:Cart.total .85"],
        ),
        (
            "tests/ClientTest.php:Shop.Net.ClientTest.opens",
            [
                "lib/Net/Client.php:Shop.Net.Client .90",
                "lib/Net/Client.php:Shop.Net.Client.open .85",
                "lib/Net/Client.php:Shop.Net.dial .90",
            ],
        ),
        (
            "Web/Pages/Page.cs:Shop.Web.Pages.Page.Show",
            [
                "Store/Till.cs:Shop.Store.Till .90",
                "Store/Till.cs:Shop.Store.Till.Ring .85",
                "Store/Till.cs:Shop.Store.Till.New .95",
                "Web/Header.cs:Shop.Web.Header .90",
            ],
        ),
    ],
)
def test_package_and_namespace_members_are_visible_without_import(
    tmp_path: Path, name: str, expected: list[str]
) -> None:
    assert sorted(calls(view_of(VISIBLE, tmp_path), name)) == sorted(expected)


def test_named_module_selects_one_of_hundreds_of_candidates(tmp_path: Path) -> None:
    modules = (
        f"-- lib/c{n}.ex --\ndefmodule Shop.C{n} do\n  def make_it(x), do: x\nend\n" for n in range(2 * MAX_CANDIDATES)
    )
    text = "".join(modules) + "-- a.ex --\ndefmodule Use do\n  def run(x), do: Shop.C7.make_it(x)\nend\n"
    assert calls(view_of(text, tmp_path), "a.ex:Use.run") == ["lib/c7.ex:Shop.C7.make_it .95"]


def test_overloads_count_as_one_definition(tmp_path: Path) -> None:
    text = "-- a.ts --\nclass A {\n  ring(a: string): void\n  ring(a: any) {}\n}\n-- b.ts --\nfunction run(x) { x.ring(1) }\n"
    assert calls(view_of(text, tmp_path), "b.ts:run") == ["a.ts:A.ring .50"]
