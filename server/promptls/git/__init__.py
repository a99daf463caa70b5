"""What git knows of the workspace's past: commits, who changed what and when, what changes together, the branch.

Read-only, offline, and safe in a repository that nobody trusts.  `History` is the owner; everything else works
on the values that it gives.
"""

from __future__ import annotations

from promptls.git.history_cache import WAIT_S, History
from promptls.git.log import Commit, read_commits
from promptls.git.statistics import (
    HALF_LIFE_DAYS,
    FilePast,
    Pair,
    Past,
    authors,
    changed_with,
    locate,
    past_of,
    recency,
    subjects,
)
from promptls.git.tracking import FRESH_S, Freshness, freshness, freshness_note

__all__ = [
    "FRESH_S",
    "HALF_LIFE_DAYS",
    "WAIT_S",
    "Commit",
    "FilePast",
    "Freshness",
    "History",
    "Pair",
    "Past",
    "authors",
    "changed_with",
    "freshness",
    "freshness_note",
    "locate",
    "past_of",
    "read_commits",
    "recency",
    "subjects",
]
