"""Query understanding: the intent of a question, from the offline classifier, a profile hook and a language model.

The offline classifier always runs first; a language model that is not available or fails only costs a warning.
Mentions are resolved whatever the intent.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import STOP_WORDS, find_words, tokenize
from promptls.mentions.context import ResolveContext
from promptls.model import Problem
from promptls.prompt.intent import Intent
from promptls.prompt.intent.categories import category_names
from promptls.prompt.intent.detect import detect_intent
from promptls.prompt.intent.refine import refine_intent
from promptls.prompt.language_model import LanguageModel, interpret_question
from promptls.prompt.options import PromptOptions
from promptls.prompt.scoring import ScoringQuery

MIN_CONFIDENCE = 0.8
"""Confidence from which a question counts as unrelated to the code.

Below, retrieval runs anyway: unnecessary context costs little, missing context costs the answer.
"""


class QueryUnderstanding(Struct, frozen=True):
    """The intent of a question, and the question as scoring formulas use it."""

    intent: Intent
    scoring_query: ScoringQuery
    warnings: tuple[str, ...] = ()


def understand_query(
    message: str, question: str, options: PromptOptions, context: ResolveContext
) -> QueryUnderstanding:
    """Determine the intent of a question; `question` is the message without its mentions."""
    reader = context.index.reader()
    intent = detect_intent(
        message,
        question,
        lambda name: name.lower() in context.snapshot.names,
        lambda word: any(map(reader.document_frequency, tokenize(word))),
    )
    if not intent.about_codebase and intent.confidence < MIN_CONFIDENCE:
        intent = replace(intent, about_codebase=True)
    profile = options.profile
    classifier: str = profile.understanding.classifier
    if profile.hooks.classify is not None:
        classifier = "hook"
        classification = profile.hooks.classify(intent, question)
        intent, keywords = classification.intent, classification.keywords
    else:
        keywords = _keywords(question)
        if classifier == "none":
            intent = replace(intent, about_codebase=bool(question.strip()))
    intent, warnings = _refine_with_model(intent, question, options.language_model, context)
    if classifier == "default":
        query = context.services.cooccurrence.expand(
            intent.query, context.snapshot, reader, complete=context.index_complete
        )
        intent = replace(intent, query=query)
    max_keywords = profile.understanding.max_keywords or len(keywords)
    return QueryUnderstanding(intent, ScoringQuery(question, keywords[:max_keywords], intent.action), warnings)


def _keywords(question: str) -> tuple[str, ...]:
    """Return the words of a question without short words and stop words, each once."""
    words = (word.lower() for word in find_words(question))
    return tuple(dict.fromkeys(word for word in words if len(word) > 2 and word not in STOP_WORDS))


def _refine_with_model(
    intent: Intent, question: str, model: LanguageModel | Problem | None, context: ResolveContext
) -> tuple[Intent, tuple[str, ...]]:
    """Refine the intent with the answer of a language model, and return warnings if there is no answer."""
    if model is None or not question.strip():
        return intent, ()
    if isinstance(model, Problem):
        return intent, (f"{model.message} {model.suggestion}".strip(),)
    answer = interpret_question(question, category_names(), model, context.token)
    if isinstance(answer, Problem):
        return intent, (*model.warnings, answer.message)
    return refine_intent(intent, answer), model.warnings
