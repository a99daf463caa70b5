"""Mention kinds: what a kind declares, and a table of kinds by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from promptls.mentions.context import ResolveContext
from promptls.model import Mention, MentionOutcome, Problem

ArgumentType = Literal["", "symbol", "target", "path", "revision", "branch", "layer", "diagnostics", "team"]
"""Types of arguments: a "target" is a symbol or a file, and a "team" argument a repository of the team index, with a
file or symbol of it."""

LOCATION_ARGUMENTS = frozenset({"symbol", "target", "path"})
"""Types of arguments that name files, folders or symbols."""


class MentionKind(Struct, frozen=True):
    """A kind of mention.

    `resolve` returns the outcome of one mention: items with the origin MENTION and the score 1, or a status with a
    reason.  It checks `context.token` in loops, reads text only through `context.sources`, and raises only `Cancelled`.
    """

    name: str  # identifier, the value of `Mention.kind`
    syntax: tuple[str, ...]  # examples
    help: str  # one or two sentences
    resolve: Callable[[Mention, ResolveContext], MentionOutcome]
    priority: int = 0  # of plugin kinds: sort order in menus, highest first; the highest of one name is used
    keyword: bool = True  # written "@name"; False for kinds with a syntax of their own
    argument: Literal["nothing", "optional", "required"] = "nothing"  # whether "@name:argument" is allowed
    aliases: tuple[str, ...] = ()
    argument_type: ArgumentType = ""  # for completion of the argument
    suggestions: tuple[str, ...] = ()  # fixed arguments that completion offers
    expensive: bool = False  # may take more than a few milliseconds
    required_fields: tuple[str, ...] = ()  # fields of the client context that the resolver needs


class KindRegistry(Struct, frozen=True):
    """Loaded kinds, and the problems of kinds that could not be loaded."""

    kinds: Mapping[str, MentionKind]  # by name, in menu order
    problems: tuple[Problem, ...] = ()

    def keywords(self) -> dict[str, str]:
        """Return the keyword table for `grammar.parse`: name or alias → argument policy."""
        table = {alias: kind.argument for kind in self.kinds.values() if kind.keyword for alias in kind.aliases}
        return {**table, **{kind.name: kind.argument for kind in self.kinds.values() if kind.keyword}}

    def get(self, name: str) -> MentionKind | None:
        """Return the kind with this name, else the first one with this alias."""
        kind = self.kinds.get(name)
        return kind or next((kind for kind in self.kinds.values() if name in kind.aliases), None)
