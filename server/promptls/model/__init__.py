"""Frozen values that every package shares. No I/O.

Lines are 0-based and spans half-open, except in text for people, where lines are 1-based and inclusive. A `path` is
always absolute, with forward slashes.
"""

# The imports are the names of this package.
# ruff: noqa: F401
from __future__ import annotations

from promptls.model.files import VIRTUAL_SCHEME, FileEntry, FileText, Root
from promptls.model.items import (
    EXPLICIT_ORIGINS,
    FormName,
    Item,
    Mention,
    MentionOutcome,
    MentionStatus,
    Origin,
    Problem,
    RenderedItem,
    SectionEntry,
)
from promptls.model.outlines import (
    CALL,
    IMPLEMENT,
    INHERIT,
    PROSE,
    USE,
    AnyOutline,
    Chunk,
    Import,
    Outline,
    OutlineView,
    Reference,
    Symbol,
    count_symbols,
    decode_chunk_keys,
    decode_outline,
    decode_references,
    decode_size,
    decode_symbol_names,
    drop_cached_outline,
    encode_outline,
    is_valid_outline,
    outline_view,
    pack_numbers,
    unpack_numbers,
)
from promptls.util.cancellation import Cancelled, CancelToken
from promptls.util.text.positions import Span
