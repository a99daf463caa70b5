"""What completion inserts names what it showed, and search finds what a plain look at every name finds."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.context.mentions.complete import complete
from promptls.context.mentions.grammar import parse
from promptls.context.mentions.haystack import Haystack, Tier
from promptls.context.mentions.lookup import find_files, find_folders
from promptls.context.mentions.request import Request
from promptls.index import disk
from promptls.index.snapshot import Snapshot, Sources, with_entries
from promptls.model import FileEntry, Outline, Root, Span, Symbol, pack

SEGMENT = st.text(st.sampled_from(" .:#@'\"`\\%()[]-~*?!,;+$é😀_aAbB1"), min_size=1, max_size=6).filter(
    lambda part: part.strip(".") and part.strip() == part
)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12, unique=True)
NAMES = st.lists(st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=8), min_size=1, max_size=30, unique=True)
QUERIES = st.text(st.sampled_from("abAB_1. ß"), min_size=1, max_size=4)


def snapshot(paths: list[str], roots: list[str]) -> Snapshot:
    tops = tuple(Root(f"/ws/{name}", name, f"file:///ws/{name}") for name in roots)
    symbol = Symbol("one", "function", "one", "def one()", "", Span(0, 1), 0, 0, -1)
    entries = [
        FileEntry(f"{root.path}/{path}", root.path, path, 1, 1, b"x" * 16, outlined=pack(Outline("text", 1, (symbol,))))
        for root in tops
        for path in paths
        if not any(other.startswith(path + "/") for other in paths)
    ]
    return with_entries(Snapshot(roots=tops), [(e.path, e) for e in entries])


@given(PATHS, st.sampled_from([["r"], ["r", "other root"]]), st.sampled_from(["@", "@a", "@1", '@"', "@b/"]))
@settings(max_examples=400, deadline=None)
def test_what_is_inserted_names_what_was_shown(paths: list[str], roots: list[str], typed: str) -> None:
    current = snapshot(paths, roots)
    request = Request(Sources(current, disk.Limits()))
    for item in complete(typed, len(typed), request, limit=200).items:
        if item.kind not in ("file", "folder"):
            continue
        (mention,) = parse(item.insert_text)
        assert mention.text == item.insert_text
        assert mention.kind == item.kind
        wanted = tuple(r for r in current.roots if r.name == mention.root) or current.roots
        find = find_files if item.kind == "file" else find_folders
        found = find(request, mention.target, wanted).paths
        assert [current.label(path) for path in found] == [item.label.rstrip("/")]


@given(PATHS, QUERIES)
@settings(max_examples=200, deadline=None)
def test_completion_is_deterministic_and_without_doubles(paths: list[str], query: str) -> None:
    request = Request(Sources(snapshot(paths, ["r"]), disk.Limits()))
    first = complete("@" + query, len(query) + 1, request)
    assert first == complete("@" + query, len(query) + 1, request)
    inserts = [item.insert_text for item in first.items]
    assert len(inserts) == len(set(inserts))


@given(NAMES, QUERIES)
@settings(max_examples=500, deadline=None)
def test_search_finds_what_a_look_at_every_name_finds(names: list[str], query: str) -> None:
    hay = Haystack([(name, name) for name in names], paths=False)
    found = {hay.keys[index]: tier for tier, index in hay.search(query, 1000)}
    low = unicodedata.normalize("NFC", query).lower()
    for name in names:
        tier = found.get(name, Tier.SCATTERED)
        there = name.lower()
        assert (tier == Tier.EXACT) == (there == low)
        assert (tier <= Tier.PREFIX) == there.startswith(low)
        if low in there:
            assert tier <= Tier.INSIDE


@given(NAMES, QUERIES, st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_a_limit_keeps_the_best(names: list[str], query: str, limit: int) -> None:
    hay = Haystack([(name, name) for name in names], paths=False)
    assert hay.search(query, limit)[:limit] == hay.search(query, 1000)[:limit]
