"""Properties of paths: package and module prefix of JVM files, and closeness of two paths."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

_SOURCES = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin|scala|groovy)/")  # Maven, Gradle, sbt
_ROOTS = re.compile(r"(?:^|/)(?:src|tests?)/")  # older layouts


@lru_cache(maxsize=1 << 14)
def package_of(name: str) -> str:
    """Return the package of a Java, Kotlin or Scala file by its path in the root, "com/x", or "" if unknown."""
    folder = name.rpartition("/")[0] + "/"
    match = _SOURCES.search(folder) or _ROOTS.search(folder)
    return folder[match.end() : -1] if match else ""


@lru_cache(maxsize=1 << 14)
def module_prefix(name: str) -> str:
    """Return the part of a path before its source tree: "core/" for "core/src/jvmMain/kotlin/x/A.kt"."""
    match = _SOURCES.search(name)
    return name[: match.start() + 1] if match else name


def common_segments(path: str, other: str) -> int:
    """Return the number of leading segments that two paths have in common."""
    parts = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
