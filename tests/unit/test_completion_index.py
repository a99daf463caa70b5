"""The searchable catalog: what it finds, and that a catalog carried over an edit equals a fresh one."""

from __future__ import annotations

import random
from pathlib import Path

from msgspec.structs import replace

from promptls.index.snapshot import Snapshot, with_entries
from promptls.mentions.completion import index
from promptls.mentions.completion.fuzzy import Haystack, Tier
from promptls.model import FileEntry, Outline, Root, Span, Symbol, pack

ROOT = Root("/ws/big", "big", "file:///ws/big")


def entry(name: str, *symbols: str) -> FileEntry:
    found = tuple(Symbol(s, "function", s, f"def {s}()", "", Span(i, i + 1), i, i, -1) for i, s in enumerate(symbols))
    return FileEntry(f"/ws/big/{name}", "/ws/big", name, 1, 1, b"x" * 16, outlined=pack(Outline("python", 9, found)))


def snapshot(*entries: FileEntry) -> Snapshot:
    return with_entries(Snapshot(roots=(ROOT,)), [(e.path, e) for e in entries])


def found(current: Snapshot, query: str) -> list[str]:
    return sorted(path for _, path in index.paths_of(current).search(query, 1000))


def test_tiers() -> None:
    names = ["ping", "ping.py", "pinger.py", "handle_ping.py", "handlePing.py", "shopping.py", "pxixnxg.py"]
    hay = Haystack([("ping/other.py", "in path"), *((n, n) for n in names)], paths=True)
    assert {hay.keys[i]: tier for tier, i in hay.search("PING", 100)} == {
        "ping": Tier.EXACT,
        "ping.py": Tier.STEM,
        "pinger.py": Tier.PREFIX,
        "handle_ping.py": Tier.WORD,
        "handlePing.py": Tier.WORD,
        "shopping.py": Tier.INSIDE,
        "in path": Tier.PATH,
        "pxixnxg.py": Tier.SCATTERED,
    }


def test_initials_and_word_starts() -> None:
    hay = Haystack([(n, n) for n in ("parseHTTPRequest", "parse_http_request", "reparse", "x2y")], paths=False)

    def of(query: str) -> dict[str, Tier]:
        return {hay.keys[i]: tier for tier, i in hay.search(query, 100, Tier.INSIDE)}

    assert of("phr") == {"parseHTTPRequest": Tier.WORD, "parse_http_request": Tier.WORD}
    assert of("http") == {"parseHTTPRequest": Tier.WORD, "parse_http_request": Tier.WORD}
    assert of("arse") == {"parseHTTPRequest": Tier.INSIDE, "parse_http_request": Tier.INSIDE, "reparse": Tier.INSIDE}
    assert of("2y") == {"x2y": Tier.WORD}


def test_the_beginning_of_a_word_counts_wherever_it_is() -> None:
    hay = Haystack([(n, n) for n in ("recart_cart", "recarted", "to/cart", "a/recart/cart/x")], paths=False)
    assert {hay.keys[i]: tier for tier, i in hay.search("cart", 9)}["recart_cart"] == Tier.WORD
    assert {hay.keys[i]: tier for tier, i in hay.search("/cart", 9)} == {
        "to/cart": Tier.INSIDE,
        "a/recart/cart/x": Tier.INSIDE,
    }
    assert {hay.keys[i]: tier for tier, i in hay.search("cart/", 9)} == {"a/recart/cart/x": Tier.WORD}


def test_likeness_and_typing_errors() -> None:
    hay = Haystack([(n, n) for n in ("snapshot", "snapshots", "napkin", "größe")], paths=False)
    assert {(hay.keys[i], errors) for errors, i in hay.near("snaphsot", 1)} == {("snapshot", 1)}
    assert {hay.keys[i] for _, i in hay.near("snapshot", 1)} == {"snapshot", "snapshots"}
    assert {hay.keys[i] for _, i in hay.alike("snapsht", 80)} == {"snapshot", "snapshots"}
    assert {hay.keys[i] for _, i in hay.near("GRÖSSE", 1)} == set()
    assert {hay.keys[i] for _, i in hay.near("grösse", 2)} == {"größe"}


def test_no_names_at_all() -> None:
    for paths in (True, False):
        hay = Haystack([], paths)
        assert hay.search("x", 5) == hay.search("", 5) == hay.search("a/b", 5) == []
        assert hay.near("x", 2) == hay.alike("x", 50) == []


def test_an_edit_changes_symbols_and_no_paths() -> None:
    first = snapshot(entry("a.py", "one"), entry("b.py", "two"))
    assert [name for _, name in index.symbols_of(first).search("one", 5, Tier.EXACT)] == ["one"]
    edited = entry("a.py", "changed")
    second = with_entries(first, [(edited.path, edited)])
    names = {name for _, name in index.symbols_of(second).search("changed", 5, Tier.EXACT)}
    assert names == {"changed"}
    assert found(second, ".py") == ["/ws/big/a.py", "/ws/big/b.py"]
    assert found(first, "a.py") == ["/ws/big/a.py"]


def test_other_roots_are_another_catalog(tmp_path: Path) -> None:
    one = snapshot(entry("a.py"))
    two = replace(one, roots=(ROOT, Root("/ws/other", "other", "file:///ws/other")))
    assert found(one, "big/a.py") == []
    assert found(two, "big/a.py") == ["/ws/big/a.py"]


def test_any_sequence_of_changes_ends_in_what_a_fresh_catalog_says() -> None:
    dice = random.Random(5)
    current = snapshot(*(entry(f"d{i % 7}/f{i}.py", f"name{i}") for i in range(60)))
    for step in range(60):
        changes: list[tuple[str, FileEntry | None]] = []
        for _ in range(dice.randint(1, 3)):
            name = f"d{dice.randint(0, 9)}/{dice.choice('fgh')}{dice.randint(0, 80)}.py"
            new = entry(name, f"name{dice.randint(0, 99)}", f"step{step}")
            changes.append((new.path, None if dice.random() < 0.4 else new))
        current = with_entries(current, dict(changes).items())
        paths, symbols = index.paths_of(current), index.symbols_of(current)
        files = set(current.files)
        folders = {path.rsplit("/", 1)[0] + "/" for path in files}
        assert {key for _, key in paths.search(".py", 1000)} == files
        assert {key for _, key in paths.search("d", 1000) if key.endswith("/")} == folders
        assert set(paths.under("/ws/big")) == files
        assert set(paths.children("/ws/big")) == folders
        assert {f + "/" for f in paths.folders_named("D3")} == {f for f in folders if f.endswith("/d3/")}
        known = {name for _, name in symbols.search("e", 1000)} | {name for _, name in symbols.search("p", 1000)}
        assert {s.name for e in current.files.values() if e.outline for s in e.outline.symbols} <= known
