"""Which files see each other's definitions although no import names them: those of a folder, a package, a namespace.

Folders and packages are told by paths, namespaces by what the files say.  Pure.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from promptls.context.graph.facts import Facts
from promptls.context.graph.rules import JVM
from promptls.index.syntax.kinds import SPACE_KINDS
from promptls.model import FileEntry

_SOURCES = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin|scala|groovy)/")  # Maven, Gradle, sbt
_ROOTS = re.compile(r"(?:^|/)(?:src|tests?)/")  # what was before them


def share(language: str, one: FileEntry, other: FileEntry) -> bool:
    """Whether two files of a language lie in one package: in one folder, or below two folders of sources alike."""
    if one.path.rpartition("/")[0] == other.path.rpartition("/")[0]:
        return True
    return language in JVM and (package := _package(one.name)) != "" and package == _package(other.name)


@lru_cache(maxsize=1 << 14)
def _package(name: str) -> str:
    folder = name.rpartition("/")[0] + "/"
    found = _SOURCES.search(folder) or _ROOTS.search(folder)
    return folder[found.end() :] if found else ""


def namespaces(facts: Facts) -> tuple[str, ...]:
    """The namespaces that a file sees, those that its code is in first; "" for what is in none."""
    own = [symbol.qualified for symbol in facts.symbols if symbol.kind in SPACE_KINDS]
    if facts.outline.language != "csharp":
        return (*own, "")
    around = {name[:at] for name in own for at in range(len(name) + 1) if name[at : at + 1] in (".", "")}
    used = [one.module for one in facts.outline.imports]
    return tuple(dict.fromkeys([*sorted(around, key=lambda name: (-name.count("."), name)), "", *used]))


def closeness(path: str, near: str) -> int:
    """How many folders two paths share."""
    return posixpath.commonprefix([path, near]).count("/")
