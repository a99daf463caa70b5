"""Action and types of a question, by the verb at the beginning of each clause.

The verb decides, after politeness such as "can you" or "how do I".  A question word asks for an explanation,
unless something fails; what fails is to be fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache, partial

from msgspec import Struct

from promptls.prompt.intent import QUESTION_TYPES
from promptls.prompt.intent.lexicon import (
    Lexicon,
    TokenizedQuestion,
    closest_keyword,
    common_words,
    load_lexicon,
    load_words,
    substring_entries,
)
from promptls.prompt.intent.negation import Exclusion


class QuestionType(Struct, frozen=True):
    """Action and types of a question."""

    action: str  # one of ACTIONS
    types: tuple[str, ...]  # in the order of QUESTION_TYPES
    verbs: tuple[tuple[str, str], ...]  # (action, word) at the head of each clause that has one
    failure_level: float  # 0: nothing fails, 1: an error is mentioned, 2: something does not work


def classify_question(question: TokenizedQuestion, exclusion: Exclusion) -> QuestionType:
    """Determine the action and the types of a question."""
    failure_level = _failure_level(question, exclusion)
    heads = _clause_heads(question, exclusion, failure_level)
    action = _action(question, heads, failure_level)
    types = _types(question, exclusion, heads, action, failure_level)
    return QuestionType(action, types, tuple((head_action, word) for head_action, word, _ in heads), failure_level)


_words = partial(load_words, "question_type")
_lexicon = partial(load_lexicon, "question_type")


def _verb_lexicon() -> Lexicon:
    return _lexicon("actions", stems=True)


# ---------------------------------------------------------------- failures


def _failure_level(question: TokenizedQuestion, exclusion: Exclusion) -> float:
    if question.has_stack_trace:
        return 2.0
    if question.has_cjk and any(w in question.prose for w in substring_entries("question_type", "failure", "cjk")):
        return 2.0
    words = question.lower_words
    best = 0.0
    for i in range(len(words)):
        if i not in exclusion.token_indexes:
            best = max(best, _failure_level_at(words, i))
    return best


def _failure_level_at(words: Sequence[str], index: int) -> float:
    """Return the failure level that a word indicates."""
    if words[index] in _NEGATIONS and any(w in _words("failure", "negated") for w in words[index + 1 : index + 4]):
        return 2.0
    if index + 1 < len(words) and words[index + 1] in _words("failure", "topics"):
        return 0.0
    if _lexicon("failure", "strong").match_at(words, index):
        return 0.0 if _is_hypothetical(words, index) else 2.0
    return 1.0 if _lexicon("failure", "weak").match_at(words, index) or _misspelled_failure_word(words[index]) else 0.0


def _is_hypothetical(words: Sequence[str], index: int) -> bool:
    """Return whether a question asks what would fail after a change: "which tests break if we rename it?"."""
    return words[0] in _ASKS_FOR_CONSEQUENCES and not _CONDITIONS.isdisjoint(words[index + 1 : index + 4])


_ASKS_FOR_CONSEQUENCES = frozenset("what which who would will could does".split())
_CONDITIONS = frozenset("if when once after".split())
_NEGATIONS = frozenset(
    "not never can't cannot cant doesn't doesnt isn't isnt didn't didnt won't wont couldn't aren't arent wasn't hasn't haven't "
    "don't dont nicht kein keine no pas не não ne weren't".split()
)


@lru_cache(maxsize=1 << 12)
def _misspelled_failure_word(word: str) -> str:
    return (
        closest_keyword(word, _failure_words(), common_words())
        if len(word) > 5 and not _verb_lexicon().match_word(word)
        else ""
    )


@cache
def _failure_words() -> tuple[str, ...]:
    lexicons = (_lexicon("failure", "strong"), _lexicon("failure", "weak"))
    return tuple(
        w for lexicon in lexicons for w, _ in lexicon.single_words() if len(w) > 5 and w.isascii() and w.isalpha()
    )


# ---------------------------------------------------------------- verbs

ClauseHead = tuple[str, str, bool]
"""(action, word, whether the question asks how to do it)"""


def _clause_heads(question: TokenizedQuestion, exclusion: Exclusion, failure_level: float) -> list[ClauseHead]:
    """Return the head of each clause that has one."""
    out: list[ClauseHead] = []
    words = question.lower_words
    for index in _clause_starts(question):
        if index in exclusion.token_indexes or index in exclusion.cue_indexes:
            continue
        end = _clause_end(question, index)
        head = _clause_head(words[index:end], failure_level)
        if head is not None:
            out.append(head)
    return out


def _clause_starts(question: TokenizedQuestion) -> list[int]:
    """Return the indexes where clauses begin: after a punctuation mark, or after "and" before a verb."""
    out = []
    for i, token in enumerate(question.tokens):
        if (
            i == 0
            or token.clause != question.tokens[i - 1].clause
            or (
                question.lower_words[i - 1] in _words("opening", "conjunction")
                and _verb_lexicon().match_at(question.lower_words, i)
            )
        ):
            out.append(i)
    return out


def _clause_end(question: TokenizedQuestion, index: int) -> int:
    clause = question.tokens[index].clause
    end = index
    while end < len(question.tokens) and question.tokens[end].clause == clause:
        end += 1
    return end


def _clause_head(words: Sequence[str], failure_level: float) -> ClauseHead | None:
    """Return the head of a clause by its first words; None if it has no verb."""
    index = _skip_polite_words(words)
    if index == len(words):
        return None
    word = words[index]
    if word == "do" and words[index + 1 : index + 2] and words[index + 1] in ("the", "that", "this", "it", "same"):
        return ("other", word, False)
    if words[0] in ("should", "shall") and words[1:2] and words[1] in ("we", "i"):
        return ("other", word, False)
    if index == 0 and word in ("can", "could", "would", "will", "should"):
        return ("explain", word, False)  # not "can you": a question, not a request
    if word in _words("opening", "how_to") or (word in _WAY_OPENERS and _asks_for_way(words, index)):
        return _how_to_head(words, index, failure_level)
    if _lexicon("opening", "why").match_at(words, index):
        is_complaint = failure_level >= 1 or _has_negation(words) or "so" in words
        return ("fix" if is_complaint else "explain", word, False)
    if word in _words("opening", "question"):
        return ("fix" if failure_level >= 2 else "explain", word, False)
    found = _verb_at(words, index) or misspelled_verb(word)
    if found is None and _expresses_wish(words[:index]) and word in _ARTICLES:
        return ("create", word, False)
    if found and found[0] == "explain" and found[1] in _SEARCH_VERBS and failure_level >= 2:
        return ("fix", found[1], False)
    if found and found[0] == "modify" and not _IMPROVEMENTS.isdisjoint(words):
        return ("refactor", found[1], False)  # "make it faster" keeps the behavior
    return (found[0], found[1], False) if found else None


_IMPROVEMENTS = frozenset(
    "faster quicker simpler cleaner readable shorter efficient leaner allocations duplication complexity".split()
)
_WAY_OPENERS = frozenset(("what's", "what", "whats", "is"))
_ARTICLES = frozenset("a an some another more new better".split())
_SEARCH_VERBS = frozenset("find locate check trace look search".split())


def _skip_polite_words(words: Sequence[str]) -> int:
    """Return the index of the first word after "can you please", "i want to"."""
    polite = _lexicon("opening", "polite")
    index = 0
    while index < len(words):
        found = polite.match_at(words, index)
        if not found or (words[index] in _MODALS and not _is_request(words, index)):
            break
        index += found[0].length
    return index


_MODALS = frozenset("can could would will should".split())


def _is_request(words: Sequence[str], index: int) -> bool:
    """Return whether a modal verb begins a request: "can you", "could we", "can i"."""
    return index + 1 < len(words) and (
        words[index + 1] in ("you", "u", "we", "i", "please", "someone", "anyone") or index > 0
    )


def _expresses_wish(words: Sequence[str]) -> bool:
    return any(w in ("need", "needs", "want", "wants", "like", "love") for w in words)


@lru_cache(maxsize=1 << 12)
def misspelled_verb(word: str) -> tuple[str, str] | None:
    """Return (action, verb) of the verb that a word misspells; None for none."""
    verb = closest_keyword(word, _typo_verbs(), common_words())
    return (_typo_verbs()[verb], verb) if verb else None


@cache
def _typo_verbs() -> dict[str, str]:
    return {w: group for w, group in _verb_lexicon().single_words() if len(w) >= 5 and w.isascii() and w.isalpha()}


def _has_negation(words: Sequence[str]) -> bool:
    return any(w in _NEGATIONS for w in words)


def _asks_for_way(words: Sequence[str], index: int) -> bool:
    """Return whether a clause asks for a way: "what's the best way to …", "is it possible to …"."""
    following = words[index : index + 7]
    return "to" in following and any(w in following for w in ("way", "possible", "approach", "steps"))


def _how_to_head(words: Sequence[str], index: int, failure_level: float) -> ClauseHead:
    """Return the head of "how do I …": the verb after it, or "explain" for how something works."""
    start = index
    index += 1
    is_request = False
    if words[start] not in _words("opening", "how_to"):
        index, is_request = words.index("to", start) + 1, True
    skipped = _words("opening", "person") | frozenset(("best", "please"))
    while index < len(words) and words[index] in skipped:
        is_request = is_request or words[index] in _PERSONS
        index += 1
    if not is_request or index >= len(words):
        return ("fix" if failure_level >= 2 else "explain", words[start], False)
    found = _verb_at(words, index) or misspelled_verb(words[index]) or _final_verb(words, index)
    if found and found[0] not in ("explain", "other"):
        return (found[0], found[1], True)
    return ("explain", words[start], False)


_PERSONS = frozenset("i we you to one ich man puedo je podemos eu on".split())


def _final_verb(words: Sequence[str], index: int) -> tuple[str, str] | None:
    """Return the verb at the end of a German clause."""
    if not words[index:] or words[0] not in ("wie", "kann", "kannst"):
        return None
    return next(
        (f for i in range(len(words) - 1, index, -1) if (f := _verb_at(words, i)) and f[0] not in ("explain", "other")),
        None,
    )


def _verb_at(words: Sequence[str], index: int) -> tuple[str, str] | None:
    found = _verb_lexicon().match_at(words, index) if index < len(words) else []
    return (found[0].group, found[0].entry) if found else None


# ---------------------------------------------------------------- action


def _action(question: TokenizedQuestion, heads: Sequence[ClauseHead], failure_level: float) -> str:
    only_explain = all(h[0] == "explain" for h in heads)
    if heads and not (only_explain and failure_level >= 1 and _follows_statement(question)):
        return next((action for action, _, _ in heads if action != "other"), heads[0][0])
    if question.has_cjk:
        found = _cjk_action(question.prose)
        if failure_level >= 2 and found in ("", "explain"):
            return "fix"
        if found:
            return found
    stated = _action_of_statement(question.lower_words)
    if failure_level or (stated != "create" and _has_negation(question.lower_words)):
        return "fix"
    if stated:
        return stated
    if len(question.lower_words) > 2 and question.prose.rstrip().endswith(("?", "\uff1f")):
        return "explain"
    question_words = _words("opening", "question")
    verbs = (_verb_at(question.lower_words, i) for i in range(len(question.lower_words)))
    return next(
        (action for action, word in filter(None, verbs) if action != "other" and word not in question_words), "other"
    )


def _action_of_statement(words: Sequence[str]) -> str:
    """Return the action of a sentence without a request: "create" for a wish, "fix" for a complaint."""
    if len(words) > 2 and not _words("failure", "wishes").isdisjoint(words):
        return "create"
    return "fix" if len(words) > 2 and not _words("failure", "states").isdisjoint(words[1:]) else ""


def _follows_statement(question: TokenizedQuestion) -> bool:
    """Return whether a short question such as "why?" follows a statement."""
    first = [t.lower for t in question.tokens if t.clause == question.tokens[0].clause]
    return _clause_head(first, 0.0) is None and len(question.tokens) > len(first)


def _cjk_action(text: str) -> str:
    """Return the action of a text without spaces: the first verb that is not a question word, else "explain"."""
    matches = [
        (text.find(word), action)
        for action in ("fix", "create", "refactor", "modify", "explain")
        for word in substring_entries("question_type", "actions", "cjk", action)
        if word in text
    ]
    actions = [match for match in matches if match[1] != "explain"]
    return min(actions or matches)[1] if matches else ""


# ---------------------------------------------------------------- types


def _types(
    question: TokenizedQuestion, exclusion: Exclusion, heads: Sequence[ClauseHead], action: str, failure_level: float
) -> tuple[str, ...]:
    words = [w for i, w in enumerate(question.lower_words) if i not in exclusion.token_indexes]
    actions = [h[0] for h in heads] or [action]
    if action not in actions:
        actions.append(action)
    out: set[str] = set()
    if action == "fix" and "find" in words:  # "find the leak and fix it" does not ask for an explanation
        actions = [a for a in actions if a != "explain"]
    if action == "fix" or "fix" in actions or (failure_level >= 2 and action != "explain"):
        out.add("debugging")
    if "explain" in actions:
        out.add("explanation")
    if "refactor" in actions or "modify" in actions:
        out.add("implementation")
    if "create" in actions:
        out |= _types_of_creation(question, words, heads)
    if _lexicon("implementation", "strong").find_all(words) or any(
        w in question.prose for w in substring_entries("question_type", "implementation", "cjk")
    ):
        out.add("implementation")
    if any(how and act != "fix" for act, _, how in heads) or any(word == "implement" for _, word, _ in heads):
        out.add("implementation")
    if _is_architectural(question, words):
        out.add("architectural")
    if "feature" in words or "features" in words:
        out.add("feature")
    return tuple(t for t in QUESTION_TYPES if t in out)


def _types_of_creation(question: TokenizedQuestion, words: Sequence[str], heads: Sequence[ClauseHead]) -> set[str]:
    """Return the types of a request to create: a feature, or other code (tests, documentation, a function)."""
    verb = next((w for a, w, _ in heads if a == "create"), "")
    if verb == "draw":
        return set()
    if verb in ("write", "generate", "document", "draft", "insert", "append"):
        return {"implementation"}

    def is_create(word: str) -> bool:
        matches = _verb_lexicon().match_word(word)
        return bool(matches) and matches[0][0] == "create"

    index = next((i for i, word in enumerate(words) if is_create(word)), -1)
    objects = words[index + 1 : index + 6]
    stop = next(
        (i for i, w in enumerate(objects) if w in ("to", "for", "in", "into", "on", "so", "that", "which")),
        len(objects),
    )
    if _lexicon("feature", "chores").find_all(objects[:stop]) or any(
        w in question.prose for w in _cjk_chores(question)
    ):
        return {"implementation"}
    return {"feature"}


def _cjk_chores(question: TokenizedQuestion) -> tuple[str, ...]:
    return substring_entries("question_type", "feature", "cjk_chores") if question.has_cjk else ()


def _is_architectural(question: TokenizedQuestion, words: Sequence[str]) -> bool:
    if _lexicon("architectural", "strong").find_all(words):
        return True
    if question.has_cjk and any(
        w in question.prose for w in substring_entries("question_type", "architectural", "cjk")
    ):
        return True
    return len({f.entry for f in _lexicon("architectural", "weak").find_all(words)}) >= 2
