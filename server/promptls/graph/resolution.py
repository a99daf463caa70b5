"""What names and expressions can stand for, and how sure that is."""

from __future__ import annotations

from typing import NamedTuple

from promptls.index.snapshot import OutlineRef

CERTAINTY = {
    "local": 1.0,  # a definition in a scope around
    "member": 0.95,  # of the type that the code belongs to
    "inherited": 0.9,
    "import": 0.95,
    "package": 0.9,  # files that see each other without imports: a Go package, a Java package
    "typed": 0.85,  # the receiver's type is declared, or it was just constructed
    "returned": 0.75,  # the receiver is what a function says it returns
    "unique": 0.5,  # nothing else in the workspace is called so
    "several": 0.25,  # one of up to namesakes.MAX_SEVERAL
}
"""Weight of an edge by how its target was found."""


class Found(NamedTuple):
    """A definition that a name may stand for."""

    place: OutlineRef
    how: str

    @property
    def certainty(self) -> float:
        return CERTAINTY[self.how]


class Module(NamedTuple):
    """A file, or a folder of files, as a namespace."""

    path: str


class Instance(NamedTuple):
    """A value of a type."""

    place: OutlineRef
    how: str


class Outside(NamedTuple):
    """Something that is known not to come from the workspace."""


Value = Instance | Module | Outside
"""What a variable may hold: a value of a type, which in Zig may be a file."""
Entity = Module | Found | Instance | Outside
OUTSIDE = Outside()
