"""Path and symbol indexes for completion: match tiers, and updates that equal a rebuild."""

from __future__ import annotations

import random
from pathlib import Path

from msgspec.structs import replace

from promptls.index.snapshot import Snapshot, with_files
from promptls.mentions.completion.fuzzy import FuzzyIndex, MatchTier
from promptls.mentions.completion.index import CompletionIndex
from promptls.model import FileEntry, Outline, Root, Span, Symbol, encode_outline

ROOT = Root("/ws/big", "big", "file:///ws/big")


def entry(name: str, *symbols: str) -> FileEntry:
    matching_paths = tuple(
        Symbol(s, "function", s, f"def {s}()", "", Span(i, i + 1), i, i, -1) for i, s in enumerate(symbols)
    )
    return FileEntry(
        f"/ws/big/{name}",
        "/ws/big",
        name,
        1,
        1,
        b"x" * 16,
        encoded_outline=encode_outline(Outline("python", 9, matching_paths)),
    )


def snapshot(*entries: FileEntry) -> Snapshot:
    return with_files(Snapshot(roots=(ROOT,)), [(e.path, e) for e in entries])


def matching_paths(current: Snapshot, query: str) -> list[str]:
    return sorted(path for _, path in CompletionIndex().paths(current).search(query, 1000))


def test_match_tiers() -> None:
    names = ["ping", "ping.py", "pinger.py", "handle_ping.py", "handlePing.py", "shopping.py", "pxixnxg.py"]
    fuzzy = FuzzyIndex([("ping/other.py", "in path"), *((n, n) for n in names)], paths=True)
    assert {fuzzy.keys[m.row]: m.tier for m in fuzzy.search("PING", 100)} == {
        "ping": MatchTier.EXACT,
        "ping.py": MatchTier.STEM,
        "pinger.py": MatchTier.PREFIX,
        "handle_ping.py": MatchTier.WORD,
        "handlePing.py": MatchTier.WORD,
        "shopping.py": MatchTier.SUBSTRING,
        "in path": MatchTier.PATH,
        "pxixnxg.py": MatchTier.SUBSEQUENCE,
    }


def test_initials_and_word_starts() -> None:
    fuzzy = FuzzyIndex([(n, n) for n in ("parseHTTPRequest", "parse_http_request", "reparse", "x2y")], paths=False)

    def of(query: str) -> dict[str, MatchTier]:
        return {fuzzy.keys[m.row]: m.tier for m in fuzzy.search(query, 100, MatchTier.SUBSTRING)}

    assert of("phr") == {"parseHTTPRequest": MatchTier.WORD, "parse_http_request": MatchTier.WORD}
    assert of("http") == {"parseHTTPRequest": MatchTier.WORD, "parse_http_request": MatchTier.WORD}
    assert of("arse") == {
        "parseHTTPRequest": MatchTier.SUBSTRING,
        "parse_http_request": MatchTier.SUBSTRING,
        "reparse": MatchTier.SUBSTRING,
    }
    assert of("2y") == {"x2y": MatchTier.WORD}


def test_word_start_matches_anywhere_in_a_name() -> None:
    fuzzy = FuzzyIndex([(n, n) for n in ("recart_cart", "recarted", "to/cart", "a/recart/cart/x")], paths=False)
    assert {fuzzy.keys[m.row]: m.tier for m in fuzzy.search("cart", 9)}["recart_cart"] == MatchTier.WORD
    assert {fuzzy.keys[m.row]: m.tier for m in fuzzy.search("/cart", 9)} == {
        "to/cart": MatchTier.SUBSTRING,
        "a/recart/cart/x": MatchTier.SUBSTRING,
    }
    assert {fuzzy.keys[m.row]: m.tier for m in fuzzy.search("cart/", 9)} == {"a/recart/cart/x": MatchTier.WORD}


def test_names_within_a_few_edits() -> None:
    fuzzy = FuzzyIndex([(n, n) for n in ("snapshot", "snapshots", "napkin", "größe")], paths=False)
    assert {(fuzzy.keys[i], edits) for edits, i in fuzzy.within_edits("snaphsot")} == {
        ("snapshot", 1),
        ("snapshots", 2),
    }
    assert {fuzzy.keys[i] for _, i in fuzzy.within_edits("grösse")} == {"größe"}


def test_empty_index() -> None:
    for paths in (True, False):
        fuzzy = FuzzyIndex([], paths)
        assert fuzzy.search("x", 5) == fuzzy.search("", 5) == fuzzy.search("a/b", 5) == []
        assert fuzzy.within_edits("x") == []


def test_edit_updates_symbols_but_not_paths() -> None:
    index = CompletionIndex()
    first = snapshot(entry("a.py", "one"), entry("b.py", "two"))
    assert [name for _, name in index.symbols(first).search("one", 5, MatchTier.EXACT)] == ["one"]
    edited = entry("a.py", "changed")
    second = with_files(first, [(edited.path, edited)])
    names = {name for _, name in index.symbols(second).search("changed", 5, MatchTier.EXACT)}
    assert names == {"changed"}
    assert matching_paths(second, ".py") == ["/ws/big/a.py", "/ws/big/b.py"]
    assert matching_paths(first, "a.py") == ["/ws/big/a.py"]


def test_different_roots_rebuild_the_index(tmp_path: Path) -> None:
    one = snapshot(entry("a.py"))
    two = replace(one, roots=(ROOT, Root("/ws/other", "other", "file:///ws/other")))
    assert matching_paths(one, "big/a.py") == []
    assert matching_paths(two, "big/a.py") == ["/ws/big/a.py"]


def test_updated_index_matches_the_snapshot_after_any_changes() -> None:
    index, dice = CompletionIndex(), random.Random(5)
    current = snapshot(*(entry(f"d{i % 7}/f{i}.py", f"name{i}") for i in range(60)))
    for step in range(60):
        changes: list[tuple[str, FileEntry | None]] = []
        for _ in range(dice.randint(1, 3)):
            name = f"d{dice.randint(0, 9)}/{dice.choice('fgh')}{dice.randint(0, 80)}.py"
            new = entry(name, f"name{dice.randint(0, 99)}", f"step{step}")
            changes.append((new.path, None if dice.random() < 0.4 else new))
        current = with_files(current, dict(changes).items())
        paths, symbols = index.paths(current), index.symbols(current)
        files = set(current.files)
        folders = {path.rsplit("/", 1)[0] + "/" for path in files}
        assert {key for _, key in paths.search(".py", 1000)} == files
        assert {key for _, key in paths.search("d", 1000) if key.endswith("/")} == folders
        assert set(paths.files_under("/ws/big")) == files
        assert set(paths.children("/ws/big")) == folders
        assert {f + "/" for f in paths.folders_named("D3")} == {f for f in folders if f.endswith("/d3/")}
        known = {name for _, name in symbols.search("e", 1000)} | {name for _, name in symbols.search("p", 1000)}
        assert {s.name for e in current.files.values() if e.outline for s in e.outline.symbols} <= known
