"""Progress of the indexer: shared counters, conditions derived from them, and a way to wait for a condition.

The indexer's thread updates the progress; any thread may read it and wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from promptls.index.publisher import Publisher
from promptls.index.scan.root_state import RootState
from promptls.index.workspace import Workspace
from promptls.index.writer import IndexWriter
from promptls.model import CancelToken

_POLL_S = 0.05
"""Seconds between two checks of a condition and of cancellation."""


class IndexProgress:
    """Position of the indexer in the sequence of workspace changes, and the state of its roots."""

    def __init__(
        self,
        workspace: Workspace,
        roots: Mapping[str, RootState],
        publisher: Publisher,
        writer: IndexWriter,
        closed: CancelToken,
    ) -> None:
        self._workspace = workspace
        self._roots = roots
        self._publisher = publisher
        self._writer = writer
        self._closed = closed
        self._condition = threading.Condition()
        self.inbox: deque[Callable[[], None]] = deque()  # events for the indexer's thread
        self.document_sequence = 0  # of the last change whose open documents are in the snapshot
        self.applied_sequence = 0  # of the last change that is applied or queued completely
        self.paused = False

    def notify(self) -> None:
        """Wake the threads that wait for a condition."""
        with self._condition:
            self._condition.notify_all()

    def wait(self, condition: Callable[[], bool], token: CancelToken | None, timeout_s: float) -> bool:
        """Wait for a condition; return False after `timeout_s` seconds, or if the indexer is closed.

        Raises:
            Cancelled: The token was cancelled.
        """
        deadline = time.monotonic() + timeout_s
        with self._condition:
            while not condition():
                if token is not None:
                    token.check()
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0 or self._closed.cancelled:
                    return False
                self._condition.wait(min(remaining_s, _POLL_S))
        return True

    def root_states(self) -> list[RootState]:
        """Return the states of the roots that the indexer has taken over."""
        return list(self._roots.values())

    @property
    def listed(self) -> bool:
        """True if the files of every root are listed."""
        return all(state.walked for state in self.root_states())

    @property
    def searchable(self) -> bool:
        """True if every known file has its symbols, terms and vectors."""
        return self._is_up_to_date and not self.inbox and all(state.complete for state in self.root_states())

    @property
    def usable(self) -> bool:
        """True if every known file has its symbols and terms, or is prescanned, so that a question can select it."""
        states = self.root_states()
        return self._is_up_to_date and all(s.walked and not s.pending_walks and not s.unprescanned for s in states)

    @property
    def is_reading(self) -> bool:
        """True if files of the workspace wait to be listed or read."""
        states = self.root_states()
        incomplete = len(states) < len(self._workspace.roots) or any(not s.walked or s.unread for s in states)
        return incomplete or self.paused

    @property
    def has_unread_changes(self) -> bool:
        """True if changed files wait to be read; files of a first scan do not count, nor those of a paused one."""
        if self.paused or any(not state.was_read for state in self.root_states()):
            return False
        return not self._is_up_to_date or any(state.has_unread_changes for state in self.root_states())

    @property
    def written(self) -> bool:
        """True if nothing is left to write, or writing has failed and is backing off."""
        states = self.root_states()
        return self._writer.is_backing_off or (
            not self._writer.writing
            and not any(state.unsaved_records and state.manifest is not None for state in states)
            and not self._writer.due_rows(self._publisher, states, self._workspace.unsaved)
        )

    @property
    def stored(self) -> bool:
        """True if everything is searchable and written."""
        return self.searchable and self.written

    @property
    def writing(self) -> bool:
        """True if a write is running."""
        return self._writer.writing

    @property
    def _is_up_to_date(self) -> bool:
        """True if all changes and roots of the workspace are taken over."""
        return self.applied_sequence >= self._workspace.sequence and len(self._roots) == len(self._workspace.roots)
