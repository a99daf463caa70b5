"""Errors about options of a prompt that a user or client can correct."""

from __future__ import annotations

from collections.abc import Iterable


class InvalidOption(ValueError):
    """An invalid option of a prompt request; the message is one sentence for the user."""

    def __init__(self, message: str, field: str, valid: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.valid = valid


class UnknownName(InvalidOption):
    """A name that is not one of the valid values of an option."""

    def __init__(self, field: str, value: str, valid: Iterable[str]) -> None:
        names = tuple(sorted(valid))
        super().__init__(f"unknown {field} {value!r}; valid: {', '.join(names)}.", field, names)
        self.value = value
