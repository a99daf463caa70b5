"""Open documents: outlined and embedded immediately by the interactive worker, before any other work.

Runs on the indexer's thread, except `outline_now`, which requests call.  A file that is ignored or usually holds
secrets is not indexed even while it is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from promptls.index.files.read import FileContent, FileLimits, file_stat, read_text
from promptls.index.files.uris import is_file_path, located_path
from promptls.index.files.walk import ignored_paths
from promptls.index.publisher import Publisher
from promptls.index.scan import jobs
from promptls.index.scan.jobs import EmbeddingResult
from promptls.index.scan.root_state import RootState
from promptls.index.search.row_batch import RowBatch
from promptls.index.snapshot import OpenDocument
from promptls.index.syntax.parse import parse_as_text
from promptls.index.workers.pool import WorkerChannel, WorkerPool
from promptls.index.workers.worker_messages import FileScan, ForgetDocument, ScanText
from promptls.index.workspace import ChangeSet, Workspace
from promptls.languages import language_by_alias, language_of
from promptls.model import FileEntry, encode_outline
from promptls.redaction.secret_files import secret_reason
from promptls.util.hashing import content_hash

log = logging.getLogger(__name__)

OUTLINE_TIMEOUT_S = 5.0
"""Seconds that the outline of an open document may take before it is outlined as plain text."""
MAX_ATTEMPTS = 5
"""Maximum number of attempts for a text on which workers fail; each attempt may block the indexer for seconds."""


class DocumentIndexer:
    """Indexing of open documents."""

    def __init__(
        self,
        publisher: Publisher,
        pool: WorkerPool,
        workspace: Workspace,
        limits: FileLimits,
        state_of: Callable[[str], RootState | None],
    ) -> None:
        self._publisher = publisher
        self._pool = pool
        self._workspace = workspace
        self._limits = limits
        self._root_state_of = state_of
        self._excluded: set[str] = set()  # open documents that are ignored or usually hold secrets
        self._failed_attempts: dict[str, int] = {}  # open document that no worker could outline → attempts

    def apply(self, changes: ChangeSet) -> None:
        """Index documents that were opened, edited or saved, and restore closed ones from disk."""
        for path, document in changes.documents.items():
            entry, state = self._publisher.snapshot.files.get(path), self._root_state_of(path)
            root_changed = entry is not None and state is not None and entry.root != state.root.path
            if entry is None or entry.version != document.version or path in changes.changed_documents or root_changed:
                self._index_document(path, document)
        for path in [p for p in self._publisher.snapshot.documents if p not in changes.documents]:
            snapshot = self._publisher.snapshot
            self._publisher.snapshot = replace(snapshot, documents=snapshot.documents.delete(path))
            if path in self._excluded:
                self._excluded.discard(path)
                self._workspace.touch([path])  # it may no longer be ignored
            else:
                self._restore_from_disk(path)

    def _index_document(self, path: str, document: OpenDocument) -> None:
        snapshot = self._publisher.snapshot
        state, indexed = self._root_state_of(path), snapshot.documents.get(path)
        self._publisher.snapshot = replace(snapshot, documents=snapshot.documents.set(path, document))
        if state is None or path in self._excluded:
            return
        entry = snapshot.files.get(path)
        if secret_reason(path, [state.root.path]) or (
            entry is None and ignored_paths(state.root.path, [path], self._limits)
        ):
            self._excluded.add(path)
            return
        is_incomplete = (
            path in self._failed_attempts
            or self._lacks_vectors(entry)
            or (entry is not None and entry.root != state.root.path)
        )
        if is_incomplete or entry is None or entry.outline is None or indexed is None or indexed.text != document.text:
            scan, embedded, problem = self._outline(path, document.text)
            self._record_outcome(state, path, problem, same_text=indexed is not None and indexed.text == document.text)
            entry = self._entry(path, scan, document.version)
            self._publisher.publish({path: entry}, embedded.rows, embedded.unembeddable)
        elif entry.version != document.version:
            entry = replace(entry, version=document.version)
            self._publisher.publish({path: entry})
        if path not in self._workspace.unsaved:
            self._queue_saved_record(state, entry)

    def recheck_ignored(self, state: RootState) -> None:
        """Apply changed ignore rules to the open documents of a root."""
        paths = [path for path in self._publisher.snapshot.documents if self._root_state_of(path) is state]
        try:
            ignored = ignored_paths(state.root.path, paths, self._limits) if paths else set()
        except OSError as error:
            log.info("cannot check which open documents are ignored: %s", error)
            return
        for path in paths:
            if path in ignored and path not in self._excluded:
                self._excluded.add(path)
                self._publisher.publish({path: None})
                state.unsaved_records[state.name_of(path)] = None
            elif path in self._excluded and path not in ignored and not secret_reason(path, [state.root.path]):
                self._excluded.discard(path)
                self._workspace.mark_dirty([path])

    def documents_to_retry(self) -> list[str]:
        """Return the open documents whose outline or vectors should be tried again.  Any thread."""
        failed = [path for path, tries in list(self._failed_attempts.items()) if tries < MAX_ATTEMPTS]
        _, without_vector = self._publisher.chunk_index.without_vector()
        return [*failed, *(path for path in self._publisher.snapshot.documents if path in without_vector)]

    def _lacks_vectors(self, entry: FileEntry | None) -> bool:
        """Return whether chunks of a file lack a vector that the model could create."""
        outline = entry.outline if self._publisher.chunk_index.has_unembeddable and entry is not None else None
        has_row, is_finished = self._publisher.has_row, self._publisher.is_finished
        return outline is not None and any(
            has_row(chunk.key) and not is_finished(chunk.key) for chunk in outline.chunks
        )

    def _record_outcome(self, state: RootState, path: str, problem: str, same_text: bool = False) -> None:
        """Record whether a worker could outline a document, and report the documents that failed."""
        if problem:
            self._failed_attempts[path] = self._failed_attempts.get(path, 0) + 1 if same_text else 1
        else:
            self._failed_attempts.pop(path, None)
        names = [state.name_of(p) for p in self._failed_attempts if self._root_state_of(p) is state]
        message = f"Cannot parse {names[0]} ({problem}); will retry." if names else ""
        state.set_problem("documents", message)

    def _queue_saved_record(self, state: RootState, entry: FileEntry) -> None:
        """Queue the manifest record of a document whose text equals its file."""
        content = read_text(entry.path, self._limits, (state.root.path,))
        if isinstance(content, FileContent) and content_hash(content.text) == entry.content_hash:
            state.unsaved_records[entry.name] = replace(
                entry, size=content.size, mtime_ns=content.mtime_ns, version=None
            )

    def _restore_from_disk(self, path: str) -> None:
        """Index the file on disk of a document that was closed."""
        entry, state = self._publisher.snapshot.files.get(path), self._root_state_of(path)
        self._pool.submit_interactive(_forget_job(path))
        if entry is None or state is None:
            return
        content = read_text(path, self._limits, (state.root.path,))
        embedded = EmbeddingResult(RowBatch(()))
        problem = ""
        if isinstance(content, FileContent):
            scan, embedded, problem = self._outline(path, content.text)
            entry = replace(self._entry(path, scan, None), size=content.size, mtime_ns=content.mtime_ns)
            self._pool.submit_interactive(_forget_job(path))
        elif (stat := file_stat(path)) is not None:
            entry = FileEntry(path, entry.root, entry.name, stat[0], stat[1], skip_reason=content.reason)
        else:
            entry = None
        self._publisher.publish({path: entry}, embedded.rows, embedded.unembeddable)
        state.unsaved_records[state.name_of(path)] = entry
        self._record_outcome(state, path, "")
        if problem:
            state.unsaved_records[state.name_of(path)] = None
            state.record_failures([path], problem)

    def outline_now(self, path: str, text: str, version: int | None) -> FileEntry:
        """Return the entry of exactly this text, for a request that found a file changed; the index is updated too."""
        state = self._root_state_of(path)
        if state is None or path not in state.failed:  # failed files are retried with a back-off, not on each read
            self._workspace.touch([path])
        return self._entry(path, self._outline(path, text, with_rows=False)[0], version)

    def _outline(self, path: str, text: str, with_rows: bool = True) -> tuple[FileScan, EmbeddingResult, str]:
        """Return (outline, new rows, problem) of a text; the outline is plain text if the interactive worker fails."""
        roots = () if (state := self._root_state_of(path)) is None else (state.root.path,)
        lookup = jobs.RowLookup(self._publisher.is_finished)  # without the store, so that opening it is not awaited

        def job(channel: WorkerChannel) -> tuple[FileScan, EmbeddingResult]:
            request = ScanText(path, text, language=self._reported_language(path, text), roots=roots)
            scan = jobs.scan_document(channel, request, OUTLINE_TIMEOUT_S)
            if not with_rows:
                if path not in self._workspace.all_documents:
                    channel.call(ForgetDocument(path), OUTLINE_TIMEOUT_S)
                return scan, EmbeddingResult(RowBatch(()))
            new_rows = jobs.extract_terms(channel, [scan], self._publisher.is_finished)
            return scan, jobs.embed_rows(channel, new_rows, lookup)

        try:
            return *self._pool.submit_interactive(job).result(6 * OUTLINE_TIMEOUT_S), ""
        except Exception as error:
            log.warning("%s is outlined as plain text: %s", path, error)
            parsed = parse_as_text(text, "text", f"outlined without a grammar ({error})")
            scan = FileScan(path, content_hash=content_hash(text), encoded_outline=encode_outline(parsed.outline))
            return scan, EmbeddingResult(RowBatch(())), str(error) or type(error).__name__

    def _reported_language(self, path: str, text: str) -> str:
        """Return the language of a document that is not a file: the one that the editor names, else that of its name.

        A file returns "": its language must not depend on whether it is open.
        """
        document = self._workspace.all_documents.get(path)
        if document is None or is_file_path(path):
            return ""
        language = language_by_alias(document.language)
        return language.name if language is not None else language_of(located_path(path), text)

    def _entry(self, path: str, scan: FileScan, version: int | None) -> FileEntry:
        state, entry = self._root_state_of(path), self._publisher.snapshot.files.get(path)
        root, name = (state.root.path, state.name_of(path)) if state else ("", path)
        if entry is None or entry.root != root:
            entry = FileEntry(path, root, name)
        return replace(
            entry,
            content_hash=scan.content_hash,
            version=version,
            encoded_outline=scan.encoded_outline,
            skip_reason=scan.skip_reason,
        )


def _forget_job(path: str) -> Callable[[WorkerChannel], object]:
    return lambda channel: channel.call(ForgetDocument(path), OUTLINE_TIMEOUT_S)
