"""Layers from paths: Understand-Anything's table, and ours on top of it."""

from __future__ import annotations

import pytest

from promptls.graph.layers import ABOUT, LAYERS, is_test, layer_of, layers


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_every_word_and_its_plural_make_the_layer(layer) -> None:  # type: ignore[no-untyped-def]
    for word in layer.words:
        assert layer_of(f"src/{word}/a.py", seed=True) == layer.name
        assert layer_of(f"src/{word}s/deep/a.py", seed=True) == layer.name
        assert layer_of(f"src/{word.upper()}/a.py", seed=True) == layer.name


@pytest.mark.parametrize(
    ("label", "seed", "ours"),
    [
        ("src/api/service/a.py", "API", "API"),  # the first layer of the table wins
        ("src/service/api/a.py", "API", "API"),
        ("tests/api/test_a.py", "API", "Test"),
        ("src/repositories/user.ts", "Core", "Data"),
        ("app/middleware.py", "Core", "Middleware"),
        ("app/settings.py", "Core", "Config"),
        ("src/latest.py", "Core", "Core"),
        ("src/contest.py", "Core", "Core"),
        ("src/apis.md", "Core", "API"),
        ("web:src/ui/Button.tsx", "UI", "UI"),
        ("main.py", "Core", "Core"),
        ("", "Core", "Core"),
    ],
)
def test_which_layer(label: str, seed: str, ours: str) -> None:
    assert (layer_of(label, seed=True), layer_of(label)) == (seed, ours)


@pytest.mark.parametrize(
    "label",
    ["a/test_x.py", "x_test.go", "x.test.ts", "x.spec.tsx", "src/FooTest.java", "conftest.py", "__tests__/a.js"],
)
def test_tests_are_known_by_their_names(label: str) -> None:
    assert is_test(label)


@pytest.mark.parametrize("label", ["latest.py", "contest.go", "attest/a.py", "protest.ts", "testing_tools.py"])
def test_what_only_sounds_like_a_test_is_none(label: str) -> None:
    assert not is_test(label)


def test_words_of_the_user_go_first() -> None:
    extra = {"Billing": ["invoice", "ledger"], "API": ["gateway"]}
    assert layer_of("src/api/invoices/a.py", extra) == "Billing"
    assert layer_of("src/gateway/a.py", extra) == "API"
    assert layer_of("src/Ledger.py", extra) == "Billing"
    assert layer_of("tests/invoice/a.py", extra) == "Billing"


def test_paths_by_layer_in_the_order_of_the_table() -> None:
    found = layers(["z.py", "src/ui/a.tsx", "src/api/b.py", "src/api/a.py"], {"Own": ["z"]})
    assert found == {"Own": ("z.py",), "API": ("src/api/b.py", "src/api/a.py"), "UI": ("src/ui/a.tsx",)}
    assert set(layers(["a.py"])) <= set(ABOUT)
