"""Well-known libraries and their roles, from the table in libraries.toml."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from msgspec import Struct

from promptls.util.toml import tomllib

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
"""Roles of frameworks, which determine the structure of a project; other libraries are only used by it."""


class Library(Struct, frozen=True):
    """A well-known dependency."""

    label: str
    role: str

    @property
    def is_framework(self) -> bool:
        """True for frameworks, false for other libraries."""
        return self.role in FRAMEWORK_ROLES


LibraryTable = dict[str, dict[str, Library]]


@lru_cache(maxsize=1)
def _tables() -> tuple[LibraryTable, LibraryTable]:
    """Load the libraries by exact name and by name prefix, each by ecosystem."""
    data = tomllib.loads(resources.files(__package__).joinpath("libraries.toml").read_text("utf-8"))
    exact: LibraryTable = {}
    by_prefix: LibraryTable = {}
    for ecosystem, roles in data.items():
        for role, words in roles.items():
            for word in words.split():
                name, _, label = word.rpartition("=")
                table = by_prefix if name.endswith("*") else exact
                table.setdefault(ecosystem, {})[name.removesuffix("*")] = Library(label.replace("_", " "), role)
    return exact, by_prefix


def find_library(ecosystem: str, dependency: str) -> Library | None:
    """Return the library of a dependency, or None if it is not well known."""
    exact, by_prefix = _tables()
    found = exact.get(ecosystem, {}).get(dependency)
    if found is None:
        table = by_prefix.get(ecosystem, {})
        prefixes = [name for name in table if dependency.startswith(name)]
        found = table[max(prefixes, key=len)] if prefixes else None
    if found is None and ecosystem == "go":  # "…/v5" is a major version of the same module
        stem, _, version = dependency.rpartition("/")
        if stem and version[:1] == "v" and version[1:].isdigit():
            return find_library(ecosystem, stem)
    return found
