"""Layers from paths: Understand-Anything's table, and ours on top of it."""

from __future__ import annotations

import pytest

from promptls.knowledge.project.file_kind import LAYERS, layer_of


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_every_word_and_its_plural_make_the_layer(layer) -> None:  # type: ignore[no-untyped-def]
    for word in layer.words:
        assert layer_of(f"src/{word}/a.py", table_only=True) == layer.name
        assert layer_of(f"src/{word}s/deep/a.py", table_only=True) == layer.name
        assert layer_of(f"src/{word.upper()}/a.py", table_only=True) == layer.name


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
def test_layer_of_path(label: str, seed: str, ours: str) -> None:
    assert (layer_of(label, table_only=True), layer_of(label)) == (seed, ours)


def test_custom_words_take_precedence() -> None:
    extra = {"Billing": ["invoice", "ledger"], "API": ["gateway"]}
    assert layer_of("src/api/invoices/a.py", extra) == "Billing"
    assert layer_of("src/gateway/a.py", extra) == "API"
    assert layer_of("src/Ledger.py", extra) == "Billing"
    assert layer_of("tests/invoice/a.py", extra) == "Billing"
