"""The rows of one workspace folder on disk, as the server sees them: a LanceDB table and an image of it.

The table is written and read by a process of its own (`work.keeper`), which starts when it is needed and leaves when
it has rested.  At a start the image is read, at the speed of the disk; only where it is of another version, rows come
from the table.  Requests are for the writer's thread; `keys` and `stats` for any.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from promptls.index.search.reader import IndexReader
from promptls.index.search.row_batch import Rows
from promptls.index.store import checkpoint
from promptls.index.store.checkpoint import Part
from promptls.index.store.lance_table import Identity, exists, reason, version_of
from promptls.index.workers.messages import AddRows, Done, Failed, OpenTable, ReadRows, Request, SomeRows, Tidy
from promptls.index.workers.pool import Channel, WorkerFailed
from promptls.index.workers.spawn import KEEPER

log = logging.getLogger(__name__)

Result = TypeVar("Result")

SWEEP_SLACK = 5_000
"""Dead rows that may stay beside as many as are alive: they are what a branch switch finds again."""
REST_S = 20.0
"""A keeper without work for this long ends."""
TIMEOUT_S = 300.0
DEATHS = 3
"""So many keepers in a row that die of a table: it is damaged in a way that they cannot tell."""
AGAIN_S, FEW_ROWS = 60.0, 5_000
"""An image of more than so many rows is made anew at most this often."""
_NOTHING = Part(
    (),
    np.zeros((0, 0), np.int8),
    np.zeros(0, np.float32),
    np.zeros(0, np.int32),
    (),
    np.zeros(0, np.int32),
    np.zeros(1, np.int64),
    np.zeros(0, np.int32),
    np.zeros(0, np.uint8),
)
_IMAGE = "rows.image"
_WAITING = "rows.waiting"


class StoreFailed(Exception):
    """The table could not be written or read; the sentence says why."""

    def __init__(self, problem: str, damaged: bool = False, died: bool = False) -> None:
        super().__init__(problem)
        self.damaged = damaged  # it cannot even be read
        self.died = died  # the keeper has gone without a word: somebody has killed it, or it came upon damage


class Store:
    """Open with `open_store`."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self.folder = folder
        self.identity = identity
        self.keys: set[bytes] = set()
        self._seal = msgspec.json.encode(identity)
        self._lock = threading.RLock()
        self._keeper: Channel | None = None
        self.behind = False  # rows were written that the image does not show yet
        self._deaths = 0  # of keepers, in a row
        self._opened = False  # the table was opened by us before: then it is not made anew without a word
        self._rest: threading.Timer | None = None
        self._imaged = 0  # rows in the first part of the image
        self._parts: list[int] = []  # rows of each part behind it
        self._version = b""  # of the table that the image shows; b"": it shows none
        self._made_at = -AGAIN_S  # time.monotonic() of the last time that the image was made anew

    # ---- rows

    def add(self, parts: Sequence[Rows]) -> None:
        """Write rows that are not there yet.  Raises StoreFailed."""
        new = [part.only({key for key in part.keys if key not in self.keys}) for part in parts]
        new = [part for part in new if part.keys and part.vectors]
        if new:
            self._ask(AddRows(tuple(new)))
            self.keys.update(key for part in new for key in part.keys)
            self.behind = True

    def tidy(self, count: int, alive: Callable[[], Collection[bytes]]) -> list[bytes]:
        """Delete dead rows if there are too many; their keys.  `count`: of the rows that are alive."""
        if len(self.keys) - count <= count + SWEEP_SLACK:
            return []
        living = alive()
        dead = [key for key in self.keys if key not in living]
        self._ask(Tidy(tuple(dead)))
        self.keys.difference_update(dead)
        self._version = b""
        return dead

    def drop_old_versions(self) -> None:
        """Remove what only readers of some minutes ago could still be reading.  Raises StoreFailed."""
        before = version_of(self.folder)
        self._ask(Tidy(old=True))
        if before == self._version:
            self._link()

    def read(self) -> list[Rows]:
        """All rows from the table; raises StoreFailed if it cannot be read."""
        out: list[Rows] = []
        more = True
        while more:
            answer = self._ask(ReadRows(len(out)))
            assert isinstance(answer, SomeRows)
            out.append(answer.rows)
            more = answer.more
        self.keys = {key for part in out for key in part.keys}
        self.behind = True  # else each start would read the table, until something is written
        return out

    def stats(self) -> dict[str, int]:
        """{bytes, rows, versions, fragments} on disk; bytes with all that lies beside the table."""
        size, inside = 0, Counter[str]()
        for place, _, names in os.walk(self.folder.parent):
            inside[Path(place).name] += len(names)
            for name in names:
                with suppress(OSError):  # the keeper and the image's writer replace files meanwhile
                    size += Path(place, name).stat().st_size
        return {
            "bytes": size,
            "rows": len(self.keys),
            "versions": inside["_versions"],
            "fragments": inside["data"],
        }

    @property
    def gone(self) -> bool:
        """Whether somebody has deleted the table under us."""
        return self._opened and bool(self.keys) and not exists(self.folder)

    def close(self) -> None:
        """End the keeper, if it runs."""
        with self._lock:
            if self._rest is not None:
                self._rest.cancel()
            if self._keeper is not None:
                self._keeper.stop()

    def put_off(self, parts: Sequence[Rows]) -> None:
        """Leave rows for the next start to write: the end of a server is no time to wake a process."""
        body = msgspec.msgpack.encode(parts)
        file = self.folder.with_name(_WAITING)
        try:
            file.write_bytes(zlib.crc32(body + self._seal).to_bytes(4, "big") + body)
        except OSError as error:
            log.warning("%s is not written: %s", file, error)

    def waiting(self) -> list[Rows]:
        """What was put off, once; [] if there is nothing, or it is damaged or of another identity."""
        file = self.folder.with_name(_WAITING)
        try:
            data = file.read_bytes()
            file.unlink()
            if zlib.crc32(data[4:] + self._seal).to_bytes(4, "big") != data[:4]:
                return []
            return [part for part in msgspec.msgpack.decode(data[4:], type=list[Rows]) if part.vectors]
        except (OSError, msgspec.MsgspecError):
            return []

    def remove(self) -> None:
        """Delete all of it from the disk, the image and what waits included."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in (_IMAGE, _WAITING):
            with suppress(OSError):
                self.folder.with_name(name).unlink(missing_ok=True)

    # ---- the image

    def recall(self) -> list[Part] | None:
        """The rows as the image has them; None if it does not show the table as it is."""
        checkpoint.sweep(self._file)
        version = version_of(self.folder)
        parts = checkpoint.read(self._file, self._seal, version) if version else None
        if parts is None:
            return None
        self.keys = {key for part in parts for key in part.keys}
        self._imaged, self._parts = len(parts[0].keys), [len(part.keys) for part in parts[1:]]
        self._version = version
        self._opened = True
        return parts

    def show(self, view: IndexReader, new: Iterable[bytes], before: bytes) -> None:
        """Bring the image up to what was just written: the rows `new`, on top of the table's version `before`."""
        keys = list(new)
        version = version_of(self.folder)
        try:
            if before != self._version or not before or self._crowded(len(keys)):
                # Where two servers write in turn, each would write all that the other has written, every time.
                if time.monotonic() - self._made_at > AGAIN_S or len(self.keys) < FEW_ROWS:
                    checkpoint.write(self._file, self._seal, version, view.part(self.keys))
                    self._imaged, self._parts, self._version = len(self.keys), [], version
                    self._made_at = time.monotonic()
            else:
                checkpoint.append(self._file, self._seal, version, view.part(keys))
                self._parts.append(len(keys))
                self._version = version
        except Exception as error:  # whatever it is: the table has the rows, and the next start reads that
            log.warning(
                "the image of %s is not up to date: %s", self.folder, error, exc_info=not isinstance(error, OSError)
            )
            self._version = b""

    @property
    def version(self) -> bytes:
        """Of the table as it is on disk."""
        return version_of(self.folder)

    @property
    def _file(self) -> Path:
        return self.folder.with_name(_IMAGE)

    def _crowded(self, more: int) -> bool:
        return len(self._parts) >= checkpoint.MOST_PARTS or 2 * (sum(self._parts) + more) > self._imaged + 1_000

    def _link(self) -> None:
        """The table has another version with the same rows."""
        try:
            checkpoint.append(self._file, self._seal, self.version, _NOTHING)
            self._parts.append(0)
            self._version = self.version
        except OSError as error:
            log.warning("the image of %s is not up to date: %s", self.folder, error)

    # ---- the keeper

    def awaken(self) -> None:
        """Start the keeper before there are rows, which then do not wait for it to load LanceDB."""
        try:
            with self._lock:
                self._talk(Channel.start)
        except StoreFailed as error:
            log.info("the keeper of %s does not start yet: %s", self.folder, error)  # the first write tries again

    def _ask(self, request: Request) -> SomeRows | Done:
        with self._lock:
            answer = self._talk(lambda keeper: keeper.call(request, TIMEOUT_S))
            self._opened, self._deaths = True, 0
            if isinstance(answer, Failed):
                raise StoreFailed(answer.problem, answer.damaged)
            assert isinstance(answer, SomeRows | Done)
            return answer

    def _talk(self, what: Callable[[Channel], Result]) -> Result:
        """What comes of a talk with the keeper, which leaves a while after the last one; under the lock."""
        if self._rest is not None:
            self._rest.cancel()
        if self._keeper is None:
            hello = OpenTable(str(self.folder), self.identity, renew=not self._opened)
            self._keeper = Channel(hello, background=False, module=KEEPER)
        try:
            return what(self._keeper)
        except WorkerFailed as error:
            self._deaths += error.said is None
            damaged = error.said.damaged if error.said is not None else self._deaths >= DEATHS
            raise StoreFailed(str(error), damaged, died=error.said is None) from error
        finally:
            self._rest = threading.Timer(REST_S, self._leave)
            self._rest.daemon = True
            self._rest.start()

    def _leave(self) -> None:
        with self._lock:
            if self._keeper is not None:
                self._keeper.stop()


def open_store(folder: Path, identity: Identity) -> tuple[Store, list[Part] | list[Rows]]:
    """The store in `folder` and what it holds; made anew if it is missing, damaged or of another identity.

    Raises OSError when the folder cannot be written at all.
    """
    store = Store(folder, identity)
    parts = store.recall()
    if parts is not None:
        return store, parts
    folder.mkdir(parents=True, exist_ok=True)
    while exists(folder):
        try:
            return store, store.read()
        except StoreFailed as error:
            if error.died and not error.damaged:
                continue
            if not error.damaged:
                raise OSError(f"the store in {folder} cannot be opened: {reason(error)}") from error
            log.warning("rebuilding the store in %s: %s", folder, error)
            store.remove()
            folder.mkdir(parents=True, exist_ok=True)
            break
    return Store(folder, identity), []
