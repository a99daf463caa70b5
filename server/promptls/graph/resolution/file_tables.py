"""Tables of the symbols, scopes and references of one file, for fast name lookups.

The tables are computed lazily from an outline and cached as long as the outline is in use.  They do not depend on other
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from promptls.languages import language_named
from promptls.languages.kinds import CALLABLE_KINDS, FILE, REPEATED_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import IMPLEMENT, INHERIT, AnyOutline, FileEntry, Reference, Symbol, unpack_numbers

SELF_NAMES = frozenset({"self", "this", "cls", "$this", "Self", "static", "@self", "me", "Me"})
"""Names of the current instance or type in any language."""

SUPER_NAMES = frozenset({"super()", "super", "parent", "base"})
"""Names of the base type in any language."""

MAX_CACHED_FILES = 20_000
"""Maximum number of files whose tables are cached; bounds the memory."""


def is_type_named_constructor(symbol: Symbol) -> bool:
    """Return true for a constructor named like its type (Java, C#, C++, Dart); the name then refers to the type."""
    return symbol.kind == "constructor" and f".{symbol.qualified}".endswith(f".{symbol.name}.{symbol.name}")


class FileSymbols:
    """Tables of one outline.  Indexes refer to `outline.symbols`; -1 is the file."""

    def __init__(self, outline: AnyOutline) -> None:
        self.outline = outline
        self.symbols = outline.symbols
        self.language = language_named(outline.language)

    @property
    def is_type(self) -> bool:
        """True if the file is a type: the declarations at its top level are fields and methods."""
        return FILE in self.language.method_owner_kinds

    @cached_property
    def owner_by_line(self) -> NDArray[np.int32]:
        """Innermost definition at each line that has code of its own; the lines of fields belong to their type."""
        out = np.full(max(1, self.outline.lines), -1, np.int32)
        for i, symbol in enumerate(self.symbols):
            if symbol.kind not in REPEATED_KINDS or (symbol.parent < 0 and symbol.kind != "field"):
                out[symbol.span.start : symbol.span.end] = i
        return out

    def owner_at(self, line: int) -> int:
        """Return the innermost definition at a line, -1 for none."""
        return int(self.owner_by_line[line]) if 0 <= line < len(self.owner_by_line) else -1

    @cached_property
    def _references(self) -> NDArray[np.uint32]:
        return np.array(unpack_numbers(self.outline.refs), np.uint32).reshape(-1, 3)

    @cached_property
    def _reference_owners(self) -> NDArray[np.int32]:
        lines = np.minimum(self._references[:, 1], len(self.owner_by_line) - 1)
        return np.asarray(self.owner_by_line[lines], np.int32)

    def _decode_reference(self, at: int) -> Reference:
        name, line, rest = (int(part) for part in self._references[at])
        return Reference(self.outline.ref_names[name], line, rest & 7, self.outline.identifiers[rest >> 3])

    def references_in(self, index: int) -> Iterator[Reference]:
        """Yield the references in the code of a definition without nested definitions, in document order."""
        for at in np.flatnonzero(self._reference_owners == index):
            yield self._decode_reference(int(at))

    def references_named(self, name: str) -> Iterator[tuple[int, Reference]]:
        """Yield (owner, reference) for each reference to a name."""
        name_ids = self._name_ids.get(self._key(name))
        if name_ids is not None:
            ids = self._references[:, 0]
            # a lookup of one name, the usual case, is much faster than that of a set
            for at in np.flatnonzero(ids == name_ids[0] if len(name_ids) == 1 else np.isin(ids, name_ids)):
                yield int(self._reference_owners[at]), self._decode_reference(int(at))

    @cached_property
    def _name_ids(self) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        for i, name in enumerate(self.outline.ref_names):
            out.setdefault(self._key(name), []).append(i)
        return out

    def _key(self, name: str) -> str:
        return name.lower() if self.language.ignores_case else name

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Direct children of each definition in document order; top-level definitions have the key -1."""
        out: dict[int, list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            out.setdefault(symbol.parent, []).append(i)
        return out

    @cached_property
    def by_scope(self) -> dict[tuple[int, str], list[int]]:
        """Definitions by (parent, name), without constructors that are named like their type."""
        out: dict[tuple[int, str], list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            if symbol.name and not is_type_named_constructor(symbol):
                out.setdefault((symbol.parent, symbol.name), []).append(i)
        return out

    def top_level(self, name: str) -> list[int]:
        """Return the top-level definitions of a name, without namespaces: a member often has the same name."""
        return [i for i in self.by_scope.get((-1, name), ()) if self.symbols[i].kind not in SPACE_KINDS]

    @cached_property
    def by_qualified_name(self) -> dict[str, list[int]]:
        """Definitions by qualified name; an `impl` block has the name of its type."""
        out: dict[str, list[int]] = {}
        for i, symbol in enumerate(self.symbols):
            out.setdefault(symbol.qualified, []).append(i)
        return out

    @cached_property
    def visible(self) -> dict[str, list[int]]:
        """Definitions by name that other files can see: at top level, in a top-level namespace or a section."""
        out: dict[str, list[int]] = {}
        visible_scopes = {-1}
        for i, symbol in enumerate(self.symbols):
            if symbol.parent in visible_scopes:
                if symbol.name and not is_type_named_constructor(symbol):
                    out.setdefault(symbol.name, []).append(i)
                if symbol.kind == "section" or (symbol.kind in SPACE_KINDS and symbol.kind != "impl"):
                    visible_scopes.add(i)
        return out

    @cached_property
    def main_definitions(self) -> frozenset[int]:
        """Types with content of their own, modules with functions, and functions and type aliases at top level."""
        return frozenset(i for i, symbol in enumerate(self.symbols) if symbol.name and self._is_main(i, symbol))

    def _is_main(self, index: int, symbol: Symbol) -> bool:
        if symbol.kind in ("function", "type"):
            return all(self.symbols[scope].kind in SPACE_KINDS for scope in self.scopes(symbol.parent))
        if symbol.kind == "impl" or (symbol.kind != "module" and symbol.kind not in TYPE_KINDS):
            return False
        kinds = {self.symbols[child].kind for child in self.children.get(index, ())}
        if symbol.kind == "module":
            return self.outline.language != "rust" and not kinds.isdisjoint(CALLABLE_KINDS)
        contains_types = not kinds.isdisjoint(TYPE_KINDS | SPACE_KINDS)
        return not contains_types or bool(kinds - TYPE_KINDS - SPACE_KINDS - REPEATED_KINDS)  # not only a namespace

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """Namespaces whose names the file can use unqualified, its own first; "" is the global namespace."""
        own = [symbol.qualified for symbol in self.symbols if symbol.kind in SPACE_KINDS]
        if self.language.implicit_scope != "enclosing_namespaces":
            return (*own, "")
        parts = [name.split(".") for name in own]
        depths = {".".join(path[:depth]): depth for path in parts for depth in range(1, len(path) + 1)}
        imported = [one.module for one in self.outline.imports]
        return tuple(dict.fromkeys([*sorted(depths, key=lambda name: (-depths[name], name)), "", *imported]))

    def scopes(self, index: int) -> Iterator[int]:
        """Yield a definition and its enclosing definitions, innermost first."""
        while index >= 0:
            yield index
            index = self.symbols[index].parent

    def enclosing_type_name(self, index: int) -> str:
        """Return the qualified name of the enclosing type, "" for none: "Server" for the method Server.handle."""
        for scope in self.scopes(index):
            symbol = self.symbols[scope]
            if symbol.kind in self.language.method_owner_kinds:
                return symbol.qualified
            parent = self.symbols[symbol.parent].qualified if symbol.parent >= 0 else ""
            owner = symbol.qualified.rpartition(".")[0]
            if symbol.kind in ("method", "constructor", "property") and owner != parent:
                return owner  # a method defined outside the body of its type
        return ""

    def base_references(self, index: int) -> list[Reference]:
        """Return the references to the declared base types of a type."""
        at = np.flatnonzero(
            (self._reference_owners == index) & np.isin(self._references[:, 2] & 7, (INHERIT, IMPLEMENT))
        )
        return [self._decode_reference(int(i)) for i in at]

    @cached_property
    def variable_types(self) -> dict[tuple[int, str], str]:
        """Declared type, as written, by (scope, variable); attributes belong to the scope of their type."""
        out: dict[tuple[int, str], str] = {}
        for variable, type_name, line in self.outline.variables():
            scope = self.owner_at(line)
            head, dot, rest = variable.partition(".")
            if scope >= 0 and self.symbols[scope].kind in REPEATED_KINDS and (-1, variable) in self.by_scope:
                scope = -1  # the line declares the variable itself, not a variable within its value
            if scope >= 0 and self._is_own_declaration(scope, variable.lstrip("$"), line):
                scope = self.symbols[scope].parent
                out.setdefault((scope, variable.lstrip("$")), type_name)  # the attribute of "$a" is "$this->a" in PHP
            if dot and head in SELF_NAMES:
                out.setdefault((self._type_scope(scope), rest), type_name)
            elif not dot:
                name = variable.lstrip("@")
                out.setdefault((self._type_scope(scope) if name != variable else scope, name), type_name)
                if scope >= 0 and self.symbols[scope].kind == "constructor":
                    # A constructor usually assigns its parameter: "self.a = a", in PHP "$this->a = $a".
                    out.setdefault((self._type_scope(scope), name.lstrip("$")), type_name)
        return out

    def _is_own_declaration(self, scope: int, variable: str, line: int) -> bool:
        """Return true if a line declares the type of a definition itself: a property, Scala's `def engine: Engine`."""
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
    def search_text(self) -> str:
        """Searchable text in lower case: one line of name, decorators and documentation for each symbol."""
        return "\n".join(f"{s.name}\t{s.traits}\t{s.doc}".replace("\n", " ").lower() for s in self.symbols)

    @cached_property
    def imported_names(self) -> frozenset[str]:
        """Local names bound by the imports of the file, whether or not they can be resolved."""
        out: set[str] = set()
        for imported in self.outline.imports:
            if imported.local_names:
                out.update(imported.local_names)
            elif imported.names:
                out.update(imported.names)
            else:
                parts = [part for part in imported.module.replace("::", ".").replace("/", ".").split(".") if part]
                out.update((parts[0], parts[-1]) if parts else ())
        return frozenset(out)


class FileSymbolsCache:
    """Tables by file, valid as long as the outline of the file is unchanged.  Safe to use from any thread."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[bytes, FileSymbols]] = {}  # path → encoded outline, its tables

    def get(self, entry: FileEntry | None) -> FileSymbols | None:
        """Return the tables of a file, or None if it has no outline."""
        if entry is None or not entry.encoded_outline:
            return None
        cached = self._cache.get(entry.path)
        if cached is not None and cached[0] is entry.encoded_outline:
            return cached[1]
        if len(self._cache) >= MAX_CACHED_FILES:
            self._cache = {}
        outline = entry.outline
        assert outline is not None
        file = FileSymbols(outline)
        self._cache[entry.path] = entry.encoded_outline, file
        return file
