"""Central definitions of a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkit import short_name, view_of
from promptls.graph.centrality import central_definitions, is_project_code
from promptls.model import Cancelled, CancelToken

USERS = "".join(
    f"""-- src/shop/part{i}.py --
from shop.order import Order
from shop.text import pad
class Part{i}:
    def run(self, order: Order) -> str:
        return pad(str(order))
"""
    for i in range(4)
)
TESTS = "".join(
    f"""-- tests/test_part{i}.py --
from shop.fake import FakeOrder
def test_run():
    assert FakeOrder().total() == 1
"""
    for i in range(12)
)
SHOP = f"""
-- src/shop/__init__.py --
from .order import Order
-- src/shop/order.py --
class Order:
    def total(self) -> int:
        return 1
    def add(self, item) -> None: ...
    def remove(self, item) -> None: ...
-- src/shop/text.py --
def pad(text):
    return text
-- src/shop/fake.py --
class FakeOrder:
    def total(self) -> int:
        return 1
{USERS}{TESTS}"""


def ranked(text: str, top: Path) -> list[str]:
    view = view_of(text, top)
    return [short_name(view, one.ref) for one in central_definitions(view)]


def test_type_that_the_project_uses_precedes_helper_of_tests(tmp_path: Path) -> None:
    names = ranked(SHOP, tmp_path)
    assert names[0] == "src/shop/order.py:Order"
    assert "src/shop/fake.py:FakeOrder" not in names  # only tests refer to it


def test_short_helper_function_follows_type_with_as_many_references(tmp_path: Path) -> None:
    names = ranked(SHOP, tmp_path)
    assert names.index("src/shop/order.py:Order") < names.index("src/shop/text.py:pad")


def test_definitions_outside_of_the_project_code_are_neither_ranked_nor_counted(tmp_path: Path) -> None:
    folders = ("tests", "examples", "vendor", "docs", "node_modules/x", "third_party", "benchmarks")
    users = "".join(f"-- {folder}/use.py --\nfrom lib.a import A\nA()\nclass Local: ...\n" for folder in folders)
    text = f"-- lib/a.py --\nclass A: ...\n{users}-- lib/b.py --\nfrom lib.a import A\nA()\n"
    view = view_of(text, tmp_path)
    assert [(short_name(view, o.ref), o.referring_files) for o in central_definitions(view)] == [("lib/a.py:A", 1)]


GO = """
-- cmd.go --
package a
type Command struct { x int }
func (c *Command) Run() error { return nil }
func (c *Command) Find() {}
-- args.go --
package a
func NoArgs(c *Command) error { return nil }
-- help.go --
package a
func Help(c *Command) {}
"""
TYPESCRIPT = """
-- src/subject.ts --
export class Subject { next(): void {} }
-- src/map.ts --
import { Subject } from './subject'
export function map(s: Subject) { return s }
-- src/index.ts --
export { Subject } from './subject'
"""


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (GO, "cmd.go:Command"),
        (TYPESCRIPT, "src/subject.ts:Subject"),
    ],
    ids=["go", "typescript"],
)
def test_central_type_in_other_languages(tmp_path: Path, text: str, first: str) -> None:
    assert ranked(text, tmp_path)[0] == first


def test_central_definitions_are_computed_once_for_a_view(tmp_path: Path) -> None:
    view, token = view_of(SHOP, tmp_path), CancelToken()
    first = central_definitions(view, token)
    token.cancel()
    assert central_definitions(view, token) is first


def test_computation_is_cancelled(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        central_definitions(view_of(SHOP, tmp_path), token)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("src/app.py", True),
        ("src/latest/app.py", True),
        ("tests/test_app.py", False),
        ("api/shop_pb2.py", False),
        ("web/vendor/x.js", False),
        ("web/app.min.js", False),
        ("setup.py", False),
        ("vite.config.ts", False),
    ],
)
def test_project_code(label: str, expected: bool) -> None:
    assert is_project_code(label) is expected
