"""Reader process: searches the team index on behalf of the server.

Runs as `python -m promptls.extensions.team.reader_process`. Handles one request at a time from stdin, and exits at its end. The
server never imports LanceDB, and can kill this process if the storage does not respond.
"""

from __future__ import annotations

import os

from promptls.extensions.team.reader_messages import (
    Failure,
    FileContentResult,
    FileNames,
    Hits,
    IndexOpened,
    ListFiles,
    OpenIndex,
    ReaderRequest,
    ReaderResponse,
    SearchIndex,
    request_decoder,
)
from promptls.extensions.team.storage import Storage, configure_libraries, storage_problem
from promptls.extensions.team.table_search import MissingIndex, TeamTable
from promptls.index import limit_memory, read_frame, write_frame


class Reader:
    """State of the process: the table, once it is open."""

    def __init__(self) -> None:
        self._storage = Storage("")
        self._table: TeamTable | None = None

    def handle(self, request: ReaderRequest) -> ReaderResponse:
        """Return the response to a request; every error becomes a sentence."""
        try:
            return self._handle(request)
        except (KeyboardInterrupt, SystemExit):
            raise
        except MissingIndex as error:
            self._table = None
            return Failure(str(error))
        except BaseException as error:  # a panic of the library is not an Exception
            self._table = None  # a version may be gone; the next request opens the table again
            return Failure(storage_problem(error, self._storage))

    def _handle(self, request: ReaderRequest) -> ReaderResponse:
        changed = True
        if isinstance(request, OpenIndex):
            self._storage = Storage(request.uri, request.options)
            changed = self._table.refresh() if self._table is not None else True
        table = self._table = self._table or TeamTable(self._storage)
        if isinstance(request, OpenIndex):
            if request.warm and changed:
                table.warm()
            return IndexOpened(table.version, table.identity, table.repositories, table.chunks, table.unindexed)
        if isinstance(request, SearchIndex):
            return Hits(table.search(request))
        if isinstance(request, ListFiles):
            return FileNames(table.files(request.repository))
        content = table.read(request.repository, request.path)
        return FileContentResult(False) if content is None else FileContentResult(True, *content)


def main() -> None:
    """Handle requests until stdin ends."""
    limit_memory()
    configure_libraries()
    requests = os.fdopen(os.dup(0), "rb")
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries goes to the log, not into the frames
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    reader = Reader()
    while (body := read_frame(requests)) is not None:
        try:
            write_frame(responses, reader.handle(request_decoder.decode(body)))
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
