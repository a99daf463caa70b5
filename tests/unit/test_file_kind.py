"""File kinds and layers by path."""

from __future__ import annotations

import pytest

from promptls.knowledge.project.file_kind import LAYERS, is_peripheral, is_test_path, layer_of


@pytest.mark.parametrize(
    "label",
    [
        "tests/helpers/data.py",
        "a/test_x.py",
        "src/tests.py",
        "pkg/x_test.go",
        "Tests/AppTests/CartTests.swift",
        "web/x.test.ts",
        "web/__mocks__/a.js",
        "a/test-foo.js",
        "spec/cart_spec.rb",
        "backend:tests/a.py",
    ],
)
def test_test_files_are_recognized(label: str) -> None:
    assert is_test_path(label)
    assert is_peripheral(label)


@pytest.mark.parametrize(
    "label",
    [
        "src/latest.py",
        "src/contest.go",
        "testing_tools.py",
        "flask/testing.py",
        "src/specification.md",
        "src/Latest.java",
        "src/docs.py",
    ],
)
def test_names_that_resemble_tests_are_not_tests(label: str) -> None:
    assert not is_test_path(label)
    assert not is_peripheral(label)


@pytest.mark.parametrize("label", ["examples/a.py", "docs/conf.py", "_templates/a.go", "third_party/lib/a.c"])
def test_peripheral_files_are_recognized(label: str) -> None:
    assert is_peripheral(label)
    assert not is_test_path(label)


# ---- layers


def test_every_word_and_its_plural_make_the_layer() -> None:
    for layer in LAYERS:
        for word in layer.words:
            for label in (f"src/{word}/a.py", f"src/{word}s/deep/a.py", f"src/{word.upper()}/a.py"):
                assert layer_of(label) == layer.name


@pytest.mark.parametrize(
    ("label", "layer"),
    [
        ("src/service/api/a.py", "API"),  # the first layer of the table wins
        ("tests/api/test_a.py", "Test"),
        ("src/repositories/user.ts", "Data"),
        ("app/middleware.py", "Middleware"),
        ("src/contest.py", "Core"),
        ("web:src/ui/Button.tsx", "UI"),
        ("", "Core"),
    ],
)
def test_layer_of_path(label: str, layer: str) -> None:
    assert layer_of(label) == layer


def test_custom_words_take_precedence() -> None:
    extra = {"Billing": ["invoice", "ledger"], "API": ["gateway"]}
    assert layer_of("src/api/invoices/a.py", extra) == "Billing"
    assert layer_of("src/gateway/a.py", extra) == "API"
    assert layer_of("src/Ledger.py", extra) == "Billing"
