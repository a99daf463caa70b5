"""Relevance of the workspace to a question: evidence for and against, added up in log odds.

Small talk is recognized as a whole.  Names of code, categories, "this project" and failures count as evidence for
relevance; jokes, topics outside of programming and talk about the assistant as evidence against it.  A message with
mentions is always relevant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from promptls.prompt.intent import GENERAL, Category
from promptls.prompt.intent.lexicon import (
    Lexicon,
    TokenizedQuestion,
    load_data,
    load_lexicon,
    load_words,
    substring_entries,
)
from promptls.prompt.intent.question_type import QuestionType

HIGH, MEDIUM = 0.9, 0.7
"""Confidence from which the label is "high" or "medium"."""

_GENERAL_KNOWLEDGE = re.compile(
    r"^\W*(?:(?:can you |could you |please |pls )?(?:explain|tell me|describe)(?: to me| me)?,? )?"
    r"(?:what(?:'s| is| are| does)?(?: the)? (?:(?:difference|differences)\b|an? |[\w+#/-]+(?: [\w+#/-]+){0,2} (?:stand for|mean)\b)"
    r"|difference between|who (?:invented|created|wrote|made|won|is|was)\b|when (?:was|did|is|were)\b.{0,40}\b(?:released|invented|created|born|founded|come out)"
    r"|(?:was ist|was sind|qué es|que es|qué son|qu'est-ce qu'|c'est quoi|что такое|o que é)\b"
    r"|(?:should i learn|which (?:programming )?language (?:should|is)|is \S+ (?:better|faster|easier) than)\b)",
    re.IGNORECASE,
)
_DEFINITION_QUESTION = re.compile(
    r"^\W*(?:what(?:'s| is| are)|explain|was ist|qué es|qu'est-ce que?)\s+([\w+#./-]+)\W*$", re.IGNORECASE
)
_GENERAL_KNOWLEDGE_CJK = re.compile(
    r"^(?:什么是|何ですか)|是什么[??]?$|とは(?:何ですか)?[??。]?$|(?:的|之间的)区别|の違い"
)


class Relevance(Struct, frozen=True):
    """Relevance of the workspace to a question, and the confidence in it."""

    about_codebase: bool
    confidence: float  # probability that `about_codebase` is correct, 0.5 to 1
    label: str  # high, medium, low
    evidence: tuple[tuple[str, float], ...]  # in log odds
    general_knowledge: bool = False  # whether the question asks for an explanation that needs no workspace


def assess_relevance(
    question: TokenizedQuestion,
    categories: Sequence[Category],
    question_type: QuestionType,
    name_evidence: tuple[bool, bool, bool],
    has_mentions: bool,
    is_used_word: Callable[[str], bool],
) -> Relevance:
    """Assess the relevance of the workspace to a question.

    Args:
        question: The question.
        categories: Its categories.
        question_type: Its type.
        name_evidence: Whether the question has identifiers, paths, names that the workspace defines.
        has_mentions: Whether the message has mentions.
        is_used_word: Whether the workspace uses a word; such a word is not evidence against relevance.
    """
    if has_mentions:
        return _relevance([("mention", 9.0)])
    if not question.tokens and not (question.has_code or question.has_stack_trace):
        return _relevance([("no words", -9.0)])
    if is_small_talk(question):
        return _relevance([("small talk", -load_data("relevance")["against"]["chat"])])
    evidence = _weigh_evidence(question, categories, question_type, name_evidence, is_used_word)
    names = {name for name, _ in evidence}
    asks_knowledge = "knowledge" in names or (question_type.action == "explain" and "world" in names)
    return _relevance(evidence, asks_knowledge and not names & {"personal", "creative"})


def _relevance(evidence: list[tuple[str, float]], general_knowledge: bool = False) -> Relevance:
    total = sum(weight for _, weight in evidence)
    scale = float(load_data("relevance").get("scale", 1.0))
    confidence = 1 / (1 + math.exp(-min(20.0, abs(total) * scale)))
    confidence = round(min(0.99, confidence), 2)
    return Relevance(total > 0, confidence, confidence_label(confidence), tuple(evidence), general_knowledge)


def confidence_label(confidence: float) -> str:
    """Return the label of a confidence: high, medium or low."""
    return "high" if confidence >= HIGH else "medium" if confidence >= MEDIUM else "low"


# ---------------------------------------------------------------- small talk


def is_small_talk(question: TokenizedQuestion) -> bool:
    """Return whether a message consists of greetings, thanks and the like only."""
    if question.has_cjk and re.sub(r"\W|_", "", question.prose) in substring_entries("smalltalk", "cjk"):
        return True
    words, index, has_phrase = question.lower_words, 0, False
    phrases, fillers = load_lexicon("smalltalk", "phrases"), load_lexicon("smalltalk", "fillers")
    while index < len(words):
        phrase = phrases.match_at(words, index)
        if phrase:
            index, has_phrase = index + phrase[0].length, True
            continue
        filler = fillers.match_at(words, index)
        if not filler or not has_phrase:
            return False
        index += filler[0].length
    return has_phrase


# ---------------------------------------------------------------- evidence


def _weigh_evidence(
    question: TokenizedQuestion,
    categories: Sequence[Category],
    question_type: QuestionType,
    name_evidence: tuple[bool, bool, bool],
    is_used_word: Callable[[str], bool],
) -> list[tuple[str, float]]:
    data = load_data("relevance")
    pro, contra = data["for"], data["against"]
    words = question.lower_words
    identifiers, paths, verified = name_evidence
    strong = sum(m.strong for c in categories if c.name != GENERAL for m in c.matches)
    weak = sum(not m.strong for c in categories if c.name != GENERAL for m in c.matches)
    general = sum(len(c.matches) for c in categories if c.name == GENERAL)
    here = bool(_lexicon("here").find_all(words)) or (question.has_cjk and _contains_cjk(question, "here_cjk"))
    world = len({f.entry for f in _lexicon("world").find_all(words) if not is_used_word(f.entry)}) + sum(
        w in question.prose for w in _cjk_words(question, "world_cjk")
    )
    creative = bool(_lexicon("creative").find_all(words)) or _contains_cjk(question, "creative_cjk")
    personal = bool(_lexicon("personal").find_all(words)) or _contains_cjk(question, "personal_cjk")
    code = question.has_code or question.has_stack_trace
    performed = creative and not (identifiers or paths or code or verified) and _asks_for_performance(words, question)
    knowledge = not (here or identifiers or paths or code or verified) and bool(
        _GENERAL_KNOWLEDGE.search(question.prose)
        or (
            (match := _DEFINITION_QUESTION.search(question.prose))
            and _lexicon("elsewhere").match_word(match.group(1).lower())
        )
        or (question.has_cjk and _GENERAL_KNOWLEDGE_CJK.search(question.prose.strip()))
    )
    elsewhere = knowledge and bool(_lexicon("elsewhere").find_all(words))
    weighed = [
        ("bias", data["bias"]),
        ("identifier", pro["identifier"] * identifiers),
        ("path", pro["path"] * paths),
        ("code", pro["code"] * code),
        ("verified name", pro["verified"] * verified),
        ("strong words", pro["strong"] * min(2, strong)),
        ("weak words", pro["weak"] * min(2, weak + general)),
        ("here", pro["here"] * here),
        ("work", pro["work"] * bool(_lexicon("work").find_all(words))),
        ("order", pro["order"] * any(action not in ("explain", "other") for action, _ in question_type.verbs)),
        ("failure", pro["failure"] * (question_type.failure_level >= 1)),
        ("creative", -contra["creative" if performed else "amusing"] * creative),
        ("world", -contra["world"] * min(3, world)),
        ("personal", -contra["personal"] * personal),
        ("knowledge", -contra["knowledge"] * knowledge),
        ("elsewhere", -contra["elsewhere"] * elsewhere),
        ("short", -contra["short"] * (len(words) <= 2 and not categories)),
    ]
    return [(name, round(float(weight), 2)) for name, weight in weighed if weight]


def _asks_for_performance(words: Sequence[str], question: TokenizedQuestion) -> bool:
    """Return whether the question asks to perform something: "tell me a joke", not "where is the joke loaded"."""
    return question.has_cjk or not load_words("relevance", "words", "perform").isdisjoint(words[:6])


def _lexicon(name: str) -> Lexicon:
    return load_lexicon("relevance", "words", name, stems=name == "work")


def _cjk_words(question: TokenizedQuestion, name: str) -> tuple[str, ...]:
    return substring_entries("relevance", "words", name) if question.has_cjk else ()


def _contains_cjk(question: TokenizedQuestion, name: str) -> bool:
    return any(word in question.prose for word in _cjk_words(question, name))
