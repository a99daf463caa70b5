"""Where recipes come from, and which one a name means.

The user's own go before the built-in ones of the same name.  A workspace cannot take a name over: its recipe
of a taken name is called "workspace/NAME", and a problem says so.  Recipes of the workspace are read as
its rules are: by their place, with what the user keeps from us left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from promptls.index import files as disk
from promptls.index.files.convention_files import files_in, kept_out, read_named
from promptls.index.snapshot import Sources
from promptls.model import Problem
from promptls.prompt.recipes.parser import MAX_SIZE, Origin, Recipe, read

FOLDER = ".promptls/recipes"
"""Where a workspace has its recipes."""

MOST_BYTES = 4 * MAX_SIZE
"""Of a file of the workspace; as many characters may be fewer."""

MOST = 100
"""Recipes that are read from one place."""


class Source(Struct, frozen=True):
    """A recipe file as it was read; a problem where it could not be."""

    name: str
    text: str
    origin: Origin
    source: str
    problem: str = ""


class Collection(Struct, frozen=True):
    """All recipes by the name that they are called with, sorted, and what is wrong with the others."""

    recipes: Mapping[str, Recipe]
    problems: tuple[Problem, ...] = ()


@cache
def built_in() -> tuple[Source, ...]:
    """The recipes of this package."""
    found = [f for f in files(__package__).iterdir() if f.name.endswith(".md")]
    return tuple(
        Source(f.name.removesuffix(".md"), f.read_text("utf-8"), "built-in", f.name)
        for f in sorted(found, key=lambda f: f.name)
    )


def in_folder(folder: Path) -> tuple[Source, ...]:
    """The recipes of a folder of the user's own; () if there is no such folder."""
    try:
        found = sorted(f for f in folder.iterdir() if f.suffix == ".md" and f.is_file())
    except OSError:
        return ()
    return tuple(_file(f) for f in found[:MOST])


def _file(file: Path) -> Source:
    try:
        with file.open(encoding="utf-8") as stream:
            return Source(file.stem, stream.read(MAX_SIZE + 1), "yours", file.name)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        return Source(file.stem, "", "yours", file.name, f"the recipe cannot be read: {why}")


def in_workspace(sources: Sources) -> tuple[Source, ...]:
    """The recipes of the workspace's folders as they are now, buffers included, whatever git ignores.

    What the user keeps from us (`.promptlsignore`, the setting index.exclude) is not there.
    """
    found: list[Source] = []
    for root in sources.snapshot.roots:
        top = root.path.rstrip("/")
        names = {path[len(top) + 1 :] for path in sources.snapshot.documents if path.startswith(f"{top}/")}
        names = {name for name in names if name.rpartition("/")[0] == FOLDER and name.endswith(".md")}
        for name in sorted({*names, *files_in(top, FOLDER, (".md",))})[:MOST]:
            got = _text(sources, top, name)
            if got is not None:
                found.append(_source(name, sources.snapshot.label(f"{top}/{name}"), got))
    return tuple(found)


def _text(sources: Sources, top: str, name: str) -> str | disk.Skipped | None:
    """The text of a file of the workspace, why it is not read, or None if it is kept from us."""
    known = sources.snapshot.files
    if f"{top}/{name}" not in known and kept_out(top, name, sources.limits):
        return None
    document = sources.snapshot.documents.get(f"{top}/{name}")
    if document is not None:
        return document.text
    got = read_named(top, name, sources.limits, MOST_BYTES, lambda target: f"{top}/{target}" in known)
    return got.text if isinstance(got, disk.ReadText) else got


def _source(name: str, label: str, got: str | disk.Skipped) -> Source:
    stem = name[len(FOLDER) + 1 : -len(".md")]
    if isinstance(got, disk.Skipped):
        return Source(stem, "", "workspace", label, f"the recipe is not read: {got.reason}")
    return Source(stem, got, "workspace", label)


def collect(*places: Iterable[Source]) -> Collection:
    """The recipes of all places: the user's, then the built-in ones, then those of the workspace."""
    sources = [source for place in places for source in place]
    recipes: dict[str, Recipe] = {}
    problems: list[Problem] = []
    for origin in ("yours", "built-in", "workspace"):
        for source in sources:
            if source.origin != origin:
                continue
            if source.problem:
                problems.append(Problem(f"{source.source}: {source.problem}."))
                continue
            recipe, flaws = read(source.name, source.text, source.origin, source.source)
            problems += flaws
            if recipe is not None:
                problems += _enter(recipe, recipes)
    return Collection(dict(sorted(recipes.items())), tuple(problems))


def _enter(recipe: Recipe, recipes: dict[str, Recipe]) -> tuple[Problem, ...]:
    """Give the recipe its name in `recipes`."""
    if recipe.name not in recipes:
        recipes[recipe.name] = recipe
        return ()
    if recipe.origin != "workspace":
        return ()  # the user's own, which was first
    name = f"workspace/{recipe.name}"
    if name in recipes:
        return (
            Problem(
                f"{recipe.source}: there is another recipe {recipe.name!r} in this workspace; this one is left out."
            ),
        )
    recipes[name] = recipe
    return (Problem(f"{recipe.source}: the name {recipe.name!r} is taken; the recipe is called {name!r}."),)
