"""How many tokens a text costs, and how many a model should get.

Counters are values with a name; `exact` says whether the number is the model's own or an estimate.  What is exact
needs a file that is on the machine already; nothing is ever downloaded.  `estimate` is for everything else
(see estimate.py), `chars4` is the usual ceil(characters / 4).  Must not know what a prompt looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from promptls.model import Problem
from promptls.prompt.tokens.estimate import VOCABULARIES, Estimate
from promptls.prompt.tokens.exact import FileCounter, RankCounter, cached_ranks, counter_from_file
from promptls.prompt.tokens.models import (
    ModelTable,
    budget_for,
    codebuddy_budget,
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
    "choose",
    "codebuddy_budget",
    "counter",
    "counter_from_file",
    "model_table",
    "models",
    "user_models",
    "vocabulary_of",
]


class UnknownName(ValueError):
    """A name that is none of the valid ones; the message is one sentence for the user."""

    def __init__(self, field: str, value: str, valid: Iterable[str]) -> None:
        self.field = field
        self.value = value
        self.valid = tuple(sorted(valid))
        super().__init__(f'unknown {field} "{value}"; valid: {", ".join(self.valid)}')


class Counter(Protocol):
    """Counts tokens.  0 for the empty text only; what a joint of two texts adds is a few tokens at most."""

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    def count(self, text: str) -> int: ...


def count_all(counter: Counter, texts: Sequence[str]) -> list[int]:
    """The tokens of each text."""
    return counter.count_all(texts) if isinstance(counter, Estimate) else [counter.count(text) for text in texts]


class Chars4(Struct, frozen=True):
    """ceil(code points / 4)."""

    name: str = "chars4"
    exact: bool = False

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


NAMES = ("auto", "chars4", "estimate", *VOCABULARIES)


def counter(name: str = "auto") -> Counter:
    """The counter of that name, for no model in particular.  Raises `UnknownName`."""
    return choose(name)[0]


def choose(name: str = "auto", vocabulary: str = "", tokenizer: str = "") -> tuple[Counter, tuple[Problem, ...]]:
    """The best counter there is for a name, and what the user should know about it.  Raises `UnknownName`.

    `vocabulary` is the model's ("" where it is not known; see `vocabulary_of`), `tokenizer` the user's own
    tokenizer file.  "auto" is the file, else the vocabulary's ranks in tiktoken's cache, else the estimate;
    a vocabulary's name is its ranks, or an estimate of just these with a `Problem`.
    """
    if name not in NAMES:
        raise UnknownName("counter", name, NAMES)
    if name == "chars4":
        return Chars4(), ()
    if name in VOCABULARIES:
        exact = cached_ranks(name)
        return (exact, ()) if isinstance(exact, RankCounter) else (_estimate(name), (exact,))
    problems: tuple[Problem, ...] = ()
    if name == "auto" and tokenizer:
        own = counter_from_file(tokenizer)
        if not isinstance(own, Problem):
            return own, ()
        problems = (own,)
    if name == "auto" and vocabulary in VOCABULARIES:
        ranks = cached_ranks(vocabulary)
        if isinstance(ranks, RankCounter):
            return ranks, problems
    return _estimate(vocabulary), problems


def _estimate(vocabulary: str) -> Estimate:
    """The estimate that was fitted to a vocabulary; today's larger ones are nearest to o200k_base."""
    if vocabulary in VOCABULARIES[1:]:
        return Estimate(f"estimate ({vocabulary})", vocabulary=vocabulary)
    return Estimate()
