"""Recipes: named prompt templates of promptls, the user and the workspace.

A recipe is a Markdown file: TOML front matter between two lines "+++", then the text of a task with placeholders (see
parser.py).  `collect_recipes` merges the sources, `render_recipe` returns the text for one call.  The user's message
follows that text, verbatim.
"""

from __future__ import annotations

from promptls.prompt.recipes.parser import CONTEXT_VALUES, Recipe, RecipeArgument, parse_recipe
from promptls.prompt.recipes.registry import (
    RecipeCollection,
    RecipeSource,
    built_in_recipes,
    collect_recipes,
    recipes_in_folder,
    recipes_in_workspace,
)
from promptls.prompt.recipes.template import InvalidRecipeCall, context_values, find_recipe, recipe_help, render_recipe

__all__ = [
    "CONTEXT_VALUES",
    "InvalidRecipeCall",
    "Recipe",
    "RecipeArgument",
    "RecipeCollection",
    "RecipeSource",
    "built_in_recipes",
    "collect_recipes",
    "context_values",
    "find_recipe",
    "parse_recipe",
    "recipe_help",
    "recipes_in_folder",
    "recipes_in_workspace",
    "render_recipe",
]
