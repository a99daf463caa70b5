"""Indices of the team table, compaction, and removal of old versions."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from promptls.extensions.team.schema import CHUNK
from promptls.extensions.team.storage import Storage
from promptls.extensions.team.table import open_table

MIN_INDEXED_VECTORS = 2_000
"""Chunks from which on there is a vector index; the vectors of fewer are read in full, about 2 MB."""
ROWS_PER_PARTITION = 4_096
"""Rows of one partition of the vector index: about 300 kB of quantized vectors, one read from object storage."""
MAX_DELTAS = 8
"""Parts of an index above which they are merged; each search reads all of them."""
MAX_GROWTH = 4
"""Growth of the table after which the vector index is trained again."""
MAX_FRAGMENT_ROWS = 1 << 19
"""Rows of a compacted fragment. One large fragment would leave one worker for building an index."""
MAX_SMALL_FRAGMENTS = 64
"""Fragments above which an update compacts the table."""
_SCALAR_INDICES = (("repo", "BITMAP"), ("row", "BITMAP"), ("key", "BTREE"), ("path", "BTREE"))
_PARTED = frozenset({"vector", "terms"})
"""Indices with a part per update; rewriting the full-text index of ten million chunks takes 49 s."""
_TERMS_INDEX = {  # the terms come from our own analyzer, so nothing else may change or drop them
    "base_tokenizer": "whitespace",
    "language": "English",
    "lower_case": False,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
    "max_token_length": None,
    "with_position": False,
}


def build_indices(storage: Storage) -> None:
    """Compact the table and build all indices."""
    open_table(storage).optimize.compact_files(target_rows_per_fragment=MAX_FRAGMENT_ROWS)
    _build_vector_index(open_table(storage))
    _build_other_indices(storage, set())


def update_indices(storage: Storage) -> None:
    """Index new rows; the vector index gets a part with the centroids that it has, the full-text index a part, too."""
    dataset = open_table(storage)
    if len(dataset.get_fragments()) > MAX_SMALL_FRAGMENTS:
        dataset.optimize.compact_files(target_rows_per_fragment=MAX_FRAGMENT_ROWS)
        dataset = open_table(storage)
    names = {index.name for index in dataset.describe_indices()}
    _build_other_indices(storage, names)  # a build may have been killed after its commit
    if _needs_training(dataset, names):
        _build_vector_index(open_table(storage))
    for name in sorted(names):
        # Without a number, Lance rewrites a full-text index, and splits large partitions of a vector index, which fails
        # for those without a new vector (pylance 13.0). 0 adds a part.
        dataset = open_table(storage)
        parts = int(dataset.stats.index_stats(name)["num_indices"]) if name in _PARTED else 0
        merged = (parts if parts > MAX_DELTAS else 0) if name in _PARTED else None
        dataset.optimize.optimize_indices(index_names=[name], num_indices_to_merge=merged)


def remove_old_versions(storage: Storage, keep_hours: float) -> int:
    """Remove versions that no reader uses any more; return the freed bytes."""
    dataset = open_table(storage)
    stats = dataset.cleanup_old_versions(older_than=timedelta(hours=keep_hours), error_if_tagged_old_versions=False)
    return int(stats.bytes_removed)


def unindexed_rows(dataset: Any) -> dict[str, int]:
    """Return the number of rows that each index does not contain."""
    names = dict.fromkeys(index.name for index in dataset.describe_indices())
    return {name: int(dataset.stats.index_stats(name).get("num_unindexed_rows", 0)) for name in names}


def partitions(chunks: int) -> int:
    """Return the number of partitions of the vector index for a number of chunks."""
    return max(1, min(round(chunks / ROWS_PER_PARTITION), 4 * math.isqrt(chunks)))


def _build_other_indices(storage: Storage, existing: set[str]) -> None:
    """Build the full-text index and the indices for filters that do not exist yet."""
    if "terms" not in existing:
        open_table(storage).create_scalar_index("terms", "INVERTED", name="terms", **_TERMS_INDEX)
    for column, kind in _SCALAR_INDICES:
        if column not in existing:
            open_table(storage).create_scalar_index(column, kind, name=column)


def _needs_training(dataset: Any, names: set[str]) -> bool:
    chunks = dataset.count_rows(f"row = '{CHUNK}'")
    if chunks < MIN_INDEXED_VECTORS or "vector" not in names:
        return bool(chunks >= MIN_INDEXED_VECTORS)
    part = dataset.stats.index_stats("vector")["indices"][0]
    return partitions(chunks) > MAX_GROWTH * int(part["num_partitions"])


def _build_vector_index(dataset: Any) -> None:
    """Build an IVF_RQ index with one bit per dimension; searches rescore with the stored vectors."""
    chunks = dataset.count_rows(f"row = '{CHUNK}'")
    if chunks >= MIN_INDEXED_VECTORS:
        dataset.create_index(
            "vector",
            "IVF_RQ",
            name="vector",
            metric="dot",
            num_partitions=partitions(chunks),
            num_bits=1,  # the default of pylance is 5
            replace=True,
        )
