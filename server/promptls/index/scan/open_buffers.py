"""Open buffers: outlined and embedded at once, by the interactive worker, ahead of everything else.

Runs on the indexer's thread, except `outline_now`, which requests call.  A file that is ignored or
usually holds secrets stays out of the index even while it is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from promptls.index import files
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.jobs import Embedded
from promptls.index.scan.root_state import RootState
from promptls.index.search.row_batch import Rows
from promptls.index.snapshot import OpenDocument
from promptls.index.syntax.parse import plain
from promptls.index.workers.messages import FileScan, Forget, ScanText
from promptls.index.workers.pool import Channel, Pool
from promptls.index.workspace import Dirty, Workspace
from promptls.model import FileEntry, pack
from promptls.util.hashing import digest_of

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
"""How long a buffer's outline may take before it is outlined without a grammar."""
TRIES = 5
"""How often a text that workers fail on is tried again; each try may block the loop for a while."""


class Buffers:
    """What the indexer does for open documents."""

    def __init__(
        self,
        publisher: Publisher,
        pool: Pool,
        workspace: Workspace,
        limits: files.Limits,
        state_of: Callable[[str], RootState | None],
    ) -> None:
        self._publisher = publisher
        self._pool = pool
        self._workspace = workspace
        self._limits = limits
        self._state_of = state_of
        self._hidden: set[str] = set()  # open buffers that are ignored or hold secrets
        self._poor: dict[str, int] = {}  # open buffers that no worker has outlined → how often it was tried

    def follow(self, dirty: Dirty) -> None:
        """Outline what was opened, edited or saved, and take closed buffers back from the disk."""
        for path, document in dirty.documents.items():
            entry, state = self._publisher.snapshot.files.get(path), self._state_of(path)
            moved = entry is not None and state is not None and entry.root != state.root.path
            if entry is None or entry.version != document.version or path in dirty.changed or moved:
                self._take_in(path, document)
        for path in [p for p in self._publisher.snapshot.documents if p not in dirty.documents]:
            snapshot = self._publisher.snapshot
            self._publisher.snapshot = replace(snapshot, documents=snapshot.documents.delete(path))
            if path in self._hidden:
                self._hidden.discard(path)
                self._workspace.touch([path])  # it may be shown by now
            else:
                self._take_back(path)

    def _take_in(self, path: str, document: OpenDocument) -> None:
        snapshot = self._publisher.snapshot
        state, known = self._state_of(path), snapshot.documents.get(path)
        self._publisher.snapshot = replace(snapshot, documents=snapshot.documents.set(path, document))
        if state is None or path in self._hidden:
            return
        entry = snapshot.files.get(path)
        if files.secret(path) or (entry is None and files.ignored(state.root.path, [path], self._limits)):
            self._hidden.add(path)
            return
        lacking = path in self._poor or self._bare(entry) or (entry is not None and entry.root != state.root.path)
        if lacking or entry is None or entry.outline is None or known is None or known.text != document.text:
            scan, made, problem = self._outline(path, document.text)
            self._note(state, path, problem, same=known is not None and known.text == document.text)
            entry = self._entry(path, scan, document.version)
            self._publisher.publish({path: entry}, made.rows, made.without)
        elif entry.version != document.version:
            entry = replace(entry, version=document.version)
            self._publisher.publish({path: entry})
        if path not in self._workspace.unsaved:
            self._record_saved(state, entry)

    def judge_again(self, state: RootState) -> None:
        """Rules may have changed: open buffers of a root that are ignored by now are hidden, others no longer."""
        mine = [path for path in self._publisher.snapshot.documents if self._state_of(path) is state]
        try:
            ignored = files.ignored(state.root.path, mine, self._limits) if mine else set()
        except OSError as error:
            log.info("open documents are not judged again: %s", error)
            return
        for path in mine:
            if path in ignored and path not in self._hidden:
                self._hidden.add(path)
                self._publisher.publish({path: None})
                state.records[state.name_of(path)] = None
            elif path in self._hidden and path not in ignored and not files.secret(path):
                self._hidden.discard(path)
                self._workspace.again([path])

    def again(self) -> list[str]:
        """Open buffers that may have better luck with a worker now; any thread."""
        poor = [path for path, tries in list(self._poor.items()) if tries < TRIES]
        _, bare = self._publisher.columns.bare()
        return [*poor, *(path for path in self._publisher.snapshot.documents if path in bare)]

    def _bare(self, entry: FileEntry | None) -> bool:
        """Whether texts of a file lack a vector that a model could make."""
        outline = entry.outline if self._publisher.columns.settled and entry is not None else None
        known, seen = self._publisher.known, self._publisher.seen
        return outline is not None and any(known(chunk.key) and not seen(chunk.key) for chunk in outline.chunks)

    def _note(self, state: RootState, path: str, problem: str, same: bool = False) -> None:
        """Note how a buffer was outlined; say so if no worker could be had for some."""
        if problem:
            self._poor[path] = self._poor.get(path, 0) + 1 if same else 1
        else:
            self._poor.pop(path, None)
        names = [state.name_of(p) for p in self._poor if self._state_of(p) is state]
        said = f"{names[0]} could not be parsed ({problem}); it is tried again from time to time." if names else ""
        state.trouble("buffers", said)

    def _record_saved(self, state: RootState, entry: FileEntry) -> None:
        """Have the manifest know a buffer that is the same as its file."""
        got = files.read_text(entry.path, self._limits)
        if isinstance(got, files.ReadText) and digest_of(got.text) == entry.digest:
            state.records[entry.name] = replace(entry, size=got.size, mtime_ns=got.mtime_ns, version=None)

    def _take_back(self, path: str) -> None:
        """The buffer is closed: what the disk holds counts again, at once."""
        entry, state = self._publisher.snapshot.files.get(path), self._state_of(path)
        self._pool.interactive(_forgetting(path))
        if entry is None or state is None:
            return
        got = files.read_text(path, self._limits)
        made = Embedded(Rows(()))
        problem = ""
        if isinstance(got, files.ReadText):
            scan, made, problem = self._outline(path, got.text)
            entry = replace(self._entry(path, scan, None), size=got.size, mtime_ns=got.mtime_ns)
            self._pool.interactive(_forgetting(path))
        elif (stat := files.stat(path)) is not None:
            entry = FileEntry(path, entry.root, entry.name, stat[0], stat[1], skipped=got.reason)
        else:
            entry = None
        self._publisher.publish({path: entry}, made.rows, made.without)
        state.records[state.name_of(path)] = entry
        self._note(state, path, "")
        if problem:
            state.records[state.name_of(path)] = None
            state.files_failed([path], problem)

    def outline_now(self, path: str, text: str, version: int | None) -> FileEntry:
        """The entry of exactly this text, for a request that found the disk changed; the index hears of it too."""
        state = self._state_of(path)
        if state is None or path not in state.failed:  # those are tried again from time to time, not with each look
            self._workspace.touch([path])
        return self._entry(path, self._outline(path, text, rows=False)[0], version)

    def _outline(self, path: str, text: str, rows: bool = True) -> tuple[FileScan, Embedded, str]:
        """Outline and new rows of a text, by the interactive worker; if that fails without a grammar, and why."""

        known = jobs.Known(self._publisher.seen)  # nobody waits for the store: what it may hold is made once more

        def job(channel: Channel) -> tuple[FileScan, Embedded]:
            scan = jobs.scan_buffer(channel, ScanText(path, text), TIMEOUT_S)
            if not rows:
                if path not in self._workspace.documents:
                    channel.call(Forget(path), TIMEOUT_S)
                return scan, Embedded(Rows(()))
            termed = jobs.find_terms(channel, [scan], self._publisher.seen)
            return scan, jobs.embed(channel, termed, known)

        try:
            return *self._pool.interactive(job).result(6 * TIMEOUT_S), ""
        except Exception as error:
            log.warning("%s is outlined without a grammar: %s", path, error)
            parsed = plain(text, "text", f"outlined without a grammar ({error})")
            scan = FileScan(path, digest=digest_of(text), outlined=pack(parsed.outline))
            return scan, Embedded(Rows(())), str(error) or type(error).__name__

    def _entry(self, path: str, scan: FileScan, version: int | None) -> FileEntry:
        state, known = self._state_of(path), self._publisher.snapshot.files.get(path)
        root, name = (state.root.path, state.name_of(path)) if state else ("", path)
        if known is None or known.root != root:
            known = FileEntry(path, root, name)
        return replace(known, digest=scan.digest, version=version, outlined=scan.outlined, skipped=scan.skipped)


def _forgetting(path: str) -> Callable[[Channel], object]:
    return lambda channel: channel.call(Forget(path), TIMEOUT_S)
