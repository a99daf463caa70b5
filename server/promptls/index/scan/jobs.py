"""The steps of a scan: walk, compare with what is known, batch, outline and embed by a worker.

Functions without state of their own; the indexer calls them and keeps the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import files
from promptls.index.prescan.lexer import Skims
from promptls.index.search.row_batch import Rows
from promptls.index.snapshot import Snapshot
from promptls.index.store.row_store import Store
from promptls.index.workers.messages import (
    Done,
    Embed,
    FileScan,
    FindTerms,
    Forget,
    ScanFiles,
    Scanned,
    ScanText,
    SkimFiles,
    Skimmed,
    Terms,
    Vectors,
)
from promptls.index.workers.pool import Channel, WorkerFailed
from promptls.model import CancelToken, FileEntry, Root, keys_in

BATCH_FILES = 256
BATCH_BYTES = 300_000
"""About 50 ms of parsing, or 200 of small files: small enough that results flow, large enough that messages and
publishing do not count.  150,000 small files take a quarter less time by 256 than by 32."""
SKIM_FILES, SKIM_BYTES = 1_024, 4_000_000
"""The same for a first look, which takes a tenth of the time."""
SKIM_LEAST = 64
"""Files that are read so soon that nobody need have a look at them before."""
LOOKED_AT = 10_000
"""Files up to which a prompt waits for a look at each, some 25 ms; of more only the folders are looked at, and what was
written in them shows in what the prompt reads and in the next walk."""
FILE_TIMEOUT_S, SLOW_FILES = 3.0, 32
"""What a file may take in a worker before the worker is given up, and how many of a batch may; a parse is cut off far
earlier."""
EMBED_TIMEOUT_S = 1.0
"""Per chunk; transformers manage 5 to 25 a second on a laptop."""


class Outlined(Struct, frozen=True):
    """A worker has outlined these files, and found the terms of the texts that nobody has seen."""

    scans: tuple[FileScan, ...]
    rows: Rows = Rows(())
    channel: Channel | None = None  # who holds the texts until they have vectors
    problem: str = ""  # why workers have failed on them: known by name only, or without a grammar, until the next try


class Embedded(Struct, frozen=True):
    """A worker has made vectors for rows; for the texts in `without` there is no model."""

    rows: Rows
    without: tuple[bytes, ...] = ()


Report = Callable[[Outlined | Embedded], None]


def walk(root: Root, limits: files.Limits, token: CancelToken) -> list[files.Found]:
    """The files of a root that may be indexed."""
    return list(files.walk(root.path, limits, token))


def nothing_found(root: Root) -> str:
    """Why a root has no files, as a sentence; "" where it may be empty."""
    reason = files.unlisted(root.path)
    return (
        f"Nothing of the folder {root.path} is known: {reason}; it is tried again from time to time." if reason else ""
    )


def cut_short(root: Root, found: int, limits: files.Limits) -> str:
    """That a root has at least as many files as a walk lists, as a sentence; "" where it has not."""
    if found < limits.max_files:
        return ""
    return (
        f"{root.path} has {limits.max_files:,} files or more, and no more than that are known; leave out what nobody asks"
        " about (.promptlsignore, index.exclude), or open a folder inside of it."
    )


def look(root: Root, seen: files.Seen | None, snapshot: Snapshot) -> list[str] | None:
    """Files that were written since; None if the root has to be walked to know."""
    if seen is None or files.moved(seen):
        return None
    if len(snapshot.files) > LOOKED_AT:
        return []
    mine = (e for e in snapshot.files.values() if e.root == root.path and e.path not in snapshot.documents)
    return files.written((e.path, e.size, e.mtime_ns) for e in mine)


def compare(
    found: Mapping[str, files.Found],
    recalled: Mapping[str, FileEntry],
    snapshot: Snapshot,
    root: Root,
    live: bool = False,
    full: bool = False,
) -> tuple[dict[str, FileEntry | None], list[str]]:
    """(entries to publish, paths to outline) after a walk; entries of open buffers stay as they are.

    `live`: what is recalled is what the snapshot showed when the walk began; what has changed since is newer than
    what the walk has seen.  `full`: everything is to be outlined.
    """
    changes: dict[str, FileEntry | None] = {}
    stale: list[str] = []
    for path, file in found.items():
        if path in snapshot.documents:
            continue
        known, current = recalled.get(path), snapshot.files.get(path)
        if live and known is not None and current is not known:
            if current is not None and (current.size, current.mtime_ns) != (file.size, file.mtime_ns):
                stale.append(path)
            continue
        if known is not None and not full and (known.size, known.mtime_ns) == (file.size, file.mtime_ns):
            if current is not known:
                changes[path] = known
            again = known.skipped == files.HELD or (known.skipped == files.DENIED and files.readable(path))
            if not known.read or again:
                stale.append(path)
            continue
        if current is None:
            changes[path] = known or FileEntry(path, root.path, file.name, file.size, file.mtime_ns)
        stale.append(path)
    for path, entry in snapshot.files.items():
        mine = entry.root == root.path and path not in snapshot.documents
        if mine and path not in found and (not live or _unwritten(recalled.get(path), entry)):
            changes[path] = None
    return changes, stale


def _unwritten(before: FileEntry | None, now: FileEntry) -> bool:
    """Whether a file has not been written since; it may have been outlined."""
    return before is not None and (before.size, before.mtime_ns) == (now.size, now.mtime_ns)


def batches(
    paths: Sequence[str], snapshot: Snapshot, most: int = BATCH_FILES, most_bytes: int = BATCH_BYTES
) -> Iterator[tuple[str, ...]]:
    """Paths in groups that one worker handles at a time."""
    batch: list[str] = []
    size = 0
    for path in paths:
        entry = snapshot.files.get(path)
        batch.append(path)
        size += entry.size if entry else 0
        if len(batch) >= most or size >= most_bytes:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


class Known(NamedTuple):
    """What jobs ask to see what is left to do."""

    made: Callable[[bytes], bool]  # whether a text has its row already
    store: Future[Store | None] | None = None  # until it is open, nobody can tell for sure


def job(paths: tuple[str, ...], known: Known, report: Report, later: bool) -> Callable[[Channel], None]:
    """A job that outlines a batch and finds the terms of what nobody has seen; reports as it goes.

    Vectors follow at once, or (`later`) by `embedding_job`, so that names and words come first.  After a failure of
    the worker it goes on in halves; the one file to blame is tried once more, then outlined without a grammar, then
    known by name only.
    """

    def run(channel: Channel) -> None:
        left: list[tuple[tuple[str, ...], int]] = [(paths, 0)]
        died: dict[str, str] = {}  # what is known of workers that died of a file, which need not be its fault
        while left:
            part, failures = left.pop()
            try:
                scans = _scanned(channel, ScanFiles(part, plain=failures > 1))
                rows = find_terms(channel, scans, known.made)
                problem = died.get(part[0], "") if failures > 1 else ""
                report(Outlined(scans, rows, channel if later else None, problem))
                if not later:
                    report(embed(channel, rows, known))
            except WorkerFailed as error:
                if len(part) > 1:
                    middle = len(part) // 2
                    left += [(part[middle:], 0), (part[:middle], 0)]
                elif failures < 2:
                    left.append((part, failures + 1))
                    if error.died:
                        died[part[0]] = str(error)
                else:
                    size, mtime_ns = files.stat(part[0]) or (0, 0)
                    scan = FileScan(part[0], size, mtime_ns, skipped=f"it cannot be read: {error}")
                    report(Outlined((scan,), problem=str(error)))

    return run


def skimming_job(paths: tuple[str, ...]) -> Callable[[Channel], Skims]:
    """A job that has a first look at a batch."""

    def run(channel: Channel) -> Skims:
        answer = channel.call(SkimFiles(paths), 5.0 + FILE_TIMEOUT_S * SLOW_FILES)
        if not isinstance(answer, Skimmed):
            raise WorkerFailed("the worker gave no first look")
        return answer.skims

    return run


def embedding_job(rows: Rows, known: Known, report: Report) -> Callable[[Channel], None]:
    """A job that makes the vectors of rows whose texts the worker holds."""
    return lambda channel: report(embed(channel, rows, known))


def _scanned(channel: Channel, request: ScanFiles) -> tuple[FileScan, ...]:
    answer = channel.call(request, 5.0 + FILE_TIMEOUT_S * min(len(request.paths), SLOW_FILES))
    if not isinstance(answer, Scanned):
        raise WorkerFailed("the worker gave no outlines")
    return answer.files


def scan_buffer(channel: Channel, request: ScanText, timeout_s: float) -> FileScan:
    """Outline of an open buffer; without a grammar if the grammar fails on it."""
    try:
        answer = channel.call(request, timeout_s)
    except WorkerFailed:
        answer = channel.call(ScanText(request.path, request.text, plain=True), timeout_s)
    if not isinstance(answer, Scanned):
        raise WorkerFailed("the worker gave no outline")
    return answer.files[0]


def find_terms(channel: Channel, scans: Iterable[FileScan], known: Callable[[bytes], bool]) -> Rows:
    """Rows without vectors for the chunks that nobody has seen."""
    keys = dict.fromkeys(key for scan in scans for key in keys_in(scan.outlined))
    wanted = tuple(key for key in keys if not known(key))
    if not wanted:
        return Rows(())
    answer = channel.call(FindTerms(wanted), 30.0)
    return answer.rows if isinstance(answer, Terms) else Rows(())


def embed(channel: Channel, rows: Rows, known: Known) -> Embedded:
    """The rows with their vectors, as far as nobody has made them meanwhile and the worker still holds their texts."""
    if not rows.keys:
        return Embedded(rows)
    if known.store is not None:
        known.store.result()
    wanted = tuple(key for key in rows.keys if not known.made(key))
    answer = channel.call(Embed(wanted, rows.keys), 30.0 + EMBED_TIMEOUT_S * len(wanted))
    if not isinstance(answer, Vectors):
        return Embedded(Rows(()))
    if not answer.vectors:
        return Embedded(rows.only(set(answer.keys)), answer.keys)
    return Embedded(replace(rows.only(set(answer.keys)), vectors=answer.vectors))


def dimension(channel: Channel) -> int:
    """The embedding model's dimension, 0 when it cannot be used."""
    answer = channel.call(Forget(""), 60.0)
    return channel.dimension if isinstance(answer, Done) else 0


def changes_rules(path: str) -> bool:
    """Whether a change of this file can change what is ignored."""
    return path.rsplit("/", 1)[-1] in {".gitignore", ".promptlsignore", "CACHEDIR.TAG"} or path.endswith(
        "/.git/info/exclude"
    )


def sort_out(root: Root, paths: Sequence[str], snapshot: Snapshot, limits: files.Limits) -> tuple[list[str], list[str]]:
    """(files to outline, files to drop) of paths that may have changed; a folder that is gone stands for its files."""
    present = [path for path in paths if files.stat(path) is not None]
    gone: list[str] = []
    for path in paths:
        if files.stat(path) is None and not files.is_folder(path):
            inside = path.rstrip("/") + "/"
            known = [p for p in snapshot.files if p == path or p.startswith(inside)]
            gone += [p for p in known if p not in snapshot.documents]
    ignored = files.ignored(root.path, present, limits) if present else set()
    gone += [p for p in present if p in ignored and p in snapshot.files]
    return [p for p in present if p not in ignored], gone


def entry_of(scan: FileScan, root: Root, name: str) -> FileEntry:
    """The entry of a file as a worker found it on disk."""
    return FileEntry(
        scan.path, root.path, name, scan.size, scan.mtime_ns, scan.digest, None, scan.outlined, scan.skipped
    )
