"""The one owner of the index's derived state: the published snapshot and the columns that searches scan.

`publish` is the only way to change them, and runs on the indexer's thread only; everybody reads `snapshot`,
which is replaced as a whole, and views of the columns, which are never behind it.  Rows that no store has
yet wait in `fresh`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from promptls.index.search.chunk_index import Columns, Moved
from promptls.index.search.row_batch import Rows
from promptls.index.snapshot import Snapshot, with_entries
from promptls.index.store.checkpoint import Part
from promptls.model import FileEntry, forget, keys_in, symbols_in

_NO_ROWS = Rows(())
DEAD_ROWS = 500
"""Fresh rows of texts that are gone again may wait for them to come back, as many as are alive and so many more."""


class Tally(NamedTuple):
    """What the files of a root come to."""

    files: int
    symbols: int
    skipped: int  # files known by name only, each with a reason
    chunks: int  # texts
    vectors: int  # texts with a vector


class Publisher:
    """Made by the indexer."""

    __slots__ = ("_living", "_tallies", "columns", "embedded", "fresh", "snapshot")

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.columns = Columns()
        self.fresh: list[Rows] = []  # with vectors, in no store yet
        self.embedded = 0  # rows made since the start
        self._tallies: dict[str, tuple[int, int, int]] = {}  # root → (files, symbols, files that were skipped)
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
        files = self.snapshot.files
        moved: list[Moved] = []
        replaced: list[bytes] = []  # outlines
        for path, entry in changes.items():
            old = files.get(path)
            before, after = (old.outlined if old is not None else b""), (entry.outlined if entry is not None else b"")
            if before != after:
                moved.append((path, (entry or old).name, keys_in(before), keys_in(after)))  # type: ignore[union-attr]
                if before:
                    replaced.append(before)
            for one, sign in ((old, -1), (entry, 1)):
                if one is not None:
                    self._tally(one, sign)
        self.columns.move(moved)
        self.snapshot = with_entries(self.snapshot, changes.items())
        for outlined in replaced:
            forget(outlined)
        self.columns.fill(rows)
        self.columns.settle(without)
        if rows.vectors:
            self.embedded += len(rows)
            self.fresh.append(rows)
            if sum(map(len, self.fresh)) > 2 * self._living + DEAD_ROWS:
                self.stored(())  # typing makes a row a keystroke, and most are never written

    def tally(self, root: str) -> Tally:
        """What the files of a root come to; any thread."""
        others = any(count[0] for other, count in list(self._tallies.items()) if other != root)
        mine = {e.path for e in self.snapshot.files.values() if e.root == root} if others else None
        return Tally(*self._tallies.get(root, (0, 0, 0)), *self.columns.count(mine))

    def _tally(self, entry: FileEntry, sign: int) -> None:
        files, symbols, skipped = self._tallies.get(entry.root, (0, 0, 0))
        held = symbols_in(entry.outlined) if entry.outlined else 0
        self._tallies[entry.root] = files + sign, symbols + sign * held, skipped + sign * bool(entry.skipped)

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
