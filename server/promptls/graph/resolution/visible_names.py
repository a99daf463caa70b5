"""Names visible in a file: its own scopes, imports, re-exports and included files; and the members and bases of types.

Depth and number of supertypes are limited, and cycles of base types end.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from promptls.graph.resolution.file_tables import FileSymbols, is_type_named_constructor
from promptls.graph.resolution.module_paths import imported_elixir_modules, resolve_path, using_macro
from promptls.graph.resolution.resolved_names import (
    CERTAINTY,
    MAX_DEPTH,
    Entity,
    External,
    Lookup,
    Module,
    Resolution,
    Target,
)
from promptls.index import OutlineRef
from promptls.languages.kinds import CALLABLE_KINDS, TYPE_KINDS

MAX_SUPERTYPES = 64
"""Number of supertypes of one type after which the search for more stops."""


class TypeHierarchy:
    """Members and supertypes of the types of a snapshot, computed on demand and cached."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._supertype_cache: dict[OutlineRef, tuple[OutlineRef, ...]] = {}
        self._in_progress = threading.local()  # types whose supertypes this thread is computing

    @property
    def is_resolving_bases(self) -> bool:
        """True while this thread computes supertypes; results are then incomplete, because cycles are cut."""
        return bool(self._in_progress.__dict__.get("types"))

    def enclosing_type(self, path: str, file: FileSymbols, owner: int) -> OutlineRef | None:
        """Return the type to which the code of a definition belongs."""
        qualified = file.enclosing_type_name(owner)
        if not qualified:
            return None
        for i in file.by_qualified_name.get(qualified, ()):
            if file.symbols[i].kind in file.language.method_owner_kinds and file.symbols[i].kind != "impl":
                return (path, i)
        name = qualified.rpartition(".")[2]
        visible = self._lookup.visible_definitions(path, name)
        if visible:
            return visible[0]
        target = self._lookup.imports.bindings(self._lookup.snapshot.files[path]).get(name)
        entity = self._lookup.resolve_target(target) if target is not None else None
        if isinstance(entity, Resolution):
            return entity.ref
        included = self._lookup.find_included(path, name)
        if included is not None:
            return included.ref
        impls = file.by_qualified_name.get(qualified, ())
        return (path, impls[0]) if impls else None

    def member(self, ref: OutlineRef, name: str) -> Resolution | None:
        """Return a method or attribute of a type, its own or an inherited one."""
        own = self.own_member(ref, name)
        if own is not None:
            return Resolution(own, "member")
        for base in self.supertypes(ref):
            inherited = self.own_member(base, name)
            if inherited is not None:
                return Resolution(inherited, "inherited")
        return None

    def own_member(self, ref: OutlineRef, name: str) -> OutlineRef | None:
        """Return a method or attribute defined by a type itself: in its body or, if the language permits, elsewhere."""
        file = self._lookup.file_symbols(ref[0])
        if file is None:
            return None
        member_name = f"{file.symbols[ref[1]].qualified}.{name}"
        own = [i for i in file.by_qualified_name.get(member_name, ()) if not is_type_named_constructor(file.symbols[i])]
        if own:
            exported = [i for i in own if file.symbols[i].exported]  # of several clauses one that others may call
            return (ref[0], (exported or own)[-1])
        if not file.language.methods_in_other_files:
            return None
        folder = ref[0].rpartition("/")[0]
        elsewhere: list[OutlineRef] = []
        for other in self._lookup.snapshot.names.get(name.lower(), ()):
            symbol = self._lookup.snapshot.symbol(other)
            if symbol is None or symbol.name != name or is_type_named_constructor(symbol):
                continue
            if symbol.qualified == member_name:
                elsewhere.append(other)
        if not elsewhere:
            return None
        nearest = min(elsewhere, key=lambda other: (_folder(other) != folder, other))
        is_allowed = file.language.methods_in_other_files == "anywhere" or _folder(nearest) == folder
        return nearest if is_allowed else None

    def supertypes(self, ref: OutlineRef) -> tuple[OutlineRef, ...]:
        """Return the direct and indirect base types of a type, nearest first."""
        cached = self._supertype_cache.get(ref)
        if cached is not None:
            return cached
        in_progress: set[OutlineRef] = self._in_progress.__dict__.setdefault("types", set())
        if ref in in_progress:
            return ()  # cut the cycle
        in_progress.add(ref)
        try:
            supertypes = self._compute_supertypes(ref)
        finally:
            in_progress.discard(ref)
        if not in_progress:
            self._supertype_cache[ref] = supertypes
        return supertypes

    def _compute_supertypes(self, ref: OutlineRef) -> tuple[OutlineRef, ...]:
        out: dict[OutlineRef, None] = {}
        level = [ref]
        for _ in range(MAX_DEPTH):
            level = [base for type_ in level for base in self.bases(type_) if base != ref and base not in out]
            out.update(dict.fromkeys(level))
            if not level or len(out) > MAX_SUPERTYPES:
                break
        return tuple(out)

    def bases(self, ref: OutlineRef) -> list[OutlineRef]:
        """Return the direct base types of a type that are defined in the workspace."""
        file = self._lookup.file_symbols(ref[0])
        if file is None:
            return []
        declarations = file.by_qualified_name.get(file.symbols[ref[1]].qualified, [ref[1]])
        if file.language.mixins.are_imports:
            return self._imported_bases(file, ref)
        out: dict[OutlineRef, None] = {}
        mixin_kinds = {"module"} if file.language.mixins.are_modules else frozenset()
        for index in declarations:
            if file.symbols[index].kind in TYPE_KINDS:
                parent = file.symbols[index].parent
                for reference in file.base_references(index):
                    for base in self._lookup.resolve(ref[0], parent, reference):
                        symbol = self._lookup.snapshot.symbol(base.ref)
                        if symbol is not None and symbol.kind in TYPE_KINDS | mixin_kinds and base.method != "several":
                            out[base.ref] = None
        if mixin_kinds:
            class_methods = (self._mixin_class_methods(base) for base in list(out))
            out.update(dict.fromkeys(module for module in class_methods if module is not None))
        return list(out)

    def _mixin_class_methods(self, ref: OutlineRef) -> OutlineRef | None:
        """Return the module `ClassMethods` of a Ruby mixin, which by convention extends the class itself."""
        symbol = self._lookup.snapshot.symbol(ref)
        parts = [*symbol.qualified.split("."), "ClassMethods"] if symbol is not None else []
        return resolve_path(self._lookup, parts, "ruby", ref[0])

    def _imported_bases(self, file: FileSymbols, ref: OutlineRef) -> list[OutlineRef]:
        """Return the bases of a type that are declared by imports: Perl's `use parent`, Elixir's `use`."""
        span = file.symbols[ref[1]].span
        inside = [imported for imported in file.outline.imports if span.start <= imported.line < span.end]
        bases = (
            using_macro(self._lookup, imported)
            or resolve_path(self._lookup, imported.module.split("::"), file.outline.language)
            for imported in inside
            if imported.local_names == ("SUPER",)
        )
        return [base for base in bases if base is not None and base != ref]


def _folder(ref: OutlineRef) -> str:
    return ref[0].rpartition("/")[0]


# ---- visible names

MAX_REEXPORTS = 400
"""Maximum number of files through which one name is followed; the package of NetworkX re-exports from 190 files."""

MAX_INCLUDED = 500
"""Number of directly and indirectly included files of one file after which no more are read; bounds the time."""


class VisibleNames:
    """Lookups of names in files of one snapshot, with caches by file.

    `prefer_value`: of a value and a type with the same name prefer the value, else the type.
    """

    def __init__(self, lookup: Lookup, types: TypeHierarchy) -> None:
        self._lookup = lookup
        self._types = types
        self._wildcard_imports: dict[str, tuple[str, ...]] = {}
        self._imported_types: dict[str, tuple[OutlineRef, ...]] = {}
        self._package_bindings: dict[str, Resolution | None] = {}
        self._included_files: dict[str, dict[str, int]] = {}

    def find_name(
        self, path: str, file: FileSymbols, owner: int, name: str, prefer_value: bool = True
    ) -> Entity | None:
        """Return the meaning of an unqualified name in the code of `owner`."""
        in_callable = False
        for scope in file.scopes(owner):
            symbol = file.symbols[scope]
            if not (in_callable and symbol.kind in TYPE_KINDS and not file.language.implicit_self):
                found = file.by_scope.get((scope, name))
                if found:
                    return Resolution((path, found[-1]), "local")
            if symbol.name == name and symbol.kind in TYPE_KINDS | CALLABLE_KINDS and symbol.parent < 0:
                return Resolution((path, scope), "local")
            in_callable = in_callable or symbol.kind in CALLABLE_KINDS
        imports, entry = self._lookup.imports, self._lookup.snapshot.files[path]
        for line, inner in imports.inner_bindings(entry).get(name, ()) if owner >= 0 else ():
            scopes = (file.symbols[i] for i in file.scopes(owner))
            if any(line in scope.span for scope in scopes if scope.kind in CALLABLE_KINDS):
                return self.resolve_target(inner, prefer_value)
        found = file.top_level(name)
        target = imports.bindings(entry).get(name) if not found else None
        if target is not None:
            return self.resolve_target(target, prefer_value)
        found = found or ([] if file.language.owner_required == "modules" else file.visible.get(name, []))
        if found:
            return Resolution((path, _best_definition(file, found, prefer_value)), "local")
        if file.language.implicit_self:
            type_ = self._types.enclosing_type(path, file, owner)
            member = self._types.member(type_, name) if type_ is not None else None
            if member is not None:
                return member
        for other in self.wildcard_imports(path):
            export = self.find_export(other, name, prefer_value)
            if export is not None:
                return export
        for ref in self._types_imported_as_a_whole(path):
            member = self._types.member(ref, name)
            member_symbol = self._lookup.snapshot.symbol(member.ref) if member is not None else None
            if member is not None and member_symbol is not None and member_symbol.exported:
                return Resolution(member.ref, "import")
        return self.find_included(path, name, prefer_value)

    # ---- imports

    def wildcard_imports(self, path: str) -> tuple[str, ...]:
        """Return the files from which a file imports all names."""
        cached = self._wildcard_imports.get(path)
        if cached is None:
            targets = self._whole_file_targets(path)
            cached = tuple(dict.fromkeys(target.path for target in targets if target.name == "*"))
            self._wildcard_imports[path] = cached
        return cached

    def _types_imported_as_a_whole(self, path: str) -> tuple[OutlineRef, ...]:
        """Return the types from which a file imports all members."""
        cached = self._imported_types.get(path)
        if cached is None:
            file = self._lookup.file_symbols(path)
            if file is not None and file.language.mixins.are_imports:
                refs = imported_elixir_modules(self._lookup, path)
            else:
                targets = [target for target in self._whole_file_targets(path) if target.name.endswith(".*")]
                types = (self.find_export(target.path, target.name.removesuffix(".*")) for target in targets)
                refs = [type_.ref for type_ in types if isinstance(type_, Resolution)]
            cached = self._imported_types[path] = tuple(refs)
        return cached

    def _whole_file_targets(self, path: str, is_wildcard: bool = True) -> Iterator[Target]:
        """Yield the targets of `from a import *` or, if not `is_wildcard`, of `#include` and similar imports."""
        file = self._lookup.file_symbols(path)
        for imported in file.outline.imports if file is not None else ():
            if not imported.local_names and ("*" in imported.names if is_wildcard else not imported.names):
                yield from self._lookup.imports.targets(self._lookup.snapshot.files[path], imported)

    def resolve_target(self, target: Target, prefer_value: bool = True) -> Entity | None:
        """Return the meaning of an import target: a module, or a name that it exports."""
        if not target.name or target.name == "*":
            return self._package_binding(target.path) or Module(target.path)
        type_name, _, member = target.name.partition(".")
        found = self.find_export(target.path, type_name if member else target.name, prefer_value)
        return self.find_attribute(found, member, prefer_value) if found is not None and member else found

    def _package_binding(self, path: str) -> Resolution | None:
        """Return what a Python package binds to the name of a module, as in `from .query import query`."""
        if path in self._package_bindings:
            return self._package_bindings[path]
        folder, _, file = path.rpartition("/")
        if file == "__init__.py":
            folder, _, file = folder.rpartition("/")
        name, package = file.partition(".")[0], f"{folder}/__init__.py"
        snapshot = self._lookup.snapshot
        found = None
        if path.endswith(".py") and package in snapshot.files and name.lower() in snapshot.names:
            found = self.find_export(package, name)
        binding = self._package_bindings[path] = found if isinstance(found, Resolution) else None
        return binding

    # ---- included files

    def find_included(self, path: str, name: str, prefer_value: bool = True) -> Resolution | None:
        """Return the definition of a name in the nearest included file."""
        if self._includes_exports_only(path):
            exports = (self.find_export(other, name, prefer_value) for other in self._files_included_by(path))
            return next((export for export in exports if isinstance(export, Resolution)), None)
        return next(self.all_included(path, name, prefer_value), None)

    def _includes_exports_only(self, path: str) -> bool:
        """Return true for Dart, whose files see what the imported files define or export, nothing else."""
        file = self._lookup.file_symbols(path)
        return file is not None and file.outline.language == "dart"

    def all_included(self, path: str, name: str, prefer_value: bool) -> Iterator[Resolution]:
        """Yield the definitions of a name in included files, nearest file first."""
        included = self._files_included_by(path)
        names = self._lookup.snapshot.names.get(name.lower(), ()) if included else ()
        files = {ref[0] for ref in names if ref[0] in included}
        definitions = (self._find_defined(file, name, prefer_value) for file in sorted(files, key=included.__getitem__))
        yield from (definition for definition in definitions if definition is not None)

    def _files_included_by(self, path: str) -> Mapping[str, int]:
        """Return the rank of all files that a file includes (`#include`, `require`, `source`), nearest first."""
        cached = self._included_files.get(path)
        if cached is None:
            included: dict[str, None] = {}
            queue = deque([path])
            while queue and len(included) < MAX_INCLUDED:
                targets = self._whole_file_targets(queue.popleft(), is_wildcard=False)
                new = [target.path for target in targets if target.name == "*" and target.path not in included]
                included.update(dict.fromkeys(new))
                queue.extend(new if not self._includes_exports_only(path) else ())
            cached = self._included_files[path] = {file: i for i, file in enumerate(included)}
        return cached

    # ---- exports

    def find_export(self, path: str, name: str, prefer_value: bool = True) -> Entity | None:
        """Return the meaning of a name that a file or its package exports.

        Re-exports are followed breadth-first, named re-exports before `export *`.
        """
        queue = deque([(path, name)])
        seen = {(path, name): None}
        while queue:
            current, current_name = queue.popleft()
            found = self._find_defined(current, current_name, prefer_value)
            if found is not None:
                return found
            entry = self._lookup.snapshot.files.get(current)
            target = self._lookup.imports.bindings(entry).get(current_name) if entry is not None else None
            if target is not None and (not target.name or target.name == "*"):
                return Module(target.path)
            for other in self.wildcard_imports(current) if entry is not None else ():
                export = other, current_name
                if export not in seen and len(seen) < MAX_REEXPORTS:
                    seen[export] = None
                    queue.append(export)
            if target is not None and (export := (target.path, target.name)) not in seen:
                seen[export] = None
                queue.appendleft(export)
        return next((module for export in seen if (module := self._submodule(*export)) is not None), None)

    def _find_defined(self, path: str, name: str, prefer_value: bool) -> Resolution | None:
        """Return the definition of a name in a file or in the files of its package."""
        file = self._lookup.file_symbols(path)
        if file is None:
            return None
        found = file.top_level(name) or file.visible.get(name, [])
        if not found and name == "default":
            found = _default_exports(file, path)
        if found:
            return Resolution((path, _best_definition(file, found, prefer_value)), "import")
        visible = self._lookup.visible_definitions(path, name) if file.language.implicit_scope else []
        return Resolution(visible[0], "import") if visible else None

    def as_value(self, entity: Entity | None) -> Entity | None:
        """Replace a JavaScript module by its default export, as `require` does; return other entities unchanged."""
        if not isinstance(entity, Module):
            return entity
        file = self._lookup.file_symbols(entity.path)
        is_script = file is not None and file.language.family == "ecmascript"
        found = _default_exports(file, entity.path) if file is not None and is_script else []
        return Resolution((entity.path, found[0]), "import") if found else entity

    def _submodule(self, path: str, name: str) -> Entity | None:
        """Return a module within a package, found by file name."""
        folder, _, file = path.rpartition("/")
        if file.partition(".")[0] not in ("__init__", "index", "mod", "lib"):
            if path in self._lookup.snapshot.files:
                return None
            folder = path
        for candidate in (
            f"{folder}/{name}.py",
            f"{folder}/{name}/__init__.py",
            f"{folder}/{name}.rs",
            f"{folder}/{name}/mod.rs",
        ):
            if candidate in self._lookup.snapshot.files:
                return Module(candidate)
        return None

    # ---- attributes

    def find_attribute(self, entity: Entity, name: str, prefer_value: bool) -> Entity | None:
        """Return the meaning of a name on a module, a type or an instance."""
        if isinstance(entity, Module):
            found = self.find_export(entity.path, name, prefer_value)
            default = self.as_value(entity) if found is None else None
            return self.find_attribute(default, name, prefer_value) if isinstance(default, Resolution) else found
        if isinstance(entity, External):
            return entity
        member = self._types.member(entity.ref, name)
        if member is None:
            return None
        if isinstance(entity, Resolution):
            if member.method == "inherited":
                return member
            return Resolution(member.ref, "import" if entity.method == "import" else "member")
        is_less_certain = CERTAINTY[entity.method] < CERTAINTY[member.method]
        return Resolution(member.ref, entity.method if is_less_certain else member.method)


def _best_definition(file: FileSymbols, indexes: Sequence[int], prefer_value: bool) -> int:
    """Return the best of several definitions of a name: one with a body rather than an assignment, then the longest."""

    def rank(index: int) -> tuple[int, int]:
        symbol = file.symbols[index]
        if prefer_value and symbol.kind in ("interface", "type"):
            return 0, len(symbol.span)
        has_body = symbol.kind in TYPE_KINDS or (prefer_value and symbol.kind in CALLABLE_KINDS)
        return 1 + has_body, len(symbol.span)

    return max(indexes, key=rank)


def _default_exports(file: FileSymbols, path: str) -> list[int]:
    """Return the default export of a JavaScript module, or its only export, or the export named like the file."""
    top = [i for i, symbol in enumerate(file.symbols) if symbol.parent < 0]
    found = [i for i in top if file.symbols[i].signature.startswith(("export default", "module.exports ="))]
    if found:
        return found
    exported = [i for i in top if file.symbols[i].exported]
    stem = path.rpartition("/")[2].partition(".")[0]
    return exported if len(exported) == 1 else [i for i in exported if file.symbols[i].name == stem]
