"""Recipes: named prompt templates, ours, the user's own and the workspace's.

A recipe is a Markdown file: TOML between two lines "+++", then the text of the task with placeholders
(reading.py says which).  `collect` brings them together, `render` makes the text of one call.  A recipe adds a
task; the user's message follows it, verbatim.  Knows nothing of requests and of how sections are placed.
"""

from __future__ import annotations

from promptls.prompt.recipes.parser import VALUES, Argument, Recipe, read
from promptls.prompt.recipes.registry import Collection, Source, built_in, collect, in_folder, in_workspace
from promptls.prompt.recipes.template import Wrong, find, help_text, render, values_for

__all__ = [
    "VALUES",
    "Argument",
    "Collection",
    "Recipe",
    "Source",
    "Wrong",
    "built_in",
    "collect",
    "find",
    "help_text",
    "in_folder",
    "in_workspace",
    "read",
    "render",
    "values_for",
]
