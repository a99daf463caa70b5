"""Prompt variants: instructions for the model on the use of the context, from variants/*.md."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

VARIANTS = ("anti_prior", "baseline", "citation", "strict")
"""Names of all variants."""


@cache
def variant_text(name: str) -> str:
    """Return the text of variants/NAME.md: a variant, or "clause" or "conventions" of the default layout."""
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()
