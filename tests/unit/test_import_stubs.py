"""Packages work with stubbed submodules, and are imported in full where they need them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import write_tree
from promptls.util.import_stubs import import_with_stubs, import_without_stubs

LIBRARIES = """
-- shelf/__init__.py --
from catalogue import Missing
from catalogue.models.book import Book

def find(book: Book) -> Book:
    raise Missing("nowhere")

same = Missing.__name__
-- picky.py --
from catalogue import SIZE

double = SIZE * 2
-- catalogue/__init__.py --
SIZE = 21

class Missing(Exception):
    pass
-- catalogue/models/__init__.py --
-- catalogue/models/book.py --
class Book:
    pass
"""


@pytest.fixture(autouse=True)
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(write_tree(tmp_path / "libraries", LIBRARIES))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_package_works_with_stubs() -> None:
    shelf = import_with_stubs("shelf", ["catalogue"])
    assert getattr(sys.modules["catalogue"], "__file__", None) is None
    with pytest.raises(Exception, match="nowhere") as raised:
        shelf.find("a book")
    assert type(raised.value).__name__ == shelf.same == "Missing"
    with pytest.raises(AttributeError):
        sys.modules["catalogue"].__all__  # noqa: B018


def test_package_that_needs_a_stubbed_module_is_imported_in_full() -> None:
    assert import_with_stubs("picky", ["catalogue"]).double == 42
    assert sys.modules["catalogue"].__file__ is not None


def test_stubs_are_replaced_on_demand() -> None:
    import_with_stubs("shelf", ["catalogue"])
    assert import_without_stubs("shelf").Missing.__module__ == "catalogue"
    assert sys.modules["catalogue"].__file__ is not None
    assert import_without_stubs("shelf") is sys.modules["shelf"]


@pytest.mark.process
def test_local_model_is_loaded_with_stubs() -> None:
    code = """
import sys
from promptls.index.embedding.embedder import STUBBED_MODULES, EmbeddingSpec, ModelUnavailable, load_embedder

assert load_embedder(EmbeddingSpec()).embed(["a cart", "a stock"]).shape[0] == 2
for name in STUBBED_MODULES:
    assert getattr(sys.modules[name], "__file__", None) is None, name
try:
    load_embedder(EmbeddingSpec("BAAI/bge-small-en-v1.5"))
except ModelUnavailable as error:
    assert "Cannot load" in str(error)
assert all(sys.modules[name].__file__ for name in STUBBED_MODULES)
assert load_embedder(EmbeddingSpec()).embed(["a cart"]).shape[0] == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
