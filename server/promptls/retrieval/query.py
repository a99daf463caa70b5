"""What is looked for: a question taken apart into the words that the legs of retrieval use.

Pure functions of the text; names are checked against the workspace by the legs themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from promptls.index.search.analyzer import STOP_WORDS, terms, words

_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([\w.:/-]{2,80})'")
# A run of letters is tried from its beginning only: a long one must not cost its square.
_CALL_OR_DOTTED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|(?<!\w)[A-Za-z_]\w*(?=\()")
_PATHLIKE = re.compile(r"(?<![\w.-])[\w.-]+(?:/[\w.-]+)+|(?<![\w-])[\w-]+\.[A-Za-z]{1,5}\b")
_ABOUT_TESTS = re.compile(
    r"\b(unit|e2e|integration|regression)?[ -]?tests?\b|\bspecs?\b|\btest(ed|ing)\b|\bfixtures?\b", re.I
)
_SEEKS_TESTS = re.compile(
    r"\b(is|are) there (a |an |any |some )?(\w+ ){0,2}tests?\b"
    r"|\b(do|does|did) (we|anything|any of \w+) ((have|really|even|actually|a|any) )*(check|test|verify|assert)s?\b"
    r"|\b(which|what|any|where are the|where is the|whose) (\w+ ){0,2}tests?\b"
    r"|\btests? (that|which|for|of|proving|covering|where|prove|cover|checks?|exercis\w+|pins?)\b"
    r"|\b(covered|exercised|pinned|tested|checked|proven?|verified) (by|in|anywhere)\b"
    r"|\b(unit|regression|integration) tests?\b|\b(in the|test) suite\b|\btest coverage\b",
    re.I,
)
_ABOUT_DOCS = re.compile(r"\b(docs?|documentation|readme|changelog|license|contributing|install(ation)?)\b", re.I)


class Query(Struct, frozen=True):
    """A question, ready for the legs."""

    text: str  # the question without file mentions; what is embedded
    terms: tuple[str, ...]  # distinct search terms in order (see index.terms)
    names: tuple[str, ...]  # words that may name a definition, as written, most specific first
    paths: tuple[str, ...]  # what looks like a path or file name
    spelled: tuple[str, ...] = ()  # those of `names` that are written as code, or are all that is asked
    pairs: tuple[str, ...] = ()  # those of `names` that are two words of prose in one
    stems: tuple[str, ...] = ()  # words that may be a file's name without its ending
    about_tests: bool = False
    seeks_tests: bool = False  # whether a test is what is looked for
    about_docs: bool = False
    phrases: tuple[str, ...] = ()  # quoted strings, whole
    excluded: tuple[str, ...] = ()  # search terms that the question excludes; not among `terms`
    corrected: tuple[tuple[str, str], ...] = ()  # (word as typed, name or word of the workspace it was taken for)
    expanded: tuple[tuple[str, float], ...] = ()  # (search term, weight below 1) that stand beside those asked for


def analyse(text: str) -> Query:
    """Take a question apart."""
    found = words(text)
    counted = Counter(terms(text))
    spelled, pairs = tuple(dict.fromkeys(_spelled_names(text, found))), tuple(dict.fromkeys(_pairs(found)))
    return Query(
        text=text,
        terms=tuple(counted),
        names=tuple(dict.fromkeys([*spelled, *pairs, *_long_words(found)])),
        spelled=spelled,
        pairs=pairs,
        paths=tuple(dict.fromkeys(_PATHLIKE.findall(text))),
        stems=tuple(dict.fromkeys(w for w in found if len(w) > 3 and w.lower() not in STOP_WORDS)),
        phrases=_quoted(text),
        about_tests=bool(_ABOUT_TESTS.search(text)),
        seeks_tests=bool(_SEEKS_TESTS.search(text)),
        about_docs=bool(_ABOUT_DOCS.search(text)),
    )


def without(query: Query, words_excluded: Iterable[str]) -> Query:
    """The query without the terms and names of these words, unless nothing would be left to look for."""
    dropped = {term for word in words_excluded for term in terms(word)}
    kept = tuple(t for t in query.terms if t not in dropped)
    if not dropped or not kept:
        return query
    lower = {word.lower() for word in words_excluded}
    return replace(
        query,
        terms=kept,
        names=tuple(n for n in query.names if n.lower() not in lower),
        spelled=tuple(n for n in query.spelled if n.lower() not in lower),
        pairs=tuple(n for n in query.pairs if n.lower() not in lower),
        stems=tuple(s for s in query.stems if s.lower() not in lower),
        excluded=tuple(t for t in query.terms if t in dropped),
    )


def with_terms(query: Query, phrases: Iterable[str]) -> Query:
    """The query with the terms and names of these phrases behind its own; what it excludes stays out."""
    left_out = frozenset(query.excluded)
    found = [analyse(phrase) for phrase in phrases if left_out.isdisjoint(terms(phrase))]
    return replace(
        query,
        terms=_joined(query.terms, (f.terms for f in found)),
        names=_joined(query.names, (f.names for f in found)),
        spelled=_joined(query.spelled, (f.spelled for f in found)),
        pairs=_joined(query.pairs, (f.pairs for f in found)),
        paths=_joined(query.paths, (f.paths for f in found)),
        stems=_joined(query.stems, (f.stems for f in found)),
    )


def _joined(first: tuple[str, ...], more: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *(word for words_ in more for word in words_)]))


def looks_like_code(word: str) -> bool:
    """Whether a word is written as an identifier is: snake_case, camelCase, CONSTANT, digits inside."""
    return bool(
        "_" in word.strip("_") or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d", word) or word.startswith("_")
    )


def _quoted(text: str) -> tuple[str, ...]:
    """What stands in quotes or back quotes, each once."""
    return tuple(dict.fromkeys(next(g for g in groups if g) for groups in _QUOTED.findall(text)))


def _spelled_names(text: str, found: list[str]) -> list[str]:
    """Names of definitions that are written as such: quoted and dotted ones, identifiers, the only word there is."""
    exact = [q.strip("()") for q in _quoted(text) if re.fullmatch(r"[\w.:>-]+(\(\))?", q)]
    exact += _CALL_OR_DOTTED.findall(text)
    exact += [w for w in found if looks_like_code(w)]
    return exact or (found if len(found) == 1 else [])


def _pairs(found: list[str]) -> list[str]:
    """Neighbouring words of prose as one name: "apply discount" may be applyDiscount or apply_discount."""
    plain = _plain(found)
    return [f"{a}{joint}{b}" for joint in ("", "_") for a, b in pairwise(plain)]


def _long_words(found: list[str]) -> list[str]:
    """Words of prose that may name a definition: long ones, those with a capital."""
    return [w for w in _plain(found) if len(w) > 6 or w[0].isupper()]


def _plain(found: list[str]) -> list[str]:
    return [w for w in found if w.lower() not in STOP_WORDS and not looks_like_code(w)]
