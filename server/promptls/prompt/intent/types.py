"""What a question is taken for."""

from __future__ import annotations

from msgspec import Struct

from promptls.prompt.intent.entities import Entity
from promptls.prompt.intent.topics import Category
from promptls.retrieval.query import Query


class Intent(Struct, frozen=True):
    """What a question was taken for."""

    codebase: bool  # whether looking into the workspace can help
    categories: tuple[Category, ...]  # most likely first
    types: tuple[str, ...]  # of asking.TYPES; () is a general question
    action: str  # of asking.ACTIONS
    negated: tuple[str, ...]  # words of clauses that exclude something
    query: Query
    confidence: float = 1.0  # that `codebase` is right, 0.5..1
    confidence_label: str = "high"  # high, medium, low
    scope: str = "several"  # symbol, file, several, project
    entities: tuple[Entity, ...] = ()  # names in the question
    mentioned: bool = False  # whether something is mentioned, which settles `codebase`
    evidence: tuple[tuple[str, float], ...] = ()  # what `codebase` was decided by, log odds

    @property
    def topics(self) -> tuple[str, ...]:
        """Names of the likely categories."""
        return tuple(c.name for c in self.categories if c.likely)
