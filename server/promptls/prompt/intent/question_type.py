"""What is wanted: the action and the kinds of question.

The verb of a request decides, at the beginning of a clause, behind "can you", "I want to", "how do I"; a
question word asks for an explanation, unless something fails; what fails is to be fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from msgspec import Struct

from promptls.prompt.intent.lexicon import Table, data, entries, inside, nearest, ordinary, table
from promptls.prompt.intent.negation import Exclusion
from promptls.prompt.intent.tokenize import Reading

TYPES = ("implementation", "architectural", "debugging", "explanation", "feature")
"""CodeBuddy's five flags; none of them is a general question."""

ACTIONS = ("create", "modify", "fix", "explain", "refactor", "other")
"""prompto's six."""


class Asking(Struct, frozen=True):
    """How a question asks."""

    action: str
    types: tuple[str, ...]  # in the order of TYPES
    verbs: tuple[tuple[str, str], ...]  # (action, word) at the head of each clause that has one
    failing: float  # 0 nothing fails, 1 there is talk of an error, 2 something does not work


def asking_of(reading: Reading, exclusion: Exclusion) -> Asking:
    """How a question asks."""
    failing = _failing(reading, exclusion)
    verbs = _heads(reading, exclusion, failing)
    action = _action(reading, verbs, failing)
    return Asking(
        action, _types(reading, exclusion, verbs, action, failing), tuple((a, w) for a, w, _ in verbs), failing
    )


@cache
def _set(section: str, name: str) -> frozenset[str]:
    return frozenset(entries(data("asking")[section][name]))


@cache
def _verbs() -> Table:
    lists = {k: v for k, v in data("asking")["actions"].items() if isinstance(v, str)}
    return Table({action: entries(words) for action, words in lists.items()})


# ---------------------------------------------------------------- what fails


def _failing(reading: Reading, exclusion: Exclusion) -> float:
    if reading.trace:
        return 2.0
    if reading.cjk and any(w in reading.prose for w in inside("asking", "failure", "cjk")):
        return 2.0
    words = reading.lower
    best = 0.0
    for i in range(len(words)):
        if i not in exclusion.tokens:
            best = max(best, _fails(words, i))
    return best


def _fails(words: Sequence[str], at: int) -> float:
    """Trouble that a word speaks of."""
    if words[at] in _NEGATIONS and any(w in _set("failure", "negated") for w in words[at + 1 : at + 4]):
        return 2.0
    if at + 1 < len(words) and words[at + 1] in _set("failure", "topics"):
        return 0.0
    if _table("failure", "strong").at(words, at):
        return 2.0
    return 1.0 if _table("failure", "weak").at(words, at) or _misspelled_trouble(words[at]) else 0.0


_NEGATIONS = frozenset(
    "not never can't cannot cant doesn't doesnt isn't isnt didn't didnt won't wont couldn't aren't arent wasn't hasn't haven't "
    "don't dont nicht kein keine no pas не não ne weren't".split()
)


@lru_cache(maxsize=1 << 12)
def _misspelled_trouble(word: str) -> str:
    return nearest(word, _troubles(), ordinary()) if len(word) > 5 and not _verbs().word(word) else ""


@cache
def _troubles() -> tuple[str, ...]:
    tables = (_table("failure", "strong"), _table("failure", "weak"))
    return tuple(w for t in tables for w, _ in t.single() if len(w) > 5 and w.isascii() and w.isalpha())


@cache
def _table(section: str, name: str) -> Table:
    return table("asking", section, name, stems=False)


# ---------------------------------------------------------------- verbs

Head = tuple[str, str, bool]
"""(action, word, whether it was asked how to do it)"""


def _heads(reading: Reading, exclusion: Exclusion, failing: float) -> list[Head]:
    """The verb at the head of each clause that has one."""
    out: list[Head] = []
    words = reading.lower
    for at in _starts(reading):
        if at in exclusion.tokens or at in exclusion.cues:
            continue
        end = _clause_end(reading, at)
        head = _head(words[at:end], failing)
        if head is not None:
            out.append(head)
    return out


def _starts(reading: Reading) -> list[int]:
    """Where a clause begins: behind a mark, or behind "and" before a verb."""
    out = []
    for i, token in enumerate(reading.tokens):
        if (
            i == 0
            or token.clause != reading.tokens[i - 1].clause
            or (reading.lower[i - 1] in _set("opening", "conjunction") and _verbs().at(reading.lower, i))
        ):
            out.append(i)
    return out


def _clause_end(reading: Reading, at: int) -> int:
    clause = reading.tokens[at].clause
    end = at
    while end < len(reading.tokens) and reading.tokens[end].clause == clause:
        end += 1
    return end


def _head(words: Sequence[str], failing: float) -> Head | None:
    """The action of a clause by its first words, or None."""
    at = _behind_politeness(words)
    if at == len(words):
        return None
    word = words[at]
    if word == "do" and words[at + 1 : at + 2] and words[at + 1] in ("the", "that", "this", "it", "same"):
        return ("other", word, False)
    if words[0] in ("should", "shall") and words[1:2] and words[1] in ("we", "i"):
        return ("other", word, False)
    if at == 0 and word in ("can", "could", "would", "will", "should"):
        return ("explain", word, False)  # not "can you": a question about somebody else
    if word in _set("opening", "how_to") or (word in _WAYS and _ways(words, at)):
        return _asked_how(words, at, failing)
    if _table("opening", "why").at(words, at):
        complains = failing >= 1 or _denied(words) or "so" in words
        return ("fix" if complains else "explain", word, False)
    if word in _set("opening", "question"):
        return ("fix" if failing >= 2 else "explain", word, False)
    found = _verb_at(words, at) or misspelled(word)
    if found is None and _wants(words[:at]) and word in _ARTICLES:
        return ("create", word, False)
    if found and found[0] == "explain" and found[1] in _SEEKING and failing >= 2:
        return ("fix", found[1], False)
    if found and found[0] == "modify" and not _BETTER.isdisjoint(words):
        return ("refactor", found[1], False)  # "make it faster": the same behaviour
    return (found[0], found[1], False) if found else None


_BETTER = frozenset(
    "faster quicker simpler cleaner readable shorter efficient leaner allocations duplication complexity".split()
)
_WAYS = frozenset(("what's", "what", "whats", "is"))
_ARTICLES = frozenset("a an some another more new better".split())
_SEEKING = frozenset("find locate check trace look search".split())


def _behind_politeness(words: Sequence[str]) -> int:
    """Index of the first word behind "can you please", "i want to"."""
    polite = _table("opening", "polite")
    at = 0
    while at < len(words):
        found = polite.at(words, at)
        if not found or (words[at] in _MODALS and not _addressed(words, at)):
            break
        at += found[0].count
    return at


_MODALS = frozenset("can could would will should".split())


def _addressed(words: Sequence[str], at: int) -> bool:
    """Whether "can" is followed by whom it asks: "can you", "could we", "can i"."""
    return at + 1 < len(words) and (words[at + 1] in ("you", "u", "we", "i", "please", "someone", "anyone") or at > 0)


def _wants(words: Sequence[str]) -> bool:
    return any(w in ("need", "needs", "want", "wants", "like", "love") for w in words)


@lru_cache(maxsize=1 << 12)
def misspelled(word: str) -> tuple[str, str] | None:
    """(action, verb) that a word is with a typing error."""
    near = nearest(word, _spelled(), ordinary())
    return (_spelled()[near], near) if near else None


@cache
def _spelled() -> dict[str, str]:
    return {w: group for w, group in _verbs().single() if len(w) >= 5 and w.isascii() and w.isalpha()}


def _denied(words: Sequence[str]) -> bool:
    return any(w in _NEGATIONS for w in words)


def _ways(words: Sequence[str], at: int) -> bool:
    """ "what's the best way to …", "is it possible to …"."""
    near = words[at : at + 7]
    return "to" in near and any(w in near for w in ("way", "possible", "approach", "steps"))


def _asked_how(words: Sequence[str], at: int, failing: float) -> Head:
    """ "how do I …": the verb behind it; how something works is to be explained."""
    how = at
    at += 1
    asks = False
    if words[how] not in _set("opening", "how_to"):
        at, asks = words.index("to", how) + 1, True
    between = _set("opening", "person") | frozenset(("best", "please"))
    while at < len(words) and words[at] in between:
        asks = asks or words[at] in _PERSONS
        at += 1
    if not asks or at >= len(words):
        return ("fix" if failing >= 2 else "explain", words[how], False)
    found = _verb_at(words, at) or misspelled(words[at]) or _late_verb(words, at)
    if found and found[0] not in ("explain", "other"):
        return (found[0], found[1], True)
    return ("explain", words[how], False)


_PERSONS = frozenset("i we you to one ich man puedo je podemos eu on".split())


def _late_verb(words: Sequence[str], at: int) -> tuple[str, str] | None:
    """German puts the verb at the end."""
    if not words[at:] or words[0] not in ("wie", "kann", "kannst"):
        return None
    return next(
        (f for i in range(len(words) - 1, at, -1) if (f := _verb_at(words, i)) and f[0] not in ("explain", "other")),
        None,
    )


def _verb_at(words: Sequence[str], at: int) -> tuple[str, str] | None:
    found = _verbs().at(words, at) if at < len(words) else []
    return (found[0].group, found[0].entry) if found else None


# ---------------------------------------------------------------- action


def _action(reading: Reading, heads: Sequence[Head], failing: float) -> str:
    asks_only = all(h[0] == "explain" for h in heads)
    if heads and not (asks_only and failing >= 1 and _states_first(reading, heads)):
        return next((action for action, _, _ in heads if action != "other"), heads[0][0])
    if reading.cjk:
        found = _inside(reading.prose)
        if failing >= 2 and found in ("", "explain"):
            return "fix"
        if found:
            return found
    stated = _stated(reading.lower)
    if failing or (stated != "create" and _denied(reading.lower)):
        return "fix"
    if stated:
        return stated
    if len(reading.lower) > 2 and reading.prose.rstrip().endswith(("?", "\uff1f")):
        return "explain"
    asks = _set("opening", "question")
    verbs = (_verb_at(reading.lower, i) for i in range(len(reading.lower)))
    return next((action for action, word in filter(None, verbs) if action != "other" and word not in asks), "other")


def _stated(words: Sequence[str]) -> str:
    """What a sentence without a request is for: a wish is for something new, a statement is a complaint."""
    if len(words) > 2 and not _set("failure", "wishes").isdisjoint(words):
        return "create"
    return "fix" if len(words) > 2 and not _set("failure", "states").isdisjoint(words[1:]) else ""


def _states_first(reading: Reading, heads: Sequence[Head]) -> bool:
    """Whether a bare "why?" or "what causes this?" follows a statement of trouble."""
    first = [t.lower for t in reading.tokens if t.clause == reading.tokens[0].clause]
    return _head(first, 0.0) is None and len(reading.tokens) > len(first)


def _inside(text: str) -> str:
    """Action of a text without blanks: the earliest verb that is not a question, else the question."""
    spots = [
        (text.find(word), action)
        for action in ("fix", "create", "refactor", "modify", "explain")
        for word in inside("asking", "actions", "cjk", action)
        if word in text
    ]
    acting = [s for s in spots if s[1] != "explain"]
    return min(acting or spots)[1] if spots else ""


# ---------------------------------------------------------------- kinds of question


def _types(
    reading: Reading, exclusion: Exclusion, heads: Sequence[Head], action: str, failing: float
) -> tuple[str, ...]:
    words = [w for i, w in enumerate(reading.lower) if i not in exclusion.tokens]
    actions = [h[0] for h in heads] or [action]
    if action not in actions:
        actions.append(action)
    out: set[str] = set()
    if action == "fix" and "find" in words:  # "find the leak and fix it" wants no explanation
        actions = [a for a in actions if a != "explain"]
    if action == "fix" or "fix" in actions or (failing >= 2 and action != "explain"):
        out.add("debugging")
    if "explain" in actions:
        out.add("explanation")
    if "refactor" in actions or "modify" in actions:
        out.add("implementation")
    if "create" in actions:
        out |= _created(reading, words, heads)
    if _table("implementation", "strong").find(words) or any(
        w in reading.prose for w in inside("asking", "implementation", "cjk")
    ):
        out.add("implementation")
    if any(how and act != "fix" for act, _, how in heads) or any(word == "implement" for _, word, _ in heads):
        out.add("implementation")
    if _structural(reading, words):
        out.add("architectural")
    if "feature" in words or "features" in words:
        out.add("feature")
    return tuple(t for t in TYPES if t in out)


def _created(reading: Reading, words: Sequence[str], heads: Sequence[Head]) -> set[str]:
    """Of what is to be made: a feature, or code of another kind (tests, documentation, a function)."""
    verb = next((w for a, w, _ in heads if a == "create"), "")
    if verb == "draw":
        return set()
    if verb in ("write", "generate", "document", "draft", "insert", "append"):
        return {"implementation"}
    at = next((i for i, w in enumerate(words) if _verbs().word(w) and _verbs().word(w)[0][0] == "create"), -1)
    near = words[at + 1 : at + 6]
    stop = next(
        (i for i, w in enumerate(near) if w in ("to", "for", "in", "into", "on", "so", "that", "which")), len(near)
    )
    if _table("feature", "chores").find(near[:stop]) or any(w in reading.prose for w in _cjk(reading)):
        return {"implementation"}
    return {"feature"}


def _cjk(reading: Reading) -> tuple[str, ...]:
    return inside("asking", "feature", "cjk_chores") if reading.cjk else ()


def _structural(reading: Reading, words: Sequence[str]) -> bool:
    if _table("architectural", "strong").find(words):
        return True
    if reading.cjk and any(w in reading.prose for w in inside("asking", "architectural", "cjk")):
        return True
    return len({f.entry for f in _table("architectural", "weak").find(words)}) >= 2
