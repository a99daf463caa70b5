"""Repair of JSON in which a client writes a missing value as null, or an empty object as an empty list."""

from __future__ import annotations

from typing import Any


def remove_null(data: Any, name: str) -> Any:
    """Return JSON without the fields of this name that are null, and without null in the list of this name."""
    if isinstance(data, dict):
        return {
            key: remove_null([one for one in value if one is not None] if _is_list(key, value, name) else value, name)
            for key, value in data.items()
            if key != name or value is not None
        }
    return [remove_null(one, name) for one in data] if isinstance(data, list) else data


def _is_list(key: str, value: Any, name: str) -> bool:
    return key == name and isinstance(value, list)


def replace_empty_list(data: Any, name: str) -> Any:
    """Return JSON with an empty object for the empty lists in fields of this name, or for the params themselves."""
    if isinstance(data, dict):
        return {
            key: {} if key == name and value == [] else replace_empty_list(value, name) for key, value in data.items()
        }
    if isinstance(data, list) and data:
        return [replace_empty_list(one, name) for one in data]
    return {} if data == [] and not name else data
