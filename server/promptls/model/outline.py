"""What is known of the structure of a file: its definitions, chunks, imports, and the names that it refers to."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from msgspec import Struct


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
        return references_of(self.refs, self.ref_names)

    def uses(self) -> Iterator[Reference]:
        """Each reference, in document order."""
        return uses_of(self.refs, self.ref_names, self.words)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """(variable, type, line) of what declarations say; the type is as written, "A()" for what calling A gives."""
        return variables_of(self.typed, self.words)


def references_of(refs: bytes, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """See `Outline.references`."""
    parts = array("I", refs)
    for i in range(0, len(parts), 3):
        yield names[parts[i]], parts[i + 1]


def uses_of(refs: bytes, names: tuple[str, ...], words: tuple[str, ...]) -> Iterator[Reference]:
    """See `Outline.uses`."""
    parts = array("I", refs)
    for i in range(0, len(parts), 3):
        yield Reference(names[parts[i]], parts[i + 1], parts[i + 2] & 7, words[parts[i + 2] >> 3])


def variables_of(typed: bytes, words: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """See `Outline.variables`."""
    parts = array("I", typed)
    for i in range(0, len(parts), 3):
        yield words[parts[i]], words[parts[i + 1]], parts[i + 2]
