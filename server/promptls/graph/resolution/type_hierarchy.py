"""Type hierarchy of a snapshot: members of types, base types and supertypes.

Depth and number of supertypes are limited, and cycles of base types end.
"""

from __future__ import annotations

import threading

from promptls.graph.resolution.file_tables import FileSymbols, is_type_named_constructor
from promptls.graph.resolution.module_paths import resolve_path, using_macro
from promptls.graph.resolution.types import MAX_DEPTH, Lookup, Resolution
from promptls.index import OutlineRef
from promptls.languages.kinds import TYPE_KINDS

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
            exported = [
                i for i in own if file.symbols[i].exported
            ]  # of several clauses prefer one that others may call
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
        return nearest if file.outline.language != "go" or _folder(nearest) == folder else None

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
        if file.language.bases_from_imports:
            return self._imported_bases(file, ref)
        out: dict[OutlineRef, None] = {}
        mixin_kinds = {"module"} if file.language.modules_are_mixins else frozenset()
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
        if file.outline.language == "elixir":
            return [macro for imported in inside if (macro := using_macro(self._lookup, imported)) is not None]
        names = (imported.module.split("::") for imported in inside if imported.local_names == ("SUPER",))
        parents = (resolve_path(self._lookup, parts, "perl") for parts in names)
        return [parent for parent in parents if parent is not None and parent != ref]


def _folder(ref: OutlineRef) -> str:
    return ref[0].rpartition("/")[0]
