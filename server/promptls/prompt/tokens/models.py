"""Model table: the prompt budget and the token vocabulary of a model, by model name.

The table is prompt/models.toml.  A models.toml next to the user's settings overrides its entries; errors in that file
are returned as problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.model import Problem
from promptls.settings import MAX_TOKENS, config_file
from promptls.util.toml import tomllib

MAX_BYTES = 1 << 20
"""Maximum size of the user's table, in bytes; a table of a thousand models has 40 kB."""


class ModelTable(Struct, frozen=True):
    """Budgets and vocabularies by prefix of the model name, in lower case."""

    default: int  # budget of an unknown model, in tokens
    budgets: Mapping[str, int]  # in tokens
    vocabularies: Mapping[str, str]
    problems: tuple[Problem, ...] = ()  # of the user's file


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
    """Return the built-in table with the valid entries of the user's file over it."""
    built_in = _built_in_table()

    def unusable(why: str) -> ModelTable:
        problem = Problem(f"The model table {path} {why}; it is not used.")
        return ModelTable(built_in.default, built_in.budgets, built_in.vocabularies, (problem,))

    if size > MAX_BYTES:
        return unusable("is larger than 1 MB")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return unusable(f"cannot be read ({error})")
    default, budgets, vocabularies = built_in.default, dict(built_in.budgets), dict(built_in.vocabularies)
    problems = [
        Problem(f"{path}: unknown key {name}.", "The valid keys are default, models and vocabularies.")
        for name in content.keys() - {"default", "models", "vocabularies"}
    ]
    for name, value in [("default", content["default"])] if "default" in content else []:
        if _is_budget(value):
            default = value
        else:
            problems.append(_invalid_budget(path, name))
    for name, value in _entries(content, "models", path, problems):
        if _is_budget(value):
            budgets[name.lower()] = value
        else:
            problems.append(_invalid_budget(path, f"models.{name}"))
    for name, value in _entries(content, "vocabularies", path, problems):
        if value in built_in.vocabularies.values() or value == "":
            vocabularies[name.lower()] = value
        else:
            valid = ", ".join(sorted(set(built_in.vocabularies.values())))
            problems.append(Problem(f"{path}: vocabularies.{name} must be one of {valid}."))
    return ModelTable(default, budgets, vocabularies, tuple(problems))


def _entries(content: dict[str, Any], key: str, path: Path, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a TOML table; append a problem if the key has another type."""
    table = content.get(key, {})
    if isinstance(table, dict):
        yield from table.items()
    else:
        problems.append(Problem(f"{path}: {key} must be a table of model names."))


def _is_budget(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_TOKENS


def _invalid_budget(path: Path, name: str) -> Problem:
    message = f"{path}: {name} must be a number of tokens from 1 to {MAX_TOKENS:,}."
    return Problem(message, "Quote names that contain a dot.")
