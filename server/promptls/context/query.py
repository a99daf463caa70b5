"""What is looked for: a question taken apart into the words that the legs of retrieval use.

Pure functions of the text; names are checked against the workspace by the legs themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from msgspec import Struct

from promptls.index.terms import STOP_WORDS, terms, words

_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([\w.:/-]{2,80})'")
_CALL_OR_DOTTED = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Za-z_]\w*(?=\()")
_PATHLIKE = re.compile(r"[\w.-]+(?:/[\w.-]+)+|[\w-]+\.[A-Za-z]{1,5}\b")
_ABOUT_TESTS = re.compile(
    r"\b(unit|e2e|integration|regression)?[ -]?tests?\b|\bspecs?\b|\btest(ed|ing)\b|\bfixtures?\b", re.I
)
_ABOUT_DOCS = re.compile(r"\b(docs?|documentation|readme|changelog|license|contributing|install(ation)?)\b", re.I)


class Query(Struct, frozen=True):
    """A question, ready for the legs."""

    text: str  # the question without file mentions; what is embedded
    terms: tuple[str, ...]  # distinct search terms in order (see index.terms)
    names: tuple[str, ...]  # words that may name a definition, as written, most specific first
    paths: tuple[str, ...]  # what looks like a path or file name
    stems: tuple[str, ...] = ()  # words that may be a file's name without its ending
    about_tests: bool = False
    about_docs: bool = False


def analyse(text: str) -> Query:
    """Take a question apart."""
    found = words(text)
    counted = Counter(terms(text))
    return Query(
        text=text,
        terms=tuple(counted),
        names=tuple(dict.fromkeys(_names(text, found))),
        paths=tuple(dict.fromkeys(_PATHLIKE.findall(text))),
        stems=tuple(dict.fromkeys(w for w in found if len(w) > 3 and w.lower() not in STOP_WORDS)),
        about_tests=bool(_ABOUT_TESTS.search(text)),
        about_docs=bool(_ABOUT_DOCS.search(text)),
    )


def looks_like_code(word: str) -> bool:
    """Whether a word is written as an identifier is: snake_case, camelCase, CONSTANT, digits inside."""
    return bool(
        "_" in word.strip("_") or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d", word) or word.startswith("_")
    )


def _names(text: str, found: list[str]) -> list[str]:
    """Candidates for names of definitions: quoted and dotted ones, identifiers, word pairs, long words."""
    quoted = [next(g for g in groups if g) for groups in _QUOTED.findall(text)]
    exact = [q.strip("()") for q in quoted if re.fullmatch(r"[\w.:>-]+(\(\))?", q)]
    exact += _CALL_OR_DOTTED.findall(text)
    exact += [w for w in found if looks_like_code(w)]
    plain = [w for w in found if w.lower() not in STOP_WORDS and not looks_like_code(w)]
    pairs = [f"{a}{joint}{b}" for joint in ("", "_") for a, b in pairwise(plain)]
    single = [w for w in plain if len(w) > 6 or w[0].isupper()]
    return exact + pairs + single
