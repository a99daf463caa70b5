"""What a message is taken for: by our own reading, by a language model over it, or as another system would.

The offline reading always comes first; a model that is not there or does not answer costs a warning.
Mentions are resolved whatever comes out here.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.search.analyzer import STOP_WORDS, terms, words
from promptls.mentions.context import Request
from promptls.model import Problem
from promptls.prompt.intent import Category, Intent, category_names, parity, refined, understand
from promptls.prompt.language_model import LanguageModel, interpret
from promptls.prompt.profile import Profile
from promptls.prompt.scoring import Asked
from promptls.prompt.services import Surroundings

SURE = 0.8
"""Confidence below which a question that seems to be no matter of the code is looked up all the same: context that
is not needed costs little, context that is missing costs the answer."""


class Understood(Struct, frozen=True):
    """A question as the pipeline goes on with it."""

    intent: Intent
    asked: Asked  # for the formulas of a profile
    warnings: tuple[str, ...] = ()


def understood(message: str, question: str, profile: Profile, request: Request, around: Surroundings) -> Understood:
    """The reading that the profile wants.  `question` is the message without its file mentions."""
    columns = around.index.columns()
    intent = understand(
        message,
        question,
        lambda name: name.lower() in request.snapshot.names,
        lambda word: any(map(columns.frequency, terms(word))),
    )
    if not intent.codebase and intent.confidence < SURE:
        intent = replace(intent, codebase=True)
    classifier = profile.understanding.classifier
    if classifier == "codebuddy":
        intent, keywords = _codebuddy(intent, question)
    elif classifier == "prompto":
        fallback = parity.fallback(question)
        intent, keywords = replace(intent, codebase=bool(fallback.keywords), action=fallback.action), fallback.keywords
    else:
        found = (w.lower() for w in words(question))
        keywords = tuple(dict.fromkeys(w for w in found if len(w) > 2 and w not in STOP_WORDS))
        if classifier == "none":
            intent = replace(intent, codebase=bool(question.strip()))
    intent, warnings = _with_model(intent, question, request, around.model)
    if classifier == "default":
        query = around.companions.expand(intent.query, request.snapshot, columns, complete=around.complete)
        intent = replace(intent, query=query)
    most = profile.understanding.keywords or len(keywords)
    return Understood(intent, Asked(question, keywords[:most], intent.action), warnings)


def _codebuddy(intent: Intent, question: str) -> tuple[Intent, tuple[str, ...]]:
    """CodeBuddy's keyword classifier, types and keywords.  Mentions are not lost where it says no."""
    found = parity.classify(question)
    categories = tuple(Category(name, found.confidence, matched) for name, matched in found.categories)
    reading = replace(
        intent,
        codebase=found.codebase,
        categories=categories,
        types=parity.question_types(question),
        confidence=found.confidence,
        confidence_label=found.label,
    )
    return reading, parity.keywords(question)


def _with_model(
    intent: Intent, question: str, request: Request, model: LanguageModel | Problem | None
) -> tuple[Intent, tuple[str, ...]]:
    """What a language model says, over what was read offline; warnings say why it says nothing."""
    if model is None or not question.strip():
        return intent, ()
    if isinstance(model, Problem):
        return intent, (f"{model.message} {model.suggestion}".strip(),)
    answer = interpret(question, category_names(), model, request.token)
    if isinstance(answer, Problem):
        return intent, (*model.warnings, answer.message)
    return refined(intent, answer), model.warnings
