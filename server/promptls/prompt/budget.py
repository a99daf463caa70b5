"""The token budget of a prompt and the counter that measures it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from promptls.index import Snapshot
from promptls.prompt import tokens
from promptls.prompt.errors import InvalidOption, UnknownName
from promptls.prompt.profile import Profile, profile
from promptls.prompt.tokens import Counter
from promptls.settings import MAX_TOKENS, BudgetSettings

CHARACTERS_PER_TOKEN = 4
"""Characters per token for the cost of a file that is not read: the usual rule of thumb."""


class TokenBudget(Struct, frozen=True):
    """A token limit, the counter that it is measured with, and warnings for the user."""

    tokens: int
    counter: Counter
    warnings: tuple[str, ...] = ()


class BudgetRequest(Struct, frozen=True):
    """The budget that a request names; None leaves a value to the settings."""

    tokens: int | None = None
    model: str | None = None
    counter: str | None = None
    fill: str | None = None


def budget_of(settings: BudgetSettings, request: BudgetRequest, pipeline: Profile | None = None) -> TokenBudget:
    """Return the budget of the request, else of the settings, else of the profile (by default, `default`).

    Raises:
        InvalidOption: the counter is unknown, or the number of tokens is out of range.
    """
    pipeline = pipeline or profile("default")
    user_table = tokens.user_models()
    model = request.model or settings.model
    counter, warnings = _counter(settings, request, pipeline, model, user_table)
    if request.tokens is not None:
        if not 0 < request.tokens <= MAX_TOKENS:
            raise InvalidOption(f"budget.tokens: must be an integer from 1 to {MAX_TOKENS:,}.", "budget.tokens")
        return TokenBudget(request.tokens, counter, warnings)
    if request.model is None and settings.tokens:
        return TokenBudget(settings.tokens, counter, warnings)
    if isinstance(pipeline.budget, int):
        return TokenBudget(pipeline.budget, counter, warnings)
    if pipeline.hooks.budget is not None:
        return TokenBudget(pipeline.hooks.budget(model), counter, warnings)
    warnings += tuple(problem.message for problem in tokens.model_table(user_table).problems)
    limit, warning = tokens.budget_for(model, user_table)
    return TokenBudget(limit, counter, (*warnings, warning) if warning and model else warnings)


class CounterStatus(Struct, frozen=True):
    """The counter that the settings select, and why a configured one is not used."""

    name: str
    exact: bool  # whether counts equal the model's own
    problem: str  # "" if it is the configured one


def counter_status(settings: BudgetSettings) -> CounterStatus:
    """Return the counter of a request that names none."""
    try:
        counter, problems = _counter(
            settings, BudgetRequest(), profile("default"), settings.model, tokens.user_models()
        )
    except InvalidOption as error:
        return CounterStatus("estimate", exact=False, problem=str(error))
    return CounterStatus(counter.name, counter.exact, "; ".join(problems))


def _counter(
    settings: BudgetSettings, request: BudgetRequest, pipeline: Profile, model: str, user_table: Path
) -> tuple[Counter, tuple[str, ...]]:
    """Return the counter by name, and warnings where an exact one is not available."""
    name = request.counter or (settings.counter if settings.counter != "auto" else pipeline.counter or "auto")
    vocabulary = tokens.vocabulary_of(model, user_table) if model else ""
    try:
        counter, problems = tokens.choose_counter(name, vocabulary, settings.tokenizer)
    except UnknownName as error:
        raise InvalidOption(str(error), "budget.counter", error.valid) from None
    return counter, tuple(problem.message for problem in problems)


def cost_of(path: str, snapshot: Snapshot) -> int:
    """Estimate the tokens of a file from its size, without reading it."""
    document, entry = snapshot.documents.get(path), snapshot.files.get(path)
    characters = len(document.text) if document is not None else entry.size if entry is not None else 0
    return characters // CHARACTERS_PER_TOKEN
