"""Resolution of module paths at the start of an expression, for languages whose expressions contain them.

Examples: `crate::a`, `super`, `Ecto.Type`, `Sidekiq::Queue`, `Mojo::Base`, `Stdune.Path`.  Each language has a function
that resolves the longest prefix of a path and returns its number of parts, 0 if the path does not start with a module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from promptls.graph.resolution.file_tables import FileSymbols
from promptls.graph.resolution.resolved_names import EXTERNAL, Entity, Lookup, Module, Resolution
from promptls.index import OutlineRef
from promptls.languages.kinds import TYPE_KINDS
from promptls.model import Import

PrefixMatch = tuple[Entity | None, int]
"""Meaning of a prefix and its number of parts."""


class _Expression(NamedTuple):
    """The arguments of `resolve_prefix`."""

    lookup: Lookup
    path: str
    file: FileSymbols
    owner: int
    parts: Sequence[str]
    depth: int


MAX_CANDIDATES = 200
"""Maximum number of modules with the same last name that are checked; bounds the time of one lookup."""

MAX_ALIASES = 4
"""Maximum number of OCaml module aliases followed in a row; ends cycles."""

_NAMED_MODULES = frozenset({"elixir", "haskell", "ocaml", "perl"})
"""Languages in which a module that is not found is defined outside the workspace."""
_CAPITALIZED_MODULES = _NAMED_MODULES | {"ruby"}
_NAMESPACE_KINDS = (TYPE_KINDS | {"module", "namespace"}) - {"impl"}
_ZIG_CONSTANT = re.compile(r"(?:const|var)\s+\w+\s*=\s*([A-Za-z_@][\w.]*)(\(\))?\s*$")
_OCAML_ALIAS = re.compile(r"module\s+\w+\s*=\s*([A-Z][\w.]*)\s*$")


def resolve_prefix(
    lookup: Lookup, path: str, file: FileSymbols, owner: int, parts: Sequence[str], depth: int = 0
) -> PrefixMatch:
    """Resolve the module path at the start of an expression in the code of `owner`."""
    language = file.outline.language
    resolver = _RESOLVERS.get(language)
    if resolver is None or (language in _CAPITALIZED_MODULES and not parts[0][:1].isupper()):
        return None, 0
    found, length = resolver(_Expression(lookup, path, file, owner, parts, depth))
    return (EXTERNAL, 1) if not length and language in _NAMED_MODULES else (found, length)


def resolve_namespace(
    lookup: Lookup, parts: Sequence[str], language: str, path: str = ""
) -> tuple[Resolution | None, int]:
    """Return the module or type named by the longest prefix of a qualified name, and the number of its parts.

    Modules and types can be reopened.  The definition in the file `path` is preferred, then the longest one.
    """
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length]), language
        refs = lookup.namespaces.get(key)
        if refs is None:
            refs = lookup.namespaces[key] = _definitions_of_path(lookup, *key)
        if refs:
            return Resolution(next((ref for ref in refs if ref[0] == path), refs[0]), "import"), length
    return None, 0


def resolve_path(lookup: Lookup, parts: Sequence[str], language: str, path: str = "") -> OutlineRef | None:
    """Return the module or type with a qualified name, preferably the one in the file `path`."""
    found, length = resolve_namespace(lookup, parts, language, path)
    return found.ref if found is not None and length == len(parts) else None


def _definitions_of_path(lookup: Lookup, qualified: str, language: str) -> tuple[OutlineRef, ...]:
    """Return the modules and types with a qualified name, longest first."""
    found: list[tuple[int, OutlineRef]] = []
    for ref in lookup.snapshot.names.get(qualified.rpartition(".")[2].lower(), ())[:MAX_CANDIDATES]:
        symbol = lookup.snapshot.symbol(ref)
        if symbol is None or symbol.kind not in _NAMESPACE_KINDS or symbol.qualified != qualified:
            continue
        file = lookup.file_symbols(ref[0])
        if file is not None and file.outline.language == language:
            found.append((-len(symbol.span), ref))
    return tuple(ref for _, ref in sorted(found))


def imported_elixir_modules(lookup: Lookup, path: str) -> list[OutlineRef]:
    """Return the Elixir modules that a file imports as a whole, directly or by `use` of a module that imports them."""
    file = lookup.file_symbols(path)
    imports = list(file.outline.imports) if file is not None else []
    for imported in imports[:]:
        macro = using_macro(lookup, imported)
        other = lookup.file_symbols(macro[0]) if macro is not None else None
        if macro is not None and other is not None:
            span = other.symbols[macro[1]].span
            imports += [inner for inner in other.outline.imports if span.start <= inner.line < span.end]
    refs = (resolve_path(lookup, imported.module.split("."), "elixir") for imported in imports if "*" in imported.names)
    return list(dict.fromkeys(ref for ref in refs if ref is not None))


def using_macro(lookup: Lookup, imported: Import) -> OutlineRef | None:
    """Return the macro `__using__` that an Elixir `use` runs."""
    module = resolve_path(lookup, imported.module.split("."), "elixir") if imported.local_names == ("SUPER",) else None
    file = lookup.file_symbols(module[0]) if module is not None else None
    macros = file.by_qualified_name.get(f"{imported.module}.__using__", ()) if file is not None else ()
    return (module[0], macros[0]) if module is not None and macros else None


def _resolve_rust(expression: _Expression) -> PrefixMatch:
    """Resolve `crate`, or one or more `super`."""
    lookup, path, file, owner, parts, _ = expression
    start, length = "crate", 1
    if parts[0] != "crate":
        length = next((i for i, part in enumerate(parts) if part != "super"), len(parts))
        if not length:
            return None, 0
        modules = [i for i in file.scopes(owner) if file.symbols[i].kind == "module"]  # in the file, innermost first
        if length <= len(modules):
            inner = length < len(modules)
            return Resolution((path, modules[length]), "local") if inner else Module(path), length
        start = "::".join(["super"] * (length - len(modules)))
    targets = lookup.imports.targets(lookup.snapshot.files[path], Import(start, (), 0))
    return (Module(targets[0].path) if targets else None), length


def _resolve_in_scopes(
    lookup: Lookup, path: str, file: FileSymbols, owner: int, parts: Sequence[str], aliases: Iterable[list[str]] = ()
) -> PrefixMatch:
    """Resolve a path by alias, then relative to the enclosing modules, then by its full name."""
    for full in (*aliases, *_enclosing_paths(file, owner, parts[0]), [parts[0]]):
        found, length = resolve_namespace(lookup, [*full, *parts[1:]], file.outline.language, path)
        if length >= len(full):
            return found, length - len(full) + 1
    return None, 0


def _expand_alias(file: FileSymbols, name: str) -> Iterable[list[str]]:
    for imported in file.outline.imports:
        if imported.local_names == (name,):
            yield imported.module.split(".")
        elif name in imported.names:
            yield [*imported.module.split("."), name]
        elif not imported.names and not imported.local_names and imported.module.rpartition(".")[2] == name:
            yield imported.module.split(".")


def _enclosing_paths(file: FileSymbols, owner: int, name: str) -> Iterable[list[str]]:
    """Return the paths of a name within each enclosing module and type, innermost first."""
    enclosing = (file.symbols[i] for i in file.scopes(owner))
    return [[*symbol.qualified.split("."), name] for symbol in enclosing if symbol.kind in _NAMESPACE_KINDS]


def _resolve_zig(expression: _Expression) -> PrefixMatch:
    """Resolve a constant that is an alias of a type or `@This()`; a Zig file is a type too."""
    lookup, path, file, owner, (name, *_), depth = expression
    for scope in (*file.scopes(owner), -1):
        for index in file.by_scope.get((scope, name), ()):
            constant = _ZIG_CONSTANT.match(file.symbols[index].signature)
            if constant is None or file.symbols[index].kind in TYPE_KINDS:
                continue
            if constant.group(1) == "@This":
                return (Resolution((path, scope), "local") if scope >= 0 else Module(path)), 1
            if constant.group(1) != name and constant.group(2) is None:
                return lookup.resolve_expression(path, scope, constant.group(1), depth + 2), 1
    enclosing = file.enclosing_type_name(owner)
    return (Module(path), 1) if name == "Self" and not enclosing else (None, 0)


def _resolve_elixir(expression: _Expression) -> PrefixMatch:
    lookup, path, file, owner, parts, _ = expression
    return _resolve_in_scopes(lookup, path, file, owner, parts, _expand_alias(file, parts[0]))


def _resolve_ruby(expression: _Expression) -> PrefixMatch:
    lookup, path, file, owner, parts, _ = expression
    return (None, 0) if parts[0] in file.imported_names else _resolve_in_scopes(lookup, path, file, owner, parts)


def _resolve_haskell(expression: _Expression) -> PrefixMatch:
    """Resolve the name that an import gives to a module, or the full name of the module."""
    lookup, path, _, _, parts, _ = expression
    bindings = lookup.imports.bindings(lookup.snapshot.files[path])
    for length in range(len(parts), 0, -1):
        target = bindings.get(".".join(parts[:length]))
        if target is not None:
            return Module(target.path), length
    return None, 0


def _resolve_ocaml_path(
    lookup: Lookup, path: str, file: FileSymbols, owner: int, parts: Sequence[str], depth: int = 0
) -> PrefixMatch:
    """Resolve a module of the file or of an opened module, a file by its name, a wrapped library, or an alias."""
    if depth > MAX_ALIASES:
        return None, 0
    module: Entity | None = None
    length = 0
    for part in parts:
        if not part[:1].isupper():
            break
        inner = _resolve_ocaml_module(lookup, path, file, owner, module, part, depth)
        if inner is None:
            break
        module, length = inner, length + 1
    return module, length


def _resolve_ocaml_module(
    lookup: Lookup, path: str, file: FileSymbols, owner: int, parent: Entity | None, name: str, depth: int
) -> Entity | None:
    """Resolve the name of a module within another module or, if `parent` is None, in a file."""
    if parent is None:
        own = next((own for i in (*file.scopes(owner), -1) if (own := file.by_scope.get((i, name)))), None)
        found: Entity | None = Resolution((path, own[-1]), "local") if own else None
        opened = (lookup.find_export(other, name) for other in lookup.wildcard_imports(path)) if found is None else ()
        found = found or next((export for export in opened if export is not None), None)
        parent_path = path
    elif isinstance(parent, Module):
        found, parent_path = lookup.find_export(parent.path, name), parent.path
    elif isinstance(parent, Resolution):
        found, parent_path = lookup.find_member(parent.ref, name), ""
    else:
        return None
    symbol = lookup.snapshot.symbol(found.ref) if isinstance(found, Resolution) else None
    if isinstance(found, Resolution) and symbol is not None:
        found_file = lookup.file_symbols(found.ref[0])
        alias = _OCAML_ALIAS.match(symbol.signature)
        if found_file is None or found_file.children.get(found.ref[1]):
            return found
        if alias is None or alias.group(1) == name:
            return _resolve_ocaml_file(lookup, parent_path, name) or found if parent_path else found
        parts = alias.group(1).split(".")
        scope = found_file.symbols[found.ref[1]].parent
        aliased, length = _resolve_ocaml_path(lookup, found.ref[0], found_file, scope, parts, depth + 1)
        return aliased if length == len(parts) else found
    if isinstance(found, Module):
        return found
    return _resolve_ocaml_file(lookup, parent_path, name) if parent_path else None


def _resolve_ocaml_file(lookup: Lookup, path: str, name: str) -> Module | None:
    """Return the file with the name of a module: in the same folder, else the nearest by a clear margin."""
    entry = lookup.snapshot.files.get(path)
    targets = lookup.imports.targets(entry, Import(name, (), 0)) if entry is not None else ()
    return Module(targets[0].path) if targets and targets[0].path != path else None


_RESOLVERS: dict[str, Callable[[_Expression], PrefixMatch]] = {
    "elixir": _resolve_elixir,
    "haskell": _resolve_haskell,
    "ocaml": lambda expression: _resolve_ocaml_path(*expression[:5]),
    "perl": lambda expression: resolve_namespace(expression.lookup, expression.parts, "perl"),
    "ruby": _resolve_ruby,
    "rust": _resolve_rust,
    "zig": _resolve_zig,
}
"""Resolvers of the languages whose expressions contain module paths."""
