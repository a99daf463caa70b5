"""Tokenization of a question: words with clause and sentence numbers, without code and stack traces.

The prose is what remains after fenced code and stack traces are removed.  The length is bounded: of a very long
question the beginning and the end are used.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

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
