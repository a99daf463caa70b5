"""Data rows and translations: regions that repeat words of a question, but seldom answer it.

The ranking model has no feature for them, so their probability is reduced by a rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from promptls.retrieval.candidates import Candidate
from promptls.retrieval.query import Query
from promptls.retrieval.scorers import Floats

DATA_FACTOR = 0.1
"""Factor of the probability of data and translations that the question does not ask for."""

_DATA = re.compile(
    r"\.(csv|tsv|psv|jsonl|ndjson|geojson|topojson|dat|svg)$"
    r"|(^|/)(fixtures?|test_?data|seeds?|samples?|datasets?|data)/(.*/)?[^/]*\.(json|ya?ml|xml|txt)$",
    re.I,
)
_SQL_DATA = re.compile(r"(^|[/_.-])(seeds?|data|dump|inserts?|fixtures?|populate|samples?)([_.-]|\d|$)[^/]*$", re.I)
"""Names of SQL files whose unnamed statements are rows; elsewhere they are rows beside definitions."""

_LANGUAGE = r"(?!en\b)[a-z]{2}(?:[-_](?:r?[A-Za-z]{2}|[A-Z][a-z]{3}|\d{3}))?"
_TRANSLATION = re.compile(
    rf"(^|/)values-{_LANGUAGE}/[^/]*\.xml$"  # Android
    rf"|(^|/){_LANGUAGE}\.lproj/"  # Apple
    rf"|(^|/)(locales?|i18n|l10n|langs?|languages?|translations?|messages|po)/(.*/)?({_LANGUAGE}/.*|([^/]*[._-])?{_LANGUAGE})"
    r"\.(json5?|ya?ml|po|properties|php|toml|ftl|xml|arb|strings)$"
    rf"|[._-]{_LANGUAGE}\.(properties|resx|arb|xlf|xliff|po)$"
    r"|\.(pot?|mo)$"
)
_ASKS_FOR_DATA = re.compile(
    r"\b(seed\w*|fixtures?|samples?|inserts?|inserted|rows?|records?|csv|tsv|geojson|svg|dump|dataset\w*|test data)\b",
    re.I,
)
_ASKS_FOR_TRANSLATION = re.compile(
    r"\b(translat\w+|locali[sz]\w+|locales?|i18n|l10n|languages?|übersetz\w+|traduc\w+|traduz\w+)\b|翻译|翻訳|번역",
    re.I,
)


def data_factors(query: Query, candidates: Sequence[Candidate]) -> Floats:
    """Return float32[n]: `DATA_FACTOR` for data and translations that the question does not ask for, else 1."""
    data, translation = not _ASKS_FOR_DATA.search(query.text), not _ASKS_FOR_TRANSLATION.search(query.text)
    reduced = [
        ((data and _is_data(candidate)) or (translation and is_translation(candidate.entry.name)))
        and not candidate.by_path
        for candidate in candidates
    ]
    return np.where(reduced, DATA_FACTOR, 1).astype(np.float32)


def _is_data(candidate: Candidate) -> bool:
    name = candidate.entry.name
    if name[-4:].lower() == ".sql" and candidate.symbol is None:
        outline = candidate.entry.outline
        return bool(_SQL_DATA.search(name[:-4])) or (outline is not None and len(outline.symbols) > 0)
    return is_data_file(name)


@lru_cache(maxsize=1 << 14)
def is_data_file(name: str) -> bool:
    """Return whether a file, by its name, consists of data rows."""
    return _DATA.search(name) is not None


@lru_cache(maxsize=1 << 14)
def is_translation(name: str) -> bool:
    """Return whether a file, by its name, holds texts in another language than English."""
    return _TRANSLATION.search(name) is not None
