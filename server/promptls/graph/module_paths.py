"""Expressions that begin with the path of a module: which definition or file that is, in languages that name them so.

`crate::a`, `super`, `Ecto.Type`, `Sidekiq::Queue`, `Mojo::Base`, `Stdune.Path`.  Each gives what the longest beginning
of a path stands for and how many of its parts say so; 0 where the path begins with no module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptls.graph.file_tables import Facts
from promptls.graph.resolution import OUTSIDE, Entity, Found, Module
from promptls.index.snapshot import OutlineRef
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import Import

if TYPE_CHECKING:
    from promptls.graph.name_resolution import Resolver

Begun = tuple[Entity | None, int]

MAX_NAMESAKES = 200
"""Modules of one name that are looked at."""

MAX_ALIASES = 4
"""Of OCaml's modules, one after the other: they may go in circles."""

_HOLDING = (TYPE_KINDS | {"module", "namespace"}) - {"impl"}
_CONSTANT = re.compile(r"(?:const|var)\s+\w+\s*=\s*([A-Za-z_@][\w.]*)(\(\))?\s*$")  # of Zig's
_ALIAS = re.compile(r"module\s+\w+\s*=\s*([A-Z][\w.]*)\s*$")  # of OCaml's


def begun(resolver: Resolver, path: str, facts: Facts, owner: int, parts: Sequence[str], depth: int = 0) -> Begun:
    """What an expression begins with, if that is the path of a module; `depth` as of `Resolver.entity`."""
    language = facts.outline.language
    if language == "rust":
        return _rust(resolver, path, facts, owner, parts)
    if language == "zig":
        return _zig(resolver, path, facts, owner, parts[0], depth)
    if not parts[0][:1].isupper():
        return None, 0
    if language == "perl":
        package, said = named(resolver, parts, "perl")
        return (package, said) if said else (OUTSIDE, 1)
    if language == "elixir":  # no other module is known here
        found, said = _scoped(resolver, path, facts, owner, parts, _aliased(facts, parts[0]))
        return (found, said) if said else (OUTSIDE, 1)
    if language == "ruby":
        return (None, 0) if parts[0] in facts.imported else _scoped(resolver, path, facts, owner, parts)
    if language == "haskell":
        return _haskell(resolver, path, parts)
    if language == "ocaml":
        found, said = _ocaml(resolver, path, facts, owner, parts)
        return (found, said) if said else (OUTSIDE, 1)
    return None, 0


def named(resolver: Resolver, parts: Sequence[str], language: str, near: str = "") -> tuple[Found | None, int]:
    """The module or type of a qualified name, the longest that a path begins with, and how many parts say so.

    Of several of one name, for they may be opened again, that in the file `near` counts, else the longest.
    """
    for said in range(len(parts), 0, -1):
        key = ".".join(parts[:said]), language
        places = resolver.spaces.get(key)
        if places is None:
            places = resolver.spaces[key] = _bearing(resolver, *key)
        if places:
            return Found(next((place for place in places if place[0] == near), places[0]), "import"), said
    return None, 0


def whole(resolver: Resolver, parts: Sequence[str], language: str, near: str = "") -> OutlineRef | None:
    """The module or type of just this qualified name."""
    found, said = named(resolver, parts, language, near)
    return found.place if found is not None and said == len(parts) else None


def _bearing(resolver: Resolver, qualified: str, language: str) -> tuple[OutlineRef, ...]:
    """The modules and types of a qualified name, longest first."""
    found: list[tuple[int, OutlineRef]] = []
    for place in resolver.snapshot.names.get(qualified.rpartition(".")[2].lower(), ())[:MAX_NAMESAKES]:
        symbol = resolver.snapshot.symbol(place)
        if symbol is None or symbol.kind not in _HOLDING or symbol.qualified != qualified:
            continue
        facts = resolver.facts(place[0])
        if facts is not None and facts.outline.language == language:
            found.append((-len(symbol.span), place))
    return tuple(place for _, place in sorted(found))


def opened(resolver: Resolver, path: str) -> list[OutlineRef]:
    """The Elixir modules all of whose names a file sees: by `import`, its own or one that a module it uses brings."""
    facts = resolver.facts(path)
    imports = list(facts.outline.imports) if facts is not None else []
    for one in imports[:]:
        if (using := used(resolver, one)) is not None and (other := resolver.facts(using[0])) is not None:
            span = other.symbols[using[1]].span
            imports += [inner for inner in other.outline.imports if span.start <= inner.line < span.end]
    places = (whole(resolver, one.module.split("."), "elixir") for one in imports if "*" in one.names)
    return list(dict.fromkeys(place for place in places if place is not None))


def used(resolver: Resolver, imported: Import) -> OutlineRef | None:
    """The macro that makes what a module gets that an Elixir file uses."""
    place = whole(resolver, imported.module.split("."), "elixir") if imported.local_names == ("SUPER",) else None
    facts = resolver.facts(place[0]) if place is not None else None
    using = facts.qualified.get(f"{imported.module}.__using__", ()) if facts is not None else ()
    return (place[0], using[0]) if place is not None and using else None


def _rust(resolver: Resolver, path: str, facts: Facts, owner: int, parts: Sequence[str]) -> Begun:
    """ "crate", one "super" or several."""
    start, said = "crate", 1
    if parts[0] != "crate":
        said = next((i for i, part in enumerate(parts) if part != "super"), len(parts))
        if not said:
            return None, 0
        own = [i for i in facts.scopes(owner) if facts.symbols[i].kind == "module"]  # in the file, innermost first
        if said <= len(own):
            return Found((path, own[said]), "local") if said < len(own) else Module(path), said
        start = "::".join(["super"] * (said - len(own)))
    found = resolver.imports.targets(resolver.snapshot.files[path], Import(start, (), 0))
    return (Module(found[0].path) if found else None), said


def _scoped(
    resolver: Resolver, path: str, facts: Facts, owner: int, parts: Sequence[str], aliased: Iterable[list[str]] = ()
) -> Begun:
    """What an alias stands for, a module inside of one around, which many files may have a part of, else one by its
    whole name."""
    for full in (*aliased, *_within(facts, owner, parts[0]), [parts[0]]):
        found, said = named(resolver, [*full, *parts[1:]], facts.outline.language, path)
        if said >= len(full):
            return found, said - len(full) + 1
    return None, 0


def _aliased(facts: Facts, name: str) -> Iterable[list[str]]:
    for one in facts.outline.imports:
        if one.local_names == (name,):
            yield one.module.split(".")
        elif name in one.names:
            yield [*one.module.split("."), name]
        elif not one.names and not one.local_names and one.module.rpartition(".")[2] == name:
            yield one.module.split(".")


def _within(facts: Facts, owner: int, name: str) -> Iterable[list[str]]:
    """What a name may be inside of the modules and types around, innermost first."""
    around = (facts.symbols[i] for i in facts.scopes(owner))
    return [[*symbol.qualified.split("."), name] for symbol in around if symbol.kind in _HOLDING]


def _zig(resolver: Resolver, path: str, facts: Facts, owner: int, name: str, depth: int) -> Begun:
    """A constant that stands for a type of elsewhere, or for the one that it is in: a file is one too."""
    for scope in (*facts.scopes(owner), -1):
        for index in facts.named.get((scope, name), ()):
            constant = _CONSTANT.match(facts.symbols[index].signature)
            if constant is None or facts.symbols[index].kind in TYPE_KINDS:
                continue
            if constant.group(1) == "@This":
                return (Found((path, scope), "local") if scope >= 0 else Module(path)), 1
            if constant.group(1) != name and constant.group(2) is None:
                return resolver.entity(path, scope, constant.group(1), depth + 2), 1
    around = facts.type_around(owner)
    return (Module(path), 1) if name == "Self" and not around else (None, 0)


def _haskell(resolver: Resolver, path: str, parts: Sequence[str]) -> Begun:
    """What an import calls a module; its whole name where that says nothing else."""
    bindings = resolver.imports.bindings(resolver.snapshot.files[path])
    for said in range(len(parts), 0, -1):
        target = bindings.get(".".join(parts[:said]))
        if target is not None:
            return Module(target.path), said
    return OUTSIDE, 1


def _ocaml(resolver: Resolver, path: str, facts: Facts, owner: int, parts: Sequence[str], depth: int = 0) -> Begun:
    """A module of the file, of one that is opened, or a file by its name; a library that wraps files; aliases."""
    if depth > MAX_ALIASES:
        return None, 0
    at: Entity | None = None
    said = 0
    for part in parts:
        if not part[:1].isupper():
            break
        below = _ocaml_below(resolver, path, facts, owner, at, part, depth)
        if below is None:
            break
        at, said = below, said + 1
    return at, said


def _ocaml_below(
    resolver: Resolver, path: str, facts: Facts, owner: int, at: Entity | None, part: str, depth: int
) -> Entity | None:
    """What a module's name means in another one, or (`at` is None) in a file."""
    if at is None:
        own = next((own for i in (*facts.scopes(owner), -1) if (own := facts.named.get((i, part)))), None)
        found: Entity | None = Found((path, own[-1]), "local") if own else None
        brought = (resolver.export(star, part) for star in resolver.stars(path)) if found is None else ()
        found = found or next((one for one in brought if one is not None), None)
        file = path
    elif isinstance(at, Module):
        found, file = resolver.export(at.path, part), at.path
    elif isinstance(at, Found):
        found, file = resolver.types.member(at.place, part), ""
    else:
        return None
    symbol = resolver.snapshot.symbol(found.place) if isinstance(found, Found) else None
    if isinstance(found, Found) and symbol is not None:
        home = resolver.facts(found.place[0])
        alias = _ALIAS.match(symbol.signature)
        if home is None or home.children.get(found.place[1]):
            return found
        if alias is None or alias.group(1) == part:
            return _file(resolver, file, part) or found if file else found
        written = alias.group(1).split(".")
        meant, said = _ocaml(resolver, found.place[0], home, home.symbols[found.place[1]].parent, written, depth + 1)
        return meant if said == len(written) else found
    if isinstance(found, Module):
        return found
    return _file(resolver, file, part) if file else None


def _file(resolver: Resolver, path: str, name: str) -> Module | None:
    """The file that a module's name means in another file: beside it, else by far the nearest."""
    entry = resolver.snapshot.files.get(path)
    found = resolver.imports.targets(entry, Import(name, (), 0)) if entry is not None else ()
    return Module(found[0].path) if found and found[0].path != path else None
