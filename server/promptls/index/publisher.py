"""The one owner of the index's derived state: the published snapshot and the columns that searches scan.

`publish` is the only way to change them, and runs on the indexer's thread only; everybody reads `snapshot`,
which is replaced as a whole, and views of the columns, which are never behind it.  Rows that no store has
yet live in the snapshot as `fresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from promptls.index.columns import Columns, Contents
from promptls.index.snapshot import Snapshot, with_entries
from promptls.index.store import Store
from promptls.model import FileEntry, Row

Stores = Callable[[], tuple[Store, ...]]


class Publisher:
    """`stores` tells which stores are open now."""

    __slots__ = ("_stores", "columns", "embedded", "snapshot")

    def __init__(self, stores: Stores) -> None:
        self.snapshot = Snapshot()
        self.columns = Columns()
        self.embedded = 0  # rows made since the start
        self._stores = stores

    def known(self, key: bytes) -> bool:
        """Whether a chunk text has a row somewhere; any thread."""
        return key in self.snapshot.fresh or any(key in store.keys for store in self._stores())

    def publish(self, changes: Mapping[str, FileEntry | None], rows: Iterable[Row] = ()) -> None:
        """Replace, add or remove (None) files, and take in rows made for them."""
        new = tuple(rows)
        self.embedded += len(new)
        before = self.snapshot
        after = with_entries(before, changes.items()) if changes else before
        touched = dict.fromkeys(row.key for row in new)
        for path, entry in changes.items():
            for e in (before.files.get(path), entry):
                if e is not None and e.outline is not None:
                    touched |= dict.fromkeys(chunk.key for chunk in e.outline.chunks)
        fresh = after.fresh.mutate()
        stores = self._stores()
        for row in new:
            if row.key in after.places and not any(row.key in s.keys for s in stores):
                fresh[row.key] = row
        self.columns.add(row for row in new if row.key in after.places)
        self._place(touched, after)
        for key in touched:
            if key in fresh and key not in after.places:
                del fresh[key]
        self.snapshot = replace(after, fresh=fresh.finish())

    def _place(self, keys: Iterable[bytes], snapshot: Snapshot) -> None:
        places, files = snapshot.places, snapshot.files
        known = ((key, min(found)[0] if (found := places.get(key)) else "") for key in keys)
        self.columns.place((key, path, files[path].name if path else "") for key, path in known)

    def take_in(self, contents: Contents) -> None:
        """Make the rows of a store searchable."""
        self.columns.extend(contents)
        self._place(contents.keys, self.snapshot)

    def forget_stored(self) -> None:
        """Drop fresh rows that a store has by now, and columns of rows that no store has any more."""
        fresh = self.snapshot.fresh.mutate()
        stores = self._stores()
        for key in self.snapshot.fresh:
            if any(key in store.keys for store in stores):
                del fresh[key]
        self.snapshot = replace(self.snapshot, fresh=fresh.finish())
        self.columns.keep(set().union(self.snapshot.fresh, *(store.keys for store in stores)))
