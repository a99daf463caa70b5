"""What a question leaves out: "without the database", "not the tests", "ignore logging".

A cue excludes the words behind it up to the end of its clause.  A negation that says that something fails
("does not compile", "can't log in", "no such file") excludes nothing, nor does a question about leaving out
("how do I skip a test?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from promptls.index.search.analyzer import STOP_WORDS, stem
from promptls.prompt.intent.lexicon import Table, data, entries, inside, table
from promptls.prompt.intent.tokenize import Reading

REACH = 8
"""Words behind a cue that it can exclude."""

_NOT = frozenset("not don't dont never nicht no_ pas не não".split())
_ENDS = frozenset(
    "but however although though because since so then if when while just only aber pero mais sondern sino".split()
)
_JOINS = frozenset("and or und oder y o et ou nor".split())
_FILLERS = frozenset(
    "any all the a an of in to at with from about on by it them this that these those our der die das den de du des el la los las le les".split()
)
_BEFORE_NO = frozenset("with and but please or".split())
_BEFORE_ORDERS = frozenset("please pls also i you we just so then bitte por favor".split())
_ASKING = frozenset(
    "how why what where when which does do did is are was can could should who if wie warum cómo comment".split()
)
_FAILING = frozenset(
    "can't cannot doesn't doesnt isn't isnt didn't didnt won't wont couldn't aren't arent wasn't hasn't".split()
)


class Exclusion(Struct, frozen=True):
    """What is left out."""

    tokens: frozenset[int] = frozenset()  # indexes of excluded words
    cues: frozenset[int] = frozenset()  # … and of the words that exclude them
    words: tuple[str, ...] = ()  # the words with a meaning among them, lower case
    inside: tuple[str, ...] = ()  # excluded text in scripts without blanks


def excluded(reading: Reading) -> Exclusion:
    """What a question leaves out."""
    tokens: dict[int, None] = {}
    cues: set[int] = set()
    at = 0
    while at < len(reading.tokens):
        count = _cue(reading, at)
        if count:
            scope = _scope(reading, at + count)
            if scope:
                cues.update(range(at, scope[0]))
                tokens.update(dict.fromkeys(scope))
                at = scope[-1]
        at += 1
    words = [w for i in tokens if (w := reading.lower[i]) not in STOP_WORDS and w not in _FILLERS and not _is_order(w)]
    parts = _inside(reading.prose) if reading.cjk else ()
    return Exclusion(frozenset(tokens), frozenset(cues), tuple(dict.fromkeys([*words, *parts])), parts)


@cache
def _set(name: str) -> frozenset[str]:
    return frozenset(entries(data("asking")["exclusion"][name]))


def _orders() -> frozenset[str]:
    return _set("orders")


@cache
def _order_stems() -> frozenset[str]:
    return frozenset(map(stem, _orders()))


def _is_order(word: str) -> bool:
    """Whether a word only says what not to do: "touch", "touching"."""
    return stem(word) in _order_stems()


def _cue(reading: Reading, at: int) -> int:
    """How many words from here are a cue that excludes; 0 for none."""
    words, word = reading.lower, reading.lower[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    before = words[at - 1] if at and _together(reading, at - 1) else ""
    for found in _always().at(words, at):
        return 0 if _harmless(words, at + found.count) or (word == "except" and _in_code(words, at)) else found.count
    if word in _NOT:
        return 1 if _forbids(reading, at, before, after) else 0
    if word == "no":
        opens = not before or before in _BEFORE_NO
        return 1 if opens and after and after not in _set("messages") and _together(reading, at) else 0
    if word in _set("verbs"):
        return 1 if _opens(reading, at) else 0
    return 0


@cache
def _always() -> Table:
    return table("asking", "exclusion", "always", stems=False)


def _together(reading: Reading, at: int) -> bool:
    """Whether a word and the next stand in one clause."""
    return at + 1 < len(reading.tokens) and reading.tokens[at].clause == reading.tokens[at + 1].clause


def _harmless(words: Sequence[str], at: int) -> bool:
    """ "without any error": tells how something goes, and leaves nothing out."""
    return any(w in _set("harmless") for w in words[at : at + 2])


def _in_code(words: Sequence[str], at: int) -> bool:
    near = {*words[max(0, at - 2) : at], *words[at + 1 : at + 2]}
    return bool(near & {"try", "block", "clause", "bare", "handler", "exception", "statement"})


def _forbids(reading: Reading, at: int, before: str, after: str) -> bool:
    """Whether "not" or "don't" is an order or sets something aside, and not a complaint."""
    if not after or not _together(reading, at) or after in _set_of_failures():
        return False
    if reading.lower[at] in ("don't", "dont", "never") or before == "do":
        return after in _orders() and (_starts(reading, at - (before == "do")) or after in ("want", "need", "care"))
    if before in ("should", "must", "to"):
        return after in _orders()
    sets_aside = not before or before in ("but", "and", "or", "just", "aber", "pero", "mais")
    return sets_aside and after not in ("sure", "only", "yet", "working", "found", "null", "none", "able", "even")


@cache
def _set_of_failures() -> frozenset[str]:
    return frozenset(entries(data("asking")["failure"]["negated"]))


def _starts(reading: Reading, at: int) -> bool:
    """Whether a word opens its clause or what is joined to it, but for "please", "I", "you"."""
    clause = reading.tokens[at].clause
    while at and reading.tokens[at - 1].clause == clause:
        at -= 1
        if reading.lower[at] in _JOINS or reading.lower[at] in _ENDS:
            return True
        if reading.lower[at] not in _BEFORE_ORDERS:
            return False
    return True


def _opens(reading: Reading, at: int) -> bool:
    """Whether a verb is an order: at the beginning of its clause, and not in a question."""
    if not _starts(reading, at):
        return False
    sentence = reading.tokens[at].sentence
    first = next(i for i, t in enumerate(reading.tokens) if t.sentence == sentence)
    return not (reading.tokens[first].clause == reading.tokens[at].clause and reading.lower[first] in _ASKING)


def _scope(reading: Reading, at: int) -> list[int]:
    """Tokens from here to the end of the clause."""
    out: list[int] = []
    lead = True
    for i in range(at, min(len(reading.tokens), at + REACH)):
        word = reading.lower[i]
        if i > at and not _together(reading, i - 1):
            break
        if i == at and at and reading.tokens[at].clause != reading.tokens[at - 1].clause:
            break
        if word in _ENDS and not lead:
            break
        if word in _JOINS and i + 1 < len(reading.tokens) and _is_verb(reading.lower[i + 1]):
            break
        if lead and (word in _FILLERS or _is_order(word)):
            continue
        lead = False
        if word not in _JOINS:
            out.append(i)
    return out


@cache
def _verbs() -> Table:
    return Table({k: entries(v) for k, v in data("asking")["actions"].items() if isinstance(v, str)}, stems=False)


def _is_verb(word: str) -> bool:
    return bool(_verbs().word(word)) and word not in ("test", "use", "review", "set", "install", "build", "format")


def _inside(text: str) -> tuple[str, ...]:
    """What is excluded in Chinese, Japanese, Korean: behind or before its cue, up to a mark."""
    out: list[str] = []
    stop = r"[^\s,。、,;;.!?!?]"
    for cue in inside("asking", "exclusion", "cjk_after"):
        out += re.findall(f"{re.escape(cue)}({stop}{{1,12}})", text)
    for cue in inside("asking", "exclusion", "cjk_before"):
        out += re.findall(f"({stop}{{1,12}}?){re.escape(cue)}", text)
    return tuple(dict.fromkeys(out))
