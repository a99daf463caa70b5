"""Whether looking into the workspace can help: evidence for and against, added up.

Small talk is recognised as a whole.  Everything else is weighed in log odds: names of code, topics, "this
project" and trouble speak for it; jokes, the world outside and talk about the assistant against it.
Who mentions a file or symbol has decided already.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache

from msgspec import Struct

from promptls.prompt.intent.lexicon import Table, data, entries, inside, table
from promptls.prompt.intent.question_type import Asking
from promptls.prompt.intent.tokenize import Reading
from promptls.prompt.intent.topics import GENERAL, Category

HIGH, MEDIUM = 0.9, 0.7
"""Confidence from which it is called high, medium."""

_KNOWLEDGE = re.compile(
    r"^\W*(?:(?:can you |could you |please |pls )?(?:explain|tell me|describe)(?: to me| me)?,? )?"
    r"(?:what(?:'s| is| are| does)?(?: the)? (?:(?:difference|differences)\b|an? |[\w+#/-]+(?: [\w+#/-]+){0,2} (?:stand for|mean)\b)"
    r"|difference between|who (?:invented|created|wrote|made|is|was)\b|when (?:was|did|is|were)\b.{0,40}\b(?:released|invented|created|born|founded|come out)"
    r"|(?:was ist|was sind|qué es|que es|qué son|qu'est-ce qu'|c'est quoi|что такое|o que é)\b"
    r"|(?:should i learn|which (?:programming )?language (?:should|is)|is \S+ (?:better|faster|easier) than)\b)",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(
    r"^\W*(?:what(?:'s| is| are)|explain|was ist|qué es|qu'est-ce que?)\s+([\w+#./-]+)\W*$", re.IGNORECASE
)
_KNOWLEDGE_CJK = re.compile(r"^(?:什么是|何ですか)|是什么[??]?$|とは(?:何ですか)?[??。]?$|(?:的|之间的)区别|の違い")


class Verdict(Struct, frozen=True):
    """Whether a question is about the code, and how sure that is."""

    codebase: bool
    confidence: float  # probability that the verdict is right, 0.5..1
    label: str  # high, medium, low
    evidence: tuple[tuple[str, float], ...]  # what was weighed, log odds
    knowledge: bool = False  # whether something is to be explained that is no matter of the workspace


def judge(
    reading: Reading,
    topics: Sequence[Category],
    asking: Asking,
    named: tuple[bool, bool, bool],
    mentioned: bool,
    spoken: Callable[[str], bool],
) -> Verdict:
    """The verdict.  `named`: whether the question has identifiers, paths, names that the workspace has.

    `spoken`: whether the workspace uses a word at all; one that it uses is no word of the world outside.
    """
    if mentioned:
        return _verdict([("mention", 9.0)])
    if not reading.tokens and not (reading.coded or reading.trace):
        return _verdict([("no words", -9.0)])
    if small_talk(reading):
        return _verdict([("small talk", -data("gate")["against"]["chat"])])
    evidence = _weigh(reading, topics, asking, named, spoken)
    names = {name for name, _ in evidence}
    asks = "knowledge" in names or (asking.action == "explain" and "world" in names)
    return _verdict(evidence, asks and not names & {"personal", "creative"})


def _verdict(evidence: list[tuple[str, float]], knowledge: bool = False) -> Verdict:
    total = sum(weight for _, weight in evidence)
    scale = float(data("gate").get("scale", 1.0))
    sure = 1 / (1 + math.exp(-min(20.0, abs(total) * scale)))
    sure = round(min(0.99, sure), 2)
    return Verdict(total > 0, sure, label_of(sure), tuple(evidence), knowledge)


def label_of(confidence: float) -> str:
    """Its name: high, medium, low."""
    return "high" if confidence >= HIGH else "medium" if confidence >= MEDIUM else "low"


# ---------------------------------------------------------------- small talk


def small_talk(reading: Reading) -> bool:
    """Whether a message is greetings, thanks and the like, and nothing else."""
    if reading.cjk and re.sub(r"\W|_", "", reading.prose) in inside("smalltalk", "cjk"):
        return True
    words, at, said = reading.lower, 0, False
    phrases, fillers = _phrases(), _fillers()
    while at < len(words):
        found = phrases.at(words, at)
        if found:
            at, said = at + found[0].count, True
            continue
        filler = fillers.at(words, at)
        if not filler or not said:
            return False
        at += filler[0].count
    return said


@cache
def _phrases() -> Table:
    return table("smalltalk", "phrases", stems=False)


@cache
def _fillers() -> Table:
    return table("smalltalk", "fillers", stems=False)


# ---------------------------------------------------------------- evidence


def _weigh(
    reading: Reading,
    topics: Sequence[Category],
    asking: Asking,
    named: tuple[bool, bool, bool],
    spoken: Callable[[str], bool],
) -> list[tuple[str, float]]:
    gate = data("gate")
    pro, contra = gate["for"], gate["against"]
    words = reading.lower
    identifiers, paths, verified = named
    strong = sum(m.strong for c in topics if c.name != GENERAL for m in c.matches)
    weak = sum(not m.strong for c in topics if c.name != GENERAL for m in c.matches)
    general = sum(len(c.matches) for c in topics if c.name == GENERAL)
    here = bool(_list("here").find(words)) or (reading.cjk and _has(reading, "here_cjk"))
    world = len({f.entry for f in _list("world").find(words) if not spoken(f.entry)}) + sum(
        w in reading.prose for w in _cjk(reading, "world_cjk")
    )
    creative = bool(_list("creative").find(words)) or any(w in reading.prose for w in _cjk(reading, "creative_cjk"))
    personal = bool(_list("personal").find(words)) or any(w in reading.prose for w in _cjk(reading, "personal_cjk"))
    code = reading.coded or reading.trace
    performed = creative and not (identifiers or paths or code or verified) and _performs(words, reading)
    knowledge = not (here or identifiers or paths or code or verified) and bool(
        _KNOWLEDGE.search(reading.prose)
        or ((what := _WHAT_IS.search(reading.prose)) and _list("elsewhere").word(what.group(1).lower()))
        or (reading.cjk and _KNOWLEDGE_CJK.search(reading.prose.strip()))
    )
    elsewhere = knowledge and bool(_list("elsewhere").find(words))
    weighed = [
        ("bias", gate["bias"]),
        ("identifier", pro["identifier"] * identifiers),
        ("path", pro["path"] * paths),
        ("code", pro["code"] * code),
        ("verified name", pro["verified"] * verified),
        ("strong words", pro["strong"] * min(2, strong)),
        ("weak words", pro["weak"] * min(2, weak + general)),
        ("here", pro["here"] * here),
        ("work", pro["work"] * bool(_list("work").find(words))),
        ("order", pro["order"] * any(action not in ("explain", "other") for action, _ in asking.verbs)),
        ("failure", pro["failure"] * (asking.failing >= 1)),
        ("creative", -contra["creative" if performed else "amusing"] * creative),
        ("world", -contra["world"] * min(3, world)),
        ("personal", -contra["personal"] * personal),
        ("knowledge", -contra["knowledge"] * knowledge),
        ("elsewhere", -contra["elsewhere"] * elsewhere),
        ("short", -contra["short"] * (len(words) <= 2 and not topics)),
    ]
    return [(name, round(float(weight), 2)) for name, weight in weighed if weight]


def _performs(words: Sequence[str], reading: Reading) -> bool:
    """Whether a performance is asked for: "tell me a joke", not "where is the joke loaded"."""
    return reading.cjk or any(w in entries(data("gate")["words"]["perform"]) for w in words[:6])


@cache
def _list(name: str) -> Table:
    return Table({name: entries(data("gate")["words"][name])}, stems=name == "work")


def _cjk(reading: Reading, name: str) -> tuple[str, ...]:
    return inside("gate", "words", name) if reading.cjk else ()


def _has(reading: Reading, name: str) -> bool:
    return any(word in reading.prose for word in _cjk(reading, name))
