"""Which dependencies are well known, and what they are for: the table in libraries.toml."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import resources

from msgspec import Struct

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FRAMEWORK_ROLES = frozenset(
    {
        "web framework",
        "UI framework",
        "application framework",
        "game engine",
        "desktop",
        "content management",
        "site generator",
        "editor extension",
    }
)
"""What gives a project its shape; the rest is what it uses."""


class Library(Struct, frozen=True):
    """A well-known dependency."""

    label: str
    role: str

    @property
    def is_framework(self) -> bool:
        return self.role in FRAMEWORK_ROLES


Table = dict[str, dict[str, Library]]


@lru_cache(maxsize=1)
def _tables() -> tuple[Table, Table]:
    """(by name, by beginning of the name), each by ecosystem."""
    data = tomllib.loads(resources.files(__package__).joinpath("libraries.toml").read_text("utf-8"))
    exact: Table = {}
    begins: Table = {}
    for ecosystem, roles in data.items():
        for role, words in roles.items():
            for word in words.split():
                name, _, label = word.rpartition("=")
                table = begins if name.endswith("*") else exact
                table.setdefault(ecosystem, {})[name.removesuffix("*")] = Library(label.replace("_", " "), role)
    return exact, begins


def library_of(ecosystem: str, dependency: str) -> Library | None:
    """What a dependency is, None if it is not well known."""
    exact, begins = _tables()
    found = exact.get(ecosystem, {}).get(dependency)
    if found is None:
        table = begins.get(ecosystem, {})
        fitting = [name for name in table if dependency.startswith(name)]
        found = table[max(fitting, key=len)] if fitting else None
    if found is None and ecosystem == "go":  # "…/v5" is a later major version of the same module
        stem, _, version = dependency.rpartition("/")
        if stem and version[:1] == "v" and version[1:].isdigit():
            return library_of(ecosystem, stem)
    return found
