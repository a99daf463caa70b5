"""Unused indexes are removed from the cache directory, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptls.index.search.row_batch import StoreIdentity
from promptls.index.store.cache_dir import MAX_UNUSED_S, evict_unused, index_directory, root_directory
from promptls.model import Root

NOW = 2_000_000_000.0
FILES = ("files.sqlite", "files.sqlite-wal", "rows.image", "rows.waiting", "rows/chunks.lance/data/1.lance")


def index(cache: Path, root: str = "/w/shop", model: str = "model", days: float = 40, also: str = "") -> Path:
    """Create the directory of an index with files of this age."""
    folder = index_directory(
        root_directory(cache, Root(root, Path(root).name, f"file://{root}")), StoreIdentity(model, 8, 1, 1)
    )
    for name in [*FILES, *also.split()]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    moment = NOW - days * 86_400
    for place in [*folder.rglob("*"), folder]:
        os.utime(place, (moment, moment))
    return folder


def test_index_unused_for_a_month_is_removed(tmp_path: Path) -> None:
    old, recent = index(tmp_path, "/w/old"), index(tmp_path, "/w/recent", days=29)
    other, mine = index(tmp_path, "/w/mine", "another model"), index(tmp_path, "/w/mine")
    assert set(evict_unused(tmp_path, [mine], NOW)) == {old, other}
    assert recent.is_dir() and mine.is_dir()
    assert not old.parent.exists(), "the directory of a root without an index is removed"
    assert evict_unused(tmp_path, [], NOW + MAX_UNUSED_S - 1) == [recent], (
        "an index in use is kept for a month from now"
    )
    assert evict_unused(tmp_path, [], NOW + MAX_UNUSED_S + 1) == [mine]


@pytest.mark.parametrize("touched", FILES)
def test_any_write_counts_as_use(tmp_path: Path, touched: str) -> None:
    folder = index(tmp_path)
    os.utime(folder / touched.split("/")[0], (NOW, NOW))
    assert not evict_unused(tmp_path, [], NOW)


def test_unknown_files_and_links_are_kept(tmp_path: Path) -> None:
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
    assert not evict_unused(cache, [], NOW + MAX_UNUSED_S)
    assert elsewhere.is_dir() and strange.is_dir() and inside.is_dir()


def test_missing_or_unwritable_cache_is_ignored(tmp_path: Path) -> None:
    assert evict_unused(tmp_path / "none", [tmp_path / "none" / "mine"], NOW) == []
    (tmp_path / "file").write_text("")
    assert evict_unused(tmp_path / "file", [], NOW) == []


def test_clock_set_back_removes_nothing(tmp_path: Path) -> None:
    folder = index(tmp_path)
    assert not evict_unused(tmp_path, [], NOW - 60 * 86_400)
    assert folder.is_dir()
