"""Which of the files that still wait to be read define a name that somebody asks for now.

Texts are looked through for the name, files that are called like it first, for as long as somebody may wait.  A guess:
what the grammar finds in them decides.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable

from promptls.index import files
from promptls.model import CancelToken

MOST = 8
"""Files that are read for names that are asked for."""
MORE_S = 0.1
"""Seconds for which others are looked for once one is found that defines a name."""
_LEAST = 3
"""Letters of a name that may stand for a file, or of a file for a name."""
_DEFINES = (
    r"\b(?:class|def|defmodule|defp|defmacro|fn|func|fun|function|sub|proc|struct|enum|union|interface|protocol|trait|type"
    r"|typedef|object|record|module|namespace|package|const|let|var|val|static|macro|macro_rules!|define|data|newtype"
    r"|instance|impl)\b[^\n]{0,80}?(?<![\w$])"
)
"""What stands before the name where it is defined, in most languages; elsewhere holding it must do."""


def defining(
    names: Collection[str], paths: Iterable[str], limits: files.Limits, deadline: float, token: CancelToken | None
) -> list[str]:
    """Of these files those that seem to define one of the names, the likeliest first, `MOST` at the most.

    Looks until the deadline, a time.monotonic().  Raises Cancelled.
    """
    longest = sorted(names, key=len, reverse=True)
    defines = re.compile(f"{_DEFINES}(?:{'|'.join(map(re.escape, longest))})" r"(?![\w$])")
    lowered = [name.lower() for name in longest]
    likely: list[str] = []
    others: list[str] = []
    for path in paths:
        (likely if _called_like(path, lowered) else others).append(path)
    certain: list[str] = []
    holding: list[str] = []
    for path in (*likely, *others):
        if token is not None:
            token.check()
        if len(certain) >= MOST or time.monotonic() > deadline:
            break
        got = files.read_text(path, limits)
        if isinstance(got, files.Skipped) or not any(name in got.text for name in longest):
            continue
        if not defines.search(got.text):
            holding.append(path)
            continue
        if not certain:
            deadline = min(deadline, time.monotonic() + MORE_S)
        certain.append(path)
    return [*certain, *holding][:MOST]


def _called_like(path: str, names: Iterable[str]) -> bool:
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0].lower().replace("_", "").replace("-", "")
    return len(stem) >= _LEAST and any(stem in name or (len(name) >= _LEAST and name in stem) for name in names)
