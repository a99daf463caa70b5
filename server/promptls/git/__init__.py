"""Git history of the workspace: commits, authors, recency, files that change together, state of the working tree.

Read-only, offline, and safe in untrusted repositories. `HistoryCache` owns the state; everything else works on the
values that it returns.
"""

from __future__ import annotations

from promptls.git.history_cache import MAX_WAIT_S, HistoryCache
from promptls.git.log import Commit, read_commits
from promptls.git.statistics import (
    HALF_LIFE_DAYS,
    CoChange,
    FileHistory,
    History,
    authors,
    build_history,
    co_changes,
    find_file_history,
    recency,
    recent_subjects,
)
from promptls.git.tracking import FRESHNESS_TTL_S, Freshness, freshness_warning, read_freshness

__all__ = [
    "FRESHNESS_TTL_S",
    "HALF_LIFE_DAYS",
    "MAX_WAIT_S",
    "CoChange",
    "Commit",
    "FileHistory",
    "Freshness",
    "History",
    "HistoryCache",
    "authors",
    "build_history",
    "co_changes",
    "find_file_history",
    "freshness_warning",
    "read_commits",
    "read_freshness",
    "recency",
    "recent_subjects",
]
