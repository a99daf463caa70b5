"""Stack traces: frames by language, error messages, and the items of a message with a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptls.mentions.context import ResolveContext, Services
from promptls.mentions.resolve import resolve_mentions
from promptls.model import FileText, Origin
from promptls.prompt.packing.pack import PackingCandidate, pack
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import Renderer, render_element
from promptls.prompt.tasks.stack_trace import MAX_FRAMES, parse_frames
from promptls.prompt.tasks.trace_items import mask_mentions, stack_trace_items
from promptls.prompt.tokens import counter
from workspaces import IndexedSnapshot, context_of, snapshot_of

TRACES = {
    "python": (
        """
Traceback (most recent call last):
  File "/app/src/main.py", line 30, in <module>
    main()
  File "/app/src/shop/cart.py", line 12, in total
    return parse(item)
           ^^^^^^^^^^^
  File "<frozen importlib._bootstrap>", line 1360, in _find_and_load
ValueError: cannot parse 'x'
""",
        "python",
        [
            ("<frozen importlib._bootstrap>", 1360, "_find_and_load"),
            ("/app/src/shop/cart.py", 12, "total"),
            ("/app/src/main.py", 30, "<module>"),
        ],
    ),
    "python, chained: the cause comes first": (
        """
Traceback (most recent call last):
  File "a.py", line 3, in load
    open(path)
  File "b.py", line 4, in open
    raise OSError
OSError

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "main.py", line 9, in main
    load()
  File "a.py", line 5, in load
    raise ConfigError from e
ConfigError: no config
""",
        "python",
        [("b.py", 4, "open"), ("a.py", 3, "load"), ("a.py", 5, "load"), ("main.py", 9, "main")],
    ),
    "python, exception group and prefix of a container": (
        """
web-1  |   + Exception Group Traceback (most recent call last):
web-1  |   |   File "a.py", line 3, in f
web-1  |   |     g()
web-1  |   |   File "b.py", line 4, in g
web-1  |   |     raise eg
""",
        "python",
        [("b.py", 4, "g"), ("a.py", 3, "f")],
    ),
    "pytest, short": (
        """
tests/test_a.py:12: in test_x
    foo()
src/a.py:5: in foo
    raise ValueError("x")
src/a.py:5: ValueError
""",
        "python",
        [("src/a.py", 5, "foo"), ("tests/test_a.py", 12, "test_x")],
    ),
    "pytest, long": (
        """
    def test_x():
>       foo()

tests/test_a.py:12:
_ _ _ _ _ _ _ _ _ _ _

    def foo():
>       raise ValueError("x")
E       ValueError: x

src/a.py:5: ValueError
""",
        "python",
        [("src/a.py", 5, ""), ("tests/test_a.py", 12, "")],
    ),
    "javascript, node": (
        """
/app/src/cart.js:12
    throw new Error("empty");
    ^

Error: empty
    at Cart.total (/app/src/cart.js:12:11)
    at async Promise.all (index 0)
    at async checkout (file:///app/src/checkout.mjs:3:5)
    at new Order (webpack://shop/./src/order.ts?1a2b:7:3)
    at Object.<anonymous> (C:\\work\\shop\\index.js:1:1)
    at eval (eval at load (/app/src/plugin.js:4:5), <anonymous>:1:1)
    at /app/src/Jane Doe/start.js:9:2
    at node:internal/main/run_main_module:28:49 {
""",
        None,
        [
            ("/app/src/cart.js", 12, "Cart.total"),
            ("file:///app/src/checkout.mjs", 3, "checkout"),
            ("webpack://shop/./src/order.ts?1a2b", 7, "Order"),
            ("C:\\work\\shop\\index.js", 1, "Object.<anonymous>"),
            ("/app/src/plugin.js", 4, "eval"),
            ("/app/src/Jane Doe/start.js", 9, ""),
            ("node:internal/main/run_main_module", 28, ""),
        ],
    ),
    "javascript, firefox": (
        """
total@http://localhost:3000/src/cart.js:12:11
async*checkout/<@http://localhost:3000/src/checkout.js:3:5
@http://localhost:3000/src/main.js:1:1
""",
        "javascript",
        [
            ("http://localhost:3000/src/cart.js", 12, "total"),
            ("http://localhost:3000/src/checkout.js", 3, "checkout"),
            ("http://localhost:3000/src/main.js", 1, ""),
        ],
    ),
    "java, the innermost cause comes first": (
        """
Exception in thread "main" java.lang.IllegalStateException: no cart
	at com.acme.shop.Cart.total(Cart.java:12)
	at java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.io.IOException: gone
	at com.acme.shop.Store.read(Store.java:40)
	... 3 more
Caused by: com.acme.Broken: disk
	at app//com.acme.shop.Disk.lambda$read$0(Disk.java:7)
""",
        "java",
        [
            ("Disk.java", 7, "com.acme.shop.Disk.lambda$read$0"),
            ("Store.java", 40, "com.acme.shop.Store.read"),
            ("Cart.java", 12, "com.acme.shop.Cart.total"),
            ("Thread.java", 829, "java.lang.Thread.run"),
        ],
    ),
    "kotlin": (
        """
Exception in thread "main" java.lang.IllegalStateException: no cart
	at shop.CartKt.total(Cart.kt:12)
	at shop.MainKt$main$1.invokeSuspend(Main.kt:3)
""",
        "kotlin",
        [("Cart.kt", 12, "shop.CartKt.total"), ("Main.kt", 3, "shop.MainKt$main$1.invokeSuspend")],
    ),
    "go": (
        """
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.(*Server).handle(0xc000012345, {0x1, 0x2})
	/app/server.go:40 +0x65
main.main()
	/app/main.go:12 +0x1d
created by main.start in goroutine 7
	/app/start.go:9 +0x2a
exit status 2
""",
        "go",
        [
            ("/app/server.go", 40, "main.(*Server).handle"),
            ("/app/main.go", 12, "main.main"),
            ("/app/start.go", 9, "main.start"),
        ],
    ),
    "rust": (
        """
thread 'main' panicked at src/config.rs:12:9:
cannot parse 'x'
stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a6/library/std/src/panicking.rs:645:5
   1: app::config::load::h0123456789abcdef
             at ./src/config.rs:12:9
   2: app::main
             at ./src/main.rs:4:5
""",
        "rust",
        [
            ("src/config.rs", 12, ""),
            ("/rustc/90b35a6/library/std/src/panicking.rs", 645, "rust_begin_unwind"),
            ("./src/config.rs", 12, "app::config::load"),
            ("./src/main.rs", 4, "app::main"),
        ],
    ),
    "rust, before 2023 and compiler": (
        """
thread 'main' panicked at 'no: config', src/config.rs:12:9
error[E0308]: mismatched types
 --> src/lib.rs:3:5
  |
3 |     load()
""",
        "rust",
        [("src/config.rs", 12, ""), ("src/lib.rs", 3, "")],
    ),
    "csharp": (
        """
Unhandled exception. System.InvalidOperationException: no cart
 ---> System.IO.IOException: gone
   at Acme.Shop.Store.Read(String path) in C:\\src\\Store.cs:line 40
   --- End of inner exception stack trace ---
   at Acme.Shop.Cart.<Total>d__3.MoveNext() in /src/Cart.cs:line 12
   at System.Threading.Thread.Run()
""",
        "csharp",
        [
            ("C:\\src\\Store.cs", 40, "Acme.Shop.Store.Read"),
            ("/src/Cart.cs", 12, "Acme.Shop.Cart.<Total>d__3.MoveNext"),
        ],
    ),
    "ruby": (
        """
lib/cart.rb:12:in `total': no cart (RuntimeError)
	from lib/cart.rb:20:in 'Shop::Cart#checkout'
	from bin/run.rb:3:in `<main>'
""",
        "ruby",
        [("lib/cart.rb", 12, "total"), ("lib/cart.rb", 20, "Shop::Cart#checkout"), ("bin/run.rb", 3, "<main>")],
    ),
    "php: a frame names the function that it calls": (
        """
PHP Fatal error:  Uncaught RuntimeException: no cart in /app/src/Cart.php:12
Stack trace:
#0 /app/src/Shop.php(20): Acme\\Cart->total(1)
#1 /app/index.php(3): Acme\\Shop->run()
#2 {main}
  thrown in /app/src/Cart.php on line 12
""",
        "php",
        [("/app/src/Cart.php", 12, ""), ("/app/src/Shop.php", 20, "Acme\\Shop->run"), ("/app/index.php", 3, "")],
    ),
    "elixir": (
        """
** (RuntimeError) no cart
    (shop 0.1.0) lib/shop/cart.ex:12: Shop.Cart.total/1
""",
        "elixir",
        [("lib/shop/cart.ex", 12, "Shop.Cart.total/1")],
    ),
    "c, debugger and sanitizer": (
        """
#0  0x00005555 in total (cart=0x0) at src/cart.c:12
    #1 0x4f2 in main /app/src/main.c:3:5
""",
        "c",
        [("src/cart.c", 12, "total"), ("/app/src/main.c", 3, "main")],
    ),
    "compilers": (
        """
src/a.ts(12,5): error TS2322: Type 'string' is not assignable.
src/b.ts:3:1 - error TS2304: Cannot find name 'x'.
""",
        "typescript",
        [("src/a.ts", 12, ""), ("src/b.ts", 3, "")],
    ),
    "prose": (
        """
Why does it fail in src/cart.py:12, at line 20 of "src/shop.py" and in other.py, line 3?
""",
        "python",
        [("src/cart.py", 12, ""), ("other.py", 3, ""), ("src/shop.py", 20, "")],
    ),
    "a log in JSON": (
        """
{"level":"error","stack":"Error: empty\\n    at total (/app/cart.js:12:11)\\n    at run (/app/run.js:3:5)"}
""",
        "javascript",
        [("/app/cart.js", 12, "total"), ("/app/run.js", 3, "run")],
    ),
    "no frames": (
        """
Meet at 12:30 at localhost:8080 or 127.0.0.1:80, see @src/cart.py:12 and items.get(3).
""",
        None,
        [],
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_frames_innermost_first(name: str) -> None:
    text, language, expected = TRACES[name]
    frames = parse_frames(f"Why?\n{text}")
    assert [(frame.path, frame.line + 1, frame.function) for frame in frames] == expected
    assert language is None or {frame.language for frame in frames} == {language}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('  File "a.py", line 3, in f\n    return g()\n', "return g()"),
        ('x | File "a.py", line 3, in f\nx |   return g()\n', "return g()"),
        ('  File "a.py", line 3, in f\n  File "b.py", line 3, in f\nValueError: x\n', ""),
        ("a.py:3: in f\n    return g()\n", "return g()"),
        ("/x/a.js:3\n  return g();\n         ^\n", "return g();"),
        (" --> src/a.rs:3:1\n  |\n3 | g()\n", "g()"),
        ("  at f (a.ts:3:1)\n  2 | f()\n> 3 | g()\n    | ^\n", "g()"),
        ("  at f (a.ts:3:1)\n  at g (b.ts:3:1)\n", ""),
    ],
)
def test_quoted_source_line(text: str, code: str) -> None:
    assert parse_frames(text)[-1 if text.startswith("  File") and "b.py" in text else 0].code == code


FRAGMENTS = st.sampled_from(
    [
        *[line for text, _, _ in TRACES.values() for line in text.split("\n")],
        *[
            'File "',
            "at ",
            ":1",
            "(",
            ")",
            "a.py:",
            "#0 ",
            " on line ",
            ".go:1 +0x",
            "\\n",
            "-->",
            "9" * 30,
            "@/",
            "\x1b[0m",
        ],
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=20)), max_size=60), st.sampled_from(["\n", " ", "", "\r\n"]))
def test_any_text_has_frames_within_bounds(parts: list[str], separator: str) -> None:
    message = separator.join(parts)
    frames = parse_frames(message)
    assert len(frames) <= MAX_FRAMES
    for frame in frames:
        assert frame.path
        assert 0 <= frame.line < 10**7
        assert 0 <= frame.at <= message.count("\n")


# ---------------------------------------------------------------- items

SHOP = """
-- src/shop/cart.py --
RATE = float("1")


class Cart:
    def total(self, items):
        return sum(parse(item) for item in items)


def parse(text):
    if not text:
        raise ValueError(f"cannot parse the price {text!r} of an item")
    return float(text)
-- src/shop/checkout.py --
from shop.cart import Cart


def checkout(items):
    cart = Cart()
    return cart.total(items)
-- src/app/models.py --
def save():
    return 1
-- tests/test_cart.py --
def test_parse():
    assert str(error) == "cannot parse the price '' of an item"
-- web/src/cart.js --
export class Cart {
  total(items) {
    return items.map((item) => item.price.value);
  }
}
export function checkout(cart) {
  throw new Error(`no stock left for ${cart.name} in ` + cart.city);
}
-- web/admin/index.js --
export function render() {
  return 1;
}
-- web/shop/index.js --
export function list() {
  return 2;
}
-- cmd/server.go --
package main

func (s *Server) handle(n int) int {
	values := []int{1, 2, 3}
	return values[n]
}

func main() {
	new(Server).handle(5)
}
-- java/src/main/java/com/acme/shop/Store.java --
package com.acme.shop;

class Store {
    String read(String name) {
        throw new IllegalStateException("the store is closed: " + name);
    }
}
-- java/src/main/java/com/acme/admin/Store.java --
package com.acme.admin;

class Store {
    String read(String name) {
        return name;
    }
}
-- src/errors.rs --
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("config file {path} has {count} unknown keys")]
    Unknown { path: String, count: usize },
}
-- src/stock.py --
class OutOfStock(Exception):
    pass


COLUMNS = ["launch", "stage", "hand"]


def take(count):
    if count > 3:
        raise OutOfStock(count)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> ResolveContext:
    snapshot = snapshot_of(SHOP, tmp_path_factory.mktemp("shop"))
    return replace(context_of(snapshot), services=Services(index=IndexedSnapshot(snapshot)))


def item_names(context: ResolveContext, message: str) -> list[str]:
    """Return the items of a message in the form "cart.py:parse 11": file, symbol, lines of frames."""
    label = context.snapshot.label
    return [
        " ".join(
            [f"{label(i.path).rsplit('/', 1)[-1]}:{i.symbol or i.span.label}", *(str(n + 1) for n in i.call_sites)]
        )
        for i in stack_trace_items(message, context).items
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (  # container path; the generator and the method are one definition
            'File "/app/src/shop/checkout.py", line 6, in checkout\n'
            'File "/app/src/shop/cart.py", line 6, in total\nFile "/app/src/shop/cart.py", line 6, in <genexpr>\n'
            'File "/app/src/shop/cart.py", line 11, in parse\n',
            ["cart.py:parse 11", "cart.py:Cart.total 6", "checkout.py:checkout 6"],
        ),
        ('File "C:\\app\\src\\shop\\cart.py", line 11, in parse', ["cart.py:parse 11"]),
        ('File "/venv/lib/python3.12/site-packages/shop/cart.py", line 11, in parse', ["cart.py:parse 11"]),
        ('File "/venv/lib/python3.12/site-packages/django/models.py", line 2, in save', []),
        ('File "/usr/lib/python3.12/cart.py", line 11, in parse', []),
        ('File "/elsewhere/cart.py", line 11, in parse', ["cart.py:parse 11"]),
        ('File "/elsewhere/cart.py", line 11, in unknown', []),
        ('File "src/shop/cart.py", line 1, in <module>', ["cart.py:1-6 1"]),
        ('File "src/shop/cart.py", line 99, in parse', ["cart.py:parse"]),
        ('File "src/shop/cart.py", line 99, in <module>', []),
        ('File "src/shop/cart.py", line 2, in parse\n    return float(text)\n', ["cart.py:parse 12"]),
        (
            'File "src/shop/cart.py", line 12, in total\n    return sum(parse(item) for item in items)',
            ["cart.py:Cart.total 6"],
        ),
        ("at Cart.total (webpack://web/./src/cart.js?8a1f:3:5)", ["cart.js:Cart.total 3"]),
        ("total@http://localhost:3000/web/src/cart.js:3:5", ["cart.js:Cart.total 3"]),
        ("at list (/app/index.js:2:1)", ["index.js:list 2"]),
        ("at open (/app/index.js:2:1)", []),
        ("at index.js:2:1", ["index.js:render 2", "index.js:list 2"]),
        ("main.(*Server).handle(0x5)\n\t/go/src/cmd/server.go:5 +0x1d\n", ["server.go:Server.handle 5"]),
        ("at com.acme.shop.Store.read(Store.java:5)", ["Store.java:Store.read 5"]),
        ("at com.acme.admin.Store.read(Store.java:5)", ["Store.java:Store.read 5"]),
        ("see src/shop/cart.py:11", ["cart.py:parse 11"]),
    ],
)
def test_items_of_frames(shop: ResolveContext, message: str, expected: list[str]) -> None:
    assert item_names(shop, message) == expected


@pytest.mark.parametrize("package", ["shop", "admin"])
def test_java_file_is_selected_by_its_package(shop: ResolveContext, package: str) -> None:
    (found,) = stack_trace_items(f"at com.acme.{package}.Store.read(Store.java:5)", shop).items
    assert f"/{package}/Store.java" in found.path


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("ValueError: cannot parse the price '' of an item", ["cart.py:parse 11"]),
        ('I get the error "cannot parse the price 12 of an item", why?', ["cart.py:parse 11"]),
        ("2024-05-01 10:00:00 ERROR shop.cart: cannot parse the price 'x' of an item", ["cart.py:parse 11"]),
        ("Uncaught Error: no stock left for tea in Rome", ["cart.js:checkout 7"]),
        (
            'Exception in thread "main" java.lang.IllegalStateException: the store is closed: x',
            ["Store.java:Store.read 5"],
        ),
        (
            "thread 'main' panicked at src/x.rs:1:2:\nconfig file /etc/a.toml has 3 unknown keys",
            ["errors.rs:LoadError 3"],
        ),
        ("stock.OutOfStock: 7\n    at x (y.js:1:1)", ["stock.py:take 10", "stock.py:OutOfStock"]),
        ("ValueError: invalid literal for int() with base 10: 'x'", []),
        ("OrderClosed: the store is closed: x", ["Store.java:Store.read 5"]),
        ("Error: the item", []),
        ("Error: the stage of the launch is set by hand", []),  # a literal of one word does not count
        ("How is the price of an item parsed?", []),
    ],
)
def test_raise_site_of_a_message_without_frames(shop: ResolveContext, message: str, expected: list[str]) -> None:
    assert item_names(shop, message) == expected


def test_raise_site_is_found_although_other_code_has_the_rare_words_at_the_end_of_a_message(tmp_path: Path) -> None:
    others = "".join(
        f"-- ref{n}.py --\ndef follow_{n}(chain):\n    return through(reference, chain, ledger, invoice, shipment)\n"
        for n in range(40)
    )
    frequent = "".join(
        f"-- mod{n}.py --\ndef load_{n}(module, type):\n    enable(module)\n"
        f"-- add{n}.py --\ndef add_{n}(support):\n    handling(default)\n"
        for n in range(60)
    )
    guard = """-- guard.py --
def check(type, module):
    if not is_supported(type):
        return "%s type is not supported by default: add module %s to enable handling" % (type, module)
"""
    snapshot = snapshot_of(others + frequent + guard, tmp_path)
    context = replace(context_of(snapshot), services=Services(index=IndexedSnapshot(snapshot)))
    tail = 'add module "acme-time" to enable handling (through reference chain: ledger, invoice, shipment)'
    message = f"InvalidError: time type is not supported by default: {tail}"
    assert item_names(context, message) == ["guard.py:check 3"]


def test_raise_site_follows_the_innermost_frame(shop: ResolveContext) -> None:
    message = (
        'File "src/shop/checkout.py", line 6, in checkout\nFile "src/shop/cart.py", line 6, in total\n'
        "ValueError: cannot parse the price '' of an item"
    )
    found = stack_trace_items(message, shop).items
    assert item_names(shop, message) == ["cart.py:Cart.total 6", "cart.py:parse 11", "checkout.py:checkout 6"]
    assert [i.score for i in found] == sorted((i.score for i in found), reverse=True)
    assert {i.origin for i in found} == {Origin.TASK}


def test_mentioned_locations_are_not_frames(shop: ResolveContext) -> None:
    message = "why @src/shop/cart.py:11 and src/app/models.py:2?"
    mentions = [outcome.mention for outcome in resolve_mentions(message, shop)]
    assert item_names(shop, mask_mentions(message, mentions)) == ["models.py:save 2"]


@given(st.lists(FRAGMENTS, max_size=30).map("\n".join))
def test_items_of_any_text_are_in_their_files(shop: ResolveContext, message: str) -> None:
    for found in stack_trace_items(message, shop).items:
        view = shop.sources.read(found.path)
        assert isinstance(view, FileText)
        assert 0 <= found.span.start < found.span.end <= len(view.lines)
        assert all(line in found.span for line in found.call_sites)


def test_merged_items_keep_the_marks_of_the_frames(shop: ResolveContext) -> None:
    message = 'File "src/shop/cart.py", line 6, in total\nFile "src/shop/cart.py", line 11, in parse\n'
    renderer = Renderer(counter("chars4"), shop.snapshot.label)
    candidates = [
        PackingCandidate(item_forms(found, view, renderer))
        for found in stack_trace_items(message, shop).items
        if isinstance(view := shop.sources.read(found.path), FileText)
    ]
    (packed,) = pack([], candidates, 2000).items
    assert 'at="6, 11"' in render_element(packed.rendered, shop.snapshot.label, "b")
    assert packed.rendered.tokens == renderer.count_tokens([packed.rendered])[0].tokens
