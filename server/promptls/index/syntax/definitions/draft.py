"""Creation of drafts for definitions that were found without a syntax tree."""

from __future__ import annotations

from promptls.index.syntax.symbol_builder import SymbolDraft


def new_draft(kind: str, name: str, name_start: int, start: int, end: int, body: int = -1) -> SymbolDraft:
    """Return a draft.

    Args:
        kind: Kind of the symbol.
        name: Name as the user would write it.
        name_start: First byte of the name.
        start: First byte of the definition.
        end: Byte after the definition.
        body: First byte of the body, -1 without one.
    """
    draft = SymbolDraft()
    draft.rank = 0, 0
    draft.kind, draft.name_text, draft.owner_text, draft.doc = kind, name, "", ""
    draft.name_starts = (name_start,)
    draft.node = start, end, 0
    draft.start = draft.head = start
    draft.end = end
    draft.body = (body, end, 0) if body >= 0 else None
    draft.trailing_body = draft.is_clause = draft.shares_declaration = False
    return draft
