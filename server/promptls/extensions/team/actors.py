"""Ray actors that index repositories: one per core, each with its own model.

An actor writes the rows of a repository as fragments of the table, and returns their metadata. No version contains them
before the driver commits, so an actor that is killed leaves at most unused files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from promptls.extensions.team.fetch import fetch
from promptls.extensions.team.scan import BATCH_CHUNKS, ScannedFile, Scanner, repository_limits, scan_folder
from promptls.extensions.team.schema import (
    CHUNK,
    FILE,
    ChunkRow,
    RepositoryState,
    any_of,
    chunk_table,
    file_table,
    quoted,
    repository_table,
    table_schema,
)
from promptls.extensions.team.storage import Storage, configure_libraries
from promptls.extensions.team.table import Change, open_table, write_fragments
from promptls.extensions.team.team_config import Repository
from promptls.index import IndexConfig, StoreIdentity

_PATHS_PER_FILTER = 5_000
_KEYS_PER_LOOKUP = 1_000


class Job(Struct, frozen=True):
    """A repository to index."""

    repository: Repository
    base_version: int = 0  # version of the table whose rows are reused; 0: the table is rebuilt
    base: RepositoryState | None = None  # of the repository in that version


class JobResult(Struct, frozen=True):
    """Result of an actor: the rows written for a repository."""

    change: Change
    state: RepositoryState
    changed_files: int
    embedded: int  # chunks that were embedded, not reused
    seconds: dict[str, float]  # by stage


class RepositoryIndexer:
    """Indexes one repository after another. Runs as a Ray actor."""

    def __init__(self, storage: Storage, config: IndexConfig, cache: str) -> None:
        configure_libraries()
        self._storage, self._config, self._cache = storage, config, Path(cache)
        self._scanner = Scanner(config)

    def identity(self) -> StoreIdentity:
        """Return the identity of the rows that this actor writes."""
        return self._scanner.identity

    def run(self, job: Job) -> JobResult:
        """Fetch, scan, embed and write a repository."""
        return _Run(job, self._storage, self._scanner, self._config, self._cache).result()


class _Run:
    """The state of indexing one repository."""

    def __init__(self, job: Job, storage: Storage, scanner: Scanner, config: IndexConfig, cache: Path) -> None:
        self.job, self.storage, self.scanner, self.config, self.cache = job, storage, scanner, config, cache
        self.schema = table_schema(scanner.identity)
        self.base = open_table(storage, job.base_version) if job.base_version else None
        self.seconds = dict.fromkeys(("fetch", "scan", "embed", "write"), 0.0)
        self.embedded = self.changed_files = 0
        self.counts = {"files": 0, "lines": 0, "chunks": 0}

    @property
    def name(self) -> str:
        return self.job.repository.name

    def result(self) -> JobResult:
        start = time.perf_counter()
        limits = repository_limits(self.config, self.job.repository)
        self.checkout = fetch(self.job.repository, self.cache, limits)
        self.seconds["fetch"] = time.perf_counter() - start
        self.before = self._indexed_files()
        self.seen: set[str] = set()
        self.replaced: set[str] = set()
        begin = time.perf_counter()
        fragments = write_fragments(self.storage, self.scanner.identity, self._tables(), is_new=self.base is None)
        self.seconds["write"] = time.perf_counter() - begin - self.seconds["scan"] - self.seconds["embed"]
        return JobResult(
            Change(self.name, fragments, self._deleted(), self.job.base),
            self.state,
            self.changed_files,
            self.embedded,
            self.seconds,
        )

    def _indexed_files(self) -> dict[str, str]:
        """Return the content hash of each indexed file by name."""
        if self.base is None:
            return {}
        condition = f"repo = {quoted(self.name)} AND row = '{FILE}'"
        table = self.base.to_table(columns=["path", "key"], filter=condition)
        return dict(zip(table["path"].to_pylist(), table["key"].to_pylist(), strict=True))

    def _tables(self) -> Iterator[Any]:
        """Yield the rows of changed files, and last the row of the repository."""
        batch: list[ScannedFile] = []
        pending = 0
        before = self.before
        files = scan_folder(
            self.scanner,
            self.checkout.folder,
            self.job.repository,
            lambda name, key: before.get(name) == key.hex(),
        )
        while (found := self._next(files)) is not None:
            self.counts["files"] += 1
            if isinstance(found, str):
                self.seen.add(found)
                continue
            self.seen.add(found.row.path)
            self.replaced.add(found.row.path)
            self.counts["lines"] += found.lines
            self.counts["chunks"] += len(found.chunks)
            batch.append(found)
            pending += len(found.chunks)
            if pending >= BATCH_CHUNKS:
                yield from self._rows(batch)
                batch, pending = [], 0
        yield from self._rows(batch)
        self.changed_files = len(self.replaced) + len(self.before.keys() - self.seen)
        self._count_unchanged()
        self.state = RepositoryState(
            self.name,
            self.job.repository.public_address,
            self.checkout.commit,
            self.checkout.committed_at,
            time.time(),
            **self.counts,
            settings=settings_hash(self.job.repository, self.config),
        )
        yield repository_table(self.schema, self.state)

    def _next(self, files: Iterator[ScannedFile | str]) -> ScannedFile | str | None:
        start = time.perf_counter()
        found = next(files, None)
        self.seconds["scan"] += time.perf_counter() - start
        return found

    def _rows(self, batch: list[ScannedFile]) -> Iterator[Any]:
        """Return the rows of files and of their chunks."""
        if not batch:
            return
        start = time.perf_counter()
        chunks = [chunk for file in batch for chunk in file.chunks]
        texts = {key: text for file in batch for key, text in file.texts.items()}
        rows, vectors, embedded = self.scanner.embed(chunks, texts, self._known_vectors(chunks))
        self.embedded += embedded
        self.seconds["embed"] += time.perf_counter() - start
        yield file_table(self.schema, self.name, [file.row for file in batch])
        if rows:
            yield chunk_table(self.schema, self.name, rows, vectors)

    def _known_vectors(self, chunks: list[ChunkRow]) -> dict[bytes, NDArray[np.float16]]:
        """Return the vectors of chunks that the table has already, in any repository."""
        if self.base is None:
            return {}
        known: dict[bytes, NDArray[np.float16]] = {}
        keys = list(dict.fromkeys(chunk.key.hex() for chunk in chunks))
        for start in range(0, len(keys), _KEYS_PER_LOOKUP):
            condition = any_of("key", keys[start : start + _KEYS_PER_LOOKUP])
            table = self.base.to_table(columns=["key", "vector"], filter=f"{condition} AND row = '{CHUNK}'")
            flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            vectors = np.asarray(flat, np.float16).reshape(len(table), -1) if len(table) else flat
            known |= {bytes.fromhex(key): vectors[i] for i, key in enumerate(table["key"].to_pylist())}
        return known

    def _count_unchanged(self) -> None:
        """Add the lines and chunks of unchanged files, which are not scanned."""
        unchanged = self.seen - self.replaced
        if self.base is None or not unchanged:
            return
        condition = f"repo = {quoted(self.name)} AND row = '{CHUNK}'"
        table = self.base.to_table(columns=["path", "end"], filter=condition)
        last_line: dict[str, int] = {}
        for path, end in zip(table["path"].to_pylist(), table["end"].to_pylist(), strict=True):
            if path in unchanged:
                last_line[path] = max(end, last_line.get(path, 0))
                self.counts["chunks"] += 1
        self.counts["lines"] += sum(last_line.values())

    def _deleted(self) -> tuple[str, ...]:
        """Return the filters of the rows that the new ones replace."""
        if self.base is None:
            return ()
        paths = sorted((self.replaced & self.before.keys()) | (self.before.keys() - self.seen))
        repo = f"repo = {quoted(self.name)}"
        if self.replaced >= self.before.keys() & self.seen and self.replaced:
            return (repo,)  # no row of it is kept
        step = _PATHS_PER_FILTER
        parts = (any_of("path", ["", *paths[i : i + step]]) for i in range(0, max(1, len(paths)), step))
        return tuple(f"{repo} AND {part}" for part in parts)


def settings_hash(repository: Repository, config: IndexConfig) -> str:
    """Return a hash of the settings that the rows of a repository depend on besides its commit."""
    limits = repository_limits(config, repository)
    key = repr((repository.public_address, repository.branch, limits, config.grammar_order))
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
