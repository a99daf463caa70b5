"""The one owner of the index's derived state: the published snapshot and the document frequencies.

`publish` is the only way to change them, and runs on the indexer's thread only; everybody reads `snapshot`,
which is replaced as a whole.  Rows that no store has yet live in the snapshot as `fresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from promptls.index.snapshot import Snapshot, with_entries
from promptls.index.store import Store
from promptls.index.vocabulary import Vocabulary
from promptls.model import FileEntry, Row

Stores = Callable[[], tuple[Store, ...]]


class Publisher:
    """`stores` tells which stores are open now."""

    __slots__ = ("_stores", "embedded", "snapshot", "vocabulary")

    def __init__(self, stores: Stores) -> None:
        self.snapshot = Snapshot()
        self.vocabulary = Vocabulary()
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
        touched: dict[bytes, str | None] = {row.key: row.terms for row in new}
        for path, entry in changes.items():
            for e in (before.files.get(path), entry):
                if e is not None and e.outline is not None:
                    for chunk in e.outline.chunks:
                        touched.setdefault(chunk.key, None)
        fresh = after.fresh.mutate()
        stores = self._stores()
        for row in new:
            if row.key in after.places and not any(row.key in s.keys for s in stores):
                fresh[row.key] = row
        self._count(touched, before, after, stores)
        for key in touched:
            if key in fresh and key not in after.places:
                del fresh[key]
        self.snapshot = replace(after, fresh=fresh.finish())

    def _count(
        self, touched: dict[bytes, str | None], before: Snapshot, after: Snapshot, stores: tuple[Store, ...]
    ) -> None:
        """Keep the vocabulary to the chunk texts that are alive and have a row."""
        born: list[bytes] = []
        died: list[bytes] = []
        for key, terms in touched.items():
            alive, counted = key in after.places, key in self.vocabulary
            if alive == counted:
                continue
            row = before.fresh.get(key)
            found = terms if terms is not None else row.terms if row is not None else None
            if found is None:
                (born if alive else died).append(key)
            elif alive:
                self.vocabulary.add(key, found)
            else:
                self.vocabulary.remove(key, found)
        for store in stores if born or died else ():
            for row in store.rows(born):
                self.vocabulary.add(row.key, row.terms)
            for row in store.rows(died):
                self.vocabulary.remove(row.key, row.terms)

    def recount(self, store: Store, stored: Iterable[tuple[bytes, str]] | None = None) -> None:
        """Count rows of a store whose texts have come alive; `stored` are its (key, terms) if at hand."""
        if stored is None:
            alive = [k for k in self.snapshot.places if k in store.keys and k not in self.vocabulary]
            stored = [(row.key, row.terms) for row in store.rows(alive)]
        for key, terms in stored:
            if key in self.snapshot.places:
                self.vocabulary.add(key, terms)

    def forget_stored(self) -> None:
        """Drop fresh rows that a store has by now."""
        fresh = self.snapshot.fresh.mutate()
        stores = self._stores()
        for key in self.snapshot.fresh:
            if any(key in store.keys for store in stores):
                del fresh[key]
        self.snapshot = replace(self.snapshot, fresh=fresh.finish())
