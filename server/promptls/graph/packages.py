"""What paths tell: which package a file is of, and how near two files are.  Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

_SOURCES = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin|scala|groovy)/")  # Maven, Gradle, sbt
_ROOTS = re.compile(r"(?:^|/)(?:src|tests?)/")  # what was before them


@lru_cache(maxsize=1 << 14)
def package_of(name: str) -> str:
    """The package of a Java, Kotlin or Scala file by its path in its root: "com/x"; "" if this does not tell."""
    folder = name.rpartition("/")[0] + "/"
    found = _SOURCES.search(folder) or _ROOTS.search(folder)
    return folder[found.end() : -1] if found else ""


@lru_cache(maxsize=1 << 14)
def module_of(name: str) -> str:
    """What of a path comes before its tree of sources: "core/" of "core/src/jvmMain/kotlin/x/A.kt"."""
    found = _SOURCES.search(name)
    return name[: found.start() + 1] if found else name


def closeness(path: str, near: str) -> int:
    """How many segments two paths have in common, from the first on."""
    parts = zip(path.split("/"), near.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
