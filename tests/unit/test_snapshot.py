from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.index.files.read import FileLimits
from promptls.index.snapshot import OpenDocument, Snapshot, SourceReader, split_lines, with_files
from promptls.index.syntax.parse import parse_source
from promptls.model import (
    Chunk,
    FileEntry,
    Outline,
    Problem,
    Root,
    Span,
    Symbol,
    count_symbols,
    decode_chunk_keys,
    decode_references,
    decode_size,
    decode_symbol_names,
    encode_outline,
    is_valid_outline,
    outline_view,
    pack_numbers,
    unpack_numbers,
)

NAMES = st.lists(st.sampled_from(["alpha", "Beta", "gamma", ""]), max_size=3)


def entry(path: str, names: list[str], keys: list[int]) -> FileEntry:
    symbols = tuple(Symbol(n, "function", n, n, "", Span(0, 1), 0, 1, -1) for n in names)
    chunks = tuple(Chunk(bytes([k]) * 16, Span(i, i + 1), -1) for i, k in enumerate(keys))
    return FileEntry(
        path, "/w", path.removeprefix("/w/"), encoded_outline=encode_outline(Outline("python", 5, symbols, chunks))
    )


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["/w/a.py", "/w/sub/a.py", "/w/B.py"]),
        st.none() | st.tuples(NAMES, st.lists(st.integers(0, 3), max_size=3)),
    ),
    max_size=12,
)


@given(CHANGES)
def test_single_and_combined_changes_give_the_same_snapshot(
    changes: list[tuple[str, tuple[list[str], list[int]] | None]],
) -> None:
    entries = [(p, None if c is None else entry(p, *c)) for p, c in changes]
    step = Snapshot()
    for change in entries:
        step = with_files(step, [change])
    at_once = with_files(Snapshot(), entries)
    last = with_files(Snapshot(), [(p, e) for p, e in dict(entries).items() if e is not None])
    for other in (at_once, last):
        assert dict(step.files) == dict(other.files)
        assert {k: sorted(v) for k, v in step.names.items()} == {k: sorted(v) for k, v in other.names.items()}
        assert {k: sorted(v) for k, v in step.basenames.items()} == {k: sorted(v) for k, v in other.basenames.items()}


def test_unchanged_maps_remain_the_same_objects_after_an_edit() -> None:
    before = with_files(Snapshot(), [("/w/a.py", entry("/w/a.py", ["alpha"], [1]))])
    after = with_files(before, [("/w/a.py", entry("/w/a.py", ["alpha"], [2]))])
    assert after.names is before.names
    assert after.basenames is before.basenames
    assert after.files != before.files


@pytest.mark.parametrize(
    ("count", "language", "lines"),
    [
        *((count, "python", 1) for count in (0, 1, 15, 16, 70_000)),  # each length of an array in MessagePack
        *((2, "x" * length, 1) for length in (31, 32, 200)),  # strings
        *((2, "c", lines) for lines in (127, 128, 256, 70_000, 2**32)),  # integers
    ],
)
def test_symbols_are_counted_without_decoding_them(count: int, language: str, lines: int) -> None:
    symbol = Symbol("a", "function", "a", "def a()", "", Span(0, 1), 0, 1, -1)
    packed = encode_outline(Outline(language, lines, (symbol,) * count))
    assert count_symbols(packed) == count == len(outline_view(packed).symbols)
    assert decode_size(packed) == (language, lines)
    assert len({id(name) for _ in range(2) for name in decode_symbol_names(packed)}) == min(1, count)


@pytest.mark.parametrize(
    ("numbers", "size"),
    [((), 0), ((0,), 1), ((7, 255), 1), ((256,), 2), ((3, 65_535, 1), 2), ((65_536,), 4), ((1, 2**32 - 1), 4)],
)
def test_numbers_are_packed_in_as_few_bytes_as_the_largest_requires(numbers: tuple[int, ...], size: int) -> None:
    packed = pack_numbers(array("I", numbers))
    assert tuple(unpack_numbers(packed)) == numbers
    assert len(packed) == (size * len(numbers) + 1 if numbers else 0)


@pytest.mark.parametrize("refs", [b"\0", b"\x03\x03", b"\1\1\1\x03", b"\1\1\1\2", b"\1\1\1"])
def test_damaged_numbers_of_an_outline_are_found(refs: bytes) -> None:
    assert is_valid_outline(encode_outline(Outline("python", 1)), 1)
    assert not is_valid_outline(encode_outline(Outline("python", 1, refs=refs)), 1)


def test_names_and_chunk_keys_are_decoded_separately() -> None:
    for file in sorted(Path(__file__).parent.glob("test_s*.py")):
        outline = parse_source(file.read_text("utf-8"), "python").outline
        packed = encode_outline(outline)
        assert decode_symbol_names(packed) == [symbol.name for symbol in outline.symbols]
        assert decode_references(packed) == (outline.imports, outline.ref_names)
        assert decode_chunk_keys(packed) == [chunk.key for chunk in outline.chunks]
    assert decode_symbol_names(b"") == decode_chunk_keys(b"") == []
    assert decode_references(b"") == ((), ())


def test_text_is_read_without_outlining_it(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    file.write_text("x = 1\n")
    path = file.as_posix()

    def outliner(*_: object) -> FileEntry:
        raise AssertionError("the outline was not requested")

    sources = SourceReader(Snapshot(), FileLimits(), outliner)
    assert sources.read_text(path) == "x = 1\n"
    assert isinstance(sources.read_text(path + "x"), Problem)
    opened = Snapshot(documents=Snapshot().documents.set(path, OpenDocument("y = 2\n", 1)))
    assert SourceReader(opened, FileLimits(), outliner).read_text(path) == "y = 2\n"


def test_virtual_documents_get_distinct_names() -> None:
    sources = SourceReader(Snapshot(), FileLimits())
    said = [("terminal", "one"), ("terminal", "two"), ("terminal", "one"), (".env (diff)", "a"), (".env (diff)", "b")]
    paths = [sources.add_virtual_document(name, text) for name, text in said]
    assert [(sources.snapshot.label(path), sources.read_text(path)) for path in paths] == [
        ("terminal", "one"),
        ("terminal (2)", "two"),
        ("terminal", "one"),
        (".env (diff)", "a"),
        (".env (diff, 2)", "b"),
    ]
    other = SourceReader(Snapshot(), FileLimits())
    mine = other.add_virtual_document("terminal", "three")
    assert not other.share_virtual_documents(sources.virtual_documents)
    assert other.read_text(mine) == "three"
    assert SourceReader(Snapshot(), FileLimits()).share_virtual_documents(sources.virtual_documents)


def test_root_and_label_of_a_path() -> None:
    outer, inner = Root("/w", "w", "file:///w"), Root("/w/sub", "sub", "file:///w/sub")
    one, two = Snapshot(roots=(outer,)), Snapshot(roots=(outer, inner))
    assert one.label("/w/sub/a.py") == "sub/a.py"
    assert two.label("/w/sub/a.py") == "sub:a.py"
    assert two.label("/w/b.py") == "w:b.py"
    assert two.root_of("/elsewhere/a.py") is None
    assert two.root_of("/w2/a.py") is None


@given(st.text(alphabet="ab\r\n\u2028\x0b\x85", max_size=20))
def test_only_lsp_line_ends_split_lines(text: str) -> None:
    lines = split_lines(text)
    assert "\n".join(lines) in (t := text.replace("\r\n", "\n").replace("\r", "\n"), t[:-1])
    assert not any("\n" in line or "\r" in line for line in lines)
