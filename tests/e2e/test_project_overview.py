"""Prompts for questions about the project as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lsp import Client
from workspaces import files_of

Visit = Callable[[Path], Client]

PARTS = "".join(
    f"""-- src/shop/part{i}.py --
from shop.order import Order
class Part{i}:
    def price(self, order: Order) -> int:
        return order.total() * {i}
"""
    for i in range(4)
)
SHOP = f"""
-- README.md --
# Shop

[![CI](https://example.org/ci.svg)](https://example.org)

Sponsored by Acme, the architecture of the future.

A program that sells things to people.

## License

The architecture of this project is under the MIT license.
-- LICENSE --
MIT License: permission to use the architecture of this project is granted.
-- CHANGELOG.md --
# 2.0

- Explain the architecture of the project
-- .mailmap --
Ann Architecture <ann@example.org>
-- .github/workflows/ci.yml --
name: architecture
on: push
-- pyproject.toml --
[project]
name = "shop"
dependencies = ["click"]
[project.scripts]
shop = "shop.cli:main"
-- src/shop/__init__.py --
from .order import Order
-- src/shop/order.py --
class Order:
    '''Things that a customer buys together.'''

    def total(self) -> int:
        value_of_the_order = 1
        return value_of_the_order
-- src/shop/cli.py --
from shop.order import Order
def main() -> None:
    '''Sell an order.'''
    Order().total()
{PARTS}
-- tests/conftest.py --
class ArchitectureHelper:
    '''Explain the architecture of the project.'''
-- tests/test_order.py --
from conftest import ArchitectureHelper
def test_architecture():
    ArchitectureHelper()
"""


@pytest.fixture
def client(visit: Visit, tmp_path: Path) -> Client:
    for name, text in files_of(SHOP).items():
        file = tmp_path / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    client = visit(tmp_path / "shop")
    client.wait_indexed()
    return client


@pytest.mark.parametrize(
    "question", ["explain the architecture", "what does this project do?", "was macht dieses Projekt?"]
)
def test_overview_has_purpose_folders_entry_points_and_central_types(client: Client, question: str) -> None:
    result = client.build(question, budget={"tokens": 8000})
    prompt = result["prompt"]
    expected = [
        "A program that sells things to people.",
        "- src/shop/ (7 files)",
        "- command shop: shop.cli:main",
        "def main() -> None - Sell an order.",
        "class Order - Things that a customer buys together.",
    ]
    places = [prompt.find(text) for text in expected]
    assert -1 not in places
    assert places == sorted(places)
    assert {item["form"] for item in result["items"]} == {"outline"}
    for useless in ("Ann", "MIT", "Sponsored", "name: architecture", "ArchitectureHelper", "# 2.0", "value_of"):
        assert useless not in prompt


@pytest.mark.parametrize(
    "question", ["explain the architecture of the order total", "explain the architecture @src/shop/order.py"]
)
def test_question_about_a_part_is_answered_with_code(client: Client, question: str) -> None:
    assert "value_of_the_order" in client.build(question, budget={"tokens": 8000})["prompt"]


def test_overview_is_shortened_to_a_small_budget(client: Client) -> None:
    result = client.build("explain the architecture", budget={"tokens": 500})
    assert result["tokens"]["used"] <= 500
    assert "class Order" in result["prompt"]
