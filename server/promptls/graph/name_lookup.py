"""Definitions that bear a name elsewhere: in files that are seen without an import, and anywhere in the workspace.

A name that many bear says little, so what is looked at has bounds: of thousands those near, or in files of the type
that is named.  Pure functions of a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable

from promptls.graph.file_tables import Facts, bears_its_types_name
from promptls.graph.packages import closeness, module_of, package_of
from promptls.graph.resolution import Found
from promptls.index.snapshot import OutlineRef, Snapshot
from promptls.index.syntax.references import UNKNOWN_RECEIVER
from promptls.languages import LANGUAGES, language_named
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.model import Symbol
from promptls.util.lru import clear_if_full

_CSHARP_TYPES = LANGUAGES["csharp"].primitive_types
_FAMILIES = {name: language.family for name, language in LANGUAGES.items() if language.family}

_NESTED_PACKAGES = frozenset("test tests docs doc benchmark benchmarks perf examples".split())
"""Folders within a package that may have a manifest and still belong to the package around them."""

_COMMON_METHODS = frozenset(
    "add all any append apply bind call catch clear clone close copy count create data decode delete each emit encode "
    "endswith equals every exec execute extend fetch filter find findall first flush forEach format from get gmatch group gsub has hash "
    "includes index indexOf info init insert is_empty items iter join keys last len length list load log lower map match "
    "max min name new next on open parse pop post print push put read reduce register remove render replace reset resolve "
    "reverse run save search send set setdefault size slice some sort split start startswith stop strip sub sum test then "
    "toString trim type unwrap update upper validate value values wait warn write error debug exists put_nowait done".split()
)
"""Method names of so many types that a single definition in a workspace is no evidence."""

Known = dict[tuple[str, str, str], tuple[Found, ...]]
"""By name, language and receiver: its definitions."""

MAX_SEVERAL = 3
"""Definitions of one name that a reference may mean."""
MAX_NAMESAKES = 200
"""Definitions of one name that are looked at."""


def nearby(snapshot: Snapshot, facts: Callable[[str], Facts | None], path: str, name: str) -> list[OutlineRef]:
    """Top-level definitions of a name in the files of a file's folder, package, module or namespaces, nearest first."""
    mine = facts(path)
    if mine is None:
        return []
    language, here = mine.outline.language, path.rpartition("/")[0]
    scope = mine.language.implicit_scope
    named = [place for place in snapshot.names.get(name.lower(), ()) if place[0] != path]
    if scope == "module":
        named = sorted(named, key=lambda place: -closeness(place[0], path))[:MAX_NAMESAKES]
    elif scope == "manifest":
        home = home_of(snapshot, path, language)
        named = [place for place in named if home and home_of(snapshot, place[0], language) == home]
    elif scope != "namespace":
        package = package_of(snapshot.files[path].name) if scope == "package" else ""
        named = [place for place in named if _shares(snapshot, place[0], here, package)]
    elif len(named) > MAX_NAMESAKES:
        above = here.rpartition("/")[0] + "/"
        named = [place for place in named if place[0].startswith(above)]
    named.sort(key=lambda place: (-closeness(place[0], path), place))
    spaces = mine.spaces if scope == "namespace" else ()
    out: list[tuple[int, OutlineRef]] = []
    for place in named[:MAX_NAMESAKES]:
        other = facts(place[0])
        if other is None or not _akin(other.outline.language, language) or place[1] not in other.top.get(name, ()):
            continue
        symbol = other.symbols[place[1]]
        space = symbol.qualified.rpartition(".")[0]
        if language == "julia":  # a method of a function of elsewhere is none of the package's own
            own = symbol.parent >= 0 or not space
            out += [(symbol.kind not in TYPE_KINDS, place)] if own else []
        elif scope != "namespace":
            out.append((0, place))
        elif space in spaces:
            out.append((spaces.index(space), place))
    return [place for _, place in sorted(out, key=lambda found: found[0])]


def home_of(snapshot: Snapshot, path: str, language: str) -> str:
    """The folder of the package that a file of R or Julia belongs to, "" for none; tests may have a manifest too."""
    manifest = language_named(language).package_manifest
    folder = path
    while folder := folder.rpartition("/")[0]:
        if f"{folder}/{manifest}" in snapshot.files and folder.rpartition("/")[2] not in _NESTED_PACKAGES:
            return folder
    return ""


def in_package(snapshot: Snapshot, path: str, near: str) -> bool:
    """Whether a file of Java, Kotlin or Scala is of another one's package."""
    return _shares(snapshot, path, near.rpartition("/")[0], package_of(snapshot.files[near].name))


def _shares(snapshot: Snapshot, path: str, folder: str, package: str) -> bool:
    """Whether a file lies in a folder, or in a package, which may have folders in several trees of sources."""
    own = path.rpartition("/")[0]
    if own == folder:
        return True
    return bool(package) and own.endswith(f"/{package}") and package_of(snapshot.files[path].name) == package


def versions(snapshot: Snapshot, place: OutlineRef) -> frozenset[OutlineRef]:
    """A definition and what stands in for it on other platforms: of its package and name, a build takes one of them.

    Go has them in files of one folder (`dir_unix.go`), Kotlin in trees of one module (`expect`, `actual`).  The methods
    of a Julia function are one thing too: which of them is called, the types of its arguments say.
    """
    symbol, entry = snapshot.symbol(place), snapshot.files[place[0]]
    language = entry.outline.language if entry.outline is not None else ""
    variants = language_named(language).definition_variants
    if symbol is None or not symbol.name or not variants:
        return frozenset((place,))
    if variants == "methods":
        return _methods(snapshot, place, symbol, language)
    folder, package = place[0].rpartition("/")[0], package_of(entry.name) if variants == "package" else ""
    within = module_of(place[0]) if package else folder + "/"
    near = [other for other in snapshot.names.get(symbol.name.lower(), ()) if other[0].startswith(within)]
    out = {place}
    for other in near[:MAX_NAMESAKES]:
        found = (
            snapshot.symbol(other) if other[0] != place[0] and _shares(snapshot, other[0], folder, package) else None
        )
        if found is not None and found.qualified == symbol.qualified:
            out.add(other)
    return frozenset(out)


def _methods(snapshot: Snapshot, place: OutlineRef, symbol: Symbol, language: str) -> frozenset[OutlineRef]:
    home = home_of(snapshot, place[0], language)
    out = {place}
    for other in snapshot.names.get(symbol.name.lower(), ())[:MAX_NAMESAKES] if home else ():
        found = snapshot.symbol(other) if home_of(snapshot, other[0], language) == home else None
        if found is not None and found.qualified == symbol.qualified:
            out.add(other)
    return frozenset(out)


def anywhere(snapshot: Snapshot, known: Known, name: str, language: str, receiver: str = "") -> tuple[Found, ...]:
    """The definitions of a name in the whole workspace, if they are few; `receiver` is what it is called on.

    A receiver that is written as a type or module, and is none that is known, may only be one of that name.
    `known`: what was found before in this snapshot.
    """
    rules = language_named(language)
    if receiver and (name in _COMMON_METHODS or receiver in rules.standard_libraries):
        return ()
    of = receiver.rpartition(".")[2].removesuffix("()")
    if not rules.capitalized_types or not of[:1].isupper():
        of = ""
    asked = name, language, receiver if of or not receiver else UNKNOWN_RECEIVER  # which of the others it is says nothing
    found = known.get(asked)
    if found is None:
        clear_if_full(known)
        found = known[asked] = _anywhere(snapshot, *asked, of)
    return found


def _anywhere(snapshot: Snapshot, name: str, language: str, receiver: str, of: str) -> tuple[Found, ...]:
    found: dict[tuple[str, str], OutlineRef] = {}  # overloads and clauses are one definition
    most = MAX_NAMESAKES if of else MAX_SEVERAL
    rules = language_named(language)
    holding = {"module"} if rules.modules_are_mixins else frozenset()
    places = snapshot.names.get(name.lower(), ())
    if of and len(places) > MAX_NAMESAKES:
        files = {path for path, _ in snapshot.names.get(of.lower(), ())}
        places = tuple(place for place in places if place[0] in files)
    for place in places:
        symbol = snapshot.symbol(place)
        entry = snapshot.files[place[0]]
        if symbol is None or symbol.name != name or entry.outline is None or bears_its_types_name(symbol):
            continue
        if not _akin(entry.outline.language, language) or (language == "elixir" and not symbol.exported):
            continue
        if of and not f".{symbol.qualified}".endswith(f".{of}.{name}"):
            continue
        if symbol.kind in CALLABLE_KINDS | TYPE_KINDS | holding and symbol.kind != "test":
            parent = entry.outline.symbols[symbol.parent] if symbol.parent >= 0 else None
            if parent is not None and parent.kind in CALLABLE_KINDS:
                continue
            spaces = SPACE_KINDS - holding if symbol.kind in CALLABLE_KINDS else SPACE_KINDS
            owned = symbol.qualified != symbol.name and (parent is None or parent.kind not in spaces)
            if owned and not receiver and symbol.kind in TYPE_KINDS and rules.nested_types_need_owner:
                continue
            if owned and not receiver and rules.members_need_owner:
                continue
            if owned != bool(receiver) and not (owned and rules.implicit_self) and not rules.functions_as_members:
                continue
            found.setdefault((place[0], symbol.qualified), place)
            if len(found) > most:
                return ()
    whole = [place for (_, qualified), place in found.items() if qualified == f"{receiver}.{name}"]
    if of and rules.names_without_import and len(whole) == 1:
        return (Found(whole[0], "package"),)
    how = "unique" if len(found) == 1 else "several"
    return tuple(Found(place, how) for place in sorted(found.values())) if len(found) <= MAX_SEVERAL else ()


def is_type_of_elsewhere(snapshot: Snapshot, receiver: str) -> bool:
    """Whether what C# code calls something on is a type of .NET's: a word of the language, or a name that nothing bears."""
    return receiver in _CSHARP_TYPES or (
        receiver[:1].isupper() and "." not in receiver and not snapshot.names.get(receiver.lower())
    )


def _akin(language: str, other: str) -> bool:
    """Whether the code of two languages calls each other by name."""
    return _FAMILIES.get(language, language) == _FAMILIES.get(other, other)
