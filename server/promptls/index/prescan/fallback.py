"""Fallback for files that are not prescanned yet: find the waiting files that probably define a name.

Reads files and searches their texts for the name until a deadline, files with a similar name first.  The result is a
heuristic; the outline of the files decides.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Sequence

from promptls.index.files.read import FileLimits, UnreadableFile, read_text
from promptls.index.prescan.lexer import DEFINITION_KEYWORDS
from promptls.model import CancelToken

MAX_FILES = 8
"""Maximum number of files that are read first for requested names."""
EXTRA_SEARCH_S = 0.1
"""Seconds for which the search goes on after the first file that defines a name."""
_MIN_NAME_LENGTH = 3
"""Minimum length of a name, or of a file name, that is matched as a part of the other."""
_KEYWORDS = DEFINITION_KEYWORDS.union(
    "proc object record const let var val static define data newtype instance impl".split()
)
"""Keywords of definitions, including those of values: the search is limited to the requested names."""
_DEFINITION = rf"\b(?:{'|'.join(sorted(_KEYWORDS))})\b[^\n]{{0,80}}?(?<![\w$])"
"""Text before the name in a definition, in most languages.  Other languages only match files that contain the name."""


def find_definitions(
    names: Collection[str],
    paths: Iterable[str],
    limits: FileLimits,
    deadline: float,
    token: CancelToken | None,
    roots: Sequence[str] = (),
) -> list[str]:
    """Return up to `MAX_FILES` files that probably define one of the names, the most likely first.

    Files that only contain a name come last.  `deadline` is a value of `time.monotonic()`.

    Raises:
        Cancelled: The request was cancelled.
    """
    longest = sorted(names, key=len, reverse=True)
    definition = re.compile(f"{_DEFINITION}(?:{'|'.join(map(re.escape, longest))})" r"(?![\w$])")
    lowered = [name.lower() for name in longest]
    likely: list[str] = []
    others: list[str] = []
    for path in paths:
        (likely if _is_named_like(path, lowered) else others).append(path)
    defining: list[str] = []
    containing: list[str] = []
    for path in (*likely, *others):
        if token is not None:
            token.check()
        if len(defining) >= MAX_FILES or time.monotonic() > deadline:
            break
        content = read_text(path, limits, roots)
        if isinstance(content, UnreadableFile) or not any(name in content.text for name in longest):
            continue
        if not definition.search(content.text):
            containing.append(path)
            continue
        if not defining:
            deadline = min(deadline, time.monotonic() + EXTRA_SEARCH_S)
        defining.append(path)
    return [*defining, *containing][:MAX_FILES]


def _is_named_like(path: str, names: Iterable[str]) -> bool:
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0].lower().replace("_", "").replace("-", "")
    return len(stem) >= _MIN_NAME_LENGTH and any(
        stem in name or (len(name) >= _MIN_NAME_LENGTH and name in stem) for name in names
    )
