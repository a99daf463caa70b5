"""The process that keeps one table: LanceDB lives here, for as long as something is written or read.

Started as `python -m promptls.index.store.lance_process`; one request at a time from stdin, ends with it.  The server never
loads LanceDB, which takes a second and some 130 MB.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from promptls.index.search.row_batch import Rows
from promptls.index.store.lance_table import Table, open_table, reason
from promptls.index.workers.messages import (
    AddRows,
    Done,
    Failed,
    OpenTable,
    ReadRows,
    Request,
    Response,
    SomeRows,
    Tidy,
    read_frame,
    request_decoder,
    write_frame,
)

_LACKING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
REFUSALS = 2
"""A table that can be read and takes no rows so often in a row is damaged all the same."""
PART = 20_000
"""Rows in one message."""


class Keeper:
    """The state of the process."""

    def __init__(self) -> None:
        self.table: Table | None = None
        self.read: list[Rows] = []
        self.refused = 0  # writes in a row that the table has not taken

    def answer(self, request: Request) -> Response:
        """The response; what LanceDB raises comes back as a sentence."""
        try:
            answer = self._answer(request)
            self.refused = 0 if isinstance(request, AddRows) else self.refused
            return answer
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in the library is no Exception
            if lacking(error):
                return Failed(reason(error))
            self.refused += isinstance(request, AddRows)
            return Failed(reason(error), self._opening(request) or self.refused >= REFUSALS or self._damaged())

    def _answer(self, request: Request) -> Response:
        if isinstance(request, OpenTable):
            self.table = open_table(Path(request.folder), request.identity, request.renew)
            return Done()
        assert self.table is not None
        if isinstance(request, ReadRows):
            return self._part(request.start)
        if isinstance(request, AddRows):
            self.table.add(request.parts)
            self.table.compact()
            return Done()
        assert isinstance(request, Tidy)
        self.table.delete(request.dead)
        if request.old:
            self.table.drop_old_versions()
        else:
            self.table.compact()
        return Done()

    def _part(self, start: int) -> SomeRows:
        assert self.table is not None
        if start == 0:
            self.read = list(self.table.read().parts(PART))
        part = self.read.pop(0) if self.read else Rows(())
        return SomeRows(part, bool(self.read))

    def _opening(self, request: Request) -> bool:
        return isinstance(request, ReadRows) or (isinstance(request, OpenTable) and not request.renew)

    def _damaged(self) -> bool:
        """Whether a table that could not be written cannot be read either."""
        if self.table is None:
            return False
        try:
            self.table.read()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return not lacking(error)
        return False


def lacking(error: BaseException) -> bool:
    """Whether an error tells of the system (no room, no descriptors, no memory) and not of the table."""
    if isinstance(error, MemoryError):
        return True
    numbers = [getattr(error, "errno", None), *map(int, re.findall(r"os error (\d+)", str(error)))]
    return not _LACKING.isdisjoint(numbers)


def main() -> None:
    """Serve requests until stdin ends."""
    requests = os.fdopen(os.dup(0), "rb")
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to the log, not into the frames
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    keeper = Keeper()
    while (body := read_frame(requests)) is not None:
        write_frame(responses, keeper.answer(request_decoder.decode(body)))


if __name__ == "__main__":
    main()
