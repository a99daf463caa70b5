"""How the model is told to use the context: the texts of variants/*.md."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

VARIANTS = ("anti_prior", "baseline", "citation", "strict")


@cache
def wording(name: str) -> str:
    """The text of variants/NAME.md: one of VARIANTS, or what our own layout adds ("clause", "conventions")."""
    return files(__package__).joinpath("variants").joinpath(f"{name}.md").read_text("utf-8").strip()
