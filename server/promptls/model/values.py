"""Files, mentions, items, and what becomes of them on the way to a prompt."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct, field

from promptls.model.outline import Span
from promptls.model.outline_codec import OutlineView, view_of

FormName = Literal["full", "partial", "signature", "outline", "reference"]
MentionStatus = Literal["included", "partial", "omitted", "ambiguous", "unresolved", "refused"]


class Cancelled(Exception):
    """The client cancelled the request, or the server is going down."""


class CancelToken:
    """Set once by the canceller; looked at by the worker between steps."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the token is set."""
        if self._event.is_set():
            raise Cancelled


class Root(Struct, frozen=True):
    """A workspace folder."""

    path: str  # absolute, no trailing slash
    name: str  # what mentions call it: "@name:src/a.py"
    uri: str


class FileEntry(Struct, frozen=True):
    """One file as the index knows it."""

    path: str
    root: str  # path of its Root
    name: str  # path relative to the root, forward slashes
    size: int = 0  # bytes on disk
    mtime_ns: int = 0
    digest: bytes = b""  # 16 bytes, blake2b of the text; b"" until outlined or when skipped
    version: int | None = None  # the editor's version for an open buffer, None for disk
    outlined: bytes = b""  # its outline, packed; b"": known by name only (not outlined yet, or skipped)
    skipped: str = ""  # why its text is not indexed: "binary", "2.1 MB is over the limit of 1 MB", …

    @property
    def read(self) -> bool:
        """Whether somebody has looked into it: it is known with its structure, or why it has none."""
        return bool(self.outlined or self.skipped)

    @property
    def outline(self) -> OutlineView | None:
        """Its structure, None where it is known by name only."""
        return view_of(self.outlined) if self.outlined else None


class Problem(Struct, frozen=True):
    """Trouble a user can have, as a sentence: what was wrong, and what to do."""

    message: str
    suggestion: str = ""


class Mention(Struct, frozen=True):
    """An @-mention as it stands in the message; nothing looked up yet."""

    text: str  # verbatim, with the "@"
    start: int  # offsets into the message, in code points
    end: int
    kind: str  # name of a registered kind: "file", "symbol", "folder", …
    target: str  # what it names, quotes and escapes removed: path, symbol, …
    lines: Span | None = None  # asked-for lines, 0-based half-open; None without
    root: str = ""  # workspace root it names ("@root:path"), "" without
    scope: str = ""  # path before "#": "@src/a.py#Name" is kind symbol, scope "src/a.py", target "Name"


class Origin(str, Enum):
    """Why an item was considered; the explicit ones come before any implicit one."""

    MENTION = "mention"
    SELECTION = "selection"
    ACTIVE = "active"
    SYMBOL = "symbol"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    PATH = "path"
    GRAPH = "graph"


EXPLICIT = frozenset({Origin.MENTION, Origin.SELECTION})


class Item(Struct, frozen=True):
    """A region of a file that may go into the prompt."""

    path: str
    span: Span
    kind: str  # "file", "folder", or the symbol's kind, or "text"
    origin: Origin
    score: float  # 0..1; 1 for explicit items
    symbol: str = ""  # qualified name, "" where the region is no definition
    reasons: Mapping[str, float] = field(default_factory=dict)  # what the score is made of
    mention: int = -1  # index of the mention that asked for it, those of a recipe after the message's; -1 for none
    sites: tuple[int, ...] = ()  # lines in it that it was asked for, ascending: where a caller calls


class TextView(Struct, frozen=True):
    """A file's text as of now, and the entry (outline, version, digest) made from exactly this text."""

    entry: FileEntry
    text: str
    lines: tuple[str, ...]  # without line ends

    def slice(self, span: Span) -> str:
        return "\n".join(self.lines[span.start : span.end])


class Block(Struct, frozen=True):
    """An item in one form, ready to stand in the prompt between its fences."""

    item: Item
    form: FormName
    body: str  # lines of the file verbatim, elisions as marked by render
    spans: tuple[Span, ...]  # the lines of the file that the body shows
    tokens: int  # cost in the prompt, fence and header included


class MentionOutcome(Struct, frozen=True):
    """What became of one mention."""

    mention: Mention
    status: MentionStatus
    targets: tuple[Item, ...] = ()
    candidates: tuple[str, ...] = ()  # mentions that would be unambiguous, best first
    reason: str = ""
    suggestion: str = ""  # a mention that would resolve
    tokens: int = 0
    anchor: str = ""  # what has become of the text it was bound to: "moved", "changed", "deleted"; "" for nothing


class Note(Struct, frozen=True):
    """A passage of the prompt that is no region of code: a rule, a memory, a fact of the architecture."""

    text: str  # markdown, one paragraph or list
    source: str = ""  # where it comes from, as the prompt shows it: "AGENTS.md", "CODEOWNERS", …
    score: float = 1.0  # 0..1, how much it belongs to the question
