"""What is being asked: topics, kinds of question, action, what is excluded, names, search terms.

Offline, by the words of the question alone and well below 2 ms; `refined` puts what a language model says
over it.  Steers which instructions and how much context a prompt gets; mentions are resolved whatever comes
out here.  The lists of words are data (*.toml); `parity` has the classifiers of CodeBuddy and prompto.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from promptls.prompt.intent.entities import Entity, entities_of, paths, scope
from promptls.prompt.intent.negation import excluded
from promptls.prompt.intent.question_type import ACTIONS, TYPES, asking_of
from promptls.prompt.intent.refine import refined
from promptls.prompt.intent.relevance import judge
from promptls.prompt.intent.tokenize import read
from promptls.prompt.intent.topics import GENERAL, LIKELY, Category, Match, category_names, topics_of
from promptls.prompt.intent.types import Intent
from promptls.retrieval.query import analyse, without

__all__ = ["ACTIONS", "TYPES", "Category", "Entity", "Intent", "Match", "category_names", "refined", "understand"]


def _nothing_known(name: str) -> bool:
    return False


def understand(
    message: str,
    question: str,
    known: Callable[[str], bool] = _nothing_known,
    spoken: Callable[[str], bool] = _nothing_known,
) -> Intent:
    """Intent of a message; `question` is the message without its file mentions.

    `known`: whether the workspace has a definition of that name; `spoken`: whether it uses a word at all.
    """
    reading = read(question)
    exclusion = excluded(reading)
    query = without(analyse(question), exclusion.words)
    found = topics_of(reading, exclusion, known)
    asked = asking_of(reading, exclusion)
    named, files = entities_of(query, known), paths(reading)
    facts = (any(not e.verified for e in named), bool(files), any(e.verified for e in named))
    mentioned = len(question.strip()) < len(message.strip())
    verdict = judge(reading, found, asked, facts, mentioned, spoken)
    action, types = asked.action, _with_architecture(asked.types, found)
    if not verdict.codebase:  # nothing is to be done, though something may be to be explained
        action = "explain" if verdict.knowledge else "other"
        types = ("explanation",) if verdict.knowledge else ()
    found = _with_general(found, verdict.codebase) if verdict.codebase or verdict.knowledge else ()
    return Intent(
        codebase=verdict.codebase,
        categories=found,
        types=types,
        action=action,
        negated=exclusion.words,
        query=query,
        confidence=verdict.confidence,
        confidence_label=verdict.label,
        scope=scope(reading, named, files, asked),
        entities=named,
        mentioned=mentioned,
        evidence=verdict.evidence,
    )


def _with_architecture(types: tuple[str, ...], found: tuple[Category, ...]) -> tuple[str, ...]:
    """Who asks about the architecture asks an architectural question."""
    if any(c.name == "architecture" and c.strong and c.likely for c in found):
        return tuple(t for t in TYPES if t in types or t == "architectural")
    return types


def _with_general(found: tuple[Category, ...], codebase: bool) -> tuple[Category, ...]:
    """Without a likely topic, the one that alone has most for it is taken; else a question about the code is
    `general`, which is never beside a likely one."""
    specific = [c for c in found if c.name != GENERAL]
    if not codebase or any(c.likely for c in specific):
        return tuple(specific)
    if specific and (len(specific) == 1 or specific[0].confidence > specific[1].confidence):
        return (replace(specific[0], confidence=LIKELY), *specific[1:])
    general = next((c for c in found if c.name == GENERAL), Category(GENERAL, LIKELY, ()))
    sure = max(LIKELY, general.confidence)
    return (Category(GENERAL, sure, general.matched, general.matches, general.strong), *specific)
