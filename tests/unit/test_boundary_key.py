"""The key of the boundaries: lifetime, secrecy and storage."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from promptls.prompt.rendering import fences as module
from promptls.prompt.rendering.fences import SECONDS_PER_DAY, SECRET_BYTES, SECRET_FILE, boundary_key

NOON = 20_000.5 * SECONDS_PER_DAY


def restart() -> None:
    """Forget what a process keeps in memory."""
    module._secret.cache_clear()


def test_key_is_the_same_on_one_day_also_after_a_restart(tmp_path: Path) -> None:
    first = boundary_key(tmp_path, "shop", NOON)
    restart()
    assert boundary_key(tmp_path, "shop", NOON + 3600) == first


def test_key_differs_by_day_workspace_and_user(tmp_path: Path) -> None:
    keys = [
        boundary_key(tmp_path / "ann", "shop", NOON),
        boundary_key(tmp_path / "ann", "shop", NOON + SECONDS_PER_DAY),
        boundary_key(tmp_path / "ann", "bank", NOON),
        boundary_key(tmp_path / "ben", "shop", NOON),
    ]
    assert len(set(keys)) == 4


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes")
def test_secret_is_readable_by_its_user_only(tmp_path: Path) -> None:
    boundary_key(tmp_path, "shop", NOON)
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600


def test_damaged_secret_is_replaced(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).write_bytes(b"short")
    first = boundary_key(tmp_path, "shop", NOON)
    assert len((tmp_path / SECRET_FILE).read_bytes()) == SECRET_BYTES
    restart()
    assert boundary_key(tmp_path, "shop", NOON) == first


def test_unusable_folder_gives_a_key_for_this_process(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("not a folder")
    assert boundary_key(folder, "shop", NOON) == boundary_key(folder, "shop", NOON)
    assert [*tmp_path.iterdir()] == [folder]
