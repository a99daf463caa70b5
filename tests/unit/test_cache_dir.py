"""Indexes that nobody uses any more are removed from the cache, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptls.index.store.cache_dir import UNUSED_S, index_folder, tend
from promptls.index.store.lance_table import Identity
from promptls.model import Root

NOW = 2_000_000_000.0
FILES = ("files.sqlite", "files.sqlite-wal", "rows.image", "rows.waiting", "rows/chunks.lance/data/1.lance")


def index(cache: Path, root: str = "/w/shop", model: str = "model", days: float = 40, also: str = "") -> Path:
    """The folder of an index, with files that are so many days old."""
    folder = index_folder(cache, Root(root, Path(root).name, f"file://{root}"), Identity(model, 8, 1, 1))
    for name in [*FILES, *also.split()]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    moment = NOW - days * 86_400
    for place in [*folder.rglob("*"), folder]:
        os.utime(place, (moment, moment))
    return folder


def test_an_index_that_nobody_has_used_for_a_month_is_removed(tmp_path: Path) -> None:
    old, recent = index(tmp_path, "/w/old"), index(tmp_path, "/w/recent", days=29)
    other, mine = index(tmp_path, "/w/mine", "another model"), index(tmp_path, "/w/mine")
    assert set(tend(tmp_path, [mine], NOW)) == {old, other}
    assert recent.is_dir() and mine.is_dir()
    assert not old.parent.exists(), "a root without an index needs no folder"
    assert tend(tmp_path, [], NOW + UNUSED_S - 1) == [recent], "what is in use now has a month from now"
    assert tend(tmp_path, [], NOW + UNUSED_S + 1) == [mine]


@pytest.mark.parametrize("touched", FILES)
def test_what_any_server_writes_counts_as_use(tmp_path: Path, touched: str) -> None:
    folder = index(tmp_path)
    os.utime(folder / touched.split("/")[0], (NOW, NOW))
    assert not tend(tmp_path, [], NOW)


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    elsewhere = index(tmp_path / "elsewhere")
    cache = tmp_path / "cache"
    strange = index(cache, "/w/strange", also="notes.txt")
    (cache / "photos").mkdir()
    (cache / "shop-0123456789ab").symlink_to(elsewhere.parent)
    (strange.parent / "deadbeef").symlink_to(elsewhere)
    (strange.parent / "beefdead").write_text("a file")
    inside = index(cache, "/w/linked")
    (inside / "rows.image").unlink()
    (inside / "rows.image").symlink_to(strange / "notes.txt")
    assert not tend(cache, [], NOW + UNUSED_S)
    assert elsewhere.is_dir() and strange.is_dir() and inside.is_dir()


def test_a_cache_that_is_not_there_or_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    assert tend(tmp_path / "none", [tmp_path / "none" / "mine"], NOW) == []
    (tmp_path / "file").write_text("")
    assert tend(tmp_path / "file", [], NOW) == []


def test_a_clock_that_goes_back_removes_nothing(tmp_path: Path) -> None:
    folder = index(tmp_path)
    assert not tend(tmp_path, [], NOW - 60 * 86_400)
    assert folder.is_dir()
