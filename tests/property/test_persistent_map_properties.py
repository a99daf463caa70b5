"""Persistent maps equal dictionaries after the same updates, and older versions stay unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.util import mappings
from promptls.util.mappings import OverlayMap, PersistentMap

KEYS = "abcdefghi"
NAMES = st.sampled_from(KEYS[:-1])
BATCHES = st.lists(st.dictionaries(NAMES, st.lists(st.integers(0, 3), max_size=2).map(tuple), max_size=6), max_size=10)


@pytest.fixture(autouse=True)
def many_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mappings, "MIN_LAYER_ENTRIES", 0)
    monkeypatch.setattr(mappings, "MERGE_FACTOR", 1)


@given(BATCHES, st.booleans())
def test_overlay_map_equals_a_dictionary_without_empty_tuples(
    batches: list[dict[str, tuple[int, ...]]], read: bool
) -> None:
    mapping: OverlayMap[int] = OverlayMap()
    expected: dict[str, tuple[int, ...]] = {}
    versions = []
    for batch in batches:
        mapping = mapping.with_changes(batch)
        expected = {name: values for name, values in {**expected, **batch}.items() if values}
        versions.append((mapping, expected))
        if read:
            assert dict(mapping) == expected
    for version, entries in versions:
        for name in KEYS:
            assert version.get(name) == entries.get(name, ())
            assert (name in version) == (name in entries)
        assert len(version) == len(entries)
        assert dict(version) == dict(version.items()) == entries
        assert sorted(version.values()) == sorted(entries.values())
        assert len(list(version)) == len(entries)


@given(BATCHES)
def test_batches_of_updates_equal_single_updates(batches: list[dict[str, tuple[int, ...]]]) -> None:
    batched: PersistentMap[str, int] = PersistentMap({"a": 1})
    single = batched
    for batch in batches:
        mutation = batched.mutate()
        for name, values in batch.items():
            if values:
                mutation[name] = len(values)
                single = single.set(name, len(values))
            elif name in single:
                del mutation[name]
                single = single.delete(name)
            assert mutation.get(name) == single.get(name)
        batched = mutation.finish()
        assert batched == single
        assert sorted(batched.items()) == sorted(single.items())
        assert len(batched) == len(single)
    assert batched.update({"z": 5}) == {**single, "z": 5}
