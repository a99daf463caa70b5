"""What a name in a file stands for: definitions elsewhere, each with how sure that is.

In this order: the scopes around it; the type it belongs to and that type's bases; what imports bring, through
re-exports; the type of its receiver where a declaration tells it; files that see each other without imports;
and last, where nothing contradicts it, a name that the workspace has only once.  Names that come from outside of
the workspace stay unresolved.  Reads outlines only; bounded in depth, so hostile cycles end.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from promptls.graph import name_lookup
from promptls.graph.extension_methods import Extension, extended, extensions
from promptls.graph.file_tables import SELF, SUPER, Facts, Tables
from promptls.graph.module_paths import begun, opened
from promptls.graph.resolution import CERTAINTY, OUTSIDE, Entity, Found, Instance, Module, Outside, Value
from promptls.graph.signatures import returned, taken
from promptls.graph.type_hierarchy import MAX_DEPTH, Hierarchy
from promptls.index.snapshot import OutlineRef, Snapshot
from promptls.index.syntax.doc_types import UNCERTAIN, RETURN_VALUE
from promptls.index.syntax.references import STRING_LITERAL, NUMBER_LITERAL, UNKNOWN_RECEIVER
from promptls.languages import PLAIN_TEXT, Language
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import CALL, FileEntry, Import, Reference, Symbol
from promptls.util.lru import clear_if_full

MAX_REEXPORTS = 400  # files that one name is followed through; NetworkX is put together from 190
MAX_INCLUDED = 500  # files that one file includes, directly and not
_HOLDING = frozenset({"variable", "constant"})
_SEGMENT = re.compile(r"[/.]")
_MAX_HEADS = 40  # overloads of a function that are asked what they return
MAX_STEPS = 300  # expressions that are looked at for one reference, so that no file can make one costly


class Target(Protocol):
    """What an import leads to."""

    @property
    def path(self) -> str: ...
    @property
    def name(self) -> str: ...


class Imports(Protocol):
    """Import resolution of one snapshot: see context.graph.imports."""

    def targets(self, entry: FileEntry, imported: Import) -> Sequence[Target]: ...
    def bindings(self, entry: FileEntry) -> Mapping[str, Target]: ...
    def inner_bindings(self, entry: FileEntry) -> Mapping[str, Sequence[tuple[int, Target]]]: ...


class _Steps(threading.local):
    """How many expressions may still be looked at for the reference that a thread works on; None where it does not."""

    left: int | None = None


class Resolver:
    """Looks names up in one snapshot; `facts` gives the tables of a file."""

    def __init__(self, snapshot: Snapshot, imports: Imports, tables: Tables) -> None:
        self.snapshot = snapshot
        self.imports = imports
        self._tables = tables
        self.types = Hierarchy(self)
        self._steps = _Steps()
        self._stars: dict[str, tuple[str, ...]] = {}
        self._types: dict[str, tuple[OutlineRef, ...]] = {}
        self._over: dict[str, Found | None] = {}
        self._included: dict[str, dict[str, int]] = {}
        self.spaces: dict[tuple[str, str], tuple[OutlineRef, ...]] = {}  # of `modules`: (name, language) → modules, types
        self._namesakes: name_lookup.Known = {}
        self._resolved: dict[tuple[str, int, str, int, str], tuple[Found, ...]] = {}
        self._extending: dict[tuple[str, str], Sequence[Extension]] = {}

    def facts(self, path: str) -> Facts | None:
        """The tables of a file, None if it has no outline."""
        return self._tables.of(self.snapshot.files.get(path))

    # ---- references

    def resolve(self, path: str, owner: int, use: Reference) -> tuple[Found, ...]:
        """What a reference in the code of `owner` refers to, likeliest first; () for what is not known."""
        facts = self.facts(path)
        if facts is None:
            return ()
        steps = self._steps
        if steps.left is not None or self.types.climbing:
            left, steps.left = steps.left, MAX_STEPS
            try:
                return self._resolve(path, facts, owner, use)
            finally:
                steps.left = None if left is None else left - 1
        # What is asked within other lookups is not kept: steps may run out there, and cycles are cut.
        asked = path, owner, use.name, use.kind, use.receiver  # the same on whatever line of its owner
        found = self._resolved.get(asked)
        if found is None:
            clear_if_full(self._resolved)
            steps.left = MAX_STEPS
            try:
                found = self._resolved[asked] = self._resolve(path, facts, owner, use)
            finally:
                steps.left = None
        return found

    def _resolve(self, path: str, facts: Facts, owner: int, use: Reference) -> tuple[Found, ...]:
        if use.kind != CALL and use.name[:1].isupper() and facts.outline.language == "elixir":
            parts = [*use.receiver.split("."), use.name] if use.receiver else [use.name]
            module, said = begun(self, path, facts, owner, parts)
            return (module,) if isinstance(module, Found) and said == len(parts) else ()
        found = self._bare(path, facts, owner, use) if not use.receiver else self._hung(path, facts, owner, use)
        if facts.outline.language == "elixir":  # in "@spec" types look like calls
            found = tuple(one for one in found if (told := self.snapshot.symbol(one.place)) and told.kind != "type")
        return tuple(one for one in found if one.place != (path, owner) or use.kind == CALL)

    def _bare(self, path: str, facts: Facts, owner: int, use: Reference) -> tuple[Found, ...]:
        name, language = use.name, facts.outline.language
        entity = self._whole(self._name(path, facts, owner, name, use.kind == CALL))
        if isinstance(entity, Found):
            return (entity,)
        if entity is not None or name in facts.imported:
            return ()
        if facts.language.implicit_scope:
            found = self.nearby(path, name)
            if found:
                return tuple(Found(place, "package") for place in found[:1])
        if not facts.language.names_without_import:
            return ()
        return name_lookup.anywhere(self.snapshot, self._namesakes, name, language)

    def _hung(self, path: str, facts: Facts, owner: int, use: Reference) -> tuple[Found, ...]:
        if use.receiver in SUPER and facts.outline.language != "rust":
            around = self.types.around(path, facts, owner)
            bases = self.types.supertypes(around) if around is not None else ()
            inherited = next((own for base in bases if (own := self.types.own(base, use.name)) is not None), None)
            if inherited is not None:
                return (Found(inherited, "inherited"),)
        known = use.receiver not in (UNKNOWN_RECEIVER, STRING_LITERAL, NUMBER_LITERAL)
        entity = self.entity(path, owner, use.receiver) if known else None
        found = self._attribute(entity, use.name, use.kind == CALL) if entity is not None else None
        if found is None and (held := self._held(entity)) is not None:
            entity, found = held, self._attribute(held, use.name, use.kind == CALL)
        if isinstance(found, Found):
            return (found,)
        if (
            facts.outline.language == "csharp"
            and entity is None
            and name_lookup.is_type_of_elsewhere(self.snapshot, use.receiver)
        ):
            return ()
        if facts.outline.language == "cpp" and (spaced := self._in_opened_space(path, use, entity)) is not None:
            return (spaced,)
        meant = self._extended(path, facts, owner, use, entity)
        if meant or entity is not None or use.receiver in (STRING_LITERAL, NUMBER_LITERAL):
            return meant
        namesake = name_lookup.anywhere(self.snapshot, self._namesakes, use.name, facts.outline.language, use.receiver)
        if facts.outline.language == "kotlin" and namesake:
            hidden = {one.place for one in self._extensions(use.name, "kotlin")}
            return tuple(one for one in namesake if one.place not in hidden)
        return namesake

    def _in_opened_space(self, path: str, use: Reference, entity: Entity | None) -> Found | None:
        """A function of a C++ namespace that a macro opens: an included header has it, and is named like the space."""
        symbol = self.snapshot.symbol(entity.place) if isinstance(entity, Found) else None
        known = (
            symbol.kind not in CALLABLE_KINDS | {"namespace"}
            if symbol is not None
            else isinstance(entity, Instance | Module)
        )
        if known or use.kind != CALL:
            return None
        space = use.receiver.partition(".")[0]
        near = (found for found in self._included_all(path, use.name, True) if space in _SEGMENT.split(found.place[0]))
        return next(near, None)

    def _extended(
        self, path: str, facts: Facts, owner: int, use: Reference, entity: Entity | None
    ) -> tuple[Found, ...]:
        """The functions that a type is extended by from elsewhere and that a call on `entity` means."""
        if use.kind != CALL or not facts.language.extension_methods:
            return ()
        types: set[str] | None = None
        if isinstance(entity, Instance):
            places = (entity.place, *self.types.supertypes(entity.place))
            types = {symbol.name for place in places if (symbol := self.snapshot.symbol(place)) is not None}
        elif isinstance(entity, Found | Module):
            types = set()
        return extended(
            self.snapshot, self._extensions(use.name, facts.outline.language), path, facts, owner, use, types
        )

    def _extensions(self, name: str, language: str) -> Sequence[Extension]:
        known = self._extending.get((name, language))
        if known is None:
            known = self._extending[name, language] = extensions(self.snapshot, name, language)
        return known

    # ---- names

    def _name(self, path: str, facts: Facts, owner: int, name: str, value: bool = True) -> Entity | None:
        """What a name by itself stands for in the code of `owner`; of a value and a type of one name the value,
        or else the type."""
        language = facts.outline.language
        inside = False
        for scope in facts.scopes(owner):
            symbol = facts.symbols[scope]
            if not (inside and symbol.kind in TYPE_KINDS and not facts.language.implicit_self):
                found = facts.named.get((scope, name))
                if found:
                    return Found((path, found[-1]), "local")
            if symbol.name == name and symbol.kind in TYPE_KINDS | CALLABLE_KINDS and symbol.parent < 0:
                return Found((path, scope), "local")
            inside = inside or symbol.kind in CALLABLE_KINDS
        for line, inner in self.imports.inner_bindings(self.snapshot.files[path]).get(name, ()) if owner >= 0 else ():
            scopes = (facts.symbols[i] for i in facts.scopes(owner))
            if any(line in scope.span for scope in scopes if scope.kind in CALLABLE_KINDS):
                return self.target(inner, value)
        found = facts.at_top(name)
        target = self.imports.bindings(self.snapshot.files[path]).get(name) if not found else None
        if target is not None:
            return self.target(target, value)
        found = found or ([] if facts.language.module_members_need_owner else facts.top.get(name, []))
        if found:
            return Found((path, self._best(facts, found, value)), "local")
        if facts.language.implicit_self:
            around = self.types.around(path, facts, owner)
            member = self.types.member(around, name) if around is not None else None
            if member is not None:
                return member
        for star in self.stars(path):
            exported = self.export(star, name, value)
            if exported is not None:
                return exported
        for place in self._opened(path):
            member = self.types.member(place, name)
            offered = self.snapshot.symbol(member.place) if member is not None else None
            if member is not None and offered is not None and (offered.exported or language != "elixir"):
                return Found(member.place, "import")
        return self.included(path, name, value)

    @staticmethod
    def _best(facts: Facts, found: Sequence[int], value: bool) -> int:
        """Of several definitions of a name the one that has a body and is no mere assignment."""

        def worth(index: int) -> tuple[int, int]:
            symbol = facts.symbols[index]
            if value and symbol.kind in ("interface", "type"):
                return 0, len(symbol.span)
            return 1 + (symbol.kind in TYPE_KINDS or (value and symbol.kind in CALLABLE_KINDS)), len(symbol.span)

        return max(found, key=worth)

    def stars(self, path: str) -> tuple[str, ...]:
        """Files all of whose names a file sees by its imports."""
        known = self._stars.get(path)
        if known is None:
            known = self._stars[path] = tuple(dict.fromkeys(t.path for t in self._whole_of(path) if t.name == "*"))
        return known

    def _opened(self, path: str) -> tuple[OutlineRef, ...]:
        """Types all of whose members a file sees by its imports."""
        known = self._types.get(path)
        if known is None:
            if self._language(path) == "elixir":
                found = opened(self, path)
            else:
                targets = [t for t in self._whole_of(path) if t.name.endswith(".*")]
                exported = (self.export(t.path, t.name.removesuffix(".*")) for t in targets)
                found = [one.place for one in exported if isinstance(one, Found)]
            known = self._types[path] = tuple(found)
        return known

    def _whole_of(self, path: str, named: bool = True) -> Iterator[Target]:
        """What imports bring all names of: "from a import *", or (not `named`) "#include" and the like."""
        for one in self._imports(path):
            if not one.local_names and ("*" in one.names if named else not one.names):
                yield from self.imports.targets(self.snapshot.files[path], one)

    def _imports(self, path: str) -> Sequence[Import]:
        facts = self.facts(path)
        return facts.outline.imports if facts is not None else ()

    def included(self, path: str, name: str, value: bool = True) -> Found | None:
        """What the files that a file includes define under a name; the nearest counts."""
        near = self._includes(path)
        if (
            self._language(path) == "dart"
        ):  # they see what the files that they import define or export, and nothing behind that
            found = (self.export(file, name, value) for file in near)
            return next((one for one in found if isinstance(one, Found)), None)
        return next(self._included_all(path, name, value), None)

    def _included_all(self, path: str, name: str, value: bool) -> Iterator[Found]:
        near = self._includes(path)
        files = {place[0] for place in self.snapshot.names.get(name.lower(), ()) if place[0] in near} if near else ()
        offered = (self._offered(file, name, value) for file in sorted(files, key=near.__getitem__))
        yield from (found for found in offered if found is not None)

    def _includes(self, path: str) -> Mapping[str, int]:
        """Files that a file includes (#include, require, source), directly and not → their place, nearest first."""
        known = self._included.get(path)
        if known is None:
            found: dict[str, None] = {}
            queue = deque([path])
            while queue and len(found) < MAX_INCLUDED:
                whole = (t.path for t in self._whole_of(queue.popleft(), named=False) if t.name == "*")
                new = [file for file in whole if file not in found]
                found.update(dict.fromkeys(new))
                queue.extend(new if self._language(path) != "dart" else ())
            known = self._included[path] = {file: i for i, file in enumerate(found)}
        return known

    def target(self, target: Target, value: bool = True) -> Entity | None:
        """What an import leads to: a module, or what that offers under a name."""
        if not target.name or target.name == "*":
            return self._bound_over(target.path) or Module(target.path)
        type_, _, member = target.name.partition(".")
        found = self.export(target.path, type_ if member else target.name, value)
        return self._attribute(found, member, value) if found is not None and member else found

    def _bound_over(self, path: str) -> Found | None:
        """What a package of Python binds under the name of one of its modules, as by `from .query import query`."""
        if path in self._over:
            return self._over[path]
        folder, _, file = path.rpartition("/")
        if file == "__init__.py":
            folder, _, file = folder.rpartition("/")
        name, package = file.partition(".")[0], f"{folder}/__init__.py"
        found = None
        if path.endswith(".py") and package in self.snapshot.files and name.lower() in self.snapshot.names:
            found = self.export(package, name)
        self._over[path] = found if isinstance(found, Found) else None
        return self._over[path]

    def export(self, path: str, name: str, value: bool = True) -> Entity | None:
        """What a file, or the package that it belongs to, offers under a name; re-exports are followed, named ones first."""
        queue = deque([(path, name)])
        seen = {(path, name): None}
        while queue:
            file, sought = queue.popleft()
            found = self._offered(file, sought, value)
            if found is not None:
                return found
            entry = self.snapshot.files.get(file)
            target = self.imports.bindings(entry).get(sought) if entry is not None else None
            if target is not None and (not target.name or target.name == "*"):
                return Module(target.path)
            ways = [(star, sought) for star in self.stars(file)] if entry is not None else []
            for way in ways:
                if way not in seen and len(seen) < MAX_REEXPORTS:
                    seen[way] = None
                    queue.append(way)
            if target is not None and (way := (target.path, target.name)) not in seen:
                seen[way] = None
                queue.appendleft(way)
        return next((module for way in seen if (module := self._submodule(*way)) is not None), None)

    def _offered(self, path: str, name: str, value: bool) -> Found | None:
        """What a file or the files of its package define under a name."""
        facts = self.facts(path)
        if facts is None:
            return None
        found = facts.at_top(name) or facts.top.get(name, [])
        if not found and name == "default":
            found = self._default(facts, path)
        if found:
            return Found((path, self._best(facts, found, value)), "import")
        nearby = self.nearby(path, name) if facts.language.implicit_scope else []
        return Found(nearby[0], "import") if nearby else None

    @staticmethod
    def _default(facts: Facts, path: str) -> list[int]:
        """What a JavaScript module exports as its default, or as all that it is."""
        top = [i for i, symbol in enumerate(facts.symbols) if symbol.parent < 0]
        found = [i for i in top if facts.symbols[i].signature.startswith(("export default", "module.exports ="))]
        if found:
            return found
        public = [i for i in top if facts.symbols[i].exported]
        stem = path.rpartition("/")[2].partition(".")[0]
        return public if len(public) == 1 else [i for i in public if facts.symbols[i].name == stem]

    def _whole(self, entity: Entity | None) -> Entity | None:
        """What a module stands for where it is used as a value: `const A = require("./a")` with its one export."""
        if not isinstance(entity, Module):
            return entity
        facts = self.facts(entity.path)
        found = self._default(facts, entity.path) if facts is not None and facts.language.family == "ecmascript" else []
        return Found((entity.path, found[0]), "import") if found else entity

    def _submodule(self, path: str, name: str) -> Entity | None:
        """A module inside of a package, by the names of files."""
        folder, _, file = path.rpartition("/")
        if file.partition(".")[0] not in ("__init__", "index", "mod", "lib"):
            if path in self.snapshot.files:
                return None
            folder = path
        for candidate in (
            f"{folder}/{name}.py",
            f"{folder}/{name}/__init__.py",
            f"{folder}/{name}.rs",
            f"{folder}/{name}/mod.rs",
        ):
            if candidate in self.snapshot.files:
                return Module(candidate)
        return None

    def nearby(self, path: str, name: str) -> list[OutlineRef]:
        """Top-level definitions of a name in files that a file sees without an import that says so, nearest first."""
        return name_lookup.nearby(self.snapshot, self.facts, path, name)

    # ---- values and types

    def entity(self, path: str, owner: int, expression: str, depth: int = 0, value: bool = True) -> Entity | None:
        """What a dotted expression stands for: "self.store", "os.path", "Foo().bar()"; `value` as of `_name`."""
        facts = self.facts(path)
        left = self._steps.left
        if left is not None:
            self._steps.left = left - 1
        if facts is None or depth > MAX_DEPTH or (left is not None and left <= 0):
            return None
        if expression in SUPER and facts.outline.language != "rust":
            around = self.types.around(path, facts, owner)
            bases = self.types.supertypes(around) if around is not None else ()
            return Instance(bases[0], "inherited") if bases else OUTSIDE if around is not None else None
        parts = expression.split(".")
        language = facts.outline.language
        entity, said = begun(self, path, facts, owner, parts, depth)
        if said and entity is OUTSIDE:
            return OUTSIDE
        if not said:
            entity, said = self._head(path, facts, owner, parts[0], depth, value or len(parts) > 1), 1
        for part in parts[said:]:
            if entity is None or isinstance(entity, Outside):
                return entity
            name = part.removesuffix("()")
            at = entity
            if name == "__class__" and language == "python":
                continue
            wanted = value or part is not parts[-1]
            entity = self._member(at, name, wanted, depth)
            if entity is None and (held := self._held(at, depth)) is not None:
                at, entity = held, self._member(held, name, wanted, depth)
            if name == "new" and facts.language.instantiates_with_new and isinstance(at, Found | Instance):
                entity = Instance(at.place, "typed")  # whichever of its bases makes it
            elif entity is None and part in facts.language.transparent_members and isinstance(at, Instance):
                entity = at
            elif part.endswith("()"):
                entity = self._result(entity, depth)
            elif isinstance(entity, Found) and (isinstance(at, Instance) or self._is_property(entity)):
                entity = self._value(entity, depth)
        return entity

    def _head(self, path: str, facts: Facts, owner: int, part: str, depth: int, value: bool) -> Entity | None:
        called = part.endswith("()")
        name = part.removesuffix("()")
        plain = facts.language.file_is_type or (  # "self" is a name like others in some languages
            facts.language.family == "ecmascript" and name != "this" and any((i, name) in facts.variables for i in facts.scopes(owner))
        )
        if (name in SELF and not plain) or name in facts.language.self_names:
            around = self.types.around(path, facts, owner)
            return Instance(around, "member") if around is not None else None
        if name.startswith("@") and len(name) > 1:
            around = self.types.around(path, facts, owner)
            return self._field(Instance(around, "member"), name.lstrip("@"), depth) if around is not None else None
        if not called and value:
            for scope in (*facts.scopes(owner), -1):
                of = facts.variables.get((scope, name))
                if of is not None and not (
                    scope >= 0
                    and facts.symbols[scope].kind in TYPE_KINDS
                    and scope != owner
                    and not facts.language.implicit_self
                ):
                    return self.type_named(path, max(scope, owner), of, depth + 1)
        found = self._name(path, facts, owner, name, value)
        if found is None and facts.language.implicit_scope:
            nearby = self.nearby(path, name)
            found = Found(nearby[0], "package") if nearby else None
        if found is None and facts.language.names_without_import and name[:1].isupper():
            only = name_lookup.anywhere(self.snapshot, self._namesakes, name, facts.outline.language)
            found = only[0] if len(only) == 1 else None
        if found is None and name in facts.imported and name not in self.imports.bindings(self.snapshot.files[path]):
            return OUTSIDE
        return self._result(found, depth) if called else found

    def _held(self, entity: Entity | None, depth: int = 0) -> Instance | None:
        """What a variable of a file holds, as of `app = Flask()`; None where that is not known."""
        symbol = self.snapshot.symbol(entity.place) if isinstance(entity, Found) else None
        if not isinstance(entity, Found) or symbol is None or symbol.kind not in _HOLDING or symbol.parent >= 0:
            return None
        facts = self.facts(entity.place[0])
        of = facts.variables.get((-1, symbol.name)) if facts is not None and depth <= MAX_DEPTH else None
        held = self.type_named(entity.place[0], -1, of, depth + 2) if of is not None else None
        return held if isinstance(held, Instance) else None

    def type_named(self, path: str, owner: int, of: str, depth: int = 0) -> Value | None:
        """A value of the type that is written as `of`; "A()" is what calling A gives, "a(0,1)" what a hands to
        parameter 1 of its argument 0, "=a.b" what a variable was set to."""
        if of.startswith("="):
            held = self.entity(path, owner, of[1:], depth + 1)
            return held if isinstance(held, Instance | Outside) else None
        if of.endswith(")") and not of.endswith("()"):
            return self._handed(path, owner, of, depth)
        if of.endswith("()"):
            result = self.entity(path, owner, of, depth + 1)
            return result if isinstance(result, Instance | Module | Outside) else None
        facts = self.facts(path)
        if of in SELF and facts is not None and (not facts.language.file_is_type or facts.type_around(owner)):
            around = self.types.around(path, facts, owner)
            return Instance(around, "typed") if around is not None else None
        maybe, of = of.startswith(UNCERTAIN), of.removeprefix(UNCERTAIN)
        found = self._whole(self.entity(path, owner, of, depth + 1, value=False))
        if isinstance(found, Found):
            symbol = self.snapshot.symbol(found.place)
            if symbol is not None and symbol.kind in self._rules(found.place[0]).method_owner_kinds | {"type"}:
                return Instance(found.place, "typed")
            return None
        if isinstance(found, Module) and facts is not None and facts.language.file_is_type:
            return found
        return OUTSIDE if (found is None and not maybe) or isinstance(found, Outside) else None

    def _rules(self, path: str) -> Language:
        facts = self.facts(path)
        return facts.language if facts is not None else PLAIN_TEXT

    def _language(self, path: str) -> str:
        facts = self.facts(path)
        return facts.outline.language if facts is not None else ""

    def _result(self, entity: Entity | None, depth: int) -> Value | None:
        """What calling something gives."""
        entity = self._whole(entity)
        if isinstance(entity, Outside):
            return entity
        if not isinstance(entity, Found) or depth > MAX_DEPTH:
            return None
        symbol = self.snapshot.symbol(entity.place)
        facts = self.facts(entity.place[0])
        if symbol is None or facts is None:
            return None
        if symbol.kind in TYPE_KINDS:
            return Instance(entity.place, "typed")
        of = self._mostly_returned(facts, symbol) or facts.variables.get((entity.place[1], RETURN_VALUE), "")
        if symbol.kind == "constructor" or (symbol.name in ("new", "create") and not of):
            around = self.types.around(entity.place[0], facts, entity.place[1])
            return Instance(around, "typed") if around is not None else None
        if not of:
            return None
        given = self.type_named(entity.place[0], entity.place[1], of, depth + 2)
        return Instance(given.place, "returned") if isinstance(given, Instance) else given

    @staticmethod
    def _mostly_returned(facts: Facts, symbol: Symbol) -> str:
        """What a function says it returns; of several heads what most of them say, in doubt its own."""
        language = facts.outline.language
        own = returned(symbol, language)
        alike = facts.qualified.get(symbol.qualified, ())
        if len(alike) < 3:
            return own
        said = Counter(of for i in alike[:_MAX_HEADS] if (of := returned(facts.symbols[i], language)))
        return max(said, key=lambda of: (said[of], of == own), default=own)

    def _handed(self, path: str, owner: int, of: str, depth: int) -> Value | None:
        """What a function hands to the function that it is given, by its signature or its constructor's."""
        function, _, numbers = of[:-1].rpartition("(")
        found = self.entity(path, owner, function, depth + 1)
        if not isinstance(found, Found):
            return OUTSIDE if isinstance(found, Outside) else None
        facts, index = self.facts(found.place[0]), found.place[1]
        if facts is None:
            return None
        if facts.symbols[index].kind in TYPE_KINDS:
            index = next(iter(self._constructors(facts, index)), index)
        argument, parameter = (int(number) for number in numbers.split(","))
        handed = taken(facts.symbols[index].signature, argument, parameter)
        return self.type_named(found.place[0], index, handed, depth + 2) if handed else None

    def _is_property(self, found: Found) -> bool:
        symbol = self.snapshot.symbol(found.place)
        return symbol is not None and symbol.kind == "property"

    def _value(self, found: Found, depth: int) -> Entity | None:
        """What an attribute holds: for a property what it returns, for a nested type the type itself."""
        symbol = self.snapshot.symbol(found.place)
        if symbol is not None and symbol.kind in CALLABLE_KINDS | {"property"}:
            return self._result(found, depth)
        return found

    def _member(self, entity: Entity, name: str, value: bool, depth: int) -> Entity | None:
        """What a name on something stands for, the value of an attribute where that is known."""
        field = self._field(entity, name, depth)
        return field if field is not None else self._attribute(entity, name, value)

    def _field(self, entity: Entity, name: str, depth: int) -> Value | None:
        """The value of a declared attribute."""
        if isinstance(entity, Module) and self._rules(entity.path).file_is_type:
            facts = self.facts(entity.path)
            of = facts.variables.get((-1, name)) if facts is not None and depth <= MAX_DEPTH else None
            return self.type_named(entity.path, -1, of, depth + 2) if of is not None else None
        if isinstance(entity, Module | Outside) or depth > MAX_DEPTH:
            return None
        for place in (entity.place, *self.types.supertypes(entity.place)):
            facts = self.facts(place[0])
            of = facts.variables.get((place[1], name)) if facts is not None else None
            if of is not None and facts is not None:
                inits = facts.qualified.get(f"{facts.symbols[place[1]].qualified}.__init__", [place[1]])
                return self.type_named(place[0], inits[0], of, depth + 2)
            if facts is not None:
                for init in self._constructors(facts, place[1]):
                    of = facts.variables.get((init, name))
                    if of is not None:
                        return self.type_named(place[0], init, of, depth + 2)
        return None

    @staticmethod
    def _constructors(facts: Facts, index: int) -> list[int]:
        return [i for i in facts.children.get(index, ()) if facts.symbols[i].kind == "constructor"]

    def _attribute(self, entity: Entity, name: str, value: bool) -> Entity | None:
        """What a name stands for on something."""
        if isinstance(entity, Module):
            found = self.export(entity.path, name, value)
            whole = self._whole(entity) if found is None else None
            return self._attribute(whole, name, value) if isinstance(whole, Found) else found
        if isinstance(entity, Outside):
            return entity
        found = self.types.member(entity.place, name)
        if found is None:
            return None
        if isinstance(entity, Found):
            return Found(
                found.place,
                "inherited" if found.how == "inherited" else "import" if entity.how == "import" else "member",
            )
        how = entity.how if CERTAINTY[entity.how] < CERTAINTY[found.how] else found.how
        return Found(found.place, how)
