"""The nouns of promptls, shared by every floor: values that are frozen, without I/O.

No behaviour beyond what a reader needs to look inside.  Lines are 0-based and spans half-open everywhere except in
text written for people, where lines are 1-based and inclusive.  A `path` is always absolute with forward slashes.
"""

from __future__ import annotations

from promptls.model.outline import (
    CALL,
    IMPLEMENT,
    INHERIT,
    MENTION,
    USE,
    Chunk,
    Import,
    Outline,
    Reference,
    Span,
    Symbol,
)
from promptls.model.outline_codec import (
    AnyOutline,
    OutlineView,
    forget,
    keys_in,
    names_in,
    pack,
    spoken_in,
    symbols_in,
    unpack,
    view_of,
)
from promptls.model.values import (
    EXPLICIT,
    Block,
    Cancelled,
    CancelToken,
    FileEntry,
    FormName,
    Item,
    Mention,
    MentionOutcome,
    MentionStatus,
    Note,
    Origin,
    Problem,
    Root,
    TextView,
)

__all__ = [
    "CALL",
    "EXPLICIT",
    "IMPLEMENT",
    "INHERIT",
    "MENTION",
    "USE",
    "AnyOutline",
    "Block",
    "CancelToken",
    "Cancelled",
    "Chunk",
    "FileEntry",
    "FormName",
    "Import",
    "Item",
    "Mention",
    "MentionOutcome",
    "MentionStatus",
    "Note",
    "Origin",
    "Outline",
    "OutlineView",
    "Problem",
    "Reference",
    "Root",
    "Span",
    "Symbol",
    "TextView",
    "forget",
    "keys_in",
    "names_in",
    "pack",
    "spoken_in",
    "symbols_in",
    "unpack",
    "view_of",
]
