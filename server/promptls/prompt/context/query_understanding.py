"""Query understanding: the intent of a question, from the offline classifier and a profile hook.

Mentions are resolved whatever the intent.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from promptls.index import STOP_WORDS, find_words, tokenize
from promptls.mentions.context import ResolveContext
from promptls.prompt.intent import Intent
from promptls.prompt.intent.detect import detect_intent
from promptls.prompt.options import PromptOptions
from promptls.prompt.scoring import ScoringQuery
from promptls.prompt.tasks.select import earlier_question
from promptls.retrieval.query import MIN_CONFIDENCE as MIN_TRANSLATED
from promptls.retrieval.query import Translation, parse_query

MIN_CONFIDENCE = 0.8
"""Confidence from which a question counts as unrelated to the code.

Below, retrieval runs anyway: unnecessary context costs little, missing context costs the answer.
"""


LAST_LATIN = 0x24F
"""Last code point of the Latin letters with diacritics."""

FOREIGN_WARNING = (
    "No word of the question occurs in the workspace, so no code was searched; mention files or symbols, or ask in the "
    "language of the code."
)


class QueryUnderstanding(Struct, frozen=True):
    """The intent of a question, and the question as scoring formulas use it."""

    intent: Intent
    scoring_query: ScoringQuery
    is_foreign: bool = False  # whether the index has no word of the question, which is in another script
    warnings: tuple[str, ...] = ()


def understand_query(
    message: str, question: str, options: PromptOptions, context: ResolveContext
) -> QueryUnderstanding:
    """Determine the intent of a question.

    Args:
        message: the message.
        question: the message without its mentions.
        options: the options of the prompt.
        context: the sources and services of the request.
    """
    reader = context.index.reader()
    intent = detect_intent(
        message,
        question,
        lambda name: name.lower() in context.snapshot.names,
        lambda word: any(map(reader.document_frequency, tokenize(word))),
    )
    if not intent.about_codebase and intent.confidence < MIN_CONFIDENCE:
        intent = replace(intent, about_codebase=True)
    # A question that refers to the one before it is searched for together with it.
    if earlier := earlier_question(question, options.history, context) if options.profile.gathering.by_task else "":
        is_small_talk = any(name == "small talk" for name, _ in intent.evidence)
        query = replace(parse_query(f"{earlier} {question}"), excluded=intent.query.excluded)
        intent = replace(intent, query=query, about_codebase=intent.about_codebase or not is_small_talk)
    is_foreign = _is_foreign(intent, reader.document_frequency)
    translation = intent.query.translation
    searched = question if translation is None else translation.gloss
    profile = options.profile
    classifier: str = profile.understanding.classifier
    if profile.hooks.classify is not None:
        classifier = "hook"
        classification = profile.hooks.classify(intent, question)
        intent, keywords = classification.intent, classification.keywords
    else:
        keywords = _keywords(searched)
        if classifier == "none":
            intent = replace(intent, about_codebase=bool(question.strip()))
    warnings: tuple[str, ...] = ()
    if classifier == "default":
        query = context.services.cooccurrence.expand(
            intent.query, context.snapshot, reader, complete=context.index_complete
        )
        intent = replace(intent, query=query)
    max_keywords = profile.understanding.max_keywords or len(keywords)
    if is_foreign:
        warnings = (FOREIGN_WARNING,)
    elif translation is not None:
        warnings = _translation_warnings(translation)
    scoring_query = ScoringQuery(searched, keywords[:max_keywords], intent.action)
    return QueryUnderstanding(intent, scoring_query, is_foreign, warnings)


def _is_foreign(intent: Intent, document_frequency: Callable[[str], int]) -> bool:
    """Return whether most letters of a question belong to another script, and the index has none of its words.

    The embedding does not know such words either, so what retrieval returns is arbitrary.
    """
    letters = [c for c in intent.query.text if c.isalpha()]
    is_other_script = 2 * sum(ord(c) > LAST_LATIN for c in letters) > len(letters)
    return is_other_script and not intent.query.paths and not any(map(document_frequency, intent.query.terms))


def _translation_warnings(translation: Translation) -> tuple[str, ...]:
    """Return a warning if few words of a question could be translated."""
    if translation.confidence >= MIN_TRANSLATED:
        return ()
    return (
        f"Only {translation.translated} of {translation.total} words of this {translation.language_name} question could "
        "be translated; ask in English or mention files.",
    )


def _keywords(question: str) -> tuple[str, ...]:
    """Return the words of a question without short words and stop words, each once."""
    words = (word.lower() for word in find_words(question))
    return tuple(dict.fromkeys(word for word in words if len(word) > 2 and word not in STOP_WORDS))
