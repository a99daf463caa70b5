"""Store process: owns one LanceDB table while rows are written or read.

Runs as `python -m promptls.index.store.lance_process`. Handles one request at a time from stdin, and exits at its end.
The server never imports LanceDB, which would take a second and about 130 MB.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from promptls.index.search.row_batch import RowBatch
from promptls.index.store.lance_table import LanceTable, open_table, short_error
from promptls.index.workers.worker_messages import (
    Acknowledged,
    AddRows,
    CompactTable,
    OpenTable,
    ReadRows,
    Request,
    Response,
    RowsResult,
    StoreFailure,
    serve_requests,
)

_RESOURCE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
}
MAX_FAILED_WRITES = 2
"""Consecutive failed writes after which a readable table counts as damaged, too."""
ROWS_PER_MESSAGE = 20_000
"""Rows in one response: a bound on the size of a frame."""


class StoreProcess:
    """State of the store process."""

    def __init__(self) -> None:
        self.table: LanceTable | None = None
        self.unsent: list[RowBatch] = []
        self.failed_writes = 0  # consecutive

    def handle(self, request: Request) -> Response:
        """Return the response to a request; an exception of LanceDB becomes a `StoreFailure`."""
        try:
            response = self._handle(request)
            self.failed_writes = 0 if isinstance(request, AddRows) else self.failed_writes
            return response
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the library is not an Exception
            if is_resource_exhaustion(error):
                return StoreFailure(short_error(error))
            self.failed_writes += isinstance(request, AddRows)
            damaged = _reads_table(request) or self.failed_writes >= MAX_FAILED_WRITES or self._is_unreadable()
            return StoreFailure(short_error(error), damaged)

    def _handle(self, request: Request) -> Response:
        if isinstance(request, OpenTable):
            self.table = open_table(Path(request.folder), request.identity, request.recreate)
            return Acknowledged()
        assert self.table is not None
        if isinstance(request, ReadRows):
            return self._read_rows(request.start)
        if isinstance(request, AddRows):
            self.table.add(request.parts)
            self.table.compact()
            return Acknowledged()
        assert isinstance(request, CompactTable)
        self.table.delete(request.deleted)
        if request.drop_old_versions:
            self.table.drop_old_versions()
        else:
            self.table.compact()
        return Acknowledged()

    def _read_rows(self, start: int) -> RowsResult:
        assert self.table is not None
        if start == 0:
            self.unsent = list(self.table.read().split(ROWS_PER_MESSAGE))
        rows = self.unsent.pop(0) if self.unsent else RowBatch(())
        return RowsResult(rows, bool(self.unsent))

    def _is_unreadable(self) -> bool:
        """Return whether a table that failed to be written cannot be read either."""
        if self.table is None:
            return False
        try:
            self.table.read()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return not is_resource_exhaustion(error)
        return False


def _reads_table(request: Request) -> bool:
    return isinstance(request, ReadRows) or (isinstance(request, OpenTable) and not request.recreate)


def is_resource_exhaustion(error: BaseException) -> bool:
    """Return whether an error is caused by a lack of disk space, permissions, descriptors or memory."""
    if isinstance(error, MemoryError):
        return True
    numbers = [getattr(error, "errno", None), *map(int, re.findall(r"os error (\d+)", str(error)))]
    return not _RESOURCE_ERRORS.isdisjoint(numbers)


def main() -> None:
    """Handle requests until stdin ends."""
    serve_requests(StoreProcess().handle)


if __name__ == "__main__":
    main()
