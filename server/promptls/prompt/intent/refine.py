"""Refinement of an intent by a language model's interpretation of the question."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.prompt.intent.relevance import confidence_label
from promptls.prompt.intent.types import Category, Intent, Interpretation
from promptls.retrieval.query import extend_query

MODEL_CONFIDENCE = 0.9
"""Confidence in a category that only the language model names."""

UNCONFIRMED_CONFIDENCE = 0.45
"""Maximum confidence in a category that the model does not name, if it names any: just below likely."""

MAX_MODEL_TERMS = 5
"""Maximum number of the model's search terms that are used."""


def refine_intent(intent: Intent, interpretation: Interpretation) -> Intent:
    """Replace the fields that the interpretation has; mentions outrank the model's relevance."""
    refined = intent
    if interpretation.about_codebase is not None and not intent.has_mentions:
        confidence = interpretation.confidence if interpretation.confidence is not None else MODEL_CONFIDENCE
        refined = replace(
            refined,
            about_codebase=interpretation.about_codebase,
            confidence=confidence,
            confidence_label=confidence_label(confidence),
        )
    if interpretation.categories:
        refined = replace(refined, categories=_merge_categories(intent.categories, interpretation.categories))
    if interpretation.types:
        refined = replace(refined, types=interpretation.types)
    if interpretation.action is not None:
        refined = replace(refined, action=interpretation.action)
    if interpretation.terms:
        refined = replace(refined, query=extend_query(refined.query, interpretation.terms[:MAX_MODEL_TERMS]))
    return refined


def _merge_categories(detected: tuple[Category, ...], named: tuple[str, ...]) -> tuple[Category, ...]:
    by_name = {c.name: c for c in detected}
    confirmed = [
        replace(c, confidence=max(MODEL_CONFIDENCE, c.confidence))
        if (c := by_name.get(name))
        else Category(name, MODEL_CONFIDENCE, ())
        for name in named
    ]
    unconfirmed = [
        replace(c, confidence=min(UNCONFIRMED_CONFIDENCE, c.confidence)) for c in detected if c.name not in named
    ]
    return (*confirmed, *unconfirmed)
