"""Test files named after a source file."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.graph.definition_items import find_tests_named_after
from workspaces import snapshot_of


@pytest.mark.parametrize(
    ("file", "others", "expected"),
    [
        ("src/cart.py", ["tests/test_cart.py", "tests/test_cartoon.py", "tests/cart.md"], ["tests/test_cart.py"]),
        ("src/_cart.py", ["tests/test_cart.py"], ["tests/test_cart.py"]),
        ("shop/cart/__init__.py", ["tests/test_cart.py"], ["tests/test_cart.py"]),
        ("web/Cart.tsx", ["web/Cart.test.tsx", "web/Cart.css"], ["web/Cart.test.tsx"]),
        ("web/Cart.vue", ["web/__tests__/Cart.spec.ts"], ["web/__tests__/Cart.spec.ts"]),
        ("pkg/cart.go", ["pkg/cart_test.go"], ["pkg/cart_test.go"]),
        ("main/a/Cart.java", ["test/a/CartTest.java", "test/b/CartTest.java"], ["test/a/CartTest.java"]),
        ("lib/shop/cart.ex", ["test/shop/cart_test.exs"], ["test/shop/cart_test.exs"]),
        ("lib/cart.rb", ["spec/cart_spec.rb"], ["spec/cart_spec.rb"]),
        ("src/cart.c", ["tests/test_cart.cpp"], ["tests/test_cart.cpp"]),
        ("a/util.py", [f"tests/{x}/test_util.py" for x in "bcde"], []),  # that could be any of them
        (
            "a/util.py",
            ["tests/b/test_util.py", "tests/c/test_util.py"],
            ["tests/b/test_util.py", "tests/c/test_util.py"],
        ),
        ("tests/test_cart.py", ["cart.py", "tests/test_test_cart.py"], []),
        ("src/cart.py", ["src/test_cart.txt", "src/cart.pyi"], []),
    ],
)
def test_tests_named_after_a_file_are_found(tmp_path: Path, file: str, others: list[str], expected: list[str]) -> None:
    snapshot = snapshot_of("".join(f"-- {name} --\nx\n" for name in (file, *others)), tmp_path)
    base = snapshot.roots[0].path
    assert [path[len(base) + 1 :] for path in find_tests_named_after(snapshot, f"{base}/{file}")] == expected
