"""Results of name resolution, their certainty, and the interfaces between the modules that compute them.

The modules depend on each other: the bases of a type are names, and a name may be a member of a type.  Therefore the
lower modules use the resolver through the protocol `Lookup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from promptls.graph.resolution.file_tables import FileSymbols
from promptls.index import OutlineRef, Snapshot
from promptls.model import FileEntry, Import, Reference

MAX_DEPTH = 8
"""Maximum depth of nested lookups and of base types; ends cycles between files."""

CERTAINTY = {
    "local": 1.0,  # a definition in an enclosing scope
    "member": 0.95,  # a member of the enclosing type
    "inherited": 0.9,
    "import": 0.95,
    "package": 0.9,  # visible without an import: a Go package, a Java package
    "typed": 0.85,  # the receiver's type is declared, or the receiver was just constructed
    "returned": 0.75,  # the receiver is the declared result of a function
    "unique": 0.5,  # the only definition of this name in the workspace
    "several": 0.25,  # one of up to name_lookup.MAX_AMBIGUOUS definitions
}
"""Weight of an edge by resolution method."""


class Resolution(NamedTuple):
    """A definition that a name may refer to, and the method that found it (a key of `CERTAINTY`)."""

    ref: OutlineRef
    method: str

    @property
    def certainty(self) -> float:
        """Certainty of the resolution, from 0 to 1."""
        return CERTAINTY[self.method]


class Module(NamedTuple):
    """A file, or a folder of files, as a namespace."""

    path: str


class Instance(NamedTuple):
    """A value of the type `ref`."""

    ref: OutlineRef
    method: str


class External(NamedTuple):
    """Something that is defined outside the workspace."""


Value = Instance | Module | External
"""Value of a variable: an instance of a type, which is a file in Zig."""

Entity = Module | Resolution | Instance | External
"""Meaning of a name or an expression."""

EXTERNAL = External()


class Target(NamedTuple):
    """The target of an import: a file, or a name defined in it."""

    path: str  # path of a file, or of a folder for packages without a file
    name: str = ""  # "" for the file as a module, "*" for all its names; "A.b" and "A.*" for members of a type


class Imports(Protocol):
    """Import resolution for one snapshot, implemented in `graph.imports`."""

    def targets(self, entry: FileEntry, imported: Import) -> Sequence[Target]:
        """Return the targets of one import of a file."""

    def bindings(self, entry: FileEntry) -> Mapping[str, Target]:
        """Return the targets of the imports of a file by local name."""

    def inner_bindings(self, entry: FileEntry) -> Mapping[str, Sequence[tuple[int, Target]]]:
        """Return (line, target) of the imports within functions, by local name."""


class Lookup(Protocol):
    """Lookups in one snapshot that the modules of name resolution need from each other."""

    @property
    def snapshot(self) -> Snapshot:
        """Snapshot of the index."""

    @property
    def imports(self) -> Imports:
        """Import resolution of the snapshot."""

    @property
    def namespaces(self) -> dict[tuple[str, str], tuple[OutlineRef, ...]]:
        """Cache of modules and types by (qualified name, language), filled by `module_paths`."""

    def file_symbols(self, path: str) -> FileSymbols | None:
        """Return the tables of a file, or None if it has no outline."""

    def resolve(self, path: str, owner: int, reference: Reference) -> tuple[Resolution, ...]:
        """Return the definitions that a reference in the code of `owner` may refer to."""

    def resolve_expression(self, path: str, owner: int, expression: str, depth: int = 0) -> Entity | None:
        """Return the meaning of a dotted expression in the code of `owner`."""

    def resolve_target(self, target: Target) -> Entity | None:
        """Return the meaning of an import target."""

    def find_export(self, path: str, name: str) -> Entity | None:
        """Return the meaning of a name that a file exports, following re-exports."""

    def find_included(self, path: str, name: str) -> Resolution | None:
        """Return the definition of a name in the files that a file includes."""

    def wildcard_imports(self, path: str) -> tuple[str, ...]:
        """Return the files from which a file imports all names."""

    def visible_definitions(self, path: str, name: str) -> list[OutlineRef]:
        """Return the definitions of a name that a file sees without an import, nearest first."""

    def workspace_definitions(self, name: str, language: str, receiver: str = "") -> tuple[Resolution, ...]:
        """Return the definitions of a name in the whole workspace if they are few."""

    def find_member(self, ref: OutlineRef, name: str) -> Resolution | None:
        """Return a member of a type, its own or an inherited one."""
