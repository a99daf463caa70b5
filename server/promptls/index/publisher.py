"""The one owner of the index's derived state: the published snapshot and the columns that searches scan.

`publish` is the only way to change them, and runs on the indexer's thread only; everybody reads `snapshot`,
which is replaced as a whole, and views of the columns, which are never behind it.  Rows that no store has
yet wait in `fresh`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from promptls.index.columns import Columns
from promptls.index.image import Part
from promptls.index.rows import Rows
from promptls.index.snapshot import Snapshot, with_entries
from promptls.model import FileEntry

_NO_ROWS = Rows(())
TOGETHER = 200
"""Files whose outlines are at hand together."""
DEAD_ROWS = 500
"""Fresh rows of texts that are gone again may wait for them to come back, as many as are alive and so many more."""


class Publisher:
    """Made by the indexer."""

    __slots__ = ("_living", "columns", "embedded", "fresh", "snapshot")

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.columns = Columns()
        self.fresh: list[Rows] = []  # with vectors, in no store yet
        self.embedded = 0  # rows made since the start
        self._living = 0  # fresh rows that were needed when that was last looked at

    def known(self, key: bytes) -> bool:
        """Whether a chunk text has a row with all that belongs to it; any thread."""
        return self.columns.made(key)

    def seen(self, key: bytes) -> bool:
        """Whether a chunk text needs nothing that a worker could make of it; any thread."""
        return self.columns.vectored(key)

    def publish(
        self, changes: Mapping[str, FileEntry | None], rows: Rows = _NO_ROWS, without: Iterable[bytes] = ()
    ) -> None:
        """Replace, add or remove (None) files, and take in rows made for them; those `without` get no vector."""
        whole = list(changes.items())
        snapshot = self.snapshot
        for start in range(0, len(whole), TOGETHER):  # each outline is unpacked once for both
            part = whole[start : start + TOGETHER]
            moved = []
            for path, entry in part:
                old = snapshot.files.get(path)
                if (old.outlined if old is not None else b"") != (entry.outlined if entry is not None else b""):
                    moved.append((path, (entry or old).name, _keys(old), _keys(entry)))  # type: ignore[union-attr]
            self.columns.move(moved)
            snapshot = with_entries(snapshot, part)
        self.snapshot = snapshot
        self.columns.fill(rows)
        self.columns.settle(without)
        if rows.vectors:
            self.embedded += len(rows)
            self.fresh.append(rows)
            if sum(map(len, self.fresh)) > 2 * self._living + DEAD_ROWS:
                self.stored(())  # typing makes a row a keystroke, and most are never written

    def take_in(self, rows: Rows | Part) -> None:
        """Make the rows of a store searchable."""
        if isinstance(rows, Part):
            self.columns.adopt(rows)
        else:
            self.columns.fill(rows, stored=True)

    def own(self, keys: Collection[bytes]) -> set[bytes]:
        """The same keys as the very objects that the columns hold, so that they take no memory twice."""
        rows, held = self.columns.rows, self.columns.keys
        return {held[rows[key]] for key in keys}

    def take_over(self, rows: Rows) -> None:
        """Take in rows that a server before this one has made and not stored."""
        self.columns.fill(rows)
        self.fresh.append(rows)

    def stored(self, keys: Iterable[bytes]) -> None:
        """Note that rows are in a store by now; forget those that no store has and nobody needs any more."""
        columns = self.columns
        columns.mark_stored(keys)
        left: list[Rows] = []
        for part in self.fresh:
            waiting = [key for key in part.keys if not columns.stored(key)]
            living = {key for key in waiting if columns.living(key)}
            columns.forget(key for key in waiting if key not in living)
            if living:
                left.append(part.only(living))
        self.fresh = left
        self._living = sum(map(len, left))
        columns.keep([key for part in left for key in part.keys])

    def lost(self, keys: Iterable[bytes]) -> None:
        """Note that rows are in no store any more."""
        self.columns.forget(keys)


def _keys(entry: FileEntry | None) -> list[bytes]:
    outline = entry.outline if entry is not None else None
    return [chunk.key for chunk in outline.chunks] if outline is not None else []
