"""What can be said of one file by itself, in tables that are quick to ask.

Made from an outline once and kept as long as that outline lives.  Knows nothing of other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from promptls.languages import language_named
from promptls.languages.kinds import REPEATED_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import IMPLEMENT, INHERIT, AnyOutline, FileEntry, Reference, Symbol

SELF = frozenset({"self", "this", "cls", "$this", "Self", "static", "@self", "me", "Me"})
SUPER = frozenset({"super()", "super", "parent", "base"})
_CONSTRUCTORS = frozenset({"constructor"})


def bears_its_types_name(symbol: Symbol) -> bool:
    """Whether this is a constructor whose name, wherever it is read, means the type: Java, C#, C++, Dart."""
    return symbol.kind == "constructor" and f".{symbol.qualified}".endswith(f".{symbol.name}.{symbol.name}")


class Facts:
    """Tables of one outline.  All indexes are into `outline.symbols`, -1 is the file."""

    def __init__(self, outline: AnyOutline) -> None:
        self.outline = outline
        self.symbols = outline.symbols
        self.language = language_named(outline.language)

    @cached_property
    def owners(self) -> NDArray[np.int32]:
        """By line the innermost definition that has code of its own: fields belong to their type."""
        out = np.full(max(1, self.outline.lines), -1, np.int32)
        for i, symbol in enumerate(self.symbols):
            if symbol.kind not in REPEATED_KINDS or (symbol.parent < 0 and symbol.kind != "field"):
                out[symbol.span.start : symbol.span.end] = i
        return out

    def owner(self, line: int) -> int:
        """The innermost definition at a line."""
        return int(self.owners[line]) if 0 <= line < len(self.owners) else -1

    @cached_property
    def _refs(self) -> NDArray[np.uint32]:
        return np.frombuffer(self.outline.refs, np.uint32).reshape(-1, 3)

    @cached_property
    def _ref_owners(self) -> NDArray[np.int32]:
        lines = np.minimum(self._refs[:, 1], len(self.owners) - 1)
        return np.asarray(self.owners[lines], np.int32)

    def _reference(self, at: int) -> Reference:
        name, line, rest = (int(part) for part in self._refs[at])
        return Reference(self.outline.ref_names[name], line, rest & 7, self.outline.identifiers[rest >> 3])

    def uses_of(self, index: int) -> Iterator[Reference]:
        """References in the code that is a definition's own, nested ones left out; in document order."""
        for at in np.flatnonzero(self._ref_owners == index):
            yield self._reference(int(at))

    def uses_named(self, name: str) -> Iterator[tuple[int, Reference]]:
        """(owner, reference) for each reference to a name."""
        number = self._numbers.get(name)
        if number is not None:
            for at in np.flatnonzero(self._refs[:, 0] == number):
                yield int(self._ref_owners[at]), self._reference(int(at))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.outline.ref_names)}

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Definitions directly in each definition, in document order; key -1: at top level."""
        out: dict[int, list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            out.setdefault(symbol.parent, []).append(i)
        return out

    @cached_property
    def named(self) -> dict[tuple[int, str], list[int]]:
        """(parent, name) → definitions that the name means there."""
        out: dict[tuple[int, str], list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            if symbol.name and not bears_its_types_name(symbol):
                out.setdefault((symbol.parent, symbol.name), []).append(i)
        return out

    def at_top(self, name: str) -> list[int]:
        """Definitions of a name at top level; a namespace is none, for what is in it is often called as it is."""
        return [i for i in self.named.get((-1, name), ()) if self.symbols[i].kind not in SPACE_KINDS]

    @cached_property
    def qualified(self) -> dict[str, list[int]]:
        """Qualified name → definitions; an "impl" counts under the type's name."""
        out: dict[str, list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            out.setdefault(symbol.qualified, []).append(i)
        return out

    @cached_property
    def top(self) -> dict[str, list[int]]:
        """Name → definitions that other files can see: at top level or in namespaces there."""
        out: dict[str, list[int]] = {}
        open_ = {-1}
        for i, symbol in enumerate(self.symbols):
            if symbol.parent in open_:
                if symbol.name and not bears_its_types_name(symbol):
                    out.setdefault(symbol.name, []).append(i)
                if symbol.kind in SPACE_KINDS and symbol.kind != "impl":
                    open_.add(i)
        return out

    @cached_property
    def spaces(self) -> tuple[str, ...]:
        """The namespaces that the file sees without naming them, those that its code is in first; "" for none at all."""
        own = [symbol.qualified for symbol in self.symbols if symbol.kind in SPACE_KINDS]
        if self.outline.language != "csharp":
            return (*own, "")
        parts = [name.split(".") for name in own]
        around = {".".join(path[:depth]): depth for path in parts for depth in range(1, len(path) + 1)}
        used = [one.module for one in self.outline.imports]
        return tuple(dict.fromkeys([*sorted(around, key=lambda name: (-around[name], name)), "", *used]))

    def scopes(self, index: int) -> Iterator[int]:
        """A definition and those around it, innermost first."""
        while index >= 0:
            yield index
            index = self.symbols[index].parent

    def type_around(self, index: int) -> str:
        """Qualified name of the type whose code this is, "" for none: "Server" inside of Server.handle."""
        for scope in self.scopes(index):
            symbol = self.symbols[scope]
            if symbol.kind in self.language.method_owner_kinds:
                return symbol.qualified
            parent = self.symbols[symbol.parent].qualified if symbol.parent >= 0 else ""
            owner = symbol.qualified.rpartition(".")[0]
            if symbol.kind in ("method", "constructor", "property") and owner != parent:
                return owner  # a method that stands outside of its type
        return ""

    def bases(self, index: int) -> list[Reference]:
        """What a type says that it extends or implements."""
        at = np.flatnonzero((self._ref_owners == index) & np.isin(self._refs[:, 2] & 7, (INHERIT, IMPLEMENT)))
        return [self._reference(int(i)) for i in at]

    @cached_property
    def variables(self) -> dict[tuple[int, str], str]:
        """(scope, variable) → its type as written; attributes of an object are variables of its type's scope."""
        out: dict[tuple[int, str], str] = {}
        for variable, of, line in self.outline.variables():
            scope = self.owner(line)
            head, dot, rest = variable.partition(".")
            if scope >= 0 and self.symbols[scope].kind in REPEATED_KINDS and (-1, variable) in self.named:
                scope = -1  # it is what is declared there, not something within its value
            if scope >= 0 and self._declares(scope, variable.lstrip("$"), line):
                scope = self.symbols[scope].parent
                out.setdefault((scope, variable.lstrip("$")), of)  # PHP's "$a" is "$this->a" elsewhere
            if dot and head in SELF:
                out.setdefault((self._type_scope(scope), rest), of)
            elif not dot:
                name = variable.lstrip("@")
                out.setdefault((self._type_scope(scope) if name != variable else scope, name), of)
                if scope >= 0 and self.symbols[scope].kind in _CONSTRUCTORS:
                    # "self.a = a" is what constructors do; in PHP it is "$this->a = $a".
                    out.setdefault((self._type_scope(scope), name.lstrip("$")), of)
        return out

    def _declares(self, scope: int, variable: str, line: int) -> bool:
        """Whether a line says the type of a definition itself: of a property, of Scala's `def engine: Engine`."""
        symbol = self.symbols[scope]
        return symbol.name == variable and (
            symbol.kind == "property" or (symbol.span.start == line and "(" not in symbol.signature)
        )

    def _type_scope(self, scope: int) -> int:
        for i in self.scopes(scope):
            if self.symbols[i].kind in TYPE_KINDS:
                return i
        return -1

    @cached_property
    def all_words(self) -> str:
        """What a search may find definitions by, lower case: a line each of name, decorators and documentation."""
        return "\n".join(f"{s.name}\t{s.traits}\t{s.doc}".replace("\n", " ").lower() for s in self.symbols)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Names that the imports of the file bind, wherever they lead."""
        out: set[str] = set()
        for one in self.outline.imports:
            if one.local_names:
                out.update(one.local_names)
            elif one.names:
                out.update(one.names)
            else:
                parts = [part for part in one.module.replace("::", ".").replace("/", ".").split(".") if part]
                out.update((parts[0], parts[-1]) if parts else ())
        return frozenset(out)


MAX_TABLES = 20_000
"""Files whose facts are kept."""


class Tables:
    """Facts by file, kept while the outline they were made of lives and is among the last MAX_TABLES asked for."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, Facts | None]] = {}  # path → packed outline, its tables

    def of(self, entry: FileEntry | None) -> Facts | None:
        """The tables of a file's outline; any thread."""
        if entry is None or not entry.encoded_outline:
            return None
        packed, facts = self._known.get(entry.path, _NOTHING)
        if facts is None or packed is not entry.encoded_outline:
            if len(self._known) >= MAX_TABLES:
                self._known = {}
            outline = entry.outline
            assert outline is not None
            facts = Facts(outline)
            self._known[entry.path] = entry.encoded_outline, facts
        return facts


_NOTHING: tuple[bytes, Facts | None] = b"", None
