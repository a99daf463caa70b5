"""Extension methods: functions called like methods of a type that is defined elsewhere.

C# marks them with a parameter `this`, Kotlin with a receiver before the name, Swift and Dart with an `extension` block.
All functions are pure functions of a snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from promptls.graph.packages import common_segments, module_prefix
from promptls.graph.resolution.file_tables import FileSymbols
from promptls.graph.resolution.name_lookup import MAX_AMBIGUOUS, is_in_package
from promptls.graph.resolution.types import Resolution
from promptls.index import NUMBER_LITERAL, STRING_LITERAL, OutlineRef, Snapshot
from promptls.languages import LANGUAGES, language_named
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS
from promptls.model import OutlineView, Reference, Symbol

_CSHARP_TYPES = LANGUAGES["csharp"].primitive_types

MAX_CANDIDATES = 200
"""Maximum number of definitions with the same name that are checked; bounds the time of one lookup."""

_THIS_PARAMETER = re.compile(r"\(this\s+(?:(?:in|ref|scoped|params)\s+)*([\w.]+)")
_DART_EXTENSION = re.compile(r"extension\b[^{]*?\bon\s+([\w.]+)")
_KOTLIN_RECEIVER = re.compile(r"fun\s+(?:<.*?>\s+)?([\w.]+)(?:<.*>)?\??\.\w+\s*\(")
_TYPE_PARAMETER = re.compile(r"T(?:[A-Z]\w*)?|[A-Z]")
_CSHARP_ALIASES = {
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
_LITERAL_TYPES = {
    STRING_LITERAL: frozenset({"string", "String", "CharSequence"}),
    NUMBER_LITERAL: frozenset({"int", "Int", "long", "Long", "double", "Double", "num", "Number"}),
}
_PRIMITIVE_TYPES = frozenset({"char", "Char", "Character", "bool", "Bool", "Boolean"}).union(*_LITERAL_TYPES.values())
"""Types that exclude each other: a literal has its own types of these and no others."""


class ExtensionMethod(NamedTuple):
    """An extension method and the simple name of its receiver type, "" for any type."""

    ref: OutlineRef
    receiver_type: str


def applicable_extensions(
    snapshot: Snapshot,
    extensions: Sequence[ExtensionMethod],
    path: str,
    file: FileSymbols,
    owner: int,
    reference: Reference,
    types: Collection[str] | None,
) -> tuple[Resolution, ...]:
    """Return the extension methods that a call may refer to and that are visible in its file.

    Args:
        snapshot: Snapshot of the index.
        extensions: Extension methods with the name of the call.
        path: Path of the file that contains the call.
        file: Tables of the file.
        owner: Definition whose code contains the call.
        reference: The call.
        types: Names of the receiver's type and its supertypes.  None for a receiver from outside the workspace: its
            declared type counts or, if there is none, any type from outside the workspace.
    """
    language = file.outline.language
    if language == "kotlin":
        extensions = _visible_extensions(snapshot, path, file, owner, extensions, reference.name)
    literal_types = _LITERAL_TYPES.get(reference.receiver)
    if literal_types:
        excluded = _PRIMITIVE_TYPES - literal_types
        extensions = [extension for extension in extensions if extension.receiver_type not in excluded]
    if types is None:
        declared = simple_type_name(_declared_type(file, owner, reference.receiver), language)
        receiver_types: Collection[str] = literal_types or {declared} - {""}
    else:
        receiver_types = types
    applicable = [extension for extension in extensions if extension.receiver_type in receiver_types]
    is_typed = bool(applicable)
    if not applicable:
        applicable = [
            extension
            for extension in extensions
            if not extension.receiver_type
            or (types is None and not is_workspace_type(snapshot, extension.receiver_type))
        ]
    if language == "csharp":
        applicable = _in_imported_namespaces(snapshot, file, applicable) or applicable
    distinct: dict[tuple[str, str], OutlineRef] = {}
    refs = (extension.ref for extension in applicable)
    for ref in sorted(refs, key=lambda ref: (-common_segments(ref[0], path), ref)):
        module = module_prefix(ref[0]) if language == "kotlin" else ref[0]
        distinct.setdefault((module, _qualified_name(snapshot, ref)), ref)
    if not 0 < len(distinct) <= MAX_AMBIGUOUS:
        return ()
    method = "several" if len(distinct) > 1 else "typed" if is_typed else "unique"
    return tuple(Resolution(ref, method) for ref in sorted(distinct.values()))


def find_extensions(snapshot: Snapshot, name: str, language: str) -> list[ExtensionMethod]:
    """Return all extension methods with a name."""
    out = []
    for ref in snapshot.names.get(name.lower(), ())[:MAX_CANDIDATES]:
        outline = snapshot.outline(ref[0])
        if outline is None or outline.language != language or ref[1] >= len(outline.symbols):
            continue
        symbol = outline.symbols[ref[1]]
        type_name = _receiver_type(symbol, outline) if symbol.name == name and symbol.kind in CALLABLE_KINDS else ""
        if type_name:
            out.append(ExtensionMethod(ref, simple_type_name(type_name, language)))
    return out


def simple_type_name(type_name: str, language: str) -> str:
    """Return a type name without its namespace, C# aliases resolved; "" for a type parameter."""
    name = type_name.rpartition(".")[2]
    if language == "csharp":
        name = _CSHARP_ALIASES.get(name, name)
    return "" if _TYPE_PARAMETER.fullmatch(name) else name


def is_workspace_type(snapshot: Snapshot, name: str) -> bool:
    """Return true if a type with this simple name is defined, not only extended, in the workspace."""
    for ref in snapshot.names.get(name.lower(), ())[:MAX_CANDIDATES]:
        symbol = snapshot.symbol(ref)
        if symbol is not None and symbol.name == name and symbol.kind in TYPE_KINDS and symbol.kind != "impl":
            return True
    return False


def _receiver_type(symbol: Symbol, outline: OutlineView) -> str:
    """Return the receiver type, as written, of an extension method; "" for other definitions."""
    syntax = language_named(outline.language).extension_methods
    if syntax == "this_parameter":
        match = _THIS_PARAMETER.search(symbol.signature)
        return match.group(1) if match else ""
    if syntax == "receiver":
        match = _KOTLIN_RECEIVER.search(symbol.signature)
        return match.group(1) if match else ""
    parent = outline.symbols[symbol.parent] if symbol.parent >= 0 else None
    if parent is None:
        return ""
    if syntax == "extension":
        return parent.qualified if parent.kind == "impl" else ""
    match = _DART_EXTENSION.match(parent.signature)
    return match.group(1) if match else ""


def _in_imported_namespaces(
    snapshot: Snapshot, file: FileSymbols, extensions: Sequence[ExtensionMethod]
) -> list[ExtensionMethod]:
    """Return the C# extension methods in namespaces that a file imports; project-wide imports are unknown."""
    out = []
    for extension in extensions:
        namespace = _qualified_name(snapshot, extension.ref).rpartition(".")[0].rpartition(".")[0]
        if namespace and namespace in file.namespaces:
            out.append(extension)
    return out


def _visible_extensions(
    snapshot: Snapshot, path: str, file: FileSymbols, owner: int, extensions: Sequence[ExtensionMethod], name: str
) -> list[ExtensionMethod]:
    """Return the Kotlin extensions that a file can call: imported, of its package, or of an enclosing type."""
    wildcard_imports = [imported.module for imported in file.outline.imports if "*" in imported.names]
    named_imports = [imported.module for imported in file.outline.imports if name in imported.names]
    enclosing_type = file.enclosing_type_name(owner)
    out = []
    for extension in extensions:
        holder = _qualified_name(snapshot, extension.ref).removesuffix(f".{name}").rpartition(".")[0]
        extension_path = extension.ref[0]
        if named_imports:
            is_visible = any(_import_covers(module, extension_path, holder) for module in named_imports)
        elif holder:
            is_visible = f"{enclosing_type}.".startswith(f"{holder}.") or any(
                _import_covers(module, extension_path, holder) for module in wildcard_imports
            )
        else:
            is_visible = extension_path == path or is_in_package(snapshot, extension_path, path)
            is_visible = is_visible or any(_import_covers(module, extension_path, "") for module in wildcard_imports)
        if is_visible:
            out.append(extension)
    return out


def _import_covers(module: str, path: str, holder: str) -> bool:
    """Return true if a Kotlin import refers to a file: "a.b.Type" to its type `holder`, "a.b" to its package."""
    package = module.removesuffix(".Companion")
    if holder:
        if not f".{package}".endswith(f".{holder}"):
            return False
        package = package[: -len(holder)].rstrip(".")
    *_, folder, file = ("", *path.split("/"))
    last = package.rpartition(".")[2]
    return last == folder or (not holder and last == file.partition(".")[0])  # a type whose body has a syntax error


def _declared_type(file: FileSymbols, owner: int, receiver: str) -> str:
    """Return the type of a receiver as written, "" if unknown.

    A static method is assumed to return its type.
    """
    head = receiver.partition(".")[0]
    if receiver.endswith("()") and receiver.count("(") == 1 and (receiver[:1].isupper() or head in _CSHARP_TYPES):
        type_name, _, method = receiver.removesuffix("()").rpartition(".")
        return type_name or method
    if "." in receiver:
        return ""
    scopes = (*file.scopes(owner), -1)
    types = (file.variable_types.get((scope, receiver)) for scope in scopes)
    type_name = next((type_name for type_name in types if type_name), "")
    return type_name.removesuffix("()").rpartition(".")[0] if type_name.endswith(")") else type_name


def _qualified_name(snapshot: Snapshot, ref: OutlineRef) -> str:
    symbol = snapshot.symbol(ref)
    return symbol.qualified if symbol is not None else ""
