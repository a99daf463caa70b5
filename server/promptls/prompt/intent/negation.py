"""Exclusions in a question: "without the database", "not the tests", "ignore logging".

A cue excludes the words after it, up to the end of its clause.  A negation that describes a failure ("does not
compile", "can't log in", "no such file") excludes nothing, nor does a question about excluding something
("how do I skip a test?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial

from msgspec import Struct

from promptls.index import STOP_WORDS, stem
from promptls.prompt.intent.lexicon import (
    TokenizedQuestion,
    load_lexicon,
    load_words,
    substring_entries,
)

MAX_SCOPE_WORDS = 8
"""Maximum number of words after a cue that it excludes."""

_NEGATIONS = frozenset("not don't dont never nicht no_ pas не não".split())
_SCOPE_ENDS = frozenset(
    "but however although though because since so then if when while just only aber pero mais sondern sino".split()
)
_CONJUNCTIONS = frozenset("and or und oder y o et ou nor".split())
_FILLERS = frozenset(
    "any all the a an of in to at with from about on by it them this that these those our der die das den de du des el la los las le les".split()
)
_WORDS_BEFORE_NO = frozenset("with and but please or".split())
_POLITE_WORDS = frozenset("please pls also i you we just so then bitte por favor".split())
_QUESTION_WORDS = frozenset(
    "how why what where when which does do did is are was can could should who if wie warum cómo comment".split()
)


class Exclusion(Struct, frozen=True):
    """Excluded words of a question."""

    token_indexes: frozenset[int] = frozenset()  # indexes of excluded tokens
    cue_indexes: frozenset[int] = frozenset()  # indexes of the cues
    words: tuple[str, ...] = ()  # excluded content words, in lower case
    substrings: tuple[str, ...] = ()  # excluded text in scripts without spaces


def find_exclusion(question: TokenizedQuestion) -> Exclusion:
    """Find the excluded words of a question."""
    tokens: dict[int, None] = {}
    cues: set[int] = set()
    index = 0
    while index < len(question.tokens):
        length = _cue_length(question, index)
        if length:
            scope = _excluded_indexes(question, index + length)
            if scope:
                cues.update(range(index, scope[0]))
                tokens.update(dict.fromkeys(scope))
                index = scope[-1]
        index += 1
    words = [
        w
        for i in tokens
        if (w := question.lower_words[i]) not in STOP_WORDS and w not in _FILLERS and not _is_order_verb(w)
    ]
    parts = _excluded_substrings(question.prose) if question.has_cjk else ()
    return Exclusion(frozenset(tokens), frozenset(cues), tuple(dict.fromkeys([*words, *parts])), parts)


_words = partial(load_words, "question_type", "exclusion")


@cache
def _order_verb_stems() -> frozenset[str]:
    return frozenset(map(stem, _words("orders")))


def _is_order_verb(word: str) -> bool:
    """Return whether a word is only the verb of a prohibition: "touch", "touching"."""
    return stem(word) in _order_verb_stems()


def _cue_length(question: TokenizedQuestion, index: int) -> int:
    """Return the number of words of the cue at a position; 0 for none."""
    words, word = question.lower_words, question.lower_words[index]
    after = words[index + 1] if index + 1 < len(words) else ""
    before = words[index - 1] if index and _same_clause(question, index - 1) else ""
    for cue in load_lexicon("question_type", "exclusion", "always").match_at(words, index):
        excludes_nothing = _describes_outcome(words, index + cue.length) or (
            word == "except" and _is_except_clause(words, index)
        )
        return 0 if excludes_nothing else cue.length
    if word in _NEGATIONS:
        return 1 if _is_prohibition(question, index, before, after) else 0
    if word == "no":
        opens = not before or before in _WORDS_BEFORE_NO
        return 1 if opens and after and after not in _words("messages") and _same_clause(question, index) else 0
    if word in _words("verbs"):
        return 1 if _is_imperative(question, index) else 0
    return 0


def _same_clause(question: TokenizedQuestion, index: int) -> bool:
    """Return whether a word and the next one are in the same clause."""
    return index + 1 < len(question.tokens) and question.tokens[index].clause == question.tokens[index + 1].clause


def _describes_outcome(words: Sequence[str], index: int) -> bool:
    """Return whether a cue describes an outcome, as in "without any error"."""
    return any(w in _words("harmless") for w in words[index : index + 2])


def _is_except_clause(words: Sequence[str], index: int) -> bool:
    neighbors = {*words[max(0, index - 2) : index], *words[index + 1 : index + 2]}
    return bool(neighbors & {"try", "block", "clause", "bare", "handler", "exception", "statement"})


def _is_prohibition(question: TokenizedQuestion, index: int, before: str, after: str) -> bool:
    """Return whether "not" or "don't" forbids or excludes something, instead of describing a failure."""
    if not after or not _same_clause(question, index) or after in load_words("question_type", "failure", "negated"):
        return False
    if question.lower_words[index] in ("don't", "dont", "never") or before == "do":
        return after in _words("orders") and (
            _starts_clause(question, index - (before == "do")) or after in ("want", "need", "care")
        )
    if before in ("should", "must", "to"):
        return after in _words("orders")
    excludes = not before or before in ("but", "and", "or", "just", "aber", "pero", "mais")
    return excludes and after not in ("sure", "only", "yet", "working", "found", "null", "none", "able", "even")


def _starts_clause(question: TokenizedQuestion, index: int) -> bool:
    """Return whether a word begins its clause or follows a conjunction, ignoring "please", "I", "you"."""
    clause = question.tokens[index].clause
    while index and question.tokens[index - 1].clause == clause:
        index -= 1
        if question.lower_words[index] in _CONJUNCTIONS or question.lower_words[index] in _SCOPE_ENDS:
            return True
        if question.lower_words[index] not in _POLITE_WORDS:
            return False
    return True


def _is_imperative(question: TokenizedQuestion, index: int) -> bool:
    """Return whether a verb is an imperative: it begins its clause, and the clause is not a question."""
    if not _starts_clause(question, index):
        return False
    sentence = question.tokens[index].sentence
    first = next(i for i, t in enumerate(question.tokens) if t.sentence == sentence)
    return not (
        question.tokens[first].clause == question.tokens[index].clause
        and question.lower_words[first] in _QUESTION_WORDS
    )


def _excluded_indexes(question: TokenizedQuestion, index: int) -> list[int]:
    """Return the indexes of the excluded tokens from a position to the end of the clause."""
    out: list[int] = []
    lead = True
    for i in range(index, min(len(question.tokens), index + MAX_SCOPE_WORDS)):
        word = question.lower_words[i]
        if i > index and not _same_clause(question, i - 1):
            break
        if i == index and index and question.tokens[index].clause != question.tokens[index - 1].clause:
            break
        if word in _SCOPE_ENDS and not lead:
            break
        if word in _CONJUNCTIONS and i + 1 < len(question.tokens) and _is_verb(question.lower_words[i + 1]):
            break
        if lead and (word in _FILLERS or _is_order_verb(word)):
            continue
        lead = False
        if word not in _CONJUNCTIONS:
            out.append(i)
    return out


def _is_verb(word: str) -> bool:
    return bool(load_lexicon("question_type", "actions").match_word(word)) and word not in (
        "test",
        "use",
        "review",
        "set",
        "install",
        "build",
        "format",
    )


def _excluded_substrings(text: str) -> tuple[str, ...]:
    """Return excluded text in Chinese, Japanese and Korean: after or before its cue, up to a punctuation mark."""
    out: list[str] = []
    stop = r"[^\s,。、,;;.!?!?]"
    for cue in substring_entries("question_type", "exclusion", "cjk_after"):
        out += re.findall(f"{re.escape(cue)}({stop}{{1,12}})", text)
    for cue in substring_entries("question_type", "exclusion", "cjk_before"):
        out += re.findall(f"({stop}{{1,12}}?){re.escape(cue)}", text)
    return tuple(dict.fromkeys(out))
