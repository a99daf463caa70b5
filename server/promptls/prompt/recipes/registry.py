"""Sources of recipes, and which recipe a name refers to.

Recipes of the user take precedence over built-in ones of the same name.  A workspace cannot take over a name: its
recipe of a taken name becomes "workspace/NAME", with a problem that reports it.  Recipes of the workspace are read
like rules: by their path, without the files that the user excludes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from promptls.index import FileContent, SourceReader, UnreadableFile, exclusion_reason, find_files, read_convention_file
from promptls.model import Problem
from promptls.prompt.recipes.parser import MAX_RECIPE_CHARACTERS, Recipe, RecipeOrigin, parse_recipe

WORKSPACE_FOLDER = ".promptls/recipes"
"""Folder of recipes in a workspace folder."""

MAX_FILE_BYTES = 4 * MAX_RECIPE_CHARACTERS
"""Maximum bytes of a recipe file in the workspace: a character has up to four."""

MAX_RECIPES = 100
"""Maximum number of recipes that are read from one folder."""


class RecipeSource(Struct, frozen=True):
    """Text of a recipe file, or the problem that prevented reading it."""

    name: str
    text: str
    origin: RecipeOrigin
    source: str
    problem: str = ""


class RecipeCollection(Struct, frozen=True):
    """Valid recipes by name, sorted, and the problems of the others."""

    recipes: Mapping[str, Recipe]
    problems: tuple[Problem, ...] = ()


@cache
def built_in_recipes() -> tuple[RecipeSource, ...]:
    """Return the recipes of this package."""
    paths = [f for f in files(__package__).iterdir() if f.name.endswith(".md")]
    return tuple(
        RecipeSource(f.name.removesuffix(".md"), f.read_text("utf-8"), "built-in", f.name)
        for f in sorted(paths, key=lambda f: f.name)
    )


def recipes_in_folder(folder: Path) -> tuple[RecipeSource, ...]:
    """Return the recipes of the user's folder; () if it does not exist."""
    try:
        paths = sorted(f for f in folder.iterdir() if f.suffix == ".md" and f.is_file())
    except OSError:
        return ()
    return tuple(_read_user_file(path) for path in paths[:MAX_RECIPES])


def _read_user_file(path: Path) -> RecipeSource:
    try:
        with path.open(encoding="utf-8") as stream:
            return RecipeSource(path.stem, stream.read(MAX_RECIPE_CHARACTERS + 1), "yours", path.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or type(error).__name__
        return RecipeSource(path.stem, "", "yours", path.name, f"cannot read the recipe: {reason}")


def recipes_in_workspace(sources: SourceReader) -> tuple[RecipeSource, ...]:
    """Return the recipes of all workspace folders, with unsaved text, even if git ignores them.

    Files that the user excludes (`.promptlsignore`, the setting index.exclude) are left out.
    """
    recipes: list[RecipeSource] = []
    for root in sources.snapshot.roots:
        root_path = root.path.rstrip("/")
        names = {path[len(root_path) + 1 :] for path in sources.snapshot.documents if path.startswith(f"{root_path}/")}
        names = {name for name in names if name.rpartition("/")[0] == WORKSPACE_FOLDER and name.endswith(".md")}
        for name in sorted({*names, *find_files(root_path, WORKSPACE_FOLDER, (".md",))})[:MAX_RECIPES]:
            content = _read_workspace_file(sources, root_path, name)
            if content is not None:
                recipes.append(_workspace_source(name, sources.snapshot.label(f"{root_path}/{name}"), content))
    return tuple(recipes)


def _read_workspace_file(sources: SourceReader, root_path: str, name: str) -> str | UnreadableFile | None:
    """Return the text of a file of the workspace, or the reason why it is not read; None if it is excluded."""
    indexed = sources.snapshot.files
    if f"{root_path}/{name}" not in indexed and exclusion_reason(root_path, name, sources.limits):
        return None
    document = sources.snapshot.documents.get(f"{root_path}/{name}")
    if document is not None:
        return document.text
    content = read_convention_file(
        root_path, name, sources.limits, MAX_FILE_BYTES, lambda target: f"{root_path}/{target}" in indexed
    )
    return content.text if isinstance(content, FileContent) else content


def _workspace_source(name: str, label: str, content: str | UnreadableFile) -> RecipeSource:
    stem = name[len(WORKSPACE_FOLDER) + 1 : -len(".md")]
    if isinstance(content, UnreadableFile):
        return RecipeSource(stem, "", "workspace", label, f"cannot read the recipe: {content.reason}")
    return RecipeSource(stem, content, "workspace", label)


def collect_recipes(*sources: Iterable[RecipeSource]) -> RecipeCollection:
    """Parse and merge the recipes of all sources: the user's first, then built-in ones, then those of the workspace."""
    all_sources = [source for group in sources for source in group]
    recipes: dict[str, Recipe] = {}
    problems: list[Problem] = []
    for origin in ("yours", "built-in", "workspace"):
        for source in all_sources:
            if source.origin != origin:
                continue
            if source.problem:
                problems.append(Problem(f"{source.source}: {source.problem}."))
                continue
            recipe, recipe_problems = parse_recipe(source.name, source.text, source.origin, source.source)
            problems += recipe_problems
            if recipe is not None:
                problems += _register(recipe, recipes)
    return RecipeCollection(dict(sorted(recipes.items())), tuple(problems))


def _register(recipe: Recipe, recipes: dict[str, Recipe]) -> tuple[Problem, ...]:
    """Add the recipe to `recipes` under a free name."""
    if recipe.name not in recipes:
        recipes[recipe.name] = recipe
        return ()
    if recipe.origin != "workspace":
        return ()  # the user's recipe takes precedence
    name = f"workspace/{recipe.name}"
    if name in recipes:
        return (Problem(f"{recipe.source}: ignored, because this workspace has another recipe {recipe.name!r}."),)
    recipes[name] = recipe
    return (Problem(f"{recipe.source}: the name {recipe.name!r} is taken; the recipe is called {name!r}."),)
