"""File policy: names that are excluded by the settings.

The settings `index.include`, `index.exclude` and `index.includeHidden` only exclude files, on top of the ignore files.
They apply wherever ignore rules apply: an excluded file is not indexed, not completed and not shown.  Patterns have the
syntax of an ignore file and are relative to the root.
"""

from __future__ import annotations

import os
from functools import lru_cache

from msgspec import Struct

from promptls.index.files.gitignore import IgnoreRules, is_match, parse_rules


class FilePolicy(Struct, frozen=True):
    """Patterns of files to include and exclude."""

    include: tuple[str, ...] = ()  # if not empty, only files that match one of these patterns
    exclude: tuple[str, ...] = ()  # no files that match one of these patterns
    include_hidden: bool = True  # files and folders whose names start with a dot

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude or not self.include_hidden)

    def exclusion_reason(self, name: str, folder: bool = False) -> str:
        """Return why a file or folder (name relative to the root) is excluded, "" if it is not."""
        raw = os.fsencode(name)
        if not self.include_hidden and any(part.startswith(".") for part in name.split("/")):
            return "hidden files are excluded (setting index.includeHidden)"
        if self.exclude and (rules := _parse_patterns(self.exclude)) is not None and is_match(rules, raw, folder):
            return "the setting index.exclude excludes it"
        if self.include and not folder:
            included = _parse_patterns(self.include)
            if included is None or not is_match(included, raw):
                return "the setting index.include does not include it"
        return ""


@lru_cache(64)
def _parse_patterns(patterns: tuple[str, ...]) -> IgnoreRules | None:
    return parse_rules("\n".join(patterns).encode("utf-8", "surrogateescape"), "settings")
