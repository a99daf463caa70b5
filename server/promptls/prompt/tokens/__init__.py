"""Token counting, and token budgets by model.

A counter has a name, and `exact` marks counts that equal the model's own.  An exact counter needs a tokenizer file on
this machine; nothing is ever downloaded.  All other text is counted by the estimate (see estimate.py), or by
`chars4`, the usual ceil(characters / 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from promptls.model import Problem
from promptls.prompt.errors import UnknownName
from promptls.prompt.tokens.estimate import VOCABULARIES, Estimate
from promptls.prompt.tokens.exact import FileCounter, RankCounter, cached_ranks, counter_from_file
from promptls.prompt.tokens.models import (
    ModelTable,
    budget_for,
    model_table,
    models,
    user_models,
    vocabulary_of,
)

__all__ = [
    "Chars4",
    "Counter",
    "Estimate",
    "FileCounter",
    "ModelTable",
    "RankCounter",
    "UnknownName",
    "budget_for",
    "choose_counter",
    "counter",
    "counter_from_file",
    "model_table",
    "models",
    "user_models",
    "vocabulary_of",
]


class Counter(Protocol):
    """A token counter.

    Only the empty text has 0 tokens.  Joining two texts adds a few tokens at most.
    """

    @property
    def name(self) -> str:
        """Name of the counter."""
        ...

    @property
    def exact(self) -> bool:
        """True if counts equal the model's own."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        ...


def count_all(counter: Counter, texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text."""
    return counter.count_all(texts) if isinstance(counter, Estimate) else [counter.count(text) for text in texts]


def fair_limit(costs: Sequence[int], total: int) -> int:
    """Return the limit of each cost so that all limited costs together are at most `total` (max-min fairness)."""
    for rank, cost in enumerate(sorted(costs)):
        share = total // (len(costs) - rank)
        if cost > share:
            return share
        total -= cost
    return max(costs, default=0)


class Chars4(Struct, frozen=True):
    """A counter that returns ceil(code points / 4)."""

    name: str = "chars4"
    exact: bool = False

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return (len(text) + 3) // 4


COUNTER_NAMES = ("auto", "chars4", "estimate", *VOCABULARIES)
"""Valid values of the setting budget.counter."""


def counter(name: str = "auto") -> Counter:
    """Return a counter by name, without regard to a model.  Raises UnknownName."""
    return choose_counter(name)[0]


def choose_counter(
    name: str = "auto", vocabulary: str = "", tokenizer: str = ""
) -> tuple[Counter, tuple[Problem, ...]]:
    """Return the best available counter for a name, and problems for the user.  Raises UnknownName.

    "auto" selects the user's tokenizer file, else the ranks of the vocabulary in tiktoken's cache, else the estimate.
    The name of a vocabulary selects its ranks, else its estimate with a `Problem`.

    Args:
        name: one of `COUNTER_NAMES`.
        vocabulary: the model's vocabulary (see `vocabulary_of`), "" if unknown.
        tokenizer: path of the user's tokenizer file, "" for none.
    """
    if name not in COUNTER_NAMES:
        raise UnknownName("counter", name, COUNTER_NAMES)
    if name == "chars4":
        return Chars4(), ()
    if name in VOCABULARIES:
        exact = cached_ranks(name)
        if isinstance(exact, RankCounter):
            return exact, ()
        missing = Problem(
            f"the ranks of {name} are not in tiktoken's cache; tokens are estimated",
            "set budget.tokenizer to the rank file; promptls never downloads it",
        )
        return _estimate(name), (exact or missing,)
    problems: tuple[Problem, ...] = ()
    if name == "auto" and tokenizer:
        from_file = counter_from_file(tokenizer)
        if not isinstance(from_file, Problem):
            return from_file, ()
        problems = (from_file,)
    if name == "auto" and vocabulary in VOCABULARIES:
        ranks = cached_ranks(vocabulary)
        if isinstance(ranks, RankCounter):
            return ranks, problems
        problems = (*problems, *([ranks] if ranks else []))
    return _estimate(vocabulary), problems


def _estimate(vocabulary: str) -> Estimate:
    """Return the estimate for a vocabulary; by default, for all that are measured."""
    if vocabulary in VOCABULARIES:
        return Estimate(f"estimate ({vocabulary})", vocabulary=vocabulary)
    return Estimate()
