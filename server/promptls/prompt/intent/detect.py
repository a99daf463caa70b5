"""Detection of the intent of a message."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from promptls.prompt.intent.categories import find_categories
from promptls.prompt.intent.entities import find_entities, find_paths, question_scope
from promptls.prompt.intent.negation import Exclusion, find_exclusion
from promptls.prompt.intent.question_type import classify_question
from promptls.prompt.intent.relevance import assess_relevance
from promptls.prompt.intent.tokenize import tokenize_question
from promptls.prompt.intent.types import GENERAL, LIKELY_CONFIDENCE, QUESTION_TYPES, Category, Intent
from promptls.retrieval.query import exclude_words, parse_query


def _no_names(name: str) -> bool:
    return False


def detect_intent(
    message: str,
    question: str,
    is_defined: Callable[[str], bool] = _no_names,
    is_used_word: Callable[[str], bool] = _no_names,
) -> Intent:
    """Detect the intent of a message.

    Args:
        message: The message.
        question: The message without its file mentions.
        is_defined: Whether the workspace defines a name.
        is_used_word: Whether the workspace uses a word.
    """
    tokenized = tokenize_question(question)
    exclusion = find_exclusion(tokenized)
    query = exclude_words(parse_query(question), exclusion.words)
    categories = find_categories(tokenized, exclusion, is_defined)
    question_type = classify_question(tokenized, exclusion)
    if query.translation is not None:  # the lists of words cover more English words than words of other languages
        english = tokenize_question(query.translation.gloss)
        categories = categories or find_categories(english, Exclusion(), is_defined)
        if question_type.action == "other" or not question_type.types:
            question_type = classify_question(english, Exclusion())
    entities, files = find_entities(query, is_defined), find_paths(tokenized)
    name_evidence = (any(not e.verified for e in entities), bool(files), any(e.verified for e in entities))
    has_mentions = len(question.strip()) < len(message.strip())
    relevance = assess_relevance(tokenized, categories, question_type, name_evidence, has_mentions, is_used_word)
    action, types = question_type.action, _add_architectural(question_type.types, categories)
    if not relevance.about_codebase:  # nothing to do in the workspace, but perhaps something to explain
        action = "explain" if relevance.general_knowledge else "other"
        types = ("explanation",) if relevance.general_knowledge else ()
    if relevance.about_codebase or relevance.general_knowledge:
        categories = _ensure_likely(categories, relevance.about_codebase)
    else:
        categories = ()
    return Intent(
        about_codebase=relevance.about_codebase,
        categories=categories,
        types=types,
        action=action,
        excluded_words=exclusion.words,
        query=query,
        confidence=relevance.confidence,
        confidence_label=relevance.label,
        scope=question_scope(tokenized, entities, files, question_type),
        entities=entities,
        has_mentions=has_mentions,
        evidence=relevance.evidence,
    )


def _add_architectural(types: tuple[str, ...], categories: tuple[Category, ...]) -> tuple[str, ...]:
    """Add the type "architectural" if the category "architecture" is likely by a strong keyword."""
    if any(c.name == "architecture" and c.has_strong_match and c.is_likely for c in categories):
        return tuple(t for t in QUESTION_TYPES if t in types or t == "architectural")
    return types


def _ensure_likely(categories: tuple[Category, ...], about_codebase: bool) -> tuple[Category, ...]:
    """Return categories of which one is likely, if the question is about the code.

    If none is likely, the one with the highest confidence becomes likely; on a tie, `general` does.  `general` is never
    next to another likely category.
    """
    specific = [c for c in categories if c.name != GENERAL]
    if not about_codebase or any(c.is_likely for c in specific):
        return tuple(specific)
    if specific and (len(specific) == 1 or specific[0].confidence > specific[1].confidence):
        return (replace(specific[0], confidence=LIKELY_CONFIDENCE), *specific[1:])
    general = next((c for c in categories if c.name == GENERAL), Category(GENERAL, LIKELY_CONFIDENCE, ()))
    confidence = max(LIKELY_CONFIDENCE, general.confidence)
    return (
        Category(GENERAL, confidence, general.matched_words, general.matches, general.has_strong_match),
        *specific,
    )
