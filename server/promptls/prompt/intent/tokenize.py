"""A question as words and clauses: what all the readings below start from.

Quoted code, fenced code and stack traces are taken out of the prose (they say what it is about, not what is
wanted).  Bounded: of a very long text the beginning and the end are read.  Knows no words of any list.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

from promptls.index.search.analyzer import parts

READ = 6000
"""Characters of a question that are read: most of it from the beginning, the rest from the end."""

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TRACE = re.compile(
    r"^[ \t]*(?:Traceback \(most recent call last\):|File \"[^\"\n]*\", line \d+.*|at [\w$.<>/]+ ?\(.*\)|at [^\s()]+:\d+(?::\d+)?"
    r"|goroutine \d+ \[.*|panic: .*|thread '[^'\n]*' panicked at .*|#\d+ +0x[0-9a-f]+ .*|Caused by: .*)$",
    re.MULTILINE,
)
_ERROR = re.compile(r"\b(?:[A-Z]\w*)?(?:Error|Exception)\b\s*:|\b[A-Z][a-z]\w*(?:Error|Exception)\b|\bE[A-Z]{4,}\b")
_TICKED = re.compile(r"`[^`\n]{1,200}`")
_WORD = re.compile(r"\.env\b|\w+(?:'\w+)*(?:[-/.+]\w+(?:'\w+)*)*(?:\+\+|#(?!\w))?")
_HARD = re.compile(r"[.!?;。!?;]|\n")
_SOFT = re.compile(r"[,:()、,:]|\s[-–—]+\s|\.\.\.|…")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Token(Struct, frozen=True, array_like=True, gc=False):
    """A word as it stands."""

    word: str  # as written
    lower: str
    clause: int  # number of its clause; a comma ends one
    sentence: int
    start: int


class Reading(Struct, frozen=True):
    """A question, taken apart once."""

    text: str  # as read: bounded, normal form C
    prose: str  # without code and traces
    tokens: tuple[Token, ...]  # of the prose
    lower: tuple[str, ...]  # the same, lower case
    coded: bool  # code in fences or back quotes
    trace: bool  # a stack trace or an error as a machine prints it
    cjk: bool


def read(question: str) -> Reading:
    """Take a question apart."""
    if len(question) > READ:
        question = f"{question[: READ * 3 // 4]}\n{question[-READ // 4 :]}"
    text = question if question.isascii() else unicodedata.normalize("NFC", question).replace("’", "'")
    prose = _FENCE.sub("\n", text)
    fenced = prose is not text and prose != text
    without = _TRACE.sub("\n", prose)
    trace = bool(_TRACE.search(text) or _ERROR.search(prose) or (fenced and _ERROR.search(text)))
    ticked = bool(_TICKED.search(without))
    tokens = _tokens(without)
    return Reading(
        text, without, tokens, tuple(t.lower for t in tokens), fenced or ticked, trace, bool(_CJK.search(without))
    )


def _tokens(prose: str) -> tuple[Token, ...]:
    out: list[Token] = []
    clause = sentence = end = 0
    for match in _WORD.finditer(prose):
        start = match.start()
        if (out and start > end + 1) or (start > end and not prose[end].isspace()):
            between = prose[end:start]
            if _HARD.search(between):
                sentence += 1
                clause += 1
            elif _SOFT.search(between):
                clause += 1
        elif start > end and prose[end] == "\n":
            sentence += 1
            clause += 1
        word = match.group()
        out.append(Token(word, word.lower(), clause, sentence, start))
        end = match.end()
    return tuple(out)


def pieces(word: str) -> tuple[str, ...]:
    """Parts of a word as written: of a path, of camelCase, of snake_case; lower case."""
    return tuple(parts(word))
