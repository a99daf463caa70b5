"""Types, their members and their bases, within one snapshot.

Bounded in depth and number, so that types that extend each other in a circle end.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from promptls.graph.file_tables import Facts, bears_its_types_name
from promptls.graph.module_paths import used, whole
from promptls.graph.resolution import Found
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import TYPE_KINDS

if TYPE_CHECKING:
    from promptls.graph.name_resolution import Resolver

MAX_DEPTH = 8
MAX_SUPERTYPES = 64


class Hierarchy:
    """Looks types up for a resolver, which it asks what their bases' names mean."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._supers: dict[OutlineRef, tuple[OutlineRef, ...]] = {}
        self._going = threading.local()  # types whose bases this thread is looking for

    @property
    def climbing(self) -> bool:
        """Whether this thread is looking for the bases of a type: those that lead back to it are left out meanwhile."""
        return bool(self._going.__dict__.get("places"))

    def around(self, path: str, facts: Facts, owner: int) -> OutlineRef | None:
        """The type whose code a definition is."""
        qualified = facts.type_around(owner)
        if not qualified:
            return None
        for i in facts.qualified.get(qualified, ()):
            if (
                facts.symbols[i].kind in facts.language.method_owner_kinds
                and facts.symbols[i].kind != "impl"
            ):
                return (path, i)
        name = qualified.rpartition(".")[2]
        near = self._resolver.nearby(path, name)
        if near:
            return near[0]
        target = self._resolver.imports.bindings(self._resolver.snapshot.files[path]).get(name)
        entity = self._resolver.target(target) if target is not None else None
        if isinstance(entity, Found):
            return entity.place
        found = self._resolver.included(path, name)
        if found is not None:
            return found.place
        impls = facts.qualified.get(qualified, ())
        return (path, impls[0]) if impls else None

    def member(self, place: OutlineRef, name: str) -> Found | None:
        """A method or attribute of a type, its own or inherited."""
        own = self.own(place, name)
        if own is not None:
            return Found(own, "member")
        for base in self.supertypes(place):
            inherited = self.own(base, name)
            if inherited is not None:
                return Found(inherited, "inherited")
        return None

    def own(self, place: OutlineRef, name: str) -> OutlineRef | None:
        """A method or attribute of a type that it has by itself, in its body or, where languages allow it, elsewhere."""
        facts = self._resolver.facts(place[0])
        if facts is None:
            return None
        qualified = facts.symbols[place[1]].qualified
        wanted = f"{qualified}.{name}"
        found = [i for i in facts.qualified.get(wanted, ()) if not bears_its_types_name(facts.symbols[i])]
        if found:
            seen = [i for i in found if facts.symbols[i].exported]  # of several heads one that others may call
            return (place[0], (seen or found)[-1])
        language = facts.outline.language
        if not facts.language.methods_in_other_files:
            return None
        folder = place[0].rpartition("/")[0]
        near: list[OutlineRef] = []
        for other in self._resolver.snapshot.names.get(name.lower(), ()):
            symbol = self._resolver.snapshot.symbol(other)
            if symbol is None or symbol.name != name or bears_its_types_name(symbol):
                continue
            if symbol.qualified == wanted:
                near.append(other)
        near.sort(key=lambda p: (p[0].rpartition("/")[0] != folder, p))
        return near[0] if near and (language != "go" or near[0][0].rpartition("/")[0] == folder) else None

    def supertypes(self, place: OutlineRef) -> tuple[OutlineRef, ...]:
        """Types that a type extends or implements, directly and not, nearest first."""
        known = self._supers.get(place)
        if known is not None:
            return known
        going: set[OutlineRef] = self._going.__dict__.setdefault("places", set())
        if place in going:
            return ()  # a cycle ends here
        going.add(place)
        try:
            found = self._climb(place)
        finally:
            going.discard(place)
        if not going:
            self._supers[place] = found
        return found

    def _climb(self, place: OutlineRef) -> tuple[OutlineRef, ...]:
        out: dict[OutlineRef, None] = {}
        level = [place]
        for _ in range(MAX_DEPTH):
            level = [base for one in level for base in self.bases(one) if base != place and base not in out]
            out.update(dict.fromkeys(level))
            if not level or len(out) > MAX_SUPERTYPES:
                break
        return tuple(out)

    def bases(self, place: OutlineRef) -> list[OutlineRef]:
        """Types that a type names as its bases and that are in the workspace."""
        facts = self._resolver.facts(place[0])
        if facts is None:
            return []
        same = facts.qualified.get(facts.symbols[place[1]].qualified, [place[1]])
        if facts.language.bases_from_imports:
            return self._derived(facts, place)
        out: dict[OutlineRef, None] = {}
        mixed = {"module"} if facts.language.modules_are_mixins else frozenset()
        for index in same:
            if facts.symbols[index].kind in TYPE_KINDS:
                around = facts.symbols[index].parent
                for use in facts.bases(index):
                    for found in self._resolver.resolve(place[0], around, use):
                        symbol = self._resolver.snapshot.symbol(found.place)
                        if symbol is not None and symbol.kind in TYPE_KINDS | mixed and found.how != "several":
                            out[found.place] = None
        if mixed:
            given = (self._class_methods(base) for base in list(out))
            out.update(dict.fromkeys(methods for methods in given if methods is not None))
        return list(out)

    def _class_methods(self, place: OutlineRef) -> OutlineRef | None:
        """What a Ruby module that is mixed in gives to the class itself, by the custom of a module of that name."""
        symbol = self._resolver.snapshot.symbol(place)
        parts = [*symbol.qualified.split("."), "ClassMethods"] if symbol is not None else []
        return whole(self._resolver, parts, "ruby", place[0])

    def _derived(self, facts: Facts, place: OutlineRef) -> list[OutlineRef]:
        """What a package is derived from, by what it imports as such: Perl's parents, what Elixir's modules `use`."""
        span = facts.symbols[place[1]].span
        inside = [one for one in facts.outline.imports if span.start <= one.line < span.end]
        if facts.outline.language == "elixir":
            return [using for one in inside if (using := used(self._resolver, one)) is not None]
        parents = (one.module.split("::") for one in inside if one.local_names == ("SUPER",))
        found = (whole(self._resolver, parts, "perl") for parts in parents)
        return [parent for parent in found if parent is not None and parent != place]
