"""Intent detection: categories, types and action of a question, exclusions, entities, search terms.

`detect.detect_intent` works offline on the words of the question, in well below 2 ms.  The intent controls the instructions and the amount of context; mentions are
resolved whatever the intent.  Word lists are TOML files.
"""

from __future__ import annotations

from msgspec import Struct

from promptls.retrieval.query import Query

QUESTION_TYPES = ("implementation", "architectural", "debugging", "explanation", "feature")
"""Types of questions; a question may have several.  A question without a type is general."""

ACTIONS = ("create", "modify", "fix", "explain", "refactor", "other")
"""Actions that a question requests; a question has one."""

SCOPES = ("symbol", "file", "several", "project")
"""Scopes of questions: the amount of code that a question spans."""

GENERAL = "general"
"""Category of a question about the code that has no other likely category."""

LIKELY_CONFIDENCE = 0.5
"""Confidence from which a category is likely."""


class KeywordMatch(Struct, frozen=True):
    """A word of the question that matches a keyword of a category."""

    word: str  # as typed, in lower case
    keyword: str
    weight: float
    strong: bool
    kind: str  # exact, stem, phrase, inside, typo, trace


class Category(Struct, frozen=True):
    """A category of a question, with the matches that indicate it."""

    name: str
    confidence: float
    matched_words: tuple[str, ...]  # words of the question
    matches: tuple[KeywordMatch, ...] = ()
    has_strong_match: bool = False

    @property
    def is_likely(self) -> bool:
        """True if the confidence reaches `LIKELY_CONFIDENCE`."""
        return self.confidence >= LIKELY_CONFIDENCE


class Entity(Struct, frozen=True):
    """A name in a question."""

    name: str  # as written
    verified: bool  # whether the workspace defines it


class Intent(Struct, frozen=True):
    """The intent of a question."""

    about_codebase: bool  # whether context from the workspace can help
    categories: tuple[Category, ...]  # most likely first
    types: tuple[str, ...]  # in the order of QUESTION_TYPES; () for a general question
    action: str  # one of ACTIONS
    excluded_words: tuple[str, ...]  # words of clauses that exclude something
    query: Query
    confidence: float = 1.0  # probability that `about_codebase` is correct, 0.5 to 1
    confidence_label: str = "high"  # high, medium, low
    scope: str = "several"  # one of SCOPES
    entities: tuple[Entity, ...] = ()
    has_mentions: bool = False  # whether the message has mentions; then `about_codebase` is true
    evidence: tuple[tuple[str, float], ...] = ()  # evidence for `about_codebase`, in log odds
