"""Laws of what one snapshot has that another has not, remembered or looked up entry by entry."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from promptls.index import snapshot as module
from promptls.index.snapshot import Snapshot, difference, with_entries
from promptls.model import FileEntry

PATHS = st.sampled_from([f"/w/{letter}" for letter in "abcdef"])
CHANGE = st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=4)


def after(snapshot: Snapshot, change: Iterable[tuple[str, bool]]) -> Snapshot:
    """The snapshot with new entries (True) for some paths and without others."""
    return with_entries(snapshot, [(p, FileEntry(p, "/w", p[3:]) if there else None) for p, there in change])


@given(st.lists(CHANGE, max_size=12), st.integers(0, 12), st.sampled_from([(64, 5_000), (3, 5_000), (64, 2), (1, 1)]))
def test_what_is_remembered_is_what_a_comparison_finds(
    changes: list[list[tuple[str, bool]]], at: int, bounds: tuple[int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEPS", bounds[0])
        patch.setattr(module, "FEW", bounds[1])
        every = [Snapshot()]
        for change in changes:
            every.append(after(every[-1], change))
    old, new = every[min(at, len(changes))], every[-1]
    assert len(new.steps) <= bounds[0]

    def told(step: module.Step | None) -> tuple[list[int], list[int]]:
        changed, gone = difference(old.files, step, new)
        return sorted(map(id, changed)), sorted(map(id, gone))

    assert told(old.step) == told(None)


def test_a_step_of_another_workspace_tells_nothing() -> None:
    mine, other = after(Snapshot(), [("/w/a", True)]), after(Snapshot(), [("/w/b", True)])
    assert difference(other.files, other.step, mine) == ([mine.files["/w/a"]], [other.files["/w/b"]])
    assert difference(Map(), None, mine) == ([mine.files["/w/a"]], [])
