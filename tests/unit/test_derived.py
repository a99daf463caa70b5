"""Values derived from snapshots: updates by difference, batches, limits and history."""

from __future__ import annotations

from promptls.index.derived import Change, Derived
from promptls.index.snapshot import Snapshot, with_files
from promptls.model import FileEntry, Root


def snapshot_of(before: Snapshot, *names: str, gone: tuple[str, ...] = ()) -> Snapshot:
    """Return a snapshot with these files changed or removed."""
    changes = [(f"/w/{name}", FileEntry(f"/w/{name}", "/w", name)) for name in names]
    return with_files(before, [*changes, *((f"/w/{name}", None) for name in gone)])


EMPTY = Snapshot(roots=(Root("/w", "w", "file:///w"),))


class Recorder:
    """Names of all files, with the changes that led to them."""

    def __init__(self) -> None:
        self.changes: list[tuple[list[str], list[str]]] = []

    def update(self, names: frozenset[str], change: Change) -> frozenset[str]:
        changed = [entry.name for entry in change.changed]
        gone = [entry.name for entry in change.gone]
        self.changes.append((sorted(changed), sorted(gone)))
        return (names - set(gone)) | set(changed)


def test_value_is_updated_by_difference() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update)
    first = snapshot_of(EMPTY, "a", "b")
    second = snapshot_of(first, "c", gone=("a",))
    assert derived.at(first) == {"a", "b"}
    assert derived.at(first) == {"a", "b"}
    assert derived.at(second) == {"b", "c"}
    assert recorder.changes == [(["a", "b"], []), (["c"], ["a"])]


def test_removed_files_come_before_batches_of_changed_files() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update, batch_size=2)
    first = snapshot_of(EMPTY, "a")
    derived.at(first)
    assert derived.at(snapshot_of(first, "b", "c", "d", gone=("a",))) == {"b", "c", "d"}
    sizes = [(len(changed), len(gone)) for changed, gone in recorder.changes]
    assert sizes == [(1, 0), (0, 1), (2, 0), (1, 0)]


def test_limit_leaves_changes_pending() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update)
    snapshot = snapshot_of(EMPTY, "a", "b", "c")
    with derived.lock:
        derived.advance(snapshot, limit=2)
        change = derived.pending(snapshot)
        assert change is not None and len(change.changed) == 1
        derived.advance(snapshot, limit=2)
        assert derived.pending(snapshot) is None
    assert derived.value == {"a", "b", "c"}


def test_recent_values_are_kept() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update, history=2)
    first = snapshot_of(EMPTY, "a")
    second = snapshot_of(first, "b")
    assert [len(derived.at(snapshot)) for snapshot in (first, second, first)] == [1, 2, 1]
    assert len(recorder.changes) == 2


def test_value_that_is_modified_in_place_is_not_returned_for_an_earlier_snapshot() -> None:
    def update(names: set[str], change: Change) -> set[str]:
        names.difference_update(entry.name for entry in change.gone)
        names.update(entry.name for entry in change.changed)
        return names

    derived: Derived[set[str]] = Derived(set(), update, history=2)
    first = snapshot_of(EMPTY, "a")
    second = snapshot_of(first, "b")
    assert [sorted(derived.at(snapshot)) for snapshot in (first, second, first)] == [["a"], ["a", "b"], ["a"]]


def test_unchanged_source_needs_no_update() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update, lambda snapshot: snapshot.basenames)
    first = snapshot_of(EMPTY, "a")
    derived.at(first)
    edited = snapshot_of(first, "a")
    assert edited.files is not first.files and edited.basenames is first.basenames
    derived.at(edited)
    assert len(recorder.changes) == 1


def test_reset_starts_again() -> None:
    recorder = Recorder()
    derived: Derived[frozenset[str]] = Derived(frozenset(), recorder.update)
    snapshot = snapshot_of(EMPTY, "a")
    derived.at(snapshot)
    derived.reset(frozenset())
    assert derived.at(snapshot) == {"a"}
    assert recorder.changes == [(["a"], []), (["a"], [])]
