"""Mentions, and user-visible problems."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from promptls.util.text.span import Span

MentionStatus = Literal["included", "partial", "omitted", "ambiguous", "unresolved", "refused", "text"]


class Problem(Struct, frozen=True):
    """An error as a value: a sentence for the user, and what to do about it."""

    message: str
    suggestion: str = ""


class Mention(Struct, frozen=True):
    """A parsed, unresolved `@…` token of a message."""

    text: str  # verbatim, with the "@"
    start: int  # offsets into the message, in code points
    end: int
    kind: str  # name of a registered kind: "file", "symbol", "folder", …
    target: str  # path, symbol name, … without quotes and escapes
    lines: Span | None = None  # requested lines
    root: str = ""  # workspace root of "@root:path"
    scope: str = ""  # path before "#": "@src/a.py#Name" has kind symbol, scope "src/a.py" and target "Name"
    more_lines: tuple[Span, ...] = ()  # further ranges: "@a.py:10-12,20-22"
    note: str = ""  # how an unusual spelling was read, one sentence
