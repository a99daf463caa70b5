"""Conversion of inexact message params into valid ones, before lsprotocol structures them.

Clients send unknown enum values, null for missing values, `[]` for an empty object, and fields of a wrong type.
lsprotocol rejects the whole message for each of them. The rules here follow from the types of lsprotocol alone:

- Unknown fields are dropped.
- An optional field and an element of a list are dropped if their value is invalid. Lists in which each element counts,
  such as the changes of a document, are invalid as a whole.
- A required field gets the value of `DEFAULTS`. Without one, the object is invalid.
- Values that differ only in form are converted: 5.0 and "5" to 5, `[]` to `{}`, and a negative position to 0.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from lsprotocol import types as lsp
from lsprotocol.validators import INTEGER_MAX_VALUE, INTEGER_MIN_VALUE
from msgspec import Struct

from promptls.api.messages.params import Json

DEFAULTS: dict[tuple[type, str], Any] = {
    (lsp.InitializeParams, "capabilities"): {},
    (lsp.WorkspaceFolder, "name"): "",
    (lsp.WorkspaceFoldersChangeEvent, "added"): [],
    (lsp.WorkspaceFoldersChangeEvent, "removed"): [],
    (lsp.TextDocumentItem, "language_id"): "",
    (lsp.TextDocumentItem, "version"): 0,
    (lsp.VersionedTextDocumentIdentifier, "version"): 0,
    (lsp.VersionedNotebookDocumentIdentifier, "version"): 0,
    (lsp.NotebookDocument, "notebook_type"): "",
    (lsp.NotebookDocument, "version"): 0,
    (lsp.NotebookCell, "kind"): lsp.NotebookCellKind.Code.value,
    (lsp.DidOpenNotebookDocumentParams, "cell_text_documents"): [],
    (lsp.DidCloseNotebookDocumentParams, "cell_text_documents"): [],
    (lsp.FileEvent, "type"): lsp.FileChangeType.Changed.value,
    (lsp.DidChangeConfigurationParams, "settings"): None,
    (lsp.SetTraceParams, "value"): lsp.TraceValue.Off.value,
}
"""Values of required fields that the server can do without, by class and attribute."""

COMPLETE_LISTS = {
    (lsp.DidChangeTextDocumentParams, "content_changes"),
    (lsp.NotebookDocumentCellContentChanges, "changes"),
    (lsp.NotebookDocumentCellChanges, "text_content"),
    (lsp.NotebookDocument, "cells"),
    (lsp.NotebookCellArrayChange, "cells"),
    (lsp.ExecuteCommandParams, "arguments"),
}
"""Lists that are invalid if one of their elements is: each element depends on the ones before it."""


class InvalidMessage(ValueError):
    """Raised for params that cannot be made valid; the text names the field."""


class IncompleteMessage(InvalidMessage):
    """Raised for a list of `COMPLETE_LISTS` with an invalid element; no field around it is dropped instead."""


class _Field(Struct, frozen=True):
    """A field of an LSP object."""

    name: str  # in JSON
    attribute: attrs.Attribute[Any]
    required: bool


def conform(params: Any, kind: Any) -> tuple[Any, list[str]]:
    """Return valid params for an lsprotocol class, and the paths of the fields that were ignored.

    Raises:
        InvalidMessage: A required field is missing or invalid and has no default.
    """
    ignored: list[str] = []
    return _conform({} if params is None else params, kind, "", ignored), ignored


def _conform(value: Any, kind: Any, path: str, ignored: list[str]) -> Any:
    """Return the valid form of a value.  Raises InvalidMessage."""
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _conform_union(value, get_args(kind), path, ignored)
    if origin is Literal:
        return _expect(value in get_args(kind), value, path)
    if origin is tuple:
        elements = get_args(kind)
        _expect(isinstance(value, list) and len(value) == len(elements), value, path)
        return [_conform(v, k, f"{path}[{i}]", ignored) for i, (v, k) in enumerate(zip(value, elements, strict=True))]
    if origin is not None and issubclass(origin, Mapping):
        return _conform_entries(_object(value, path), get_args(kind)[1], path, ignored)
    if origin is not None and issubclass(origin, Sequence):
        return _conform_list(value, get_args(kind)[0], path, ignored)
    if attrs.has(kind):
        return _conform_object(value, kind, path, ignored)
    if kind is lsp.LSPObject:
        return _object(value, path)
    return _conform_scalar(value, kind, path)


def _conform_scalar(value: Any, kind: Any, path: str) -> Any:
    if issubclass(kind, enum.Enum):
        members = [member.value for member in kind]
        return _expect(any(value == m and type(value) is type(m) for m in members), value, path)
    if kind is bool and type(value) is int and value in (0, 1):
        return bool(value)
    if kind is int:
        number = _integer(value)
        _expect(number is not None, value, path)
        return number
    if kind is float:
        return _expect(isinstance(value, int | float) and not isinstance(value, bool), value, path)
    return _expect(isinstance(value, kind), value, path)


def _conform_union(value: Any, members: Sequence[Any], path: str, ignored: list[str]) -> Any:
    """Return the valid form for the member that fits best: an exact type, else the object with most fields in common."""
    if value is None and type(None) in members:
        return None
    members = [member for member in members if member is not type(None)]
    exact = [member for member in members if isinstance(member, type) and type(value) is member]
    objects = [member for member in members if isinstance(member, type) and attrs.has(member)]
    if len(objects) > 1 and isinstance(value, dict):
        present = {name for name, v in value.items() if v is not None}
        objects.sort(key=lambda kind: (-len(present & _fields(kind).keys()), -(_required(kind) <= present)))
        return _conform(value, objects[0], path, ignored)
    problem = InvalidMessage(f"{path or 'params'} is invalid")
    for member in (*exact, *members):
        dropped: list[str] = []
        try:
            conformed = _conform(value, member, path, dropped)
        except IncompleteMessage:
            raise
        except InvalidMessage as error:
            problem = error
            continue
        ignored += dropped
        return conformed
    raise problem


def _conform_object(value: Any, kind: type, path: str, ignored: list[str]) -> Json:
    known = _fields(kind)
    result: Json = {}
    for name, field in known.items():
        at, key = f"{path}.{name}" if path else name, (kind, field.attribute.name)
        missing = name not in _object(value, path)
        if missing and not field.required:
            continue
        try:
            if missing:
                raise InvalidMessage(f"{at} is missing")
            result[name] = _conform_field(value[name], field, at, ignored)
            if key in COMPLETE_LISTS and len(result[name] or ()) != len(value[name] or ()):
                element = next((one for one in ignored if one.startswith(f"{at}[")), at)
                raise IncompleteMessage(f"{element} is invalid")
        except IncompleteMessage:
            raise
        except InvalidMessage:
            if not field.required:
                ignored.append(at)
            elif key in DEFAULTS:
                result[name] = DEFAULTS[key]
                ignored.append(at)
            else:
                raise
    return result


def _conform_field(value: Any, field: _Field, path: str, ignored: list[str]) -> Any:
    """Return the valid form of a field's value.  A required number out of range is moved into the range."""
    conformed = _conform(value, field.attribute.type, path, ignored)
    if type(conformed) is int and not _is_in_range(conformed, field.attribute):
        if not field.required:
            raise InvalidMessage(f"{path} is out of range")
        conformed = max(INTEGER_MIN_VALUE, min(INTEGER_MAX_VALUE, conformed))
        return conformed if _is_in_range(conformed, field.attribute) else 0
    return conformed


def _conform_list(value: Any, kind: Any, path: str, ignored: list[str]) -> list[Any]:
    if value == {}:  # how Lua and PHP encode an empty list
        return []
    entries = dict(enumerate(_expect(isinstance(value, list), value, path)))
    return list(_conform_entries(entries, kind, path, ignored).values())


def _conform_entries(entries: Mapping[Any, Any], kind: Any, path: str, ignored: list[str]) -> dict[Any, Any]:
    """Return the valid entries of a list or mapping."""
    result = {}
    for key, value in entries.items():
        at = f"{path}[{key}]"
        try:
            result[key] = _conform(value, kind, at, ignored)
        except IncompleteMessage:
            raise
        except InvalidMessage:
            ignored.append(at)
    return result


def _object(value: Any, path: str) -> Json:
    if value == []:  # how Lua and PHP encode an empty object
        return {}
    result: Json = _expect(isinstance(value, dict), value, path)
    return result


def _expect(condition: bool, value: Any, path: str) -> Any:
    """Return the value if the condition holds.  Raises InvalidMessage."""
    if not condition:
        raise InvalidMessage(f"{path or 'params'} has an invalid value of type {_json_type(value)}")
    return value


def _json_type(value: Any) -> str:
    names = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS else None
    return value if isinstance(value, int) else None


_MAX_DIGITS = 18
"""Maximum number of digits of a number that is sent as a string; LSP's integers have 10."""


def _is_in_range(number: int, attribute: attrs.Attribute[Any]) -> bool:
    """Return whether lsprotocol's validator of a field accepts a number."""
    if attribute.validator is None:
        return True
    try:
        attribute.validator(None, attribute, number)
    except (ValueError, TypeError):
        return False
    return True


@cache  # one entry for each class of lsprotocol
def _fields(kind: type) -> dict[str, _Field]:
    """Return the fields of a class by their names in JSON."""
    fields = {}
    for attribute in attrs.fields(kind):
        head, *tail = attribute.name.strip("_").split("_")
        name = head + "".join(word.title() for word in tail)
        fields[name] = _Field(name, attribute, attribute.default is attrs.NOTHING)
    return fields


@cache
def _required(kind: type) -> frozenset[str]:
    return frozenset(name for name, field in _fields(kind).items() if field.required)
