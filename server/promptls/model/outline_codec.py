"""Outlines as bytes, as workers send them and the manifest keeps them, and views that open no more than somebody looks at.

A large workspace has more outlines than there is memory for when they are open, and most of them nobody looks into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import msgspec
from msgspec import Struct

from promptls.model.outline import Chunk, Import, Outline, Reference, Symbol, references_of, uses_of, variables_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNPACKED = 800_000
"""Bytes of packed outlines of which all symbols are kept at hand, twice; these take four times as much."""
OPENED = 20_000_000
"""Bytes of packed outlines that are kept open, twice, in hardly more memory: those of a million lines.  A question of a
search looks into up to a thousand files."""

Value = TypeVar("Value")


class _Recent(Generic[Value]):
    """What was made of packed outlines lately: two generations, the older one goes when the younger one is full.

    Threads that meet here lose no more than an entry.
    """

    __slots__ = ("_before", "_most", "_recent", "_size")

    def __init__(self, most: int) -> None:
        self._most = most
        self._recent: dict[bytes, Value] = {}
        self._before: dict[bytes, Value] = {}
        self._size = 0

    def get(self, packed: bytes) -> Value | None:
        found = self._recent.get(packed)
        if found is None and (found := self._before.get(packed)) is not None:
            self.put(packed, found)
        return found

    def put(self, packed: bytes, value: Value) -> None:
        if self._size > self._most:
            self._before, self._recent, self._size = self._recent, {}, 0
        self._recent[packed] = value
        self._size += len(packed)

    def drop(self, packed: bytes) -> None:
        if self._recent.pop(packed, None) is not None:
            self._size -= len(packed)
        self._before.pop(packed, None)


class _Opened(Struct, array_like=True, gc=False):
    """A packed outline of which only the small parts are read."""

    language: str
    lines: int
    symbols: msgspec.Raw
    chunks: tuple[Chunk, ...]
    imports: msgspec.Raw
    ref_names: tuple[str, ...]
    refs: bytes
    typed: msgspec.Raw
    words: msgspec.Raw
    problem: str
    doc: str


class _Name(Struct, array_like=True, gc=False):
    """A symbol of which only the first part is read."""

    name: str


class _Named(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: list[_Name]


class _Key(Struct, array_like=True, gc=False):
    """A chunk of which only the first part is read."""

    key: bytes


class _Keyed(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: msgspec.Raw
    chunks: list[_Key]


class _Spoken(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: msgspec.Raw
    chunks: msgspec.Raw
    imports: tuple[Import, ...]
    ref_names: tuple[str, ...]


_pack = msgspec.msgpack.Encoder()
_unpack = msgspec.msgpack.Decoder(Outline)
_open = msgspec.msgpack.Decoder(_Opened)
_imports = msgspec.msgpack.Decoder(tuple[Import, ...])
_typed = msgspec.msgpack.Decoder(bytes)
_words = msgspec.msgpack.Decoder(tuple[str, ...])
_named = msgspec.msgpack.Decoder(_Named)
_keyed = msgspec.msgpack.Decoder(_Keyed)
_spoken = msgspec.msgpack.Decoder(_Spoken)
_split = msgspec.msgpack.Decoder(list[msgspec.Raw])
_symbol = msgspec.msgpack.Decoder(Symbol)
_whole: _Recent[Outline] = _Recent(UNPACKED)
_views: _Recent[OutlineView] = _Recent(OPENED)


def pack(outline: Outline | None) -> bytes:
    """An outline as bytes: a quarter of the memory, and ready to be stored or sent."""
    return _pack.encode(outline) if outline is not None else b""


def unpack(packed: bytes) -> Outline:
    """The outline that `pack` was given.  Those used last are kept; any thread."""
    found = _whole.get(packed)
    if found is None:
        found = _unpack.decode(packed)
        _whole.put(packed, found)
    return found


def forget(packed: bytes) -> None:
    """Keep nothing of an outline that no file has any more: an hour of typing would fill what is kept with such ones."""
    _whole.drop(packed)
    _views.drop(packed)


def names_in(packed: bytes) -> list[str]:
    """The names of the symbols in a packed outline, and nothing else of it."""
    return [symbol.name for symbol in _named.decode(packed).symbols] if packed else []


def keys_in(packed: bytes) -> list[bytes]:
    """The keys of the chunks in a packed outline, and nothing else of it."""
    return [chunk.key for chunk in _keyed.decode(packed).chunks] if packed else []


def spoken_in(packed: bytes) -> tuple[tuple[Import, ...], tuple[str, ...]]:
    """(the imports, the distinct names that are referred to) of a packed outline, and nothing else of it."""
    if not packed:
        return (), ()
    found = _spoken.decode(packed)
    return found.imports, found.ref_names


def symbols_in(packed: bytes) -> int:
    """Number of symbols in a packed outline: the third of its parts, after the language and the number of lines."""
    at = 1 if packed[0] < 0xDC else 3
    language = packed[at]
    at += 1 + (language & 0x1F if language < 0xC0 else 1 + packed[at + 1])
    at += _INTEGERS.get(packed[at], 1)
    return _length(packed[at : at + 5])


_INTEGERS = {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}
"""Bytes of an integer of msgpack by its first one, where it is not all of it."""


def _length(head: bytes) -> int:
    """How many elements an array of msgpack says that it has, in its first bytes."""
    if head[0] < 0xDC:
        return head[0] & 0x0F
    return int.from_bytes(head[1:3] if head[0] == 0xDC else head[1:5], "big")


class _Symbols(Sequence[Symbol]):
    """The symbols of a packed outline: a single one is read by itself, the whole of them together."""

    __slots__ = ("_length", "_packed", "_parts", "_raw")

    def __init__(self, packed: bytes, raw: msgspec.Raw) -> None:
        self._packed, self._raw = packed, raw
        self._length = _length(bytes(memoryview(raw)[:5]))
        self._parts: list[msgspec.Raw] | None = None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Symbol]:
        return iter(unpack(self._packed).symbols)

    def __reversed__(self) -> Iterator[Symbol]:
        return reversed(unpack(self._packed).symbols)

    @overload
    def __getitem__(self, at: int) -> Symbol: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Symbol, ...]: ...
    def __getitem__(self, at: int | slice) -> Symbol | tuple[Symbol, ...]:
        if isinstance(at, slice):
            return unpack(self._packed).symbols[at]
        if self._parts is None:
            self._parts = _split.decode(self._raw)
        return _symbol.decode(self._parts[at])

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class OutlineView:
    """An outline that is read as far as somebody looks; see `Outline` for what its parts are."""

    __slots__ = ("_chunk_of", "_closed", "_imports", "_packed", "_typed", "_used", "_words", "chunks", "doc", "language",
                 "lines", "problem", "ref_names", "refs", "symbols")  # fmt: skip

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        opened = _open.decode(packed)
        self.language, self.lines = opened.language, opened.lines
        self.symbols: Sequence[Symbol] = _Symbols(packed, opened.symbols)
        self.chunks = opened.chunks
        self.ref_names, self.refs = opened.ref_names, opened.refs
        self.problem, self.doc = opened.problem, opened.doc
        self._closed = opened.imports, opened.typed, opened.words
        self._imports: tuple[Import, ...] | None = None
        self._typed: bytes | None = None
        self._words: tuple[str, ...] | None = None
        self._used: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None
        self._chunk_of: dict[int, int] | None = None

    @property
    def imports(self) -> tuple[Import, ...]:
        """The statements that import something."""
        if self._imports is None:
            self._imports = _imports.decode(self._closed[0])
        return self._imports

    @property
    def typed(self) -> bytes:
        """What declarations say of variables; see `Outline.typed`."""
        if self._typed is None:
            self._typed = _typed.decode(self._closed[1])
        return self._typed

    @property
    def words(self) -> tuple[str, ...]:
        """Distinct receivers, variables and types."""
        if self._words is None:
            self._words = _words.decode(self._closed[2])
        return self._words

    def used(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """(indexes into `ref_names`, lines) of the references, by line."""
        if self._used is None:
            import numpy as np  # whatever starts with the nouns would wait for it

            refs = np.frombuffer(self.refs, np.uint32)
            used, lines = refs[::3], refs[1::3]
            if (lines[1:] < lines[:-1]).any():
                order = np.argsort(lines, kind="stable")
                used, lines = used[order], lines[order]
            self._used = used, lines
        return self._used

    def chunk_of(self, symbol: int) -> int:
        """The index of the first chunk that belongs to a symbol, -1 if there is none."""
        if self._chunk_of is None:
            self._chunk_of = {chunk.symbol: i for i, chunk in reversed([*enumerate(self.chunks)])}
        return self._chunk_of.get(symbol, -1)

    def references(self) -> Iterator[tuple[str, int]]:
        """(name, line) of each reference, in document order."""
        return references_of(self.refs, self.ref_names)

    def uses(self) -> Iterator[Reference]:
        """Each reference, in document order."""
        return uses_of(self.refs, self.ref_names, self.words)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """(variable, type, line) of what declarations say."""
        return variables_of(self.typed, self.words)

    def __eq__(self, other: object) -> bool:
        return self._packed == other._packed if isinstance(other, OutlineView) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._packed)


AnyOutline = Outline | OutlineView


def view_of(packed: bytes) -> OutlineView:
    """A packed outline, to be looked into.  Those used last are kept; any thread."""
    found = _views.get(packed)
    if found is None:
        found = OutlineView(packed)
        _views.put(packed, found)
    return found
