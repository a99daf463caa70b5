"""Memory: entries that the user stores for all workspaces or for one, and that become part of prompts.

`MemoryStore` owns the files, `perform` serves requests, and `relevant_entries` selects the entries for a question.
"""

from __future__ import annotations

from promptls.knowledge.memory.commands import ACTIONS, MemoryRequest, MemoryResult, perform
from promptls.knowledge.memory.entries import CATEGORIES, SCOPES, EntryDraft, InvalidEntry, MemoryEntry
from promptls.knowledge.memory.relevance import ScoredEntry, rank_entries, relevant_entries
from promptls.knowledge.memory.storage import MemoryContent
from promptls.knowledge.memory.store import MemoryStore, user_data_dir

__all__ = [
    "ACTIONS",
    "CATEGORIES",
    "SCOPES",
    "EntryDraft",
    "InvalidEntry",
    "MemoryContent",
    "MemoryEntry",
    "MemoryRequest",
    "MemoryResult",
    "MemoryStore",
    "ScoredEntry",
    "perform",
    "rank_entries",
    "relevant_entries",
    "user_data_dir",
]
