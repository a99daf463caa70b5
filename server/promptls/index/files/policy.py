"""Which files the user wants listed at all, whatever ignore files say: `index.include` and `index.exclude`.

A policy only takes away.  It holds wherever ignore rules hold, so that what it refuses is neither indexed
nor offered nor shown.  Patterns are written as in an ignore file and are relative to the root.
"""

from __future__ import annotations

import os
from functools import lru_cache

from msgspec import Struct

from promptls.index.files.gitignore import Rules, parse, picked


class Policy(Struct, frozen=True):
    """What the settings say about files."""

    include: tuple[str, ...] = ()  # only files that one of these picks; () for all
    exclude: tuple[str, ...] = ()  # no file that one of these picks
    hidden: bool = True  # files and folders whose names begin with a dot

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude or not self.hidden)

    def refusal(self, name: str, folder: bool = False) -> str:
        """Why a file or folder of this name (relative to the root) is not listed, "" if it is."""
        raw = os.fsencode(name)
        if not self.hidden and any(part.startswith(".") for part in name.split("/")):
            return "hidden files are left out (setting index.includeHidden)"
        if self.exclude and (rules := _rules(self.exclude)) is not None and picked(rules, raw, folder):
            return "the setting index.exclude leaves it out"
        if self.include and not folder:
            only = _rules(self.include)
            if only is None or not picked(only, raw):
                return "the setting index.include does not name it"
        return ""


@lru_cache(64)
def _rules(patterns: tuple[str, ...]) -> Rules | None:
    return parse("\n".join(patterns).encode("utf-8", "surrogateescape"), "settings")
