"""What is being asked: categories, kinds of question, action, what is excluded, search terms.

Offline and by the words of the question alone.  Steers which instructions and how much context a prompt
gets; mentions are resolved whatever comes out here.
"""

from __future__ import annotations

import re

from msgspec import Struct

from promptls.context.query import Query, analyse
from promptls.index.terms import stem, words

CATEGORIES: dict[str, str] = {
    "authentication": "auth authentication authorization login logout signin jwt oauth passport permission session token password",
    "api": "api endpoint route router controller rest graphql request response webhook http",
    "database": "database schema model migration orm prisma query sql table transaction",
    "architecture": "architecture structure pattern framework microservice module layer design dependency component",
    "configuration": "configuration config env setting variable dotenv option flag",
    "testing": "test spec jest mocha pytest coverage e2e mock fixture",
    "performance": "performance optimization optimize cache memory profiling slow latency throughput",
    "error handling": "error exception catch raise throw validation handling retry failure crash",
    "deployment": "deployment deploy docker ci cd pipeline kubernetes aws release build",
    "implementation": "implement implementation function class method algorithm logic code",
    "frontend": "frontend ui component view css html react page render",
    "backend": "backend server service worker queue middleware daemon",
}
"""Topic → words; the topics are the union of CodeBuddy's document and its source."""

TYPES: dict[str, str] = {
    "implementation": "implement implementation write build create generate code how",
    "architectural": "architecture structure design overview layer component relationship flow module diagram",
    "debugging": "bug error fail failing exception crash wrong broken fix debug traceback stack issue why unexpected",
    "explanation": "explain what how describe understand mean meaning does work walk through",
    "feature": "feature add new support extend integrate introduce enable",
}

ACTIONS: tuple[tuple[str, str], ...] = (
    ("fix", "fix debug repair solve resolve bug error broken crash"),
    ("create", "create add implement write generate introduce"),
    ("refactor", "refactor restructure clean simplify extract rename split"),
    ("modify", "modify change update replace extend adapt remove delete"),
    ("explain", "explain how what why where describe which when who show find"),
)

_NEGATION = re.compile(
    r"\b(?:not|no|without|exclud\w*|avoid\w*|except|ignor\w*|skip\w*|don'?t|doesn'?t|isn'?t|aren'?t|shouldn'?t)\b", re.I
)
_CLAUSE_END = re.compile(r"[.,;:!?]|\b(?:but|and then|however|although|because)\b", re.I)
_SMALL_TALK = re.compile(
    r"\s*(?:hi|hello|hey|thanks?(?: you)?(?: very| so)?(?: much)?|thx|ok(?:ay)?|great|cool|nice|good (?:morning|evening|job)|bye"
    r"|yes|no|sure|please|lgtm|perfect|awesome)\b[\s.!,:)]*(?:there|all|everyone|again)?[\s.!)]*$",
    re.I,
)


class Category(Struct, frozen=True):
    """A topic with what spoke for it."""

    name: str
    confidence: float
    matched: tuple[str, ...]


class Intent(Struct, frozen=True):
    """What a question was taken for."""

    codebase: bool  # whether looking into the workspace can help
    categories: tuple[Category, ...]  # most likely first
    types: tuple[str, ...]
    action: str
    negated: tuple[str, ...]  # words of clauses that exclude something
    query: Query


def understand(message: str, question: str) -> Intent:
    """Intent of a message; `question` is the message without its file mentions."""
    found = [w.lower() for w in words(question)]
    stems = {stem(w): w for w in reversed(found)}
    negated = _negated(question)
    return Intent(
        codebase=not _SMALL_TALK.match(message) and bool(found),
        categories=_categories(stems, {stem(w) for w in negated}),
        types=tuple(name for name, table in TYPES.items() if _matches(stems, table)),
        action=next((name for name, table in ACTIONS if _matches(stems, table)), "other"),
        negated=negated,
        query=analyse(question),
    )


def _matches(stems: dict[str, str], table: str) -> tuple[str, ...]:
    wanted = {stem(w) for w in table.split()}
    return tuple(word for s, word in stems.items() if s in wanted)


def _categories(stems: dict[str, str], negated: set[str]) -> tuple[Category, ...]:
    out = []
    for name, table in CATEGORIES.items():
        matched = _matches(stems, table)
        if matched:
            denied = sum(stem(w) in negated for w in matched)
            strength = len(matched) - 0.75 * denied
            out.append(Category(name, round(min(0.95, 0.25 + 0.25 * strength), 2), matched))
    return tuple(sorted(out, key=lambda c: (-c.confidence, c.name)))


def _negated(question: str) -> tuple[str, ...]:
    """Words behind a negation up to the end of its clause."""
    out: list[str] = []
    for match in _NEGATION.finditer(question):
        end = _CLAUSE_END.search(question, match.end())
        clause = question[match.end() : end.start() if end else len(question)]
        out += [w.lower() for w in words(clause)[:4]]
    return tuple(dict.fromkeys(out))
