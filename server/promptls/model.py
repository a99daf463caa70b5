"""The nouns of promptls, shared by every floor.

Frozen values: no I/O, no behaviour beyond what a reader needs to look inside; outlines are packed and opened here.
Lines are 0-based and spans half-open everywhere except in text written for people,
where lines are 1-based and inclusive.  A `path` is always absolute with forward slashes.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Generic, Literal, TypeVar, overload

import msgspec
from msgspec import Struct, field

FormName = Literal["full", "partial", "signature", "outline", "reference"]
MentionStatus = Literal["included", "partial", "omitted", "ambiguous", "unresolved", "refused"]


class Cancelled(Exception):
    """The client cancelled the request, or the server is going down."""


class CancelToken:
    """Set once by the canceller; looked at by the worker between steps."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the token is set."""
        if self._event.is_set():
            raise Cancelled


class Span(Struct, frozen=True, order=True, array_like=True, gc=False):
    """Lines `start` to `end`, 0-based, half-open."""

    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.start <= line < self.end

    def overlaps(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    @property
    def label(self) -> str:
        """As people write it: 1-based, inclusive ("12-20", or "12" for one line)."""
        return str(self.start + 1) if self.end <= self.start + 1 else f"{self.start + 1}-{self.end}"


class Symbol(Struct, frozen=True, array_like=True, gc=False):
    """A definition: what it is called, what it looks like, where it stands."""

    name: str  # "handle_ping"; for a section the heading, for an anonymous definition ""
    kind: str  # one of syntax.outline.SYMBOL_KINDS
    qualified: str  # "Server.handle_ping": the names of the enclosing definitions, joined by "."
    signature: str  # the head on one line, white space folded, at most 240 characters
    doc: str  # first paragraph of its documentation on one line, at most 400 characters, or ""
    span: Span  # first decorator or attribute to last line
    doc_start: int  # first line of the comment block directly above, = span.start without one
    body_start: int  # first line after the head; = span.end where there is no body
    parent: int  # index of the enclosing symbol in Outline.symbols, -1 at top level
    complexity: int = 0  # cyclomatic number of its own code (McCabe 1976), 0 for what is not callable
    exported: bool = False  # whether other files may use it, by the rule of its language
    marks: str = ""  # decorators and what its code does, as "@dataclass @cached yields"


class Chunk(Struct, frozen=True, array_like=True, gc=False):
    """The unit of retrieval: a definition, a part of a long one, or what stands between definitions."""

    key: bytes  # 16 bytes: blake2b of the text that is embedded and searched; equal texts share one row
    span: Span
    symbol: int  # index into Outline.symbols, -1 for text between definitions


class Import(Struct, frozen=True, array_like=True, gc=False):
    """One import statement as written: "from a.b import c, d" is Import("a.b", ("c", "d"), line)."""

    module: str
    names: tuple[str, ...]  # as the module calls them; "*" for all, () for the module itself
    line: int
    locals: tuple[
        str, ...
    ] = ()  # what the file calls them: one for each of `names`, or one for the module; () if alike


USE, CALL, INHERIT, IMPLEMENT, MENTION = range(5)
"""What a reference does with a name: as a type or decorator, call it, extend it, implement it, speak of it in prose."""


class Reference(Struct, frozen=True, array_like=True, gc=False):
    """A name that a file refers to, as written."""

    name: str  # the last part: "join" of "os.path.join"
    line: int
    kind: int  # USE, CALL, INHERIT, IMPLEMENT or MENTION
    receiver: str = ""  # what it hangs on: "os.path", "self", "Server()" for a result; see syntax.references


class Outline(Struct, frozen=True, array_like=True):
    """All that is known of a file's structure.  Symbols are in document order, parents before children."""

    language: str  # name of syntax.languages, "text" without a grammar
    lines: int
    symbols: tuple[Symbol, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    imports: tuple[Import, ...] = ()
    ref_names: tuple[str, ...] = ()  # distinct names that the file calls, inherits from or uses as types
    refs: bytes = b""  # array("I"): (index into ref_names, line, index into words << 3 | kind), in document order
    typed: bytes = b""  # array("I"): (variable, type, line), both indexes into words; type "A()": what calling A gives
    words: tuple[str, ...] = ()  # distinct receivers, variables and types
    problem: str = ""  # why the grammar was not used in full ("timed out after 1 s", …), "" if it was
    doc: str = ""  # first paragraph of what the file says of itself at its top, on one line, at most 400 characters

    def references(self) -> Iterator[tuple[str, int]]:
        """(name, line) of each reference, in document order."""
        return references_of(self)

    def uses(self) -> Iterator[Reference]:
        """Each reference, in document order."""
        return uses_of(self)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """(variable, type, line) of what declarations say; the type is as written, "A()" for what calling A gives."""
        return variables_of(self)


def references_of(outline: AnyOutline) -> Iterator[tuple[str, int]]:
    """See `Outline.references`."""
    parts, names = array("I", outline.refs), outline.ref_names
    for i in range(0, len(parts), 3):
        yield names[parts[i]], parts[i + 1]


def uses_of(outline: AnyOutline) -> Iterator[Reference]:
    """See `Outline.uses`."""
    parts, names, words = array("I", outline.refs), outline.ref_names, outline.words
    for i in range(0, len(parts), 3):
        yield Reference(names[parts[i]], parts[i + 1], parts[i + 2] & 7, words[parts[i + 2] >> 3])


def variables_of(outline: AnyOutline) -> Iterator[tuple[str, str, int]]:
    """See `Outline.variables`."""
    parts, words = array("I", outline.typed), outline.words
    for i in range(0, len(parts), 3):
        yield words[parts[i]], words[parts[i + 1]], parts[i + 2]


UNPACKED = 1_500_000
"""Bytes of packed outlines of which all symbols are kept at hand, twice; these take four times as much."""
OPENED = 800
"""Outlines that are kept open, twice, each some kilobytes."""

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
            self.put(packed, found, 1)
        return found

    def put(self, packed: bytes, value: Value, size: int) -> None:
        if self._size > self._most:
            self._before, self._recent, self._size = self._recent, {}, 0
        self._recent[packed] = value
        self._size += size


class _Opened(Struct, array_like=True, gc=False):
    """A packed outline of which only the small parts are read."""

    language: str
    lines: int
    symbols: msgspec.Raw
    chunks: tuple[Chunk, ...]
    imports: tuple[Import, ...]
    ref_names: tuple[str, ...]
    refs: bytes
    typed: bytes
    words: tuple[str, ...]
    problem: str
    doc: str


class _Counted(Struct, array_like=True, gc=False):
    """The beginning of a packed outline, read only as far as it takes to count."""

    language: str
    lines: int
    symbols: msgspec.Raw


_pack = msgspec.msgpack.Encoder()
_unpack = msgspec.msgpack.Decoder(Outline)
_open = msgspec.msgpack.Decoder(_Opened)
_split = msgspec.msgpack.Decoder(list[msgspec.Raw])
_symbol = msgspec.msgpack.Decoder(Symbol)
_count = msgspec.msgpack.Decoder(_Counted)
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
        _whole.put(packed, found, len(packed))
    return found


def symbols_in(packed: bytes) -> int:
    """Number of symbols in a packed outline."""
    return _length(_count.decode(packed).symbols)


def _length(array: msgspec.Raw) -> int:
    """How many elements an array of msgpack says that it has."""
    head = bytes(array)[:5]
    if head[0] < 0xDC:
        return head[0] & 0x0F
    return int.from_bytes(head[1:3] if head[0] == 0xDC else head[1:5], "big")


class _Symbols(Sequence[Symbol]):
    """The symbols of a packed outline: a single one is read by itself, the whole of them together."""

    __slots__ = ("_length", "_packed", "_parts", "_raw")

    def __init__(self, packed: bytes, raw: msgspec.Raw) -> None:
        self._packed, self._raw = packed, raw
        self._length = _length(raw)
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

    __slots__ = ("_packed", "chunks", "doc", "imports", "language", "lines", "problem", "ref_names", "refs", "symbols",
                 "typed", "words")  # fmt: skip

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        opened = _open.decode(packed)
        self.language, self.lines = opened.language, opened.lines
        self.symbols: Sequence[Symbol] = _Symbols(packed, opened.symbols)
        self.chunks, self.imports = opened.chunks, opened.imports
        self.ref_names, self.words = opened.ref_names, opened.words
        self.refs, self.typed = opened.refs, opened.typed
        self.problem, self.doc = opened.problem, opened.doc

    def references(self) -> Iterator[tuple[str, int]]:
        """(name, line) of each reference, in document order."""
        return references_of(self)

    def uses(self) -> Iterator[Reference]:
        """Each reference, in document order."""
        return uses_of(self)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """(variable, type, line) of what declarations say."""
        return variables_of(self)

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
        _views.put(packed, found, 1)
    return found


class Root(Struct, frozen=True):
    """A workspace folder."""

    path: str  # absolute, no trailing slash
    name: str  # what mentions call it: "@name:src/a.py"
    uri: str


class FileEntry(Struct, frozen=True):
    """One file as the index knows it."""

    path: str
    root: str  # path of its Root
    name: str  # path relative to the root, forward slashes
    size: int = 0  # bytes on disk
    mtime_ns: int = 0
    digest: bytes = b""  # 16 bytes, blake2b of the text; b"" until outlined or when skipped
    version: int | None = None  # the editor's version for an open buffer, None for disk
    outlined: bytes = b""  # its outline, packed; b"": known by name only (not outlined yet, or skipped)
    skipped: str = ""  # why its text is not indexed: "binary", "2.1 MB is over the limit of 1 MB", …

    @property
    def outline(self) -> OutlineView | None:
        """Its structure, None where it is known by name only."""
        return view_of(self.outlined) if self.outlined else None


class Problem(Struct, frozen=True):
    """Trouble a user can have, as a sentence: what was wrong, and what to do."""

    message: str
    suggestion: str = ""


class Mention(Struct, frozen=True):
    """An @-mention as it stands in the message; nothing looked up yet."""

    text: str  # verbatim, with the "@"
    start: int  # offsets into the message, in code points
    end: int
    kind: str  # name of a registered kind: "file", "symbol", "folder", …
    target: str  # what it names, quotes and escapes removed: path, symbol, …
    lines: Span | None = None  # asked-for lines, 0-based half-open; None without
    root: str = ""  # workspace root it names ("@root:path"), "" without
    scope: str = ""  # path before "#": "@src/a.py#Name" is kind symbol, scope "src/a.py", target "Name"


class Origin(str, Enum):
    """Why an item was considered; the explicit ones come before any implicit one."""

    MENTION = "mention"
    SELECTION = "selection"
    ACTIVE = "active"
    SYMBOL = "symbol"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    PATH = "path"
    GRAPH = "graph"


EXPLICIT = frozenset({Origin.MENTION, Origin.SELECTION})


class Item(Struct, frozen=True):
    """A region of a file that may go into the prompt."""

    path: str
    span: Span
    kind: str  # "file", "folder", or the symbol's kind, or "text"
    origin: Origin
    score: float  # 0..1; 1 for explicit items
    symbol: str = ""  # qualified name, "" where the region is no definition
    reasons: Mapping[str, float] = field(default_factory=dict)  # what the score is made of
    mention: int = -1  # index of the mention that asked for it, -1 for none


class TextView(Struct, frozen=True):
    """A file's text as of now, and the entry (outline, version, digest) made from exactly this text."""

    entry: FileEntry
    text: str
    lines: tuple[str, ...]  # without line ends

    def slice(self, span: Span) -> str:
        return "\n".join(self.lines[span.start : span.end])


class Block(Struct, frozen=True):
    """An item in one form, ready to stand in the prompt between its fences."""

    item: Item
    form: FormName
    body: str  # lines of the file verbatim, elisions as marked by render
    spans: tuple[Span, ...]  # the lines of the file that the body shows
    tokens: int  # cost in the prompt, fence and header included


class MentionOutcome(Struct, frozen=True):
    """What became of one mention."""

    mention: Mention
    status: MentionStatus
    targets: tuple[Item, ...] = ()
    candidates: tuple[str, ...] = ()  # mentions that would be unambiguous, best first
    reason: str = ""
    suggestion: str = ""  # a mention that would resolve
    tokens: int = 0
    anchor: str = ""  # what has become of the text it was bound to: "moved", "changed", "deleted"; "" for nothing


class Note(Struct, frozen=True):
    """A passage of the prompt that is no region of code: a rule, a memory, a fact of the architecture."""

    text: str  # markdown, one paragraph or list
    source: str = ""  # where it comes from, as the prompt shows it: "AGENTS.md", "CODEOWNERS", …
    score: float = 1.0  # 0..1, how much it belongs to the question
