"""Registry of all languages, and lookup by name.

Every `Language` constant of a module in this package, or in `promptls.extensions.languages` where that is installed,
is registered. No grammar is loaded here. The registry is an allow-list: a grammar that no language names is never run,
because some grammars of the pack never terminate on plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from promptls.languages.language import Language

PLAIN_TEXT = Language(name="text")
"""The language of prose and of data without a grammar. It is not registered."""

UNKNOWN_CODE = Language(name="code", scanner="lines", names_without_import=True)
"""The language of other files with an extension, which are probably code. It is not registered."""

_IMPORTERS = frozenset({"detection", "registry"})
"""Modules of this package that import the registry."""


_FOLDERS = {
    "promptls.languages": Path(__file__).parent,
    "promptls.extensions.languages": Path(__file__).parents[1] / "extensions" / "languages",
}
"""Packages with languages and their folders; the second one is optional."""


def _defined_languages() -> Iterator[Language]:
    """Yield the language constants of both packages, ordered by module."""
    for package, folder in _FOLDERS.items():
        for name in (module.name for module in iter_modules([str(folder)]) if module.name not in _IMPORTERS):
            constants = vars(import_module(f"{package}.{name}")).items()
            yield from (value for constant, value in constants if isinstance(value, Language) and constant[0] != "_")


LANGUAGES: dict[str, Language] = {language.name: language for language in _defined_languages()}
"""Registered languages by name."""


def language_named(name: str) -> Language:
    """Return the language of this name; `PLAIN_TEXT` for an unknown name."""
    return LANGUAGES.get(name) or (UNKNOWN_CODE if name == UNKNOWN_CODE.name else PLAIN_TEXT)


_CALL = re.compile(r"@call\b")


@cache
def analyses_calls(name: str) -> bool:
    """Return whether the calls in code of a language are known; otherwise no answer may deny that there are any."""
    language = language_named(name)
    return bool(language.call_patterns) or any(_CALL.search(read_query_file(file)) for file in language.query_files)


def read_query_file(name: str) -> str:
    """Return the text of a query file.

    Raises:
        FileNotFoundError: No package of languages has it.
    """
    files = [folder / "queries" / f"{name}.scm" for folder in _FOLDERS.values()]
    return next((file for file in files if file.is_file()), files[0]).read_text("utf-8")


ECMASCRIPT = frozenset(language.name for language in LANGUAGES.values() if language.family == "ecmascript")
"""Names of the JavaScript family."""
