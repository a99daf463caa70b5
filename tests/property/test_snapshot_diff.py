"""Properties of the difference of two snapshots, by change markers or by comparison of all entries."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index import snapshot as module
from promptls.index.snapshot import Snapshot, diff_files, with_files
from promptls.model import FileEntry
from promptls.util.mappings import PersistentMap

PATHS = st.sampled_from([f"/w/{letter}" for letter in "abcdef"])
CHANGE = st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=4)


def after(snapshot: Snapshot, change: Iterable[tuple[str, bool]]) -> Snapshot:
    """Return the snapshot with new entries (True) for some paths and without others."""
    return with_files(snapshot, [(p, FileEntry(p, "/w", p[3:]) if there else None) for p, there in change])


@given(st.lists(CHANGE, max_size=12), st.integers(0, 12), st.sampled_from([(64, 5_000), (3, 5_000), (64, 2), (1, 1)]))
def test_diff_by_markers_equals_full_comparison(
    changes: list[list[tuple[str, bool]]], position: int, bounds: tuple[int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CHANGES", bounds[0])
        patch.setattr(module, "MAX_FILES_PER_CHANGE", bounds[1])
        snapshots = [Snapshot()]
        for change in changes:
            snapshots.append(after(snapshots[-1], change))
    old, new = snapshots[min(position, len(changes))], snapshots[-1]
    assert len(new.changes) <= bounds[0]

    def diff(marker: module.ChangeMarker | None) -> tuple[list[int], list[int]]:
        changed, gone = diff_files(old.files, marker, new)
        return sorted(map(id, changed)), sorted(map(id, gone))

    assert diff(old.last_change) == diff(None)


def test_marker_of_another_workspace_is_unknown() -> None:
    mine, other = after(Snapshot(), [("/w/a", True)]), after(Snapshot(), [("/w/b", True)])
    assert diff_files(other.files, other.last_change, mine) == ([mine.files["/w/a"]], [other.files["/w/b"]])
    assert diff_files(PersistentMap(), None, mine) == ([mine.files["/w/a"]], [])
