"""Prompt items, their rendered forms, mentions and their outcomes, and user-visible problems."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct, field

from promptls.util.text.positions import Span

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


FormName = Literal["full", "partial", "signature", "outline", "reference"]


class Origin(str, Enum):
    """Why an item was considered. Explicit origins precede implicit ones."""

    MENTION = "mention"
    SELECTION = "selection"
    PINNED = "pinned"  # chosen in the preview of an earlier prompt
    ACTIVE = "active"
    MODEL = "model"  # chosen by a language model
    TASK = "task"
    SYMBOL = "symbol"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    PATH = "path"
    GRAPH = "graph"
    TEAM = "team"  # from the index of other repositories


EXPLICIT_ORIGINS = frozenset({Origin.MENTION, Origin.SELECTION, Origin.PINNED})
"""Origins of items that the user asked for."""


class Item(Struct, frozen=True):
    """A region of a file that may go into the prompt."""

    path: str
    span: Span
    kind: str  # "file", "folder", the kind of the symbol, or "text"
    origin: Origin
    score: float  # 0..1; 1 for explicit items
    symbol: str = ""  # qualified name, "" for a region that is not a definition
    reasons: Mapping[str, float] = field(default_factory=dict)  # components of the score
    mention: int = -1  # index of the mention; mentions of a recipe follow those of the message; -1 without
    call_sites: tuple[int, ...] = ()  # requested lines in the region, ascending, such as the calls of a function
    subject: str = ""  # of a virtual document, such as a diff: path of the file that it describes
    group: str = ""  # path of the mentioned folder or file set that represents it; "" if it is mentioned itself


class RenderedItem(Struct, frozen=True):
    """An item in one form, ready for the prompt."""

    item: Item
    form: FormName
    body: str  # lines of the file verbatim, with elision marks
    spans: tuple[Span, ...]  # lines of the file that the body contains
    tokens: int  # cost in the prompt, with fence and header


class MentionOutcome(Struct, frozen=True):
    """The result of resolving one mention."""

    mention: Mention
    status: MentionStatus
    targets: tuple[Item, ...] = ()
    candidates: tuple[str, ...] = ()  # unambiguous mentions, best first
    reason: str = ""
    suggestion: str = ""  # a mention that would resolve
    tokens: int = 0  # of what the prompt contains of the targets
    full_tokens: int = 0  # of the whole targets
    anchor: str = ""  # change of the anchored text: "moved", "changed", "deleted", or ""


class SectionEntry(Struct, frozen=True):
    """Prompt content that is not code: a rule, a memory, or an architecture fact."""

    text: str  # Markdown, one paragraph or list
    source: str = ""  # label in the prompt: "AGENTS.md", "CODEOWNERS", …
    score: float = 1.0  # relevance to the question, 0..1
