"""File kinds by path: tests and peripheral files."""

from __future__ import annotations

import pytest

from promptls.knowledge.project.file_kind import is_peripheral, is_test_path

TESTS = [
    "tests/conftest.py",
    "tests/helpers/data.py",
    "a/test_x.py",
    "src/tests.py",
    "foo_tests.py",
    "testing/util.py",
    "pkg/x_test.go",
    "testdata/x.go",
    "src/FooTest.java",
    "src/test/java/Foo.java",
    "Tests/AppTests/CartTests.swift",
    "web/x.test.ts",
    "web/x.spec.tsx",
    "web/__tests__/a.js",
    "web/__mocks__/a.js",
    "a/test-foo.js",
    "spec/cart_spec.rb",
    "backend:tests/a.py",
    "backend:test_a.py",
]
OTHERS = [
    "src/app.py",
    "src/latest.py",
    "src/contest.go",
    "attest/a.py",
    "web/protest.ts",
    "testing_tools.py",
    "flask/testing.py",
    "src/specification.md",
    "src/Latest.java",
    "backend:src/a.py",
]


@pytest.mark.parametrize("label", TESTS)
def test_test_files_are_recognized(label: str) -> None:
    assert is_test_path(label)
    assert is_peripheral(label)


@pytest.mark.parametrize("label", OTHERS)
def test_names_that_resemble_tests_are_not_tests(label: str) -> None:
    assert not is_test_path(label)


@pytest.mark.parametrize("label", ["examples/a.py", "docs/conf.py", "_templates/a.go", "third_party/lib/a.c"])
def test_peripheral_files_are_recognized(label: str) -> None:
    assert is_peripheral(label)
    assert not is_test_path(label)


def test_source_files_are_not_peripheral() -> None:
    assert not is_peripheral("src/docs.py")
