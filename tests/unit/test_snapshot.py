from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.files import Limits
from promptls.index.snapshot import OpenDocument, Snapshot, Sources, split_lines, with_entries
from promptls.index.syntax.parse import scan
from promptls.model import (
    Chunk,
    FileEntry,
    Outline,
    Problem,
    Root,
    Span,
    Symbol,
    keys_in,
    names_in,
    pack,
    spoken_in,
    symbols_in,
    view_of,
)

NAMES = st.lists(st.sampled_from(["alpha", "Beta", "gamma", ""]), max_size=3)


def entry(path: str, names: list[str], keys: list[int]) -> FileEntry:
    symbols = tuple(Symbol(n, "function", n, n, "", Span(0, 1), 0, 1, -1) for n in names)
    chunks = tuple(Chunk(bytes([k]) * 16, Span(i, i + 1), -1) for i, k in enumerate(keys))
    return FileEntry(path, "/w", path.removeprefix("/w/"), outlined=pack(Outline("python", 5, symbols, chunks)))


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["/w/a.py", "/w/sub/a.py", "/w/B.py"]),
        st.none() | st.tuples(NAMES, st.lists(st.integers(0, 3), max_size=3)),
    ),
    max_size=12,
)


@given(CHANGES)
def test_changes_one_by_one_or_only_the_last_give_the_same(
    changes: list[tuple[str, tuple[list[str], list[int]] | None]],
) -> None:
    entries = [(p, None if c is None else entry(p, *c)) for p, c in changes]
    step = Snapshot()
    for change in entries:
        step = with_entries(step, [change])
    at_once = with_entries(Snapshot(), entries)
    last = with_entries(Snapshot(), [(p, e) for p, e in dict(entries).items() if e is not None])
    for other in (at_once, last):
        assert dict(step.files) == dict(other.files)
        assert {k: sorted(v) for k, v in step.names.items()} == {k: sorted(v) for k, v in other.names.items()}
        assert {k: sorted(v) for k, v in step.basenames.items()} == {k: sorted(v) for k, v in other.basenames.items()}


def test_what_an_edit_does_not_change_stays_the_same_object() -> None:
    before = with_entries(Snapshot(), [("/w/a.py", entry("/w/a.py", ["alpha"], [1]))])
    after = with_entries(before, [("/w/a.py", entry("/w/a.py", ["alpha"], [2]))])
    assert after.names is before.names
    assert after.basenames is before.basenames
    assert after.files != before.files


@pytest.mark.parametrize("count", [0, 1, 15, 16, 255, 256, 70_000])
@pytest.mark.parametrize("language", ["c", "python", "x" * 31, "x" * 32, "x" * 200])
@pytest.mark.parametrize("lines", [0, 127, 128, 255, 256, 70_000, 2**32])
def test_symbols_are_counted_without_a_look_at_them(count: int, language: str, lines: int) -> None:
    symbol = Symbol("a", "function", "a", "def a()", "", Span(0, 1), 0, 1, -1)
    packed = pack(Outline(language, lines, (symbol,) * count))
    assert symbols_in(packed) == count == len(view_of(packed).symbols)


def test_names_and_keys_are_read_alone() -> None:
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    for file in files:
        outline = scan(file.read_text("utf-8"), "python").outline
        packed = pack(outline)
        assert names_in(packed) == [symbol.name for symbol in outline.symbols]
        assert spoken_in(packed) == (outline.imports, outline.ref_names)
        assert keys_in(packed) == [chunk.key for chunk in outline.chunks]
    assert names_in(b"") == keys_in(b"") == []
    assert spoken_in(b"") == ((), ())


def test_a_text_is_had_without_its_outline(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    file.write_text("x = 1\n")
    path = file.as_posix()

    def outliner(*_: object) -> FileEntry:
        raise AssertionError("nobody asked for the structure")

    sources = Sources(Snapshot(), Limits(), outliner)
    assert sources.text(path) == "x = 1\n"
    assert isinstance(sources.text(path + "x"), Problem)
    opened = Snapshot(documents=Snapshot().documents.set(path, OpenDocument("y = 2\n", 1)))
    assert Sources(opened, Limits(), outliner).text(path) == "y = 2\n"


def test_each_text_that_is_no_file_keeps_its_own_name() -> None:
    sources = Sources(Snapshot(), Limits())
    said = [("terminal", "one"), ("terminal", "two"), ("terminal", "one"), (".env (diff)", "a"), (".env (diff)", "b")]
    paths = [sources.exhibit(name, text) for name, text in said]
    assert [(sources.snapshot.label(path), sources.text(path)) for path in paths] == [
        ("terminal", "one"),
        ("terminal (2)", "two"),
        ("terminal", "one"),
        (".env (diff)", "a"),
        (".env (diff, 2)", "b"),
    ]
    other = Sources(Snapshot(), Limits())
    mine = other.exhibit("terminal", "three")
    assert not other.lend(sources.exhibits)
    assert other.text(mine) == "three"
    assert Sources(Snapshot(), Limits()).lend(sources.exhibits)


def test_roots_and_labels() -> None:
    outer, inner = Root("/w", "w", "file:///w"), Root("/w/sub", "sub", "file:///w/sub")
    one, two = Snapshot(roots=(outer,)), Snapshot(roots=(outer, inner))
    assert one.label("/w/sub/a.py") == "sub/a.py"
    assert two.label("/w/sub/a.py") == "sub:a.py"
    assert two.label("/w/b.py") == "w:b.py"
    assert two.root_of("/elsewhere/a.py") is None
    assert two.root_of("/w2/a.py") is None


@given(st.text(alphabet="ab\r\n\u2028\x0b\x85", max_size=20))
def test_only_line_ends_of_lsp_end_lines(text: str) -> None:
    lines = split_lines(text)
    assert "\n".join(lines) in (t := text.replace("\r\n", "\n").replace("\r", "\n"), t[:-1])
    assert not any("\n" in line or "\r" in line for line in lines)
