"""What the user has told promptls to remember, for all workspaces or for one.

`Memory` owns the files, `perform` serves requests, `relevant` gives what belongs to a question.
"""

from __future__ import annotations

from promptls.knowledge.memory.commands import ACTIONS, Answer, Ask, perform
from promptls.knowledge.memory.entries import CATEGORIES, SCOPES, Draft, Entry, InvalidEntry
from promptls.knowledge.memory.relevance import Hit, codebuddy_block, ranked, relevant
from promptls.knowledge.memory.storage import Content
from promptls.knowledge.memory.store import Memory, user_folder

__all__ = [
    "ACTIONS",
    "CATEGORIES",
    "SCOPES",
    "Answer",
    "Ask",
    "Content",
    "Draft",
    "Entry",
    "Hit",
    "InvalidEntry",
    "Memory",
    "codebuddy_block",
    "perform",
    "ranked",
    "relevant",
    "user_folder",
]
