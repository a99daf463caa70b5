"""File kinds by path: tests, and peripheral files such as examples, documentation and copies of other projects.

Pure functions of labels, the paths shown to users: "src/api/users.py", or "root:src/api/users.py" with several roots.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TEST_FOLDER = re.compile(
    r"(?:^|[/:])(?:tests?|testing|testdata|specs?|__tests?__|__specs?__|__mocks__)/", re.IGNORECASE
)
_TEST_STEM = re.compile(r"(?i:test[_-].*|.*[._-](?:test|spec)s?|tests?|conftest.*)|.*[a-z0-9]Tests?")
_PERIPHERAL_FOLDER = re.compile(
    r"(?:^|/)_?(?:examples?|samples?|fixtures?|testdata|templates?|demos?|benchmarks?|docs?|vendor|deps|third[_-]?party)/"
)

_PROSE_EXTENSIONS = frozenset(
    "adoc asc asciidoc ltx man markdown md mdx mkd org pod rdoc rst rtf tex texi textile txt wiki".split()
)
_PROSE_NAMES = frozenset(
    "authors changelog changes contributing copying licence license news notice readme todo".split()
)


@lru_cache(maxsize=1 << 14)
def is_test_path(label: str) -> bool:
    """Return true if a path is a test file, by one of its folders or by its file name."""
    if _TEST_FOLDER.search(label):
        return True
    name = label.rpartition("/")[2].rpartition(":")[2]
    stem = name.partition(".")[0] if name.count(".") < 2 else name.rpartition(".")[0]
    return _TEST_STEM.fullmatch(stem) is not None


def is_peripheral(label: str) -> bool:
    """Return true for files outside of the project's own code: tests, examples, documentation, third-party copies."""
    return is_test_path(label) or _PERIPHERAL_FOLDER.search(label) is not None


def is_prose_path(label: str) -> bool:
    """Return true for documents that people read: Markdown, reStructuredText, changelogs, licences and the like."""
    name = label.rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    return extension in _PROSE_EXTENSIONS if dot and stem else name in _PROSE_NAMES
