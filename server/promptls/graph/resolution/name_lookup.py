"""Definitions of a name that are visible without an import, definitions of a name in the workspace, extension methods.

Frequent names are weak evidence, so the number of candidates is limited: to the nearest ones, or to the files of the
named type.  Extension methods are called like methods of a type that is defined elsewhere: C# marks them with a parameter
`this`, Kotlin with a receiver before the name, Swift and Dart with an `extension` block.

All functions are pure functions of a snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from promptls.graph.resolution.file_tables import FileSymbols, is_type_named_constructor
from promptls.graph.resolution.resolved_names import Resolution
from promptls.index import NUMBER_LITERAL, STRING_LITERAL, UNKNOWN_RECEIVER, OutlineRef, Snapshot
from promptls.languages import LANGUAGES, Language, language_named
from promptls.languages.kinds import CALLABLE_KINDS, SPACE_KINDS, TYPE_KINDS
from promptls.languages.language import Manifest
from promptls.model import OutlineView, Reference, Symbol
from promptls.util.mappings import clear_if_full

_SOURCES = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin|scala|groovy)/")  # Maven, Gradle, sbt
_ROOTS = re.compile(r"(?:^|/)(?:src|tests?)/")  # older layouts


@lru_cache(maxsize=1 << 14)
def package_of(name: str) -> str:
    """Return the package of a Java, Kotlin or Scala file by its path in the root, "com/x", or "" if unknown."""
    folder = name.rpartition("/")[0] + "/"
    match = _SOURCES.search(folder) or _ROOTS.search(folder)
    return folder[match.end() : -1] if match else ""


@lru_cache(maxsize=1 << 14)
def module_prefix(name: str) -> str:
    """Return the part of a path before its source tree: "core/" for "core/src/jvmMain/kotlin/x/A.kt"."""
    match = _SOURCES.search(name)
    return name[: match.start() + 1] if match else name


def common_segments(path: str, other: str) -> int:
    """Return the number of leading segments that two paths have in common."""
    parts = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))


# ---- definitions of a name

NAMESPACE_SCOPES = ("namespace", "enclosing_namespaces")
"""Implicit scopes in which names depend on namespaces instead of folders."""

_FAMILIES = {name: language.family for name, language in LANGUAGES.items() if language.family}

_NESTED_PACKAGES = frozenset("test tests docs doc benchmark benchmarks perf examples".split())
"""Folders that belong to the enclosing package even if they contain a manifest."""

_COMMON_METHODS = frozenset(
    "add all any append apply bind call catch clear clone close copy count create data decode delete each emit "
    "encode endswith equals every exec execute extend fetch filter find findall first flush forEach format from get "
    "gmatch group gsub has hash includes index indexOf info init insert is_empty items iter join keys last len "
    "length list load log lower map match max min name new next on open parse pop post print push put read reduce "
    "register remove render replace reset resolve reverse run save search send set setdefault size slice some sort "
    "split start startswith stop strip sub sum test then toString trim type unwrap update upper validate value "
    "values wait warn write error debug exists put_nowait done".split()
)
"""Method names so common that a single definition in the workspace is not evidence."""

DefinitionCache = dict[tuple[str, str, str], tuple[Resolution, ...]]
"""Definitions by (name, language, receiver)."""

MAX_AMBIGUOUS = 3
"""Maximum number of definitions to which one reference may refer; more are not evidence for any of them."""

MAX_CANDIDATES = 200
"""Maximum number of definitions with the same name that are checked; bounds the time of one lookup."""


def visible_definitions(
    snapshot: Snapshot, file_symbols: Callable[[str], FileSymbols | None], path: str, name: str
) -> list[OutlineRef]:
    """Return the top-level definitions of a name that a file sees without an import, nearest first.

    Depending on the language, these are in the same folder, package, module or namespaces.
    """
    file = file_symbols(path)
    if file is None:
        return []
    language, folder = file.outline.language, path.rpartition("/")[0]
    scope = file.language.implicit_scope
    candidates = [ref for ref in snapshot.names.get(name.lower(), ()) if ref[0] != path]
    if scope == "module":
        candidates = sorted(candidates, key=lambda ref: -common_segments(ref[0], path))[:MAX_CANDIDATES]
    elif isinstance(scope, Manifest):
        root = package_root(snapshot, path, language)
        candidates = [ref for ref in candidates if root and package_root(snapshot, ref[0], language) == root]
    elif scope not in NAMESPACE_SCOPES:
        package = package_of(snapshot.files[path].name) if scope == "package" else ""
        candidates = [ref for ref in candidates if _is_in_folder_or_package(snapshot, ref[0], folder, package)]
    elif len(candidates) > MAX_CANDIDATES:
        parent_folder = folder.rpartition("/")[0] + "/"
        candidates = [ref for ref in candidates if ref[0].startswith(parent_folder)]
    candidates.sort(key=lambda ref: (-common_segments(ref[0], path), ref))
    namespaces = file.namespaces if scope in NAMESPACE_SCOPES else ()
    ranked: list[tuple[int, OutlineRef]] = []
    for ref in candidates[:MAX_CANDIDATES]:
        other = file_symbols(ref[0])
        if other is None or not _is_same_family(other.outline.language, language):
            continue
        if ref[1] not in other.visible.get(name, ()):
            continue
        symbol = other.symbols[ref[1]]
        namespace = symbol.qualified.rpartition(".")[0]
        if isinstance(scope, Manifest):  # a method of a function from another package does not belong to this package
            is_own = symbol.parent >= 0 or not namespace
            ranked += [(symbol.kind not in TYPE_KINDS, ref)] if is_own else []
        elif scope not in NAMESPACE_SCOPES:
            ranked.append((0, ref))
        elif namespace in namespaces:
            ranked.append((namespaces.index(namespace), ref))
    return [ref for _, ref in sorted(ranked, key=lambda item: item[0])]


def package_root(snapshot: Snapshot, path: str, language: str) -> str:
    """Return the folder of the R or Julia package of a file, "" for none.

    Tests may have a manifest of their own and still belong to the enclosing package.
    """
    scope = language_named(language).implicit_scope
    manifest = scope.file if isinstance(scope, Manifest) else ""
    folder = path if manifest else ""
    while folder := folder.rpartition("/")[0]:
        if f"{folder}/{manifest}" in snapshot.files and folder.rpartition("/")[2] not in _NESTED_PACKAGES:
            return folder
    return ""


def is_in_package(snapshot: Snapshot, path: str, other: str) -> bool:
    """Return true if a file is in the Java, Kotlin or Scala package of another file."""
    return _is_in_folder_or_package(snapshot, path, other.rpartition("/")[0], package_of(snapshot.files[other].name))


def _is_in_folder_or_package(snapshot: Snapshot, path: str, folder: str, package: str) -> bool:
    """Return true if a file is in a folder or package; a package may have folders in several source trees."""
    own_folder = path.rpartition("/")[0]
    if own_folder == folder:
        return True
    return bool(package) and own_folder.endswith(f"/{package}") and package_of(snapshot.files[path].name) == package


def equivalent_definitions(snapshot: Snapshot, ref: OutlineRef) -> frozenset[OutlineRef]:
    """Return a definition and its variants, of which a build or a call uses one.

    Variants for other platforms have the same package and name: Go has them in files of one folder (`dir_unix.go`),
    Kotlin in source trees of one module.  The methods of a Julia function are variants too, chosen by the types of the
    arguments.  The parts of a definition (`partial` in C#, `expect` and `actual` in Kotlin) are wherever they say so.
    """
    symbol, entry = snapshot.symbol(ref), snapshot.files[ref[0]]
    language = entry.outline.language if entry.outline is not None else ""
    scope = language_named(language).implicit_scope
    if symbol is not None and _is_part(snapshot, ref, language):
        named = snapshot.names.get(symbol.name.lower(), ())
        same = [other for other in named if getattr(snapshot.symbol(other), "qualified", "") == symbol.qualified]
        return frozenset(other for other in same[:MAX_CANDIDATES] if _is_part(snapshot, other, language)) | {ref}
    if symbol is None or not symbol.name or (scope not in ("folder", "package") and not isinstance(scope, Manifest)):
        return frozenset((ref,))
    folder, package = ref[0].rpartition("/")[0], package_of(entry.name) if scope == "package" else ""
    prefix = module_prefix(ref[0]) if package else folder + "/"
    if isinstance(scope, Manifest):
        prefix = package_root(snapshot, ref[0], language) + "/"
    candidates = [other for other in snapshot.names.get(symbol.name.lower(), ()) if other[0].startswith(prefix)]
    out = {ref}
    for other in candidates[:MAX_CANDIDATES] if prefix != "/" else ():
        if isinstance(scope, Manifest):
            is_variant = package_root(snapshot, other[0], language) + "/" == prefix
        else:
            is_variant = other[0] != ref[0] and _is_in_folder_or_package(snapshot, other[0], folder, package)
        variant = snapshot.symbol(other) if is_variant else None
        if variant is not None and variant.qualified == symbol.qualified:
            out.add(other)
    return frozenset(out)


def _is_part(snapshot: Snapshot, ref: OutlineRef, language: str) -> bool:
    """Return whether a definition of this language, or a type around it, says that it is one part of several."""
    modifiers, outline, at = language_named(language).part_modifiers, snapshot.outline(ref[0]), ref[1]
    while modifiers and outline is not None and outline.language == language and at >= 0:
        symbol = outline.symbols[at]
        if not modifiers.isdisjoint(symbol.signature.partition(symbol.name)[0].split()):
            return True
        at = symbol.parent
    return False


def workspace_definitions(
    snapshot: Snapshot, cache: DefinitionCache, name: str, language: str, receiver: str = ""
) -> tuple[Resolution, ...]:
    """Return the definitions of a name in the whole workspace if they are few.

    A receiver that is written like a type or module and is not resolved restricts the definitions to its members.

    Args:
        cache: Results of earlier calls with this snapshot.
        language: Language of the code that uses the name.
        receiver: Expression before the name, "" for none.
    """
    rules = language_named(language)
    if receiver and (name in _COMMON_METHODS or receiver in rules.external_receivers):
        return ()
    type_name = receiver.rpartition(".")[2].removesuffix("()")
    if not rules.capitalized_types or not type_name[:1].isupper():
        type_name = ""
    if receiver and not type_name:
        receiver = UNKNOWN_RECEIVER  # other receivers do not restrict the definitions
    key = name, language, receiver
    definitions = cache.get(key)
    if definitions is None:
        clear_if_full(cache)
        definitions = cache[key] = _find_workspace_definitions(snapshot, name, language, receiver, type_name)
    return definitions


def _find_workspace_definitions(
    snapshot: Snapshot, name: str, language: str, receiver: str, type_name: str
) -> tuple[Resolution, ...]:
    rules = language_named(language)
    kinds = CALLABLE_KINDS | TYPE_KINDS | {"table", "view"}
    if rules.mixins.are_modules or rules.modules_are_called:
        kinds |= {"module"}
    max_definitions = MAX_CANDIDATES if type_name else MAX_AMBIGUOUS
    refs = snapshot.names.get(name.lower(), ())
    if type_name and len(refs) > MAX_CANDIDATES:
        files = {path for path, _ in snapshot.names.get(type_name.lower(), ())}
        refs = tuple(ref for ref in refs if ref[0] in files)
    definitions: dict[tuple[str, str], OutlineRef] = {}  # overloads and clauses count as one definition
    for ref in refs:
        symbol = snapshot.symbol(ref)
        outline = snapshot.files[ref[0]].outline
        if symbol is None or symbol.name != name or outline is None or is_type_named_constructor(symbol):
            continue
        if not _is_same_family(outline.language, language) or (language == "elixir" and not symbol.exported):
            continue
        if type_name and not f".{symbol.qualified}".endswith(f".{type_name}.{name}"):
            continue
        if symbol.kind not in kinds or symbol.kind == "test":
            continue
        parent = outline.symbols[symbol.parent] if symbol.parent >= 0 else None
        if parent is not None and parent.kind in CALLABLE_KINDS:
            continue
        if _can_refer_to(symbol, parent, rules, has_receiver=bool(receiver)):
            definitions.setdefault((ref[0], symbol.qualified), ref)
            if len(definitions) > max_definitions:
                return ()
    exact = [ref for (_, qualified), ref in definitions.items() if qualified == f"{receiver}.{name}"]
    if type_name and rules.names_without_import and len(exact) == 1:
        return (Resolution(exact[0], "package"),)
    if len(definitions) > MAX_AMBIGUOUS:
        return ()
    method = "unique" if len(definitions) == 1 else "several"
    return tuple(Resolution(ref, method) for ref in sorted(definitions.values()))


def _can_refer_to(symbol: Symbol, parent: Symbol | None, rules: Language, has_receiver: bool) -> bool:
    """Return true if a reference with or without a receiver can refer to a definition, by the rules of its language."""
    mixin_kinds = {"module"} if rules.mixins.are_modules else frozenset()
    namespace_kinds = (SPACE_KINDS - mixin_kinds if symbol.kind in CALLABLE_KINDS else SPACE_KINDS) | {"section"}
    is_member = symbol.qualified != symbol.name and (parent is None or parent.kind not in namespace_kinds)
    needs_owner = rules.owner_required == "members" or (symbol.kind in TYPE_KINDS and rules.owner_required == "types")
    if is_member and not has_receiver and needs_owner:
        return False
    return is_member == has_receiver or (is_member and rules.implicit_self) or rules.functions_as_members


def is_external_csharp_type(snapshot: Snapshot, receiver: str) -> bool:
    """Return true if a C# receiver is a .NET type: a keyword of the language, or a name without a definition."""
    return receiver in LANGUAGES["csharp"].external_receivers or (
        receiver[:1].isupper() and "." not in receiver and not snapshot.names.get(receiver.lower())
    )


def _is_same_family(language: str, other: str) -> bool:
    """Return true if code of the two languages can call each other by name."""
    return _FAMILIES.get(language, language) == _FAMILIES.get(other, other)


# ---- extension methods

_THIS_PARAMETER = re.compile(r"\(this\s+(?:(?:in|ref|scoped|params)\s+)*([\w.]+)")
_DART_EXTENSION = re.compile(r"extension\b[^{]*?\bon\s+([\w.]+)")
_KOTLIN_RECEIVER = re.compile(r"fun\s+(?:<.*?>\s+)?([\w.]+)(?:<.*>)?\??\.\w+\s*\(")
_TYPE_PARAMETER = re.compile(r"T(?:[A-Z]\w*)?|[A-Z]")
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
        owner: Definition whose code contains the call.
        types: Names of the receiver's type and its supertypes.  None for a receiver from outside the workspace: its
            declared type counts or, if there is none, any type from outside the workspace.
    """
    syntax = file.language.extension_methods
    if syntax == "receiver":
        extensions = _visible_extensions(snapshot, path, file, owner, extensions, reference.name)
    literal_types = _LITERAL_TYPES.get(reference.receiver)
    if literal_types:
        excluded = _PRIMITIVE_TYPES - literal_types
        extensions = [extension for extension in extensions if extension.receiver_type not in excluded]
    if types is None:
        declared = simple_type_name(_declared_type(file, owner, reference.receiver))
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
    if syntax == "this_parameter":  # C#; imports of the whole project are unknown
        names = {
            one.ref: _qualified_name(snapshot, one.ref).rpartition(".")[0].rpartition(".")[0] for one in applicable
        }
        applicable = [one for one in applicable if names[one.ref] and names[one.ref] in file.namespaces] or applicable
    distinct: dict[tuple[str, str], OutlineRef] = {}
    refs = (extension.ref for extension in applicable)
    for ref in sorted(refs, key=lambda ref: (-common_segments(ref[0], path), ref)):
        module = module_prefix(ref[0]) if syntax == "receiver" else ref[0]
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
            out.append(ExtensionMethod(ref, simple_type_name(type_name)))
    return out


def simple_type_name(type_name: str) -> str:
    """Return a type name without its namespace; "" for a type parameter."""
    name = type_name.rpartition(".")[2]
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
    if syntax in ("this_parameter", "receiver"):
        pattern = _THIS_PARAMETER if syntax == "this_parameter" else _KOTLIN_RECEIVER
        match = pattern.search(symbol.signature)
        return match.group(1) if match else ""
    parent = outline.symbols[symbol.parent] if symbol.parent >= 0 else None
    if parent is None:
        return ""
    if syntax == "extension":
        return parent.qualified if parent.kind == "impl" else ""
    match = _DART_EXTENSION.match(parent.signature)
    return match.group(1) if match else ""


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
    if (
        receiver.endswith("()")
        and receiver.count("(") == 1
        and (receiver[:1].isupper() or head in file.language.external_receivers)
    ):
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
