"""Tokenization of questions, and word lists (lexicons) that their words are matched with.

The prose of a question is what remains after fenced code and stack traces are removed.  Its length is bounded: of a
very long question the beginning and the end are used.

Lexicons are compiled from TOML files and matched by word, stem, prefix and phrase.  An entry is a word, a phrase
("log_in") or a prefix ("deploy*").  English words also match by their stem, except entries that end in "=", whose stem
belongs to another word ("production", "product").  Scripts without spaces between words have lists
of their own, which are matched as substrings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from operator import getitem
from typing import Any

from msgspec import Struct
from rapidfuzz.distance import DamerauLevenshtein

from promptls.index import stem
from promptls.util.decode import tomllib

MAX_QUESTION_CHARACTERS = 6000
"""Maximum characters of a question that are analyzed: three quarters from the beginning, the rest from the end."""

_FENCED_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_STACK_TRACE = re.compile(
    r"^[ \t]*(?:Traceback \(most recent call last\):|File \"[^\"\n]*\", line \d+.*|at [\w$.<>/]+ ?\(.*\)|at [^\s()]+:\d+(?::\d+)?"
    r"|goroutine \d+ \[.*|panic: .*|thread '[^'\n]*' panicked at .*|#\d+ +0x[0-9a-f]+ .*|Caused by: .*)$",
    re.MULTILINE,
)
_ERROR_NAME = re.compile(
    r"\b(?:[A-Z]\w*)?(?:Error|Exception)\b\s*:|\b[A-Z][a-z]\w*(?:Error|Exception)\b|\bE[A-Z]{4,}\b"
)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_WORD = re.compile(r"\.env\b|\w+(?:'\w+)*(?:[-/.+]\w+(?:'\w+)*)*(?:\+\+|#(?!\w))?")
_SENTENCE_END = re.compile(r"[.!?;。!?;]|\n")
_CLAUSE_END = re.compile(r"[,:()、,:]|\s[-–—]+\s|\.\.\.|…")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class QuestionToken(Struct, frozen=True, array_like=True, gc=False):
    """A word of a question."""

    word: str  # as written
    lower: str
    clause: int  # number of its clause; commas and similar marks separate clauses
    sentence: int
    start: int


class TokenizedQuestion(Struct, frozen=True):
    """A question with its tokens."""

    text: str  # bounded, in Unicode normal form C
    prose: str  # the text without code and stack traces
    tokens: tuple[QuestionToken, ...]  # of the prose
    lower_words: tuple[str, ...]  # the tokens in lower case
    has_code: bool  # whether there is code in fences or backticks
    has_stack_trace: bool  # whether there is a stack trace or an error message
    has_cjk: bool


def tokenize_question(question: str) -> TokenizedQuestion:
    """Tokenize a question."""
    if len(question) > MAX_QUESTION_CHARACTERS:
        question = f"{question[: MAX_QUESTION_CHARACTERS * 3 // 4]}\n{question[-MAX_QUESTION_CHARACTERS // 4 :]}"
    text = question if question.isascii() else unicodedata.normalize("NFC", question).replace("’", "'")
    without_code = _FENCED_CODE.sub("\n", text)
    has_fenced_code = without_code is not text and without_code != text
    prose = _STACK_TRACE.sub("\n", without_code)
    has_stack_trace = bool(
        _STACK_TRACE.search(text) or _ERROR_NAME.search(without_code) or (has_fenced_code and _ERROR_NAME.search(text))
    )
    has_code = has_fenced_code or bool(_INLINE_CODE.search(prose))
    tokens = _tokens(prose)
    return TokenizedQuestion(
        text, prose, tokens, tuple(t.lower for t in tokens), has_code, has_stack_trace, bool(_CJK.search(prose))
    )


def _tokens(prose: str) -> tuple[QuestionToken, ...]:
    out: list[QuestionToken] = []
    clause = sentence = end = 0
    for match in _WORD.finditer(prose):
        start = match.start()
        if (out and start > end + 1) or (start > end and not prose[end].isspace()):
            between = prose[end:start]
            if _SENTENCE_END.search(between):
                sentence += 1
                clause += 1
            elif _CLAUSE_END.search(between):
                clause += 1
        elif start > end and prose[end] == "\n":
            sentence += 1
            clause += 1
        word = match.group()
        out.append(QuestionToken(word, word.lower(), clause, sentence, start))
        end = match.end()
    return tuple(out)


_MIN_STEMMED_LENGTH = 4  # letters of a word that is matched by its stem
_PREFIX_KEY_LENGTH = 2  # letters of the keys of `_prefixes`


class LexiconMatch(Struct, frozen=True, array_like=True, gc=False):
    """An entry of a lexicon in a text."""

    group: str
    entry: str  # as in the lexicon, with spaces
    start: int  # index of its first token
    length: int  # tokens


class Lexicon:
    """Entries by group."""

    __slots__ = ("_exact", "_phrases", "_prefixes", "_stems")

    def __init__(self, groups: Mapping[str, Iterable[str]], stems: bool = True) -> None:
        self._exact: dict[str, list[tuple[str, str]]] = {}
        self._stems: dict[str, list[tuple[str, str]]] = {}
        self._prefixes: dict[str, list[tuple[str, str, str]]] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
        for group, entries in groups.items():
            for entry in entries:
                self._add(group, entry, stems)
        for phrases in self._phrases.values():
            phrases.sort(key=lambda p: -len(p[0]))

    def _add(self, group: str, entry: str, stems: bool) -> None:
        text, stems = (entry[:-1], False) if entry.endswith("=") else (entry, stems)
        text = text.replace("_", " ").strip()
        words = tuple(text.split())
        if len(words) > 1:
            self._phrases.setdefault(words[0], []).append((words, group, text))
        elif text.endswith("*"):
            self._prefixes.setdefault(text[:_PREFIX_KEY_LENGTH], []).append((text[:-1], group, text))
        else:
            self._exact.setdefault(text, []).append((group, text))
            if stems and len(text) >= _MIN_STEMMED_LENGTH and text.isascii() and text.isalpha():
                self._stems.setdefault(stem(text), []).append((group, text))

    def match_word(self, word: str) -> list[tuple[str, str]]:
        """Return (group, entry) of a lower-case word: by the exact word, else by its stem, else by a prefix."""
        matches = self._exact.get(word)
        if matches is None and len(word) >= _MIN_STEMMED_LENGTH and word.isascii():
            matches = self._stems.get(stem(word))
        if matches is None:
            candidates = self._prefixes.get(word[:_PREFIX_KEY_LENGTH], ())
            matches = [(group, entry) for prefix, group, entry in candidates if word.startswith(prefix)]
        return matches

    def match_phrases(self, words: Sequence[str], index: int) -> list[LexiconMatch]:
        """Return the phrases that begin at a word, longest first."""
        return [
            LexiconMatch(group, entry, index, len(phrase))
            for phrase, group, entry in self._phrases.get(words[index], ())
            if _phrase_matches(phrase, words, index)
        ]

    def match_at(self, words: Sequence[str], index: int) -> list[LexiconMatch]:
        """Return all matches that begin at a word, phrases first."""
        singles = [LexiconMatch(group, entry, index, 1) for group, entry in self.match_word(words[index])]
        return self.match_phrases(words, index) + singles

    def find_all(self, words: Sequence[str]) -> list[LexiconMatch]:
        """Return all matches in a text."""
        return [match for i in range(len(words)) for match in self.match_at(words, i)]

    def single_words(self) -> Iterable[tuple[str, str]]:
        """Return (word, group) of all entries that are one plain word."""
        return [(word, group) for word, entries in self._exact.items() for group, _ in entries]


def max_edit_distance(word: str) -> int:
    """Return the maximum edit distance of a typo: 0 below 4 letters, 1 below 7, else 2."""
    return 0 if len(word) < 4 else 1 if len(word) < 7 else 2


def closest_keyword(word: str, keywords: Iterable[str], excluded: Container[str]) -> str:
    """Return the keyword of which a word is a typo (Damerau-Levenshtein distance); "" for none.

    The first letter must be equal or transposed with the second.  Ties go to the first keyword.

    Args:
        word: A lower-case word.
        keywords: Correctly spelled words.
        excluded: Words that are never a typo.
    """
    best, closest = max_edit_distance(word), ""
    if not best or not word.isascii() or not word.isalpha() or word in excluded:
        return ""
    for keyword in keywords:
        if keyword[0] != word[0] and keyword[:2] != word[1::-1]:
            continue
        limit = min(best, max_edit_distance(keyword))
        if abs(len(word) - len(keyword)) > limit:
            continue
        distance = DamerauLevenshtein.distance(word, keyword, score_cutoff=limit)
        if distance <= limit and (distance < best or not closest):
            best, closest = distance, keyword
    return closest


@cache
def common_words() -> frozenset[str]:
    """Return English words that resemble a keyword, but are correctly spelled.

    They are taken from a list of the 50,000 most frequent words (Debian's wamerican-small).
    `scripts/evaluate intent --ordinary LIST` reports missing ones.
    """
    return frozenset(files(__package__).joinpath("common_words.txt").read_text("utf-8").split())


def _phrase_matches(phrase: tuple[str, ...], words: Sequence[str], index: int) -> bool:
    if index + len(phrase) > len(words):
        return False
    for i, expected in enumerate(phrase):
        word = words[index + i]
        if word != expected and not (expected.endswith("*") and word.startswith(expected[:-1])):
            return False
    return True


@cache
def load_data(name: str) -> dict[str, Any]:
    """Load the TOML file NAME.toml of this package."""
    data: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
    return data


def split_entries(text: str) -> list[str]:
    """Return the entries of a list in a TOML file, without duplicates."""
    return list(dict.fromkeys(text.split()))


def _node(name: str, path: Sequence[str]) -> Any:
    """Return the list or table at a path of keys."""
    return reduce(getitem, path, load_data(name))


@cache
def load_lexicon(name: str, *path: str, stems: bool = False) -> Lexicon:
    """Return a list of a TOML file, or the lists of a table, as a lexicon; groups are the names of the lists."""
    node = _node(name, path)
    lists = {path[-1]: node} if isinstance(node, str) else node
    return Lexicon({key: split_entries(value) for key, value in lists.items() if isinstance(value, str)}, stems)


@cache
def load_words(name: str, *path: str) -> frozenset[str]:
    """Return the entries of a list as a set of words."""
    return frozenset(split_entries(_node(name, path)))


@cache
def substring_entries(name: str, *path: str) -> tuple[str, ...]:
    """Return the entries of a list that is matched as substrings, longest first."""
    entries = split_entries(_node(name, path))
    return tuple(sorted((e.replace("_", " ") for e in entries), key=lambda e: (-len(e), e)))
