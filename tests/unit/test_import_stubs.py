"""A library is had without what it loads and does not need, and whole where it does need it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import write_tree
from promptls.index.store.lance_table import UNNEEDED
from promptls.util.import_stubs import import_whole, import_without

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


def test_a_library_works_with_empty_packages_in_the_place_of_what_it_does_not_need() -> None:
    shelf = import_without("shelf", ["catalogue"])
    assert getattr(sys.modules["catalogue"], "__file__", None) is None
    with pytest.raises(Exception, match="nowhere") as raised:
        shelf.find("a book")
    assert type(raised.value).__name__ == shelf.same == "Missing"
    with pytest.raises(AttributeError):
        sys.modules["catalogue"].__all__  # noqa: B018


def test_a_library_that_does_need_them_is_loaded_whole() -> None:
    assert import_without("picky", ["catalogue"]).double == 42
    assert sys.modules["catalogue"].__file__ is not None


def test_what_was_left_out_comes_when_it_is_needed_after_all() -> None:
    import_without("shelf", ["catalogue"])
    assert import_whole("shelf").Missing.__module__ == "catalogue"
    assert sys.modules["catalogue"].__file__ is not None
    assert import_whole("shelf") is sys.modules["shelf"]


def test_a_model_in_a_folder_is_loaded_without_what_fetches_models() -> None:
    code = """
import sys
from promptls.index.embedding.embedder import UNNEEDED, EmbeddingSpec, ModelUnavailable, load

assert load(EmbeddingSpec()).embed(["a cart", "a stock"]).shape[0] == 2
for name in UNNEEDED:
    assert getattr(sys.modules[name], "__file__", None) is None, name
try:
    load(EmbeddingSpec("BAAI/bge-small-en-v1.5"))
except ModelUnavailable as error:
    assert "cannot be loaded" in str(error)
assert all(sys.modules[name].__file__ for name in UNNEEDED)
assert load(EmbeddingSpec()).embed(["a cart"]).shape[0] == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_table_is_kept_without_the_client_of_remote_catalogues(tmp_path: Path) -> None:
    code = f"""
import sys
import numpy as np
from pathlib import Path
from promptls.index.search.row_batch import rounded, rows_of
from promptls.index.store.lance_table import Identity, open_table

table = open_table(Path({str(tmp_path / "rows")!r}), Identity("model", 4, 1, 1), renew=True)
table.add([rows_of([(bytes(16), ["word"])], rounded(np.ones((1, 4))))])
assert table.read().keys == (bytes(16),)
for name in {UNNEEDED!r}:
    assert getattr(sys.modules[name], "__file__", None) is None, name
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
