"""A layered mapping is what a dictionary would be after the same changes, and those before it stay as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.util import overlay_map as module
from promptls.util.overlay_map import Layered

NAMES = st.sampled_from("abcdefgh")
CHANGES = st.dictionaries(NAMES, st.lists(st.integers(0, 3), max_size=2).map(tuple), max_size=6)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", 3)


@given(st.lists(CHANGES, max_size=10))
def test_changes_one_after_the_other(batches: list[dict[str, tuple[int, ...]]]) -> None:
    made: Layered[int] = Layered()
    expected: dict[str, tuple[int, ...]] = {}
    history = []
    for batch in batches:
        made = made.with_changes(batch)
        expected = {name: found for name, found in {**expected, **batch}.items() if found}
        history.append((made, expected))
    for mapping, wanted in history:
        assert dict(mapping) == wanted
        assert len(mapping) == len(wanted)
        for name in "abcdefghi":
            assert mapping.get(name) == wanted.get(name, ())
            assert (name in mapping) == (name in wanted)


def test_nothing_changes_nothing() -> None:
    made: Layered[int] = Layered().with_changes({"a": (1,)})
    assert made.with_changes({}) is made
    with pytest.raises(KeyError):
        made["b"]
