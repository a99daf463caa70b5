"""Model table: the prompt budget and the token vocabulary of a model, by model name.

The table is prompt/models.toml.  A models.toml next to the user's settings overrides its entries; a file with an
error is not used, and the error is returned as a problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError
from rapidfuzz import fuzz, process

from promptls.model import Problem
from promptls.settings import MAX_TOKENS, config_file
from promptls.util.decode import convert, tomllib

MAX_BYTES = 1 << 20
"""Maximum size of the user's table, in bytes; a table of a thousand models has 40 kB."""


class ModelTable(Struct, frozen=True):
    """Budgets and vocabularies by prefix of the model name, in lower case."""

    default: int  # budget of an unknown model, in tokens
    budgets: Mapping[str, int]  # in tokens
    vocabularies: Mapping[str, str]
    problems: tuple[Problem, ...] = ()  # of the user's file


_Budget = Annotated[int, Meta(gt=0, le=MAX_TOKENS)]


class _UserTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of the user's file."""

    default: _Budget | None = None
    models: dict[str, _Budget] = {}
    vocabularies: dict[str, Literal["o200k_base", "cl100k_base", ""]] = {}


def user_models() -> Path:
    """Return the path of the user's model table."""
    return config_file().parent / "models.toml"


def model_table(user: Path | None = None) -> ModelTable:
    """Return the model table, with the entries of the user's file, which may be missing, over the built-in ones."""
    if user is None:
        return _built_in_table()
    try:
        stat = user.stat()
    except OSError:
        return _built_in_table()
    return _merged_table(user, stat.st_mtime_ns, stat.st_size)


def models(user: Path | None = None) -> tuple[int, Mapping[str, int]]:
    """Return the budget of unknown models and the budgets by model name, in tokens."""
    table = model_table(user)
    return table.default, table.budgets


def budget_for(model: str, user: Path | None = None) -> tuple[int, str | None]:
    """Return the budget of a model in tokens, and a warning if the model is not in the table.

    The entry is that of the name itself, else that of its longest prefix in the table.  Case is ignored, and so are
    any "provider/", "region.provider." and "provider:" before the name, and suffixes ("-latest", ":free", "@20250514").
    """
    table = model_table(user)
    entry = _match(model, table.budgets)
    if entry is not None:
        return table.budgets[entry], None
    name = _without_providers(model)[-1]
    similar = process.extract(name, table.budgets.keys(), scorer=fuzz.ratio, limit=3, score_cutoff=60)
    names = f" (similar: {', '.join(name for name, *_ in similar)})" if similar else ""
    return (
        table.default,
        f'the model "{model}" is not in the model table; using a budget of {table.default} tokens{names}',
    )


def vocabulary_of(model: str, user: Path | None = None) -> str:
    """Return the token vocabulary of a model, "" if it is unknown or not public."""
    table = model_table(user)
    entry = _match(model, table.vocabularies)
    return "" if entry is None else table.vocabularies[entry]


_PREFIX = re.compile(r"[^/]*/|[a-z-]+\.|[a-z_]+:")


def _without_providers(model: str) -> list[str]:
    """Return the name in lower case, then the name without its first provider prefix, without the first two, ..."""
    names = [model.strip().lower()]
    while prefix := _PREFIX.match(names[-1]):
        names.append(names[-1][prefix.end() :])
    return names


def _match(model: str, entries: Mapping[str, Any]) -> str | None:
    """Return the entry of a model."""
    names = _without_providers(model)
    for name in names:
        if name in entries:
            return name
    for name in reversed(names):  # a provider may itself start with the name of a model: "moonshotai/kimi-k2"
        if prefixes := [entry for entry in entries if _has_prefix(name, entry)]:
            return max(prefixes, key=len)
    return None


def _has_prefix(name: str, entry: str) -> bool:
    """Return whether a model's name starts with an entry; "philosopher" does not start with "phi"."""
    return name.startswith(entry) and not (len(entry) <= 5 and name[len(entry) :][:1].isalpha())


@lru_cache(maxsize=1)
def _built_in_table() -> ModelTable:
    table = tomllib.loads(files("promptls.prompt").joinpath("models.toml").read_text("utf-8"))
    return ModelTable(table["default"], table["models"], table["vocabularies"])


@lru_cache(maxsize=4)
def _merged_table(path: Path, mtime_ns: int, size: int) -> ModelTable:
    """Return the built-in table with the entries of the user's file over it; a file with an error is not used."""
    built_in = _built_in_table()
    try:
        if size > MAX_BYTES:
            raise ValueError("it is larger than 1 MB")
        own = convert(tomllib.loads(path.read_text("utf-8")), _UserTable)
    except (OSError, ValueError, ValidationError) as error:
        problem = Problem(f"The model table {path} is not used: {error}.", "Quote names that contain a dot.")
        return ModelTable(built_in.default, built_in.budgets, built_in.vocabularies, (problem,))
    budgets = {**built_in.budgets, **{name.lower(): budget for name, budget in own.models.items()}}
    vocabularies = {**built_in.vocabularies, **{name.lower(): value for name, value in own.vocabularies.items()}}
    return ModelTable(own.default or built_in.default, budgets, vocabularies)
