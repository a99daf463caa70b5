"""Work trees of one git repository share the index on disk, and nothing else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from conftest import git
from lsp import Client, Json, Start, indexed_client

ONLY_IN_FIRST = "def pay_by_invoice(amount):\n    '''Pay later.'''\n    return amount\n"


@pytest.fixture
def trees(shop: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two work trees with equal files."""
    git(shop, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "feature"))
    return shop, tmp_path / "feature"


def results(client: Client) -> list[list[Json]]:
    queries = (
        "discount of a cart",
        "session cookie expires",
        "refund within days",
        "pay by invoice",
        "edited function",
    )
    return [[{**hit, "uri": ""} for hit in client.search(query)] for query in queries]


def fresh_results(tmp_path: Path, root: Path) -> list[list[Json]]:
    cache = tmp_path / f"fresh-{root.name}" / "cache"
    cache.parent.mkdir(exist_ok=True)
    with indexed_client(cache, root) as client:
        return results(client)


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_new_work_tree_is_indexed_without_embedding_anything(
    start: Start, trees: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = trees
    (first / "shop/invoice.py").write_text(ONLY_IN_FIRST)
    start(first).wait_indexed()
    start(first).stop()
    before = size(tmp_path / "cache")
    client = start(second)
    status = client.wait_indexed()
    assert status["embedder"]["embedded"] == 0
    assert status["roots"][0]["files"] == len(git(second, "ls-files").split())
    assert results(client) == fresh_results(tmp_path, second)
    assert not any("invoice" in hit["path"] for hits in results(client) for hit in hits)
    client.stop()
    assert len([*(tmp_path / "cache").glob("shop-root-*")]) == 1
    assert size(tmp_path / "cache") < 1.2 * before  # of some kilobytes; pages of the database dominate


def test_text_of_another_branch_is_read(start: Start, trees: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = trees
    start(first).wait_indexed()
    (second / "shop/money.py").write_text("def round_up(cents):\n    '''Round to whole euros.'''\n    return cents\n")
    client = start(second)
    assert client.wait_indexed()["embedder"]["embedded"] == 1
    assert results(client) == fresh_results(tmp_path, second)
    assert "round_up" in client.build("@#round_up")["prompt"]


def test_deleted_work_tree_leaves_no_records(start: Start, trees: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = trees
    (second / "shop/invoice.py").write_text(ONLY_IN_FIRST)
    for root in trees:
        start(root).wait_indexed()
    git(first, "worktree", "remove", "--force", str(second))
    start(first).wait_indexed()
    (manifest,) = (tmp_path / "cache").glob("*/*/files.sqlite")
    content = b"".join(file.read_bytes() for file in manifest.parent.glob("files.sqlite*"))
    assert b"apply_discount" in content
    assert b"pay_by_invoice" not in manifest.read_bytes()


def test_servers_of_two_work_trees_write_at_the_same_time(
    start: Start, trees: tuple[Path, Path], tmp_path: Path
) -> None:
    clients = [start(root) for root in trees]
    errors: list[BaseException] = []

    def edit(client: Client, root: Path) -> None:
        try:
            for number in range(25):
                file = root / f"edited_{number % 5}.py"
                file.write_text(
                    f"def edited_function_{root.name.replace('-', '_')}_{number}(value):\n    return value\n"
                )
                client.files_changed(file)
                client.wait_indexed()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=edit, args=pair) for pair in zip(clients, trees, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for client in clients:
        client.stop()
    for root in trees:
        client = start(root)
        client.wait_indexed()
        assert results(client) == fresh_results(tmp_path, root)
