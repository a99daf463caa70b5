"""Permissions: what promptls stores for itself is for the user only; files of a workspace keep the user's umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conftest import make_shop
from lsp import indexed_client

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")]


def test_index_and_memory_are_private(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    before = os.umask(0o022)
    request.addfinalizer(lambda: os.umask(before))
    cache, root = tmp_path / "cache", make_shop(tmp_path / "shop")
    cache.mkdir(mode=0o755)
    with indexed_client(cache, root) as client:
        entry = {"action": "add", "category": "knowledge", "content": "We ship on Mondays."}
        client.request("promptls/memory", {**entry, "scope": "user", "title": "Ours"})
        client.request("promptls/memory", {**entry, "scope": "workspace", "title": "All"})
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [cache, *cache.rglob("*")]}
    assert len(modes) > 10
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode & 0o077 for path, mode in modes.items() if path.is_file()} == {0}
    shared = root / ".promptls/memory.json"
    assert stat.S_IMODE(shared.stat().st_mode) == 0o644
    assert stat.S_IMODE(shared.parent.stat().st_mode) == 0o755
