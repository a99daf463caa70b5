"""File outlines: symbols, chunks, imports, and references to names; their encoding, and views that decode lazily.

Workers send encoded outlines (msgpack) and the manifest stores them.  Decoded outlines of a large workspace would not
fit in memory, and most of them are never read.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import msgspec
from msgspec import Struct

from promptls.util.mappings import GenerationalCache
from promptls.util.text.positions import Span


class Symbol(Struct, frozen=True, array_like=True, gc=False):
    """A definition in a file."""

    name: str  # "handle_ping"; the heading of a section, "" for an anonymous definition
    kind: str  # one of languages.kinds.SYMBOL_KINDS
    qualified: str  # "Server.handle_ping": names of the enclosing definitions, joined by "."
    signature: str  # on one line, white space folded, at most 240 characters
    doc: str  # first paragraph of the documentation on one line, at most 400 characters, or ""
    span: Span  # first decorator or attribute to last line
    doc_start: int  # first line of the comment block directly above, = span.start without one
    body_start: int  # first line after the signature, = span.end without a body
    parent: int  # index of the enclosing symbol in Outline.symbols, -1 at top level
    complexity: int = 0  # cyclomatic complexity (McCabe 1976), 0 if not callable
    exported: bool = False  # whether other files may use it, by the visibility rules of the language
    traits: str = ""  # decorators and properties of the code, such as "@dataclass @cached yields"


class Chunk(Struct, frozen=True, array_like=True, gc=False):
    """The unit of retrieval: a definition, a part of a long definition, or text between definitions."""

    key: bytes  # content hash of the embedded text, 16 bytes of BLAKE2b; equal texts share one row
    span: Span
    symbol: int  # index into Outline.symbols, -1 for text between definitions


class Import(Struct, frozen=True, array_like=True, gc=False):
    """An import statement as written: "from a.b import c, d" is Import("a.b", ("c", "d"), line)."""

    module: str
    names: tuple[str, ...]  # names in the module; "*" for all, () for the module itself
    line: int
    # Names in the importing file: one for each of `names`, or one for the module. () if they are the same.
    local_names: tuple[str, ...] = ()


USE, CALL, INHERIT, IMPLEMENT, PROSE = range(5)
"""Kinds of references: a type or decorator, a call, a base class, an implemented interface, a name in documentation."""


class Reference(Struct, frozen=True, array_like=True, gc=False):
    """A reference to a name, as written."""

    name: str  # last part: "join" of "os.path.join"
    line: int
    kind: int  # USE, CALL, INHERIT, IMPLEMENT or PROSE
    receiver: str = ""  # expression before the name: "os.path", "self", "Server()"; see syntax.references


class Outline(Struct, frozen=True, array_like=True):
    """The structure of a file. Symbols are in document order, parents before children."""

    language: str  # name of a language, "text" without a grammar
    lines: int
    symbols: tuple[Symbol, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    imports: tuple[Import, ...] = ()
    ref_names: tuple[str, ...] = ()  # distinct names that the file calls, inherits from or uses as types
    # Output of `pack_numbers`: (index into ref_names, line, index into identifiers << 3 | kind), by position
    refs: bytes = b""
    variable_types: bytes = b""  # the same of (variable, type, line); both are indexes into identifiers
    identifiers: tuple[str, ...] = ()  # distinct receivers, variables and types
    problem: str = ""  # why the grammar was not used in full ("timed out after 1 s", …)
    doc: str = ""  # first paragraph of the file's own documentation on one line, at most 400 characters

    def references(self) -> Iterator[Reference]:
        """Yield each reference, in document order."""
        return iter_references(self.refs, self.ref_names, self.identifiers)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """Yield (variable, type, line) of declarations; the type is as written, "A()" for the result of calling A."""
        return iter_variables(self.variable_types, self.identifiers)


_NUMBER_TYPES = {1: "B", 2: "H", 4: "I"}
"""Type codes of arrays by the bytes of a number."""


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Encode numbers in as many bytes as the largest one requires; the last byte is this size. b"" for none."""
    if not numbers:
        return b""
    largest = max(numbers)
    size = 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
    return array(_NUMBER_TYPES[size], numbers).tobytes() + bytes([size])


def unpack_numbers(packed: bytes) -> array[int]:
    """Decode the output of `pack_numbers`."""
    return array(_NUMBER_TYPES[packed[-1]], packed[:-1]) if packed else array("I")


def iter_references(refs: bytes, names: tuple[str, ...], identifiers: tuple[str, ...]) -> Iterator[Reference]:
    """Decode the references of `Outline.refs`."""
    numbers = unpack_numbers(refs)
    for i in range(0, len(numbers), 3):
        yield Reference(names[numbers[i]], numbers[i + 1], numbers[i + 2] & 7, identifiers[numbers[i + 2] >> 3])


def iter_variables(variable_types: bytes, identifiers: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """Decode the declarations of `Outline.variable_types`."""
    numbers = unpack_numbers(variable_types)
    for i in range(0, len(numbers), 3):
        yield identifiers[numbers[i]], identifiers[numbers[i + 1]], numbers[i + 2]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# ---- encoding

MAX_DECODED_BYTES = 800_000
"""Encoded bytes of the outlines that one generation of the cache holds decoded, at four times this size in memory."""
MAX_VIEW_BYTES, VIEW_OVERHEAD_BYTES = 20_000_000, 1_200
"""Bytes of the outlines that one generation of the cache holds as views, and what a view takes besides its encoding.

Enough for the outlines of a million lines: one search reads up to a thousand files.
"""


class _OutlineFields(Struct, array_like=True, gc=False):
    """An encoded outline with its small fields decoded."""

    language: str
    lines: int
    symbols: msgspec.Raw
    chunks: tuple[Chunk, ...]
    imports: msgspec.Raw
    ref_names: tuple[str, ...]
    refs: bytes
    variable_types: msgspec.Raw
    identifiers: msgspec.Raw
    problem: str
    doc: str


class _OutlineSize(Struct, array_like=True, gc=False):
    language: str
    lines: int


class _SymbolName(Struct, array_like=True, gc=False):
    """The first field of an encoded symbol."""

    name: str


class _SymbolNames(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: list[_SymbolName]


class _ChunkKey(Struct, array_like=True, gc=False):
    """The first field of an encoded chunk."""

    key: bytes


class _ChunkKeys(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: msgspec.Raw
    chunks: list[_ChunkKey]


class _ReferenceNames(Struct, array_like=True, gc=False):
    language: msgspec.Raw
    lines: msgspec.Raw
    symbols: msgspec.Raw
    chunks: msgspec.Raw
    imports: tuple[Import, ...]
    ref_names: tuple[str, ...]


_encoder = msgspec.msgpack.Encoder()
_outline_decoder = msgspec.msgpack.Decoder(Outline)
_fields_decoder = msgspec.msgpack.Decoder(_OutlineFields)
_size_decoder = msgspec.msgpack.Decoder(_OutlineSize)
_imports_decoder = msgspec.msgpack.Decoder(tuple[Import, ...])
_bytes_decoder = msgspec.msgpack.Decoder(bytes)
_strings_decoder = msgspec.msgpack.Decoder(tuple[str, ...])
_symbol_names_decoder = msgspec.msgpack.Decoder(_SymbolNames)
_chunk_keys_decoder = msgspec.msgpack.Decoder(_ChunkKeys)
_reference_names_decoder = msgspec.msgpack.Decoder(_ReferenceNames)
_list_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])
_symbol_decoder = msgspec.msgpack.Decoder(Symbol)


def encode_outline(outline: Outline | None) -> bytes:
    """Encode an outline, in a quarter of its memory; None becomes b""."""
    return _encoder.encode(outline) if outline is not None else b""


def decode_outline(encoded: bytes) -> Outline:
    """Decode an outline in full. Cached by its bytes; thread-safe."""
    outline = _decoded_outlines.get(encoded)
    if outline is None:
        outline = _outline_decoder.decode(encoded)
        _decoded_outlines.put(encoded, outline)
    return outline


def is_valid_outline(encoded: bytes, lines: int) -> bool:
    """Return whether bytes from another machine are the outline of a text of this many lines, or b""."""
    if not encoded:
        return True
    try:
        outline = decode_outline(encoded)
        rows = [reference.line for reference in outline.references()]
        rows += [line for _, _, line in outline.variables()] + [statement.line for statement in outline.imports]
    except (msgspec.MsgspecError, ValueError, LookupError):
        return False
    spans = [symbol.span for symbol in outline.symbols] + [chunk.span for chunk in outline.chunks]
    parents = [(symbol.parent, at) for at, symbol in enumerate(outline.symbols)]
    parents += [(chunk.symbol, len(outline.symbols)) for chunk in outline.chunks]
    return (
        all(0 <= row < lines for row in rows)
        and all(0 <= span.start <= span.end <= lines for span in spans)
        and all(symbol.doc_start >= 0 and symbol.body_start <= lines for symbol in outline.symbols)
        and all(-1 <= parent < limit for parent, limit in parents)
    )


def outline_view(encoded: bytes) -> OutlineView:
    """Return a lazily decoded view of an outline. Cached by its bytes; thread-safe."""
    view = _outline_views.get(encoded)
    if view is None:
        view = OutlineView(encoded)
        _outline_views.put(encoded, view)
    return view


def drop_cached_outline(encoded: bytes) -> None:
    """Remove an outline from the caches.

    Without this, an hour of typing would fill the caches with outlines that no file has any more.
    """
    _decoded_outlines.drop(encoded)
    _outline_views.drop(encoded)


def decode_size(encoded: bytes) -> tuple[str, int]:
    """Decode only the language and the number of lines."""
    size = _size_decoder.decode(encoded)
    return size.language, size.lines


def decode_symbol_names(encoded: bytes) -> list[str]:
    """Decode only the names of the symbols, interned: the tables of names are in memory once."""
    return [sys.intern(symbol.name) for symbol in _symbol_names_decoder.decode(encoded).symbols] if encoded else []


def decode_chunk_keys(encoded: bytes) -> list[bytes]:
    """Decode only the keys of the chunks."""
    return [chunk.key for chunk in _chunk_keys_decoder.decode(encoded).chunks] if encoded else []


def decode_references(encoded: bytes) -> tuple[tuple[Import, ...], tuple[str, ...]]:
    """Decode only the imports and the distinct referenced names."""
    if not encoded:
        return (), ()
    fields = _reference_names_decoder.decode(encoded)
    return fields.imports, fields.ref_names


def count_symbols(encoded: bytes) -> int:
    """Return the number of symbols of an encoded outline without decoding them.

    They are the third field of the msgpack array, after the language and the number of lines.
    """
    at = 1 if encoded[0] < 0xDC else 3
    language = encoded[at]
    at += 1 + (language & 0x1F if language < 0xC0 else 1 + encoded[at + 1])
    at += _INTEGER_BYTES.get(encoded[at], 1)
    return _array_length(encoded[at : at + 5])


_INTEGER_BYTES = {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}
"""Encoded bytes of a msgpack integer by its first byte, for integers of more than one byte."""


def _array_length(header: bytes) -> int:
    """Return the number of elements of a msgpack array from its first five bytes."""
    if header[0] < 0xDC:
        return header[0] & 0x0F
    return int.from_bytes(header[1:3] if header[0] == 0xDC else header[1:5], "big")


class _LazySymbols(Sequence[Symbol]):
    """The symbols of an encoded outline; an index decodes one symbol, an iteration all of them."""

    __slots__ = ("_encoded", "_encoded_symbols", "_length", "_raw")

    def __init__(self, encoded: bytes, raw: msgspec.Raw) -> None:
        self._encoded, self._raw = encoded, raw
        self._length = _array_length(bytes(memoryview(raw)[:5]))
        self._encoded_symbols: list[msgspec.Raw] | None = None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Symbol]:
        return iter(decode_outline(self._encoded).symbols)

    def __reversed__(self) -> Iterator[Symbol]:
        return reversed(decode_outline(self._encoded).symbols)

    @overload
    def __getitem__(self, at: int) -> Symbol: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Symbol, ...]: ...
    def __getitem__(self, at: int | slice) -> Symbol | tuple[Symbol, ...]:
        if isinstance(at, slice):
            return decode_outline(self._encoded).symbols[at]
        if self._encoded_symbols is None:
            self._encoded_symbols = _list_decoder.decode(self._raw)
        return _symbol_decoder.decode(self._encoded_symbols[at])

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class OutlineView:
    """A lazily decoded outline. See `Outline` for the fields."""

    __slots__ = ("_encoded", "_first_chunks", "_identifiers", "_imports", "_raw_fields", "_reference_arrays",
                 "_variable_types", "chunks", "doc", "language", "lines", "problem", "ref_names", "refs",
                 "symbols")  # fmt: skip

    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded
        fields = _fields_decoder.decode(encoded)
        self.language, self.lines = fields.language, fields.lines
        self.symbols: Sequence[Symbol] = _LazySymbols(encoded, fields.symbols)
        self.chunks = fields.chunks
        self.ref_names, self.refs = fields.ref_names, fields.refs
        self.problem, self.doc = fields.problem, fields.doc
        self._raw_fields = fields.imports, fields.variable_types, fields.identifiers
        self._imports: tuple[Import, ...] | None = None
        self._variable_types: bytes | None = None
        self._identifiers: tuple[str, ...] | None = None
        self._reference_arrays: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None
        self._first_chunks: dict[int, int] | None = None

    @property
    def imports(self) -> tuple[Import, ...]:
        """Import statements."""
        if self._imports is None:
            self._imports = _imports_decoder.decode(self._raw_fields[0])
        return self._imports

    @property
    def variable_types(self) -> bytes:
        """Declared types of variables; see `Outline.variable_types`."""
        if self._variable_types is None:
            self._variable_types = _bytes_decoder.decode(self._raw_fields[1])
        return self._variable_types

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Distinct receivers, variables and types."""
        if self._identifiers is None:
            self._identifiers = _strings_decoder.decode(self._raw_fields[2])
        return self._identifiers

    def reference_arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return (indexes into `ref_names`, lines) of the references, sorted by line."""
        if self._reference_arrays is None:
            import numpy as np  # imported here: the start-up path imports this module

            refs = np.array(unpack_numbers(self.refs), np.uint32)
            names, lines = refs[::3], refs[1::3]
            if (lines[1:] < lines[:-1]).any():
                order = np.argsort(lines, kind="stable")
                names, lines = names[order], lines[order]
            self._reference_arrays = names, lines
        return self._reference_arrays

    def first_chunk_of(self, symbol: int) -> int:
        """Return the index of the first chunk of a symbol, or -1."""
        if self._first_chunks is None:
            self._first_chunks = {chunk.symbol: i for i, chunk in reversed([*enumerate(self.chunks)])}
        return self._first_chunks.get(symbol, -1)

    def references(self) -> Iterator[Reference]:
        """Yield each reference, in document order."""
        return iter_references(self.refs, self.ref_names, self.identifiers)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """Yield (variable, type, line) of declarations; see `Outline.variables`."""
        return iter_variables(self.variable_types, self.identifiers)

    def __eq__(self, other: object) -> bool:
        return self._encoded == other._encoded if isinstance(other, OutlineView) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._encoded)


AnyOutline = Outline | OutlineView

_decoded_outlines: GenerationalCache[bytes, Outline] = GenerationalCache(MAX_DECODED_BYTES, len)
_outline_views: GenerationalCache[bytes, OutlineView] = GenerationalCache(
    MAX_VIEW_BYTES, lambda encoded: len(encoded) + VIEW_OVERHEAD_BYTES
)
