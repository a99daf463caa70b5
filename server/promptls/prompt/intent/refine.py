"""What a language model says of a question, over what its words say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from promptls.prompt.intent.relevance import label_of
from promptls.prompt.intent.topics import Category
from promptls.prompt.intent.types import Intent
from promptls.retrieval.query import with_terms

if TYPE_CHECKING:
    from promptls.prompt.language_model.interpret import Interpretation

SAID = 0.9
"""Confidence in a topic that only the model names (CodeBuddy's "high")."""

UNSAID = 0.45
"""The most for a topic that the model leaves out when it names any: it stays, below likely."""

TERMS_USED = 5
"""CodeBuddy searches for the first five of the model's terms."""


def refined(intent: Intent, interpretation: Interpretation) -> Intent:
    """The intent with what the model said; what it did not say stays.  A mention outranks the model's gate."""
    said = interpretation
    out = intent
    if said.codebase is not None and not intent.mentioned:
        sure = said.confidence if said.confidence is not None else SAID
        out = replace(out, codebase=said.codebase, confidence=sure, confidence_label=label_of(sure))
    if said.categories:
        out = replace(out, categories=_categories(intent.categories, said.categories))
    if said.types:
        out = replace(out, types=said.types)
    if said.action is not None:
        out = replace(out, action=said.action)
    if said.terms:
        out = replace(out, query=with_terms(out.query, said.terms[:TERMS_USED]))
    return out


def _categories(read: tuple[Category, ...], said: tuple[str, ...]) -> tuple[Category, ...]:
    by_name = {c.name: c for c in read}
    named = [
        replace(c, confidence=max(SAID, c.confidence)) if (c := by_name.get(name)) else Category(name, SAID, ())
        for name in said
    ]
    rest = [replace(c, confidence=min(UNSAID, c.confidence)) for c in read if c.name not in said]
    return (*named, *rest)
