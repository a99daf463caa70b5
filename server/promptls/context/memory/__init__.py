"""What the user has told promptls to remember, for all workspaces or for one.

`Memory` owns the files, `perform` serves requests, `relevant` gives what belongs to a question.
"""

from __future__ import annotations

from promptls.context.memory.entries import CATEGORIES, SCOPES, Draft, Entry, InvalidEntry
from promptls.context.memory.files import Content
from promptls.context.memory.relevance import Hit, codebuddy_block, ranked, relevant
from promptls.context.memory.requests import ACTIONS, Answer, Ask, perform
from promptls.context.memory.store import Memory, user_folder

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
