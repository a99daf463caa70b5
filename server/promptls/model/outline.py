"""File outlines: symbols, chunks, imports, and references to names."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from msgspec import Struct

from promptls.util.text.span import Span


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
    refs: bytes = b""  # array("I") of (index into ref_names, line, index into identifiers << 3 | kind), by position
    variable_types: bytes = b""  # array("I") of (variable, type, line); both are indexes into identifiers
    identifiers: tuple[str, ...] = ()  # distinct receivers, variables and types
    problem: str = ""  # why the grammar was not used in full ("timed out after 1 s", …)
    doc: str = ""  # first paragraph of the file's own documentation on one line, at most 400 characters

    def references(self) -> Iterator[Reference]:
        """Yield each reference, in document order."""
        return iter_references(self.refs, self.ref_names, self.identifiers)

    def variables(self) -> Iterator[tuple[str, str, int]]:
        """Yield (variable, type, line) of declarations; the type is as written, "A()" for the result of calling A."""
        return iter_variables(self.variable_types, self.identifiers)


def iter_references(refs: bytes, names: tuple[str, ...], identifiers: tuple[str, ...]) -> Iterator[Reference]:
    """Decode the references of `Outline.refs`."""
    numbers = array("I", refs)
    for i in range(0, len(numbers), 3):
        yield Reference(names[numbers[i]], numbers[i + 1], numbers[i + 2] & 7, identifiers[numbers[i + 2] >> 3])


def iter_variables(variable_types: bytes, identifiers: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """Decode the declarations of `Outline.variable_types`."""
    numbers = array("I", variable_types)
    for i in range(0, len(numbers), 3):
        yield identifiers[numbers[i]], identifiers[numbers[i + 1]], numbers[i + 2]
