"""Functions that are called as if they were methods of a type that is defined elsewhere.

C# marks them by a parameter `this`, Kotlin by a receiver before the name, Swift and Dart by a block `extension`.
Pure functions of a snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from promptls.graph.file_tables import Facts
from promptls.graph.name_lookup import MAX_SEVERAL, in_package
from promptls.graph.packages import closeness, module_of
from promptls.graph.resolution import Found
from promptls.index.snapshot import OutlineRef, Snapshot
from promptls.index.syntax.references import STRING_LITERAL, NUMBER_LITERAL
from promptls.languages import LANGUAGES, language_named
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import OutlineView, Reference, Symbol

_CSHARP_TYPES = LANGUAGES["csharp"].primitive_types

MAX_LOOKED_AT = 200
"""Definitions of one name of which it is found out whether they are such functions."""

_THIS = re.compile(r"\(this\s+(?:(?:in|ref|scoped|params)\s+)*([\w.]+)")
_ON = re.compile(r"extension\b[^{]*?\bon\s+([\w.]+)")
_OF_KOTLIN = re.compile(r"fun\s+(?:<.*?>\s+)?([\w.]+)(?:<.*>)?\??\.\w+\s*\(")
_ANY = re.compile(r"T(?:[A-Z]\w*)?|[A-Z]")
_ALIASES = {
    "String": "string",
    "Object": "object",
    "Boolean": "bool",
    "Byte": "byte",
    "Char": "char",
    "Int16": "short",
    "Int32": "int",
    "Int64": "long",
    "Single": "float",
    "Double": "double",
    "Decimal": "decimal",
}
_LITERALS = {
    STRING_LITERAL: frozenset({"string", "String", "CharSequence"}),
    NUMBER_LITERAL: frozenset({"int", "Int", "long", "Long", "double", "Double", "num", "Number"}),
}
_SIMPLE = frozenset(
    {"char", "Char", "Character", "bool", "Bool", "Boolean", *(of for all_ in _LITERALS.values() for of in all_)}
)
"""What a literal is not, if it is not one of its own types."""


class Extension(NamedTuple):
    """A function, and the bare name of the type that it is called on, "" for any."""

    place: OutlineRef
    of: str


def extended(
    snapshot: Snapshot,
    offered: Sequence[Extension],
    path: str,
    facts: Facts,
    owner: int,
    use: Reference,
    types: Collection[str] | None,
) -> tuple[Found, ...]:
    """Those of the functions of its name that a call in the code of `owner` means, as far as its file sees them.

    `types`: the names of the type of what it is called on and of its supertypes, None if it is not of the workspace:
    then those of the type that a declaration says, or else of any other that is not of the workspace.
    """
    language = facts.outline.language
    if language == "kotlin":
        offered = _in_sight(snapshot, path, facts, owner, offered, use.name)
    literal = _LITERALS.get(use.receiver)
    if literal:
        offered = [one for one in offered if one.of in literal or one.of not in _SIMPLE]
    known = types if types is not None else literal or {bare(_written(facts, owner, use.receiver), language)} - {""}
    fitting = [one for one in offered if one.of in known]
    sure = bool(fitting)
    if not fitting:
        fitting = [one for one in offered if not one.of or (types is None and not of_the_workspace(snapshot, one.of))]
    if language == "csharp":  # what makes a namespace known to all files of a project is not read
        seen = [one for one in fitting if (space := _space(_qualified(snapshot, one.place))) and space in facts.spaces]
        fitting = seen or fitting
    distinct: dict[tuple[str, str], OutlineRef] = {}
    for place in sorted((one.place for one in fitting), key=lambda place: (-closeness(place[0], path), place)):
        module = module_of(place[0]) if language == "kotlin" else place[0]
        distinct.setdefault((module, _qualified(snapshot, place)), place)
    if not 0 < len(distinct) <= MAX_SEVERAL:
        return ()
    how = "several" if len(distinct) > 1 else "typed" if sure else "unique"
    return tuple(Found(place, how) for place in sorted(distinct.values()))


def extensions(snapshot: Snapshot, name: str, language: str) -> list[Extension]:
    """All such functions of a name."""
    out = []
    for place in snapshot.names.get(name.lower(), ())[:MAX_LOOKED_AT]:
        outline = snapshot.outline(place[0])
        if outline is None or outline.language != language or place[1] >= len(outline.symbols):
            continue
        symbol = outline.symbols[place[1]]
        of = _called_on(symbol, outline) if symbol.name == name and symbol.kind in CALLABLE_KINDS else ""
        if of:
            out.append(Extension(place, bare(of, language)))
    return out


def bare(of: str, language: str) -> str:
    """The name of a type without its namespace, C#'s alias for it if it has one, "" for a parameter of a generic."""
    name = of.rpartition(".")[2]
    if language == "csharp":
        name = _ALIASES.get(name, name)
    return "" if _ANY.fullmatch(name) else name


def of_the_workspace(snapshot: Snapshot, of: str) -> bool:
    """Whether a type of this bare name is defined in the workspace, and not only extended."""
    for place in snapshot.names.get(of.lower(), ())[:MAX_LOOKED_AT]:
        symbol = snapshot.symbol(place)
        if symbol is not None and symbol.name == of and symbol.kind in TYPE_KINDS and symbol.kind != "impl":
            return True
    return False


def _called_on(symbol: Symbol, outline: OutlineView) -> str:
    """The type, as written, that such a function is called on; "" for other definitions."""
    declared = language_named(outline.language).extension_methods
    if declared == "this_parameter":
        found = _THIS.search(symbol.signature)
        return found.group(1) if found else ""
    if declared == "receiver":
        found = _OF_KOTLIN.search(symbol.signature)
        return found.group(1) if found else ""
    parent = outline.symbols[symbol.parent] if symbol.parent >= 0 else None
    if parent is None:
        return ""
    if declared == "extension":
        return parent.qualified if parent.kind == "impl" else ""
    found = _ON.match(parent.signature)
    return found.group(1) if found else ""


def _in_sight(
    snapshot: Snapshot, path: str, facts: Facts, owner: int, offered: Sequence[Extension], name: str
) -> list[Extension]:
    """Those of Kotlin's extensions of a name that a file can call: imported, of its package, or of a type around."""
    whole = [one.module for one in facts.outline.imports if "*" in one.names]
    named = [one.module for one in facts.outline.imports if name in one.names]
    around = facts.type_around(owner)
    out = []
    for one in offered:
        holder = _qualified(snapshot, one.place).removesuffix(f".{name}").rpartition(".")[0]
        file = one.place[0]
        if named:
            seen = any(_holds(module, file, holder) for module in named)
        elif holder:
            seen = f"{around}.".startswith(f"{holder}.") or any(_holds(module, file, holder) for module in whole)
        else:
            seen = file == path or in_package(snapshot, file, path)
            seen = seen or any(_holds(module, file, "") for module in whole)
        if seen:
            out.append(one)
    return out


def _holds(module: str, path: str, holder: str) -> bool:
    """Whether what a Kotlin file's import calls "a.b.Type" is a type of the file at a path, or "a.b" its package."""
    package = module.removesuffix(".Companion")
    if holder:
        if not f".{package}".endswith(f".{holder}"):
            return False
        package = package[: -len(holder)].rstrip(".")
    *_, folder, file = ("", *path.split("/"))
    last = package.rpartition(".")[2]
    return last == folder or (not holder and last == file.partition(".")[0])  # a type whose body is not understood


def _written(facts: Facts, owner: int, receiver: str) -> str:
    """The type, as written, of a variable, or the one that a static method is called on, which mostly makes one;
    "" for what is not known."""
    head = receiver.partition(".")[0]
    if receiver.endswith("()") and receiver.count("(") == 1 and (receiver[:1].isupper() or head in _CSHARP_TYPES):
        made, _, static = receiver.removesuffix("()").rpartition(".")
        return made or static
    if "." in receiver:
        return ""
    scopes = (*facts.scopes(owner), -1)
    of = next((of for scope in scopes if (of := facts.variables.get((scope, receiver)))), "")
    return of.removesuffix("()").rpartition(".")[0] if of.endswith(")") else of


def _space(qualified: str) -> str:
    """The namespace of the type that a method is in."""
    return qualified.rpartition(".")[0].rpartition(".")[0]


def _qualified(snapshot: Snapshot, place: OutlineRef) -> str:
    symbol = snapshot.symbol(place)
    return symbol.qualified if symbol is not None else ""
