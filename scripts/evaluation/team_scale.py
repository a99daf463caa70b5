"""Speed, size, memory and recall of the team index at a number of chunks.

`scripts/evaluate team_scale INDEX FOLDER --chunks N [--json FILE]` copies the rows of an index with disturbed vectors
until there are N chunks, builds the indices, and asks the development questions. The copies have texts and terms of
real code; their vectors are as far from the originals as chunks of one file are from each other. With `--latency-ms`,
the index is read from a local S3 server that delays each request.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from evaluation import _corpora as corpora
from evaluation._object_store import ObjectStore
from msgspec import structs

from promptls.extensions.team import indices
from promptls.extensions.team.client import MAX_HITS
from promptls.extensions.team.reader_messages import SearchIndex
from promptls.extensions.team.schema import CHUNK, REPO, RepositoryState
from promptls.extensions.team.storage import Storage
from promptls.extensions.team.table import commit_build, identity_of, open_table, publish, write_fragments
from promptls.extensions.team.table_search import TeamTable
from promptls.index import limit_memory, load_embedder, tokenize
from promptls.index.configuration import index_config
from promptls.index.workers.spawn import HELPER_VARIABLES
from promptls.settings import Settings
from promptls.util.decode import decode_json

BATCH_ROWS = 20_000
NOISE = 0.6
"""Length of the random vector that is added to a vector of length 1."""
RECALL_DEPTH = 100


def main(arguments: list[str]) -> int:
    """Print the measurements."""
    parser = argparse.ArgumentParser(prog="scripts/evaluate team_scale")
    parser.add_argument("index", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--latency-ms", type=float, help="read from object storage with this latency")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if not HELPER_VARIABLES.items() <= os.environ.items():  # memory is that of a helper process of the server
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **HELPER_VARIABLES})
    limit_memory()
    storage = Storage(str(options.folder.absolute()))
    measured: dict[str, Any] = {"chunks": options.chunks}
    if not (options.folder / "chunks.lance").exists():
        measured |= _build(Storage(str(options.index.absolute())), storage, options.chunks)
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    measured["bytes"], measured["bytes per chunk"] = size, round(size / options.chunks)
    if options.latency_ms is None:
        table, times = _ask(storage)
        measured |= times | {f"recall@{RECALL_DEPTH}": round(_recall(table), 3)}
    else:
        measured |= {"latency ms": options.latency_ms} | _ask_remote(options.folder, options.latency_ms)
    print(json.dumps(measured, indent=1))
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1))
    return 0


def _build(source: Storage, target: Storage, chunks: int) -> dict[str, Any]:
    """Write disturbed copies of all chunks, and the other rows once."""
    table = open_table(source)
    identity = identity_of(table)
    assert identity is not None
    others = _resized(table.to_table(filter=f"row != '{CHUNK}'"), chunks / table.count_rows(f"row = '{CHUNK}'"))
    shutil.rmtree(target.uri, ignore_errors=True)
    begin = time.perf_counter()
    fragments = write_fragments(target, identity, [others.select(table.schema.names)], is_new=True)
    fragments += write_fragments(target, identity, _copies(table, chunks), is_new=True)
    commit_build(target, identity, fragments)
    seconds = {"write": time.perf_counter() - begin}
    begin = time.perf_counter()
    indices.build_indices(target)
    seconds["indices"] = time.perf_counter() - begin
    publish(target)
    indices.remove_old_versions(target, 0)
    return {"seconds": {name: round(value, 1) for name, value in seconds.items()}}


def _resized(rows: Any, factor: float) -> Any:
    """Multiply the number of chunks in the "repo" rows, from which a reader derives limits."""
    import pyarrow as pa

    texts = [
        msgspec.json.encode(structs.replace(state, chunks=round(factor * state.chunks))).decode()
        if kind == REPO and (state := decode_json(text.encode(), RepositoryState))
        else text
        for kind, text in zip(rows["row"].to_pylist(), rows["text"].to_pylist(), strict=True)
    ]
    return rows.set_column(rows.schema.get_field_index("text"), rows.schema.field("text"), pa.array(texts))


def _copies(table: Any, chunks: int) -> Iterator[Any]:
    """Yield all chunks of a table and then disturbed copies of them, until there are `chunks`."""
    random = np.random.default_rng(1)
    for number in itertools.count():
        for batch in table.scanner(filter=f"row = '{CHUNK}'", batch_size=BATCH_ROWS).to_batches():
            if chunks <= 0:
                return
            rows = batch.slice(0, min(batch.num_rows, chunks))
            chunks -= rows.num_rows
            yield _disturbed(rows, random, is_copy=number > 0)


def _disturbed(batch: Any, random: np.random.Generator, is_copy: bool) -> Any:
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    if not is_copy or not len(table):
        return table
    column = table["vector"].combine_chunks()
    dimension = column.type.list_size
    vectors = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, dimension)
    vectors = vectors + random.standard_normal(vectors.shape, np.float32) * np.float32(NOISE / dimension**0.5)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    packed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float16).reshape(-1)), dimension)
    keys = pa.array([random.bytes(16).hex() for _ in range(len(table))])
    table = table.set_column(table.schema.get_field_index("vector"), table.schema.field("vector"), packed)
    return table.set_column(table.schema.get_field_index("key"), table.schema.field("key"), keys)


def _ask_remote(folder: Path, latency_ms: float) -> dict[str, Any]:
    """Ask the development questions through object storage; count the requests of a question, too."""
    store = ObjectStore(folder.absolute(), latency_ms)
    try:
        requests: list[tuple[int, int]] = []
        _, measured = _ask(store.storage, lambda: requests.append(store.counters()))
    finally:
        store.close()
    count, size = np.median(np.diff(requests[len(requests) // 2 :], axis=0), axis=0)
    return measured | {"requests": round(count), "MB": round(size / 1e6, 1)}


def _ask(storage: Storage, asked: Callable[[], None] = lambda: None) -> tuple[TeamTable, dict[str, Any]]:
    """Ask the development questions twice; return the time of the first one, percentiles and memory."""
    questions = _questions()
    before = _private_memory()
    begin = time.perf_counter()
    table = TeamTable(storage)
    opened = time.perf_counter() - begin
    times: list[list[float]] = []
    for _ in range(2):
        times.append([])
        for request in questions:
            begin = time.perf_counter()
            table.search(request)
            times[-1].append(1000 * (time.perf_counter() - begin))
            asked()
    first, p50, p95 = times[0][0], *np.percentile(times[1], (50, 95))
    return table, {
        "open ms": round(1000 * opened),
        "first query ms": round(first),
        "p50 ms": round(p50, 1),
        "p95 ms": round(p95, 1),
        "reader MB": round((_private_memory() - before) / 1e6),
    }


def _questions() -> list[SearchIndex]:
    embedder = load_embedder(index_config(Settings()).embedding)
    return [
        SearchIndex(
            embedder.embed_query(q.question).astype(np.float32).tobytes(),
            tuple(dict.fromkeys(tokenize(q.question))),
            MAX_HITS,
        )
        for q in corpora.questions()
    ]


def _recall(table: TeamTable) -> float:
    """Return the share of the nearest chunks of an exact search that a search with the index finds."""
    shares = []
    for request in _questions()[:60]:
        nearest = SearchIndex(request.vector, (), RECALL_DEPTH)
        found, exact = table.near(nearest), table.near(nearest, exact=True)
        shares.append(len(set(found) & set(exact)) / max(1, len(exact)))
    return float(np.mean(shares))


def _private_memory() -> int:
    """Return the memory of this process in bytes, without mapped files such as the 100 MB library of LanceDB."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.findall(r"RssAnon:\s+(\d+)", status)[0])
