"""Steps of a scan: walk, compare with known files, split into batches, outline and embed in a worker.

Stateless functions.  The indexer calls them and keeps the results.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.configuration import IndexConfig
from promptls.index.files.git_ignore import recently_committed
from promptls.index.files.ignore import is_ignore_file
from promptls.index.files.read import (
    LEASED,
    PERMISSION_DENIED,
    FileLimits,
    file_stat,
    folder_exists,
    is_readable,
    listing_problem,
)
from promptls.index.files.walk import (
    FileInfo,
    FolderStats,
    WalkNotes,
    ignored_paths,
    is_stale,
    modified_files,
    other_ignore_files,
    walk_files,
)
from promptls.index.prescan import PrescanBatch
from promptls.index.search.row_batch import RowBatch
from promptls.index.snapshot import Snapshot
from promptls.index.store.file_manifest import KnownOutlines
from promptls.index.store.row_store import RowStore
from promptls.index.workers.pool import WorkerChannel, WorkerError, worker_configuration
from promptls.index.workers.worker_messages import (
    Acknowledged,
    ChunkVectors,
    EmbedChunks,
    ExtractTerms,
    FileScan,
    ForgetDocument,
    PrescanFiles,
    PrescanResult,
    ScanFiles,
    ScanResult,
    ScanText,
    TermsResult,
)
from promptls.model import CancelToken, FileEntry, Root, decode_chunk_keys, decode_outline

BATCH_FILES = 256
BATCH_BYTES = 300_000
"""Files and bytes of an outline batch: 50 to 200 ms of parsing.  Results flow, and messages and publishing cost little.
150,000 small files take a quarter less time in batches of 256 than of 32."""
PRESCAN_FILES, PRESCAN_BYTES = 1_024, 4_000_000
"""Files and bytes of a prescan batch; prescanning takes a tenth of the time of parsing."""
PRESCAN_MIN_FILES = 64
"""Minimum number of waiting files for a prescan; fewer files are outlined soon anyway."""
MAX_STAT_FILES = 10_000
"""Maximum number of files that are checked by `stat` before a prompt, about 25 ms.  In larger workspaces only the
folders are checked; modified files are noticed when the prompt reads them, or in the next walk."""
FILE_TIMEOUT_S, MAX_SLOW_FILES = 3.0, 32
"""Seconds that one file may take before the worker is killed, and number of such files allowed for in the timeout of a
batch.  Parsing has its own, much shorter limit."""
EMBED_TIMEOUT_S = 1.0
"""Seconds per chunk; transformer models embed 5 to 25 chunks a second on a laptop."""


FolderIdentity = tuple[int, int]
"""Device and inode of a folder."""


class OutlineResult(Struct, frozen=True):
    """Outlines of a batch of files, and rows with the terms of their new chunks."""

    scans: tuple[FileScan, ...]
    rows: RowBatch = RowBatch(())
    channel: WorkerChannel | None = None  # the worker that keeps the texts until they are embedded
    problem: str = ""  # why workers failed on the files: listed only, or outlined as plain text, until a retry


class EmbeddingResult(Struct, frozen=True):
    """Rows with their vectors; chunks in `unembeddable` have none because there is no model."""

    rows: RowBatch
    unembeddable: tuple[bytes, ...] = ()


class WalkChanges(NamedTuple):
    """Difference between a walk and the known files."""

    entries: dict[str, FileEntry | None]  # to publish
    stale: list[str]  # files to outline
    unconfirmed: list[str]  # files of which walk and snapshot disagree, and either may be newer: to check again


ReportResult = Callable[[OutlineResult | EmbeddingResult], None]


class RootWalk(NamedTuple):
    """Result of a walk of a root."""

    files: list[FileInfo]  # that are not ignored
    linked_folders: tuple[str, ...]  # names of links to folders outside of the root
    undecodable_names: int  # number of files and folders left out because their name is not valid UTF-8
    ignore_files: tuple[str, ...]  # names of the ignore files besides git's
    identity: FolderIdentity | None  # of the folder, None if it has no files
    folder_problem: str  # missing, unreadable or replaced folder, as a sentence; "" without a problem
    limit_problem: str  # "" unless the root has too many files
    recent: frozenset[str]  # of a new root: paths of the files that git has changed last
    seconds: float  # duration


def walk_root(
    root: Root, limits: FileLimits, token: CancelToken, identity: FolderIdentity | None, is_new: bool = False
) -> RootWalk:
    """List the files of a root.

    Args:
        root: The root.
        limits: Limits of files and of their number.
        token: Cancels the walk.
        identity: Identity of the folder when it had files, None if it never had any.
        is_new: Whether no file of the root is known yet.

    Raises:
        Cancelled: The token was cancelled.
        OSError: The system is out of file descriptors or memory.
    """
    began = time.monotonic()
    notes = WalkNotes()
    files = list(walk_files(root.path, limits, token, notes=notes))
    limit_problem = (
        f"{root.path} has {limits.max_files:,} files or more, and no more are indexed. Exclude files (.promptlsignore,"
        " index.exclude), or open a subfolder."
    )
    return RootWalk(
        files,
        tuple(notes.linked_folders),
        len(notes.undecodable_names),
        other_ignore_files(files, limits),
        folder_identity(root.path) if files else None,
        "" if files else empty_root_problem(root, identity),
        limit_problem if len(files) >= limits.max_files else "",
        frozenset(f"{root.path}/{name}" for name in (recently_committed(root.path, token) if is_new else ())),
        time.monotonic() - began,
    )


def missing_root_problem(root: Root) -> str:
    """Return why a root cannot be read, as a sentence; "" if it can."""
    reason = listing_problem(root.path)
    return f"Cannot read the folder {root.path}: {reason}. Will retry." if reason else ""


def empty_root_problem(root: Root, identity: FolderIdentity | None) -> str:
    """Return the problem of a root without files, as a sentence; "" if its folder is empty.

    Args:
        root: The root.
        identity: Identity of the folder when it had files, None if it never had any.
    """
    problem = missing_root_problem(root)
    if not problem and identity is not None and folder_identity(root.path) != identity:
        problem = f"The folder {root.path} was replaced by an empty one; check whether it is mounted. Will retry."
    return problem


def folder_identity(path: str) -> FolderIdentity | None:
    """Return (device, inode) of a folder, None if it does not exist."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def check_staleness(
    root: Root, folder_stats: FolderStats | None, snapshot: Snapshot, all_files: bool = False
) -> list[str] | None:
    """Return the files modified since the last walk; None if the root must be walked to find out.

    Unless `all_files` is set, only folders are checked in workspaces of more than `MAX_STAT_FILES` files.
    """
    if folder_stats is None or is_stale(folder_stats):
        return None
    if not all_files and len(snapshot.files) > MAX_STAT_FILES:
        return []
    entries = (e for e in snapshot.files.values() if e.root == root.path and e.path not in snapshot.documents)
    return modified_files((e.path, e.size, e.mtime_ns) for e in entries)


def compare_walk(
    listed: Mapping[str, FileInfo],
    recalled: Mapping[str, FileEntry],
    snapshot: Snapshot,
    root: Root,
    pending: Collection[str] = (),
    live: bool = False,
    reindex: bool = False,
    touched: Collection[str] = (),
) -> WalkChanges:
    """Return what a walk changes; entries of open documents are left unchanged.

    A file that is not listed may have been created after the walk, or may be ignored by rules that are newer than its
    entry or its job.  If the entry is newer than the walk, its job is unfinished or the file was reported as changed
    since, the caller checks it again; also a listed file that was removed since.

    Args:
        listed: Result of the walk, by path.
        recalled: Entries before the walk.
        snapshot: The index when the walk has ended.
        root: The root that was walked.
        pending: Paths of files with unfinished jobs.
        live: Whether the recalled entries are those of the snapshot when the walk began.  Entries that have changed
            since are newer than the walk.
        reindex: Whether every file is outlined.
        touched: Paths of files and folders that were reported as changed since the walk was requested.
    """
    changes: dict[str, FileEntry | None] = {}
    stale: list[str] = []
    unconfirmed = [path for path in pending if path not in listed and path not in snapshot.files]
    for path, file in listed.items():
        if path in snapshot.documents:
            continue
        before, current = recalled.get(path), snapshot.files.get(path)
        if live and before is not None and current is not before:
            if current is None:  # removed by an earlier walk, or since
                unconfirmed.append(path)
            elif (current.size, current.mtime_ns) != (file.size, file.mtime_ns):
                stale.append(path)
            continue
        if before is not None and not reindex and (before.size, before.mtime_ns) == (file.size, file.mtime_ns):
            if current is not before:
                changes[before.path] = before  # the string that the entry has: one for each file
            is_retry = before.skip_reason == LEASED or (before.skip_reason == PERMISSION_DENIED and is_readable(path))
            if not before.scanned or is_retry:
                stale.append(path)
            continue
        if current is None:
            changes[path] = before or FileEntry(path, root.path, file.name, file.size, file.mtime_ns)
        stale.append(path)
    for path, entry in snapshot.files.items():
        if entry.root != root.path or path in snapshot.documents or path in listed:
            continue
        if _is_unmodified(recalled.get(path), entry) and not _is_touched(path, touched):
            changes[path] = None
        else:
            unconfirmed.append(path)
    return WalkChanges(changes, stale, unconfirmed)


def _is_touched(path: str, touched: Collection[str]) -> bool:
    """Return whether a file or a folder above it was reported as changed."""
    return bool(touched) and (path in touched or any(str(folder) in touched for folder in PurePosixPath(path).parents))


def _is_unmodified(old: FileEntry | None, new: FileEntry) -> bool:
    """Return whether a file is unmodified between two entries; it may have been outlined."""
    return old is not None and (old.size, old.mtime_ns) == (new.size, new.mtime_ns)


def split_batches(
    paths: Sequence[str], snapshot: Snapshot, max_files: int = BATCH_FILES, max_bytes: int = BATCH_BYTES
) -> Iterator[tuple[str, ...]]:
    """Yield the paths in batches for one worker each."""
    batch: list[str] = []
    size = 0
    for path in paths:
        entry = snapshot.files.get(path)
        batch.append(path)
        size += entry.size if entry else 0
        if len(batch) >= max_files or size >= max_bytes:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


class RowLookup(NamedTuple):
    """Lookup of existing rows, used by jobs to skip finished chunks."""

    is_finished: Callable[[bytes], bool]  # whether a chunk needs no further work
    store: Future[RowStore | None] | None = None  # its rows are unknown until it is open


def outline_job(
    root: Root,
    paths: tuple[str, ...],
    lookup: RowLookup,
    report: ReportResult,
    defer_embedding: bool,
    known: KnownOutlines,
) -> Callable[[WorkerChannel], None]:
    """Return a job that outlines a batch, extracts the terms of new chunks, and reports results as they come.

    Vectors are created at once, or with `defer_embedding` by a later job, so that symbols and terms come
    first.  If the worker fails, the batch is split in halves.  A single failing file is tried once more, then
    outlined as plain text, then listed without content.

    A text with a `known` outline is not parsed, if all its chunks have rows.
    """

    def run(channel: WorkerChannel) -> None:
        remaining: list[tuple[tuple[str, ...], int]] = [(paths, 0)]
        incomplete: set[str] = set()  # files with a known outline whose chunks do not all have rows
        died: dict[str, str] = {}  # errors of workers that died on a file, not necessarily because of it
        while remaining:
            files, failures = remaining.pop()
            try:
                hashes = {path: tuple(known[path]) for path in files if path in known and path not in incomplete}
                request = ScanFiles(files, failures > 1, (root.path,), hashes)
                response = channel.call(request, 5.0 + FILE_TIMEOUT_S * min(len(files), MAX_SLOW_FILES))
                if not isinstance(response, ScanResult):
                    raise WorkerError("the worker returned no outlines")
                scans = tuple(_with_known_outline(scan, known) for scan in response.files)
                if hashes and (lost := _without_rows(response.files, scans, lookup)):
                    incomplete |= lost
                    remaining.append((tuple(lost), 0))
                    scans = tuple(scan for scan in scans if scan.path not in lost)
                rows = extract_terms(channel, scans, lookup.is_finished)
                problem = died.get(files[0], "") if failures > 1 else ""
                report(OutlineResult(scans, rows, channel if defer_embedding else None, problem))
                if not defer_embedding:
                    report(embed_rows(channel, rows, lookup))
            except WorkerError as error:
                if len(files) > 1:
                    middle = len(files) // 2
                    remaining += [(files[middle:], 0), (files[:middle], 0)]
                elif failures < 2:
                    remaining.append((files, failures + 1))
                    if error.died:
                        died[files[0]] = str(error)
                else:
                    size, mtime_ns = file_stat(files[0]) or (0, 0)
                    scan = FileScan(files[0], size, mtime_ns, skip_reason=f"it cannot be read: {error}")
                    report(OutlineResult((scan,), problem=str(error)))

    return run


def _with_known_outline(scan: FileScan, known: KnownOutlines) -> FileScan:
    return replace(scan, encoded_outline=known[scan.path][scan.content_hash], known=False) if scan.known else scan


def _without_rows(answers: Iterable[FileScan], scans: Iterable[FileScan], lookup: RowLookup) -> set[str]:
    """Return the files whose outline was known, but not the rows of all their chunks."""
    reused = [scan for answer, scan in zip(answers, scans, strict=True) if answer.known]
    if reused and lookup.store is not None:
        lookup.store.result()
    is_finished = lookup.is_finished
    return {scan.path for scan in reused if not all(map(is_finished, decode_chunk_keys(scan.encoded_outline)))}


def prescan_job(root: Root, paths: tuple[str, ...]) -> Callable[[WorkerChannel], PrescanBatch]:
    """Return a job that prescans a batch."""

    def run(channel: WorkerChannel) -> PrescanBatch:
        response = channel.call(PrescanFiles(paths, (root.path,)), 5.0 + FILE_TIMEOUT_S * MAX_SLOW_FILES)
        if not isinstance(response, PrescanResult):
            raise WorkerError("the worker returned no prescan")
        return response.batch

    return run


def scan_document(channel: WorkerChannel, request: ScanText, timeout_s: float) -> FileScan:
    """Outline an open document, as plain text if its grammar fails."""
    try:
        response = channel.call(request, timeout_s)
    except WorkerError:
        response = channel.call(replace(request, plain=True), timeout_s)
    if not isinstance(response, ScanResult):
        raise WorkerError("the worker returned no outline")
    return response.files[0]


def extract_terms(channel: WorkerChannel, scans: Iterable[FileScan], is_finished: Callable[[bytes], bool]) -> RowBatch:
    """Return rows without vectors for the chunks that have no row yet."""
    keys = dict.fromkeys(key for scan in scans for key in decode_chunk_keys(scan.encoded_outline))
    missing = tuple(key for key in keys if not is_finished(key))
    if not missing:
        return RowBatch(())
    response = channel.call(ExtractTerms(missing), 30.0)
    return response.rows if isinstance(response, TermsResult) else RowBatch(())


def embed_rows(channel: WorkerChannel, rows: RowBatch, lookup: RowLookup) -> EmbeddingResult:
    """Return the rows with vectors, except finished rows and rows whose text the worker no longer has."""
    if not rows.keys:
        return EmbeddingResult(rows)
    if lookup.store is not None:
        lookup.store.result()
    missing = tuple(key for key in rows.keys if not lookup.is_finished(key))
    response = channel.call(EmbedChunks(missing, rows.keys), 30.0 + EMBED_TIMEOUT_S * len(missing))
    if not isinstance(response, ChunkVectors):
        return EmbeddingResult(RowBatch(()))
    if not response.vectors:
        return EmbeddingResult(rows.select(set(response.keys)), response.keys)
    return EmbeddingResult(replace(rows.select(set(response.keys)), vectors=response.vectors))


def probe_dimension(channel: WorkerChannel) -> int:
    """Return the dimension of the embedding model, 0 if it cannot be used."""
    response = channel.call(ForgetDocument(""), 60.0)
    return channel.dimension if isinstance(response, Acknowledged) else 0


def affects_ignore_rules(path: str) -> bool:
    """Return whether a change of this file can change which files are ignored."""
    return is_ignore_file(path.rsplit("/", 1)[-1]) or path.endswith("/.git/info/exclude")


def may_change_rules(path: str, documents: Iterable[str]) -> bool:
    """Return whether a change of a file or folder can change which files or open documents are ignored."""
    if affects_ignore_rules(path) or folder_exists(path):
        return True
    below = path.rstrip("/") + "/"  # open documents outlive their folder and the rules in it
    return any(document.startswith(below) for document in documents)


def partition_changes(
    root: Root, paths: Sequence[str], snapshot: Snapshot, limits: FileLimits
) -> tuple[list[str], list[str]]:
    """Split changed paths into (files to outline, files to drop); a deleted folder means all its files.

    An ignored file is to be dropped even if it is not indexed, because a job may be about to index it.
    """
    present = [path for path in paths if file_stat(path) is not None]
    deleted: list[str] = []
    for path in paths:
        if file_stat(path) is None and not folder_exists(path):
            prefix = path.rstrip("/") + "/"
            indexed = [p for p in snapshot.files if p == path or p.startswith(prefix)]
            deleted += [p for p in indexed if p not in snapshot.documents]
    ignored = ignored_paths(root.path, present, limits) if present else set()
    return [p for p in present if p not in ignored], [*deleted, *ignored]


class WorkerCheck(Struct, frozen=True):
    """Result of outlining and embedding one file."""

    symbols: tuple[str, ...]  # names of the symbols found
    embedded: bool  # whether the chunks have vectors
    dimension: int  # of the embedding model, 0 without one
    problem: str  # why the embedding model cannot be used, "" otherwise


def check_worker(config: IndexConfig, path: str, timeout_s: float) -> WorkerCheck:
    """Outline and embed a file in a new worker process.

    Raises:
        WorkerError: The worker failed or did not respond in time.
    """
    channel = WorkerChannel(worker_configuration(config), background=False)
    try:
        response = channel.call(ScanFiles((path,), roots=(path.replace("\\", "/").rpartition("/")[0],)), timeout_s)
        scans = response.files if isinstance(response, ScanResult) else ()
        symbols = [
            s.name for scan in scans if scan.encoded_outline for s in decode_outline(scan.encoded_outline).symbols
        ]
        lookup = RowLookup(lambda _: False)
        rows = embed_rows(channel, extract_terms(channel, scans, lookup.is_finished), lookup).rows
        return WorkerCheck(tuple(symbols), bool(rows.vectors), channel.dimension, channel.problem)
    finally:
        channel.stop()
