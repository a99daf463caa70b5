"""File-name features of the ranking model: tests, documents and other auxiliary files, recognized by path.

The weights of the model were fitted with exactly these patterns, so changing them requires a new training.  All other
code uses `knowledge.project.file_kind`, which recognizes more test files.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from promptls.retrieval.query import Query

_AUXILIARY = re.compile(
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
_TEST_TOPIC = re.compile(r"(^|/)(tests?|testing|specs?|__tests__)(/|$)|test", re.I)


class FileNameFeatures(Struct, frozen=True):
    """Features of a file that depend on its name alone."""

    is_auxiliary: bool  # tests, examples, data and documents, which rarely answer questions about code
    is_test: bool
    is_docs: bool


@lru_cache(maxsize=1 << 14)
def file_name_features(name: str) -> FileNameFeatures:
    """Return the features of a file name relative to its root; cached, because names recur in many questions."""
    return FileNameFeatures(bool(_AUXILIARY.search(name)), bool(_TEST.search(name)), bool(_DOCS.search(name)))


def is_auxiliary_for(name: str, query: Query) -> bool:
    """Return true if the file is auxiliary and the question is not about such files."""
    return file_name_features(name).is_auxiliary and not _is_topic(name, query)


def _is_topic(name: str, query: Query) -> bool:
    if query.about_tests and _TEST_TOPIC.search(name):
        return True
    if query.about_docs and _DOCS.search(name):
        return True
    return any(p.lower() in name.lower() for p in query.paths)
