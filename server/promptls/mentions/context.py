"""What a resolver may look at: the sources of this request, what the client says of itself, the token.

A value; the same one serves every mention of a message.  Nothing here knows LSP: paths are absolute
with forward slashes, lines 0-based and half-open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from promptls.index.edit_history import Edits
from promptls.index.snapshot import Snapshot, Sources
from promptls.model import CancelToken, Span

if TYPE_CHECKING:  # they look at files and know nothing of mentions
    from promptls.graph.graph import GraphView
    from promptls.index.workers.client import PatternMatches
    from promptls.knowledge.memory import Memory
    from promptls.mentions.anchors import Bound
    from promptls.mentions.resolution_cache import Recall
    from promptls.retrieval import Index, Strategy


class Finding(Struct, frozen=True):
    """One problem that the editor shows."""

    path: str
    span: Span
    message: str
    severity: int = 0  # 1 error, 2 warning, 3 information, 4 hint, 0 not said
    code: str = ""
    source: str = ""


class Client(Struct, frozen=True):
    """What stands in front of the user, as far as the client says it."""

    active: str = ""  # path of the active document, "" for none
    selection: tuple[str, Span] | None = None
    open: tuple[str, ...] = ()  # open documents, most recent first
    visible: tuple[str, ...] = ()  # those of them that can be seen
    diagnostics: tuple[Finding, ...] = ()  # what the editor shows as wrong
    quickfix: tuple[tuple[str, Span], ...] = ()
    terminal: str = ""
    clipboard: str = ""
    history: tuple[tuple[str, str], ...] = ()  # (role, content) of earlier turns, oldest first


class Around(Struct, frozen=True):
    """What kinds draw on that are no files and definitions; None where there is none."""

    index: Index | None = None
    graph: Callable[[], GraphView] | None = None
    memory: Memory | None = None
    strategy: Strategy | None = None
    edits: Edits | None = None
    matches: Callable[[str, Sequence[str], CancelToken, float], PatternMatches] | None = None
    recall: Recall | None = None  # of a document that is only looked at
    anchors: Bound | None = None  # of the document that the message stands in
    layers: Mapping[str, tuple[str, ...]] = {}  # the user's own layers
    partial: Callable[[], bool] = lambda: False  # whether files of the workspace wait to be listed or read
    waiting: Callable[[str], Iterable[tuple[str, str]]] | None = None  # (name, file) of what those seem to define


class Request(Struct, frozen=True):
    """One message's surroundings."""

    sources: Sources
    client: Client = Client()
    token: CancelToken = field(default_factory=CancelToken)
    around: Around = Around()
    question: str = ""  # the message without its mentions
    document: str = ""  # path of the prompt document in which the message stands, if it has one

    @property
    def snapshot(self) -> Snapshot:
        return self.sources.snapshot

    @property
    def graph(self) -> GraphView:
        """The knowledge graph of the snapshot."""
        assert self.around.graph is not None, "the graph is always there where mentions are that draw on it"
        return self.around.graph()
