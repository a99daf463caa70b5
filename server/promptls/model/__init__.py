"""Frozen values that every package shares. No I/O.

Lines are 0-based and spans half-open, except in text for people, where lines are 1-based and inclusive. A `path` is
always absolute, with forward slashes.
"""

from __future__ import annotations

from promptls.model.cancel import Cancelled, CancelToken
from promptls.model.files import FileEntry, FileText, Root
from promptls.model.items import EXPLICIT_ORIGINS, FormName, Item, MentionOutcome, Origin, RenderedItem, SectionEntry
from promptls.model.mentions import Mention, MentionStatus, Problem
from promptls.model.outline import CALL, IMPLEMENT, INHERIT, PROSE, USE, Chunk, Import, Outline, Reference, Symbol
from promptls.model.outline_codec import (
    AnyOutline,
    OutlineView,
    count_symbols,
    decode_chunk_keys,
    decode_outline,
    decode_references,
    decode_symbol_names,
    drop_cached_outline,
    encode_outline,
    outline_view,
)
from promptls.util.text.span import Span

__all__ = [
    "CALL",
    "EXPLICIT_ORIGINS",
    "IMPLEMENT",
    "INHERIT",
    "PROSE",
    "USE",
    "AnyOutline",
    "CancelToken",
    "Cancelled",
    "Chunk",
    "FileEntry",
    "FileText",
    "FormName",
    "Import",
    "Item",
    "Mention",
    "MentionOutcome",
    "MentionStatus",
    "Origin",
    "Outline",
    "OutlineView",
    "Problem",
    "Reference",
    "RenderedItem",
    "Root",
    "SectionEntry",
    "Span",
    "Symbol",
    "count_symbols",
    "decode_chunk_keys",
    "decode_outline",
    "decode_references",
    "decode_symbol_names",
    "drop_cached_outline",
    "encode_outline",
    "outline_view",
]
