"""Name resolution: the definitions that a reference may refer to, each with a certainty.

Steps, in order: enclosing scopes; the enclosing type and its bases; imports, through re-exports; the declared type of
the receiver; files that are visible without imports; and last, if nothing contradicts it, a name that is unique in the
workspace.  Names from outside the workspace stay unresolved.  Only outlines are read, and all lookups are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from promptls.graph.resolution import name_lookup
from promptls.graph.resolution.expression_types import MAX_STEPS, ExpressionResolver
from promptls.graph.resolution.file_tables import SUPER_NAMES, FileSymbols, FileSymbolsCache
from promptls.graph.resolution.module_paths import resolve_prefix
from promptls.graph.resolution.name_lookup import ExtensionMethod, applicable_extensions, find_extensions
from promptls.graph.resolution.resolved_names import Entity, Imports, Instance, Module, Resolution, Target
from promptls.graph.resolution.visible_names import TypeHierarchy, VisibleNames
from promptls.index import NUMBER_LITERAL, STRING_LITERAL, UNKNOWN_RECEIVER, OutlineRef, Snapshot
from promptls.languages.kinds import CALLABLE_KINDS
from promptls.model import CALL, Reference
from promptls.util.mappings import clear_if_full

_PATH_SEPARATOR = re.compile(r"[/.]")


class NameResolver:
    """Resolves the references of one snapshot; implements `resolution.Lookup` for the modules below."""

    def __init__(self, snapshot: Snapshot, imports: Imports, tables: FileSymbolsCache) -> None:
        self.snapshot = snapshot
        self.imports = imports
        self.namespaces: dict[tuple[str, str], tuple[OutlineRef, ...]] = {}
        self._tables = tables
        self.types = TypeHierarchy(self)
        self._names = VisibleNames(self, self.types)
        self._expressions = ExpressionResolver(self, self.types, self._names)
        self._resolutions: dict[tuple[str, int, str, int, str], tuple[Resolution, ...]] = {}
        self._definitions: name_lookup.DefinitionCache = {}
        self._extensions: dict[tuple[str, str], Sequence[ExtensionMethod]] = {}

    # ---- references

    def resolve(self, path: str, owner: int, reference: Reference) -> tuple[Resolution, ...]:
        """Return the definitions that a reference in the code of `owner` may refer to, most likely first."""
        file = self.file_symbols(path)
        if file is None:
            return ()
        if file.language.ignores_case:
            reference = self._spelled_as_defined(path, reference)
        budget = self._expressions.budget
        if budget.remaining is not None or self.types.is_resolving_bases:
            # Results of nested lookups are not cached: the budget may run out there, and cycles are cut.
            remaining, budget.remaining = budget.remaining, MAX_STEPS
            try:
                return self._resolve(path, file, owner, reference)
            finally:
                budget.remaining = None if remaining is None else remaining - 1
        key = path, owner, reference.name, reference.kind, reference.receiver  # independent of the line
        resolutions = self._resolutions.get(key)
        if resolutions is None:
            clear_if_full(self._resolutions)
            budget.remaining = MAX_STEPS
            try:
                resolutions = self._resolutions[key] = self._resolve(path, file, owner, reference)
            finally:
                budget.remaining = None
        return resolutions

    def _spelled_as_defined(self, path: str, reference: Reference) -> Reference:
        """Return a reference with the spelling of its name in the nearest file that defines it."""
        refs = self.snapshot.names.get(reference.name.lower(), ())[: name_lookup.MAX_CANDIDATES]
        nearest = max(refs, key=lambda ref: (ref[0] == path, name_lookup.common_segments(ref[0], path)), default=None)
        symbol = self.snapshot.symbol(nearest) if nearest is not None else None
        return replace(reference, name=symbol.name) if symbol is not None else reference

    def _resolve(self, path: str, file: FileSymbols, owner: int, reference: Reference) -> tuple[Resolution, ...]:
        is_elixir = file.outline.language == "elixir"
        if is_elixir and reference.kind != CALL and reference.name[:1].isupper():
            parts = [*reference.receiver.split("."), reference.name] if reference.receiver else [reference.name]
            module, length = resolve_prefix(self, path, file, owner, parts)
            return (module,) if isinstance(module, Resolution) and length == len(parts) else ()
        if reference.receiver:
            found = self._resolve_with_receiver(path, file, owner, reference)
        else:
            found = self._resolve_unqualified(path, file, owner, reference)
        if is_elixir:  # types in "@spec" have the syntax of calls
            symbols = ((resolution, self.snapshot.symbol(resolution.ref)) for resolution in found)
            found = tuple(resolution for resolution, symbol in symbols if symbol is not None and symbol.kind != "type")
        return tuple(resolution for resolution in found if resolution.ref != (path, owner) or reference.kind == CALL)

    def _resolve_unqualified(
        self, path: str, file: FileSymbols, owner: int, reference: Reference
    ) -> tuple[Resolution, ...]:
        name = reference.name
        entity = self._names.as_value(self._names.find_name(path, file, owner, name, reference.kind == CALL))
        if isinstance(entity, Resolution):
            return (entity,)
        if entity is not None or name in file.imported_names:
            return ()
        if file.language.implicit_scope:
            visible = self.visible_definitions(path, name)
            if visible:
                return (Resolution(visible[0], "package"),)
        if not file.language.names_without_import:
            return ()
        return self.workspace_definitions(name, file.outline.language)

    def _resolve_with_receiver(
        self, path: str, file: FileSymbols, owner: int, reference: Reference
    ) -> tuple[Resolution, ...]:
        name, receiver, language = reference.name, reference.receiver, file.outline.language
        if receiver in SUPER_NAMES:
            meaning = self._expressions.resolve(path, owner, receiver)
            type_ = self.types.enclosing_type(path, file, owner)
            is_module = isinstance(meaning, Module | Resolution)  # as in Rust
            bases = self.types.supertypes(type_) if type_ is not None and not is_module else ()
            members = (self.types.own_member(base, name) for base in bases)
            inherited = next((member for member in members if member is not None), None)
            if inherited is not None:
                return (Resolution(inherited, "inherited"),)
        is_literal = receiver in (STRING_LITERAL, NUMBER_LITERAL)
        is_expression = receiver != UNKNOWN_RECEIVER and not is_literal
        entity = self._expressions.resolve(path, owner, receiver) if is_expression else None
        is_call = reference.kind == CALL
        found = self._names.find_attribute(entity, name, is_call) if entity is not None else None
        if found is None and (value := self._expressions.variable_value(entity)) is not None:
            entity, found = value, self._names.find_attribute(value, name, is_call)
        if isinstance(found, Resolution):
            return (found,)
        if language == "csharp" and entity is None and name_lookup.is_external_csharp_type(self.snapshot, receiver):
            return ()
        if language == "cpp" and (function := self._macro_namespace_function(path, reference, entity)) is not None:
            return (function,)
        extensions = self._applicable_extensions(path, file, owner, reference, entity)
        if extensions or entity is not None or is_literal:
            return extensions
        definitions = self.workspace_definitions(name, language, receiver)
        if file.language.extension_methods == "receiver" and definitions:
            hidden = {extension.ref for extension in self._extensions_named(name, language)}
            return tuple(definition for definition in definitions if definition.ref not in hidden)
        return definitions

    def _macro_namespace_function(self, path: str, reference: Reference, entity: Entity | None) -> Resolution | None:
        """Return a function of a C++ namespace opened by a macro, from an included file named like the namespace."""
        symbol = self.snapshot.symbol(entity.ref) if isinstance(entity, Resolution) else None
        if symbol is not None:
            is_known = symbol.kind not in CALLABLE_KINDS | {"namespace"}
        else:
            is_known = isinstance(entity, Instance | Module)
        if is_known or reference.kind != CALL:
            return None
        namespace = reference.receiver.partition(".")[0]
        included = self._names.all_included(path, reference.name, prefer_value=True)
        return next((found for found in included if namespace in _PATH_SEPARATOR.split(found.ref[0])), None)

    # ---- extension methods

    def _applicable_extensions(
        self, path: str, file: FileSymbols, owner: int, reference: Reference, entity: Entity | None
    ) -> tuple[Resolution, ...]:
        """Return the extension methods that a call on `entity` may refer to."""
        if reference.kind != CALL or not file.language.extension_methods:
            return ()
        types: set[str] | None = None
        if isinstance(entity, Instance):
            refs = (entity.ref, *self.types.supertypes(entity.ref))
            types = {symbol.name for ref in refs if (symbol := self.snapshot.symbol(ref)) is not None}
        elif isinstance(entity, Resolution | Module):
            types = set()
        extensions = self._extensions_named(reference.name, file.outline.language)
        return applicable_extensions(self.snapshot, extensions, path, file, owner, reference, types)

    def _extensions_named(self, name: str, language: str) -> Sequence[ExtensionMethod]:
        cached = self._extensions.get((name, language))
        if cached is None:
            cached = self._extensions[name, language] = find_extensions(self.snapshot, name, language)
        return cached

    # ---- resolution.Lookup

    def file_symbols(self, path: str) -> FileSymbols | None:
        """Return the tables of a file, or None if it has no outline."""
        return self._tables.get(self.snapshot.files.get(path))

    def resolve_expression(self, path: str, owner: int, expression: str, depth: int = 0) -> Entity | None:
        """Return the meaning of a dotted expression in the code of `owner`."""
        return self._expressions.resolve(path, owner, expression, depth)

    def resolve_target(self, target: Target) -> Entity | None:
        """Return the meaning of an import target."""
        return self._names.resolve_target(target)

    def find_export(self, path: str, name: str) -> Entity | None:
        """Return the meaning of a name that a file exports, following re-exports."""
        return self._names.find_export(path, name)

    def find_included(self, path: str, name: str) -> Resolution | None:
        """Return the definition of a name in the files that a file includes."""
        return self._names.find_included(path, name)

    def wildcard_imports(self, path: str) -> tuple[str, ...]:
        """Return the files from which a file imports all names."""
        return self._names.wildcard_imports(path)

    def visible_definitions(self, path: str, name: str) -> list[OutlineRef]:
        """Return the definitions of a name that a file sees without an import, nearest first."""
        return name_lookup.visible_definitions(self.snapshot, self.file_symbols, path, name)

    def workspace_definitions(self, name: str, language: str, receiver: str = "") -> tuple[Resolution, ...]:
        """Return the definitions of a name in the whole workspace if they are few."""
        return name_lookup.workspace_definitions(self.snapshot, self._definitions, name, language, receiver)

    def find_member(self, ref: OutlineRef, name: str) -> Resolution | None:
        """Return a member of a type, its own or an inherited one."""
        return self.types.member(ref, name)
