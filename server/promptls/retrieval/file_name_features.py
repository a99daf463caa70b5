"""What sort of file a name stands for: a test, a document, something else that seldom holds an answer.

Told by names alone, with one search for each pattern, and kept: the same files come with many questions.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from promptls.retrieval.query import Query

_MINOR = re.compile(
    r"(^|/)(tests?|testing|testdata|specs?|__tests__|__mocks__|examples?|samples?|demos?|docs?|vendor|third_party"
    r"|deps|locales?|fixtures?|benchmarks?|benches)(/|$)"
    r"|(^|/)(test_|conftest)[^/]*$|_test\.\w+$|_spec\.\w+$|\.(test|spec|stories|d)\.\w+$|Tests?\.(java|cs|kt|swift|scala)$"
    r"|\.(md|mdx|rst|txt|adoc|json|jsonc|ya?ml|toml|ini|cfg|html?|css|scss|less|svg|xml|csv|lock)$|(^|/)CHANGE"
)
_TEST = re.compile(
    r"(^|/)(tests?|testing|testdata|specs?|__tests__|__mocks__)(/|$)|(^|/)(test_|conftest)[^/]*$|_test\.\w+$"
    r"|_spec\.\w+$|\.(test|spec)\.\w+$|Tests?\.(java|cs|kt|swift|scala)$"
)
_DOCS = re.compile(r"\.(md|mdx|rst|txt|adoc)$|(^|/)(docs?|CHANGE\w*)(/|$)", re.I)
_ABOUT_TEST = re.compile(r"(^|/)(tests?|testing|specs?|__tests__)(/|$)|test", re.I)


class Sort(Struct, frozen=True):
    """What a file's name says of it."""

    minor: bool  # tests, examples, data, documents: they seldom hold the answer to a question about code
    test: bool
    docs: bool


@lru_cache(maxsize=1 << 14)
def sort_of(name: str) -> Sort:
    """The sort of the file of this name, relative to its root."""
    return Sort(bool(_MINOR.search(name)), bool(_TEST.search(name)), bool(_DOCS.search(name)))


def is_minor(name: str, query: Query) -> bool:
    """Whether the file is of minor importance to this question."""
    return sort_of(name).minor and not _asked_for(name, query)


def _asked_for(name: str, query: Query) -> bool:
    """Whether the question is about files of this sort."""
    if query.about_tests and _ABOUT_TEST.search(name):
        return True
    if query.about_docs and _DOCS.search(name):
        return True
    return any(p.lower() in name.lower() for p in query.paths)
