"""Meaning and type of expressions: `self.store`, `os.path`, `Foo().bar()`, and of types as they are written.

Nested lookups are limited by depth and by a number of steps for each reference, so that lookups end in any code.

The types in signatures are the return type of a function, and the parameter types of its callbacks.
"""

from __future__ import annotations

import threading
from collections import Counter

from promptls.graph.resolution.file_tables import SELF_NAMES, SUPER_NAMES, FileSymbols
from promptls.graph.resolution.module_paths import resolve_prefix
from promptls.graph.resolution.resolved_names import (
    EXTERNAL,
    MAX_DEPTH,
    Entity,
    External,
    Instance,
    Lookup,
    Module,
    Resolution,
    Value,
)
from promptls.graph.resolution.visible_names import TypeHierarchy, VisibleNames
from promptls.index import RETURN_VALUE, UNCERTAIN
from promptls.languages import PLAIN_TEXT, Language
from promptls.languages.kinds import CALLABLE_KINDS, FILE, TYPE_KINDS
from promptls.languages.signature_types import callback_parameter_type
from promptls.model import Symbol

MAX_STEPS = 300
"""Maximum number of expressions resolved for one reference; bounds the time that one file can take."""

_MAX_OVERLOADS = 40
"""Maximum number of overloads whose return types are compared."""

_VARIABLE_KINDS = frozenset({"variable", "constant"})


class StepBudget(threading.local):
    """Number of expressions that this thread may still resolve for its reference; None outside a reference."""

    remaining: int | None = None


class ExpressionResolver:
    """Resolves expressions and types of one snapshot.

    Common parameters: `path` and `owner` are the file and the definition whose code contains the expression, `depth` is
    the depth of nested lookups.  `prefer_value`: of a value and a type with the same name prefer the value.
    """

    def __init__(self, lookup: Lookup, types: TypeHierarchy, names: VisibleNames) -> None:
        self._lookup = lookup
        self._types = types
        self._names = names
        self.budget = StepBudget()

    def resolve(
        self, path: str, owner: int, expression: str, depth: int = 0, prefer_value: bool = True
    ) -> Entity | None:
        """Return the meaning of a dotted expression, or None if it is unknown."""
        file = self._lookup.file_symbols(path)
        remaining = self.budget.remaining
        if remaining is not None:
            self.budget.remaining = remaining - 1
        if file is None or depth > MAX_DEPTH or (remaining is not None and remaining <= 0):
            return None
        parts = expression.split(".")
        entity, length = resolve_prefix(self._lookup, path, file, owner, parts, depth)
        if not length and expression in SUPER_NAMES:
            type_ = self._types.enclosing_type(path, file, owner)
            bases = self._types.supertypes(type_) if type_ is not None else ()
            return Instance(bases[0], "inherited") if bases else EXTERNAL if type_ is not None else None
        if length and entity is EXTERNAL:
            return EXTERNAL
        if not length:
            prefer_value_of_head = prefer_value or len(parts) > 1
            entity, length = self._resolve_head(path, file, owner, parts[0], depth, prefer_value_of_head), 1
        for part in parts[length:]:
            if entity is None or isinstance(entity, External):
                return entity
            name = part.removesuffix("()")
            if name == "__class__":  # of Python
                continue
            entity = self._resolve_part(entity, part, file.language, prefer_value or part is not parts[-1], depth)
        return entity

    def _resolve_part(
        self, parent: Entity, part: str, language: Language, prefer_value: bool, depth: int
    ) -> Entity | None:
        """Return the meaning of one part of a dotted expression after `parent`."""
        name = part.removesuffix("()")
        entity = self._member(parent, name, prefer_value, depth)
        if entity is None and (content := self.variable_value(parent, depth)) is not None:
            parent, entity = content, self._member(content, name, prefer_value, depth)
        if name == "new" and language.types.new_creates_instance and isinstance(parent, Resolution | Instance):
            return Instance(parent.ref, "typed")  # even if a base type defines `new`
        if entity is None and part in language.types.transparent_members and isinstance(parent, Instance):
            return parent
        if part.endswith("()"):
            return self._call_result(entity, depth)
        symbol = self._lookup.snapshot.symbol(entity.ref) if isinstance(entity, Resolution) else None
        if symbol is None:
            return entity
        kinds = CALLABLE_KINDS | {"property"} if isinstance(parent, Instance) else {"property"}
        return self._call_result(entity, depth) if symbol.kind in kinds else entity

    def _resolve_head(
        self, path: str, file: FileSymbols, owner: int, part: str, depth: int, prefer_value: bool
    ) -> Entity | None:
        """Return the meaning of the first part of an expression."""
        is_call = part.endswith("()")
        name = part.removesuffix("()")
        is_ordinary_name = file.is_type or (  # `self` may be a variable in JavaScript
            name != "this" and any((i, name) in file.variable_types for i in file.scopes(owner))
        )
        if (name in SELF_NAMES and not is_ordinary_name) or name in file.language.self_names:
            type_ = self._types.enclosing_type(path, file, owner)
            return Instance(type_, "member") if type_ is not None else None
        if name.startswith("@") and len(name) > 1:
            type_ = self._types.enclosing_type(path, file, owner)
            return self._field_value(Instance(type_, "member"), name.lstrip("@"), depth) if type_ is not None else None
        if not is_call and prefer_value:
            for scope in (*file.scopes(owner), -1):
                type_name = file.variable_types.get((scope, name))
                if type_name is not None and not (
                    scope >= 0
                    and file.symbols[scope].kind in TYPE_KINDS
                    and scope != owner
                    and not file.language.implicit_self
                ):
                    return self.resolve_type(path, max(scope, owner), type_name, depth + 1)
        found = self._names.find_name(path, file, owner, name, prefer_value)
        if found is None and file.language.implicit_scope:
            visible = self._lookup.visible_definitions(path, name)
            found = Resolution(visible[0], "package") if visible else None
        if found is None and file.language.names_without_import and name[:1].isupper():
            definitions = self._lookup.workspace_definitions(name, file.outline.language)
            found = definitions[0] if len(definitions) == 1 else None
        if found is None and name in file.imported_names:
            bindings = self._lookup.imports.bindings(self._lookup.snapshot.files[path])
            if name not in bindings:
                return EXTERNAL
        return self._call_result(found, depth) if is_call else found

    def variable_value(self, entity: Entity | None, depth: int = 0) -> Instance | None:
        """Return the value of a module-level variable, as in `app = Flask()`, or None if it is unknown."""
        symbol = self._lookup.snapshot.symbol(entity.ref) if isinstance(entity, Resolution) else None
        if not isinstance(entity, Resolution) or symbol is None:
            return None
        if symbol.kind not in _VARIABLE_KINDS or symbol.parent >= 0:
            return None
        file = self._lookup.file_symbols(entity.ref[0])
        type_name = file.variable_types.get((-1, symbol.name)) if file is not None and depth <= MAX_DEPTH else None
        value = self.resolve_type(entity.ref[0], -1, type_name, depth + 2) if type_name is not None else None
        return value if isinstance(value, Instance) else None

    def resolve_type(self, path: str, owner: int, type_name: str, depth: int = 0) -> Value | None:
        """Return a value of a type as written in an outline.

        "A()" is the result of calling A, and "=a.b" the value of an expression.  "a(0,1)" is the value that `a` passes
        as parameter 1 to the callback that is its argument 0.
        """
        if type_name.startswith("="):
            value = self.resolve(path, owner, type_name[1:], depth + 1)
            return value if isinstance(value, Instance | External) else None
        if type_name.endswith(")") and not type_name.endswith("()"):
            return self._callback_argument(path, owner, type_name, depth)
        if type_name.endswith("()"):
            result = self.resolve(path, owner, type_name, depth + 1)
            return result if isinstance(result, Instance | Module | External) else None
        file = self._lookup.file_symbols(path)
        is_self = type_name in SELF_NAMES
        if is_self and file is not None and (not file.is_type or file.enclosing_type_name(owner)):
            type_ = self._types.enclosing_type(path, file, owner)
            return Instance(type_, "typed") if type_ is not None else None
        is_uncertain, type_name = type_name.startswith(UNCERTAIN), type_name.removeprefix(UNCERTAIN)
        found = self._names.as_value(self.resolve(path, owner, type_name, depth + 1, prefer_value=False))
        if isinstance(found, Resolution):
            symbol = self._lookup.snapshot.symbol(found.ref)
            if symbol is not None and symbol.kind in self._language(found.ref[0]).method_owner_kinds | {"type"}:
                return Instance(found.ref, "typed")
            return None
        if isinstance(found, Module) and file is not None and file.is_type:
            return found
        return EXTERNAL if (found is None and not is_uncertain) or isinstance(found, External) else None

    def _call_result(self, entity: Entity | None, depth: int) -> Value | None:
        """Return the result of calling a function or a type."""
        entity = self._names.as_value(entity)
        if isinstance(entity, External):
            return entity
        if not isinstance(entity, Resolution) or depth > MAX_DEPTH:
            return None
        path, index = entity.ref
        symbol = self._lookup.snapshot.symbol(entity.ref)
        file = self._lookup.file_symbols(path)
        if symbol is None or file is None:
            return None
        if symbol.kind in TYPE_KINDS:
            return Instance(entity.ref, "typed")
        type_name = _usual_return_type(file, symbol) or file.variable_types.get((index, RETURN_VALUE), "")
        if symbol.kind == "constructor" or (symbol.name in ("new", "create") and not type_name):
            type_ = self._types.enclosing_type(path, file, index)
            return Instance(type_, "typed") if type_ is not None else None
        if not type_name:
            return None
        value = self.resolve_type(path, index, type_name, depth + 2)
        return Instance(value.ref, "returned") if isinstance(value, Instance) else value

    def _callback_argument(self, path: str, owner: int, type_name: str, depth: int) -> Value | None:
        """Return the argument that a function passes to a callback, by the signature of the function or constructor."""
        function, _, numbers = type_name[:-1].rpartition("(")
        found = self.resolve(path, owner, function, depth + 1)
        if not isinstance(found, Resolution):
            return EXTERNAL if isinstance(found, External) else None
        file, index = self._lookup.file_symbols(found.ref[0]), found.ref[1]
        if file is None:
            return None
        if file.symbols[index].kind in TYPE_KINDS:
            index = next(iter(_constructors(file, index)), index)
        argument, parameter = (int(number) for number in numbers.split(","))
        argument_type = callback_parameter_type(file.symbols[index].signature, argument, parameter)
        return self.resolve_type(found.ref[0], index, argument_type, depth + 2) if argument_type else None

    def _member(self, entity: Entity, name: str, prefer_value: bool, depth: int) -> Entity | None:
        """Return the value of a member if it is known, else the member."""
        value = self._field_value(entity, name, depth)
        return value if value is not None else self._names.find_attribute(entity, name, prefer_value)

    def _field_value(self, entity: Entity, name: str, depth: int) -> Value | None:
        """Return the value of a declared field, own or inherited."""
        if isinstance(entity, Module) and FILE in self._language(entity.path).method_owner_kinds:
            file = self._lookup.file_symbols(entity.path)
            type_name = file.variable_types.get((-1, name)) if file is not None and depth <= MAX_DEPTH else None
            return self.resolve_type(entity.path, -1, type_name, depth + 2) if type_name is not None else None
        if isinstance(entity, Module | External) or depth > MAX_DEPTH:
            return None
        for path, index in (entity.ref, *self._types.supertypes(entity.ref)):
            file = self._lookup.file_symbols(path)
            if file is None:
                continue
            type_name = file.variable_types.get((index, name))
            if type_name is not None:
                initializers = file.by_qualified_name.get(f"{file.symbols[index].qualified}.__init__", [index])
                return self.resolve_type(path, initializers[0], type_name, depth + 2)
            for constructor in _constructors(file, index):
                type_name = file.variable_types.get((constructor, name))
                if type_name is not None:
                    return self.resolve_type(path, constructor, type_name, depth + 2)
        return None

    def _language(self, path: str) -> Language:
        file = self._lookup.file_symbols(path)
        return file.language if file is not None else PLAIN_TEXT


def _usual_return_type(file: FileSymbols, symbol: Symbol) -> str:
    """Return the declared return type of a function; of three or more overloads the most frequent one."""
    return_type = file.language.types.return_type
    own = return_type(symbol.signature)
    overloads = file.by_qualified_name.get(symbol.qualified, ())
    if len(overloads) < 3:
        return own
    types = (return_type(file.symbols[i].signature) for i in overloads[:_MAX_OVERLOADS])
    counts = Counter(type_name for type_name in types if type_name)
    return max(counts, key=lambda type_name: (counts[type_name], type_name == own), default=own)


def _constructors(file: FileSymbols, index: int) -> list[int]:
    return [i for i in file.children.get(index, ()) if file.symbols[i].kind == "constructor"]
