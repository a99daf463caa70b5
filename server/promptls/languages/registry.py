"""Registry of all languages, and lookup by name.

Every `Language` constant of a module in this package is registered. No grammar is loaded here. The registry is an
allow-list: a grammar that no language names is never run, because some grammars of the pack never terminate on
plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from promptls.languages.language import Language

PLAIN_TEXT = Language(name="text")
"""The language of files without a grammar. It is not registered."""

_INFRASTRUCTURE = frozenset({"detection", "kinds", "language", "registry"})
"""Modules of this package that define no language."""


def _defined_languages() -> Iterator[Language]:
    """Yield the language constants of this package, ordered by module."""
    for module in iter_modules([str(Path(__file__).parent)]):
        if module.name not in _INFRASTRUCTURE:
            constants = vars(import_module(f"{__package__}.{module.name}")).values()
            yield from (constant for constant in constants if isinstance(constant, Language))


LANGUAGES: dict[str, Language] = {language.name: language for language in _defined_languages()}
"""Registered languages by name."""


def language_named(name: str) -> Language:
    """Return the language of this name; `PLAIN_TEXT` for an unknown name."""
    return LANGUAGES.get(name, PLAIN_TEXT)


def names_where(condition: Callable[[Language], object]) -> frozenset[str]:
    """Return the names of the languages that meet a condition."""
    return frozenset(language.name for language in LANGUAGES.values() if condition(language))


ECMASCRIPT = names_where(lambda language: language.family == "ecmascript")
"""Names of the JavaScript family."""
