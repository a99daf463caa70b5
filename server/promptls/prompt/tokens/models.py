"""What a model is given: tokens of prompt by model name, and the vocabulary that it counts with.

models.toml beside this package is the table; a file of that name beside the user's settings goes over it.
Trouble with the user's file is a value.  Knows nothing of counters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct
from rapidfuzz import fuzz, process

from promptls.model import Problem
from promptls.settings import MAX_TOKENS, config_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

MAX_BYTES = 1 << 20


class ModelTable(Struct, frozen=True):
    """Budgets (tokens) and vocabularies by the names that models begin with, lower case."""

    default: int  # of a model that is not in it
    budgets: Mapping[str, int]
    vocabularies: Mapping[str, str]
    problems: tuple[Problem, ...] = ()  # with the user's file


def user_models() -> Path:
    """Where the user's own table lives."""
    return config_file().parent / "models.toml"


def model_table(user: Path | None = None) -> ModelTable:
    """The table, with the entries of a user's file over ours; no file is no problem."""
    if user is None:
        return _shipped()
    try:
        state = user.stat()
    except OSError:
        return _shipped()
    return _merged(user, state.st_mtime_ns, state.st_size)


def models(user: Path | None = None) -> tuple[int, Mapping[str, int]]:
    """(budget of an unknown model, budget by model name), tokens."""
    table = model_table(user)
    return table.default, table.budgets


def budget_for(model: str, user: Path | None = None) -> tuple[int, str | None]:
    """Budget in tokens for a model, and a sentence of warning if the model is not in the table.

    Case does not matter.  The name itself, else the longest name of the table that it starts with, also after
    "provider/", "region.provider." and "provider:" (any number of them), and whatever follows ("-latest",
    ":free", "@20250514").
    """
    table = model_table(user)
    found = _match(model, table.budgets)
    if found is not None:
        return table.budgets[found], None
    near = process.extract(_names(model)[-1], table.budgets.keys(), scorer=fuzz.ratio, limit=3, score_cutoff=60)
    names = f" (near names: {', '.join(name for name, *_ in near)})" if near else ""
    return (
        table.default,
        f'the model "{model}" is not in the model table; its budget is taken as {table.default} tokens{names}',
    )


def vocabulary_of(model: str, user: Path | None = None) -> str:
    """The vocabulary that a model counts with, "" where it is none that can be had."""
    table = model_table(user)
    found = _match(model, table.vocabularies)
    return "" if found is None else table.vocabularies[found]


_PREFIX = re.compile(r"[^/]*/|[a-z-]+\.|[a-z_]+:")


def _names(model: str) -> list[str]:
    """The name, and what is left of it after each thing that may stand before a model's name."""
    names = [model.strip().lower()]
    while cut := _PREFIX.match(names[-1]):
        names.append(names[-1][cut.end() :])
    return names


def _match(model: str, known: Mapping[str, Any]) -> str | None:
    names = _names(model)
    for name in names:
        if name in known:
            return name
    for name in reversed(names):  # what stands before a model's name may itself begin as one: "moonshotai/kimi-k2"
        if begins := [k for k in known if _begins(name, k)]:
            return max(begins, key=len)
    return None


def _begins(name: str, known: str) -> bool:
    """Whether a model's name begins with a known one; "phi" is not the beginning of "philosopher"."""
    return name.startswith(known) and not (len(known) <= 5 and name[len(known) :][:1].isalpha())


@lru_cache(maxsize=1)
def _shipped() -> ModelTable:
    table = tomllib.loads(files("promptls.prompt").joinpath("models.toml").read_text("utf-8"))
    return ModelTable(table["default"], table["models"], table["vocabularies"])


@lru_cache(maxsize=4)
def _merged(path: Path, modified: int, size: int) -> ModelTable:
    ours = _shipped()

    def refused(why: str) -> ModelTable:
        return ModelTable(
            ours.default, ours.budgets, ours.vocabularies, (Problem(f"The model table {path} {why}; it is not used."),)
        )

    if size > MAX_BYTES:
        return refused("is larger than 1 MB")
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return refused(f"cannot be read ({error})")
    default, budgets, vocabularies = ours.default, dict(ours.budgets), dict(ours.vocabularies)
    problems = [
        Problem(f"{path}: {name} is no key of a model table.", "The keys are default, models and vocabularies.")
        for name in said.keys() - {"default", "models", "vocabularies"}
    ]
    for name, value in [("default", said["default"])] if "default" in said else []:
        if _is_budget(value):
            default = value
        else:
            problems.append(_no_budget(path, name))
    for name, value in _entries(said, "models", path, problems):
        if _is_budget(value):
            budgets[name.lower()] = value
        else:
            problems.append(_no_budget(path, f"models.{name}"))
    for name, value in _entries(said, "vocabularies", path, problems):
        if value in ours.vocabularies.values() or value == "":
            vocabularies[name.lower()] = value
        else:
            valid = ", ".join(sorted(set(ours.vocabularies.values())))
            problems.append(Problem(f"{path}: vocabularies.{name} must be one of {valid}."))
    return ModelTable(default, budgets, vocabularies, tuple(problems))


def _entries(said: dict[str, Any], key: str, path: Path, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    found = said.get(key, {})
    if isinstance(found, dict):
        yield from found.items()
    else:
        problems.append(Problem(f"{path}: {key} must be a table of model names."))


def _is_budget(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_TOKENS


def _no_budget(path: Path, name: str) -> Problem:
    return Problem(f"{path}: {name} must be a number of tokens from 1 to {MAX_TOKENS:,}.", "Quote names with a dot.")


# ---------------------------------------------------------------- CodeBuddy's table

_CODEBUDDY = (
    ("qwen2.5-coder", 4000),
    ("qwen2.5-coder:3b", 3000),
    ("llama3.2", 3000),
    ("codellama", 3000),  # its document; its code has 4000
    ("llama-3.3-70b", 20000),
    ("llama-4-scout", 20000),
    ("gpt-4", 6000),
    ("gpt-4-turbo", 20000),
    ("gpt-4o", 20000),
    ("gpt-3.5-turbo", 4000),
    ("claude-3-opus", 50000),
    ("claude-3-sonnet", 50000),
    ("claude-3-haiku", 20000),
)
_CODEBUDDY_DEFAULT = 4000


def codebuddy_budget(model: str) -> int:
    """CodeBuddy's budget for a model: the name itself, else the first entry where either name contains the other."""
    name = model.lower()
    exact = dict(_CODEBUDDY).get(name)
    if exact is not None:
        return exact
    return next((tokens for known, tokens in _CODEBUDDY if known in name or name in known), _CODEBUDDY_DEFAULT)
