"""Input of resolvers: file sources, client context, long-lived services, cached outcomes and the cancellation token.

One `ResolveContext` serves all mentions of a message.  Independent of LSP: paths are absolute with forward slashes,
lines are 0-based and half-open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field

from promptls.git.history_cache import HistoryCache
from promptls.graph.graph import GraphView
from promptls.index import EditHistory, PatternMatches, Snapshot, SourceReader
from promptls.knowledge.memory_store import MemoryStore
from promptls.knowledge.project.project_index import ProjectIndex
from promptls.mentions.anchors import DocumentAnchors
from promptls.mentions.completion.index import CompletionIndex, PathIndex, SymbolIndex
from promptls.model import CancelToken, FileText, MentionOutcome, Span
from promptls.retrieval.query_expansion import Cooccurrence
from promptls.retrieval.retrieve import RetrievalIndex, RetrievalStrategy
from promptls.retrieval.team_source import TeamSource

MIN_TTL_S = 2.0
"""Minimum time to live of an outcome, in seconds."""

TTL_FACTOR = 20
"""Time to live as a multiple of the resolution time: limits re-resolution to 5 % of one core."""

MAX_ENTRIES = 200
"""Outcomes per document; the cache is cleared when there are more."""


class CachedOutcome(Struct, frozen=True):
    """An outcome and the virtual documents that its targets refer to."""

    expires_at: float  # time.monotonic()
    question: str
    outcome: MentionOutcome
    virtual_documents: dict[str, FileText]


class ResolutionCache:
    """Outcomes of the expensive mentions of one prompt document, by the text of the mention.  Thread-safe.

    Git, full-text search and graph traversal take tens of milliseconds or more, and the document is analyzed after
    every keystroke.  A cached outcome may be a few seconds old.  Building a prompt bypasses the cache.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, CachedOutcome] = {}

    def get(self, text: str, question: str) -> CachedOutcome | None:
        """Return the outcome of a mention unless it has expired or belongs to another question."""
        with self._lock:
            entry = self._entries.get(text)
        valid = entry is not None and time.monotonic() < entry.expires_at and entry.question == question
        return entry if valid else None

    def put(
        self,
        text: str,
        question: str,
        outcome: MentionOutcome,
        virtual_documents: dict[str, FileText],
        duration_s: float,
    ) -> None:
        """Store an outcome; `duration_s` is the time that resolution took."""
        with self._lock:
            if len(self._entries) > MAX_ENTRIES:
                self._entries.clear()
            expires_at = time.monotonic() + max(MIN_TTL_S, TTL_FACTOR * duration_s)
            self._entries[text] = CachedOutcome(expires_at, question, outcome, virtual_documents)


class EditorDiagnostic(Struct, frozen=True):
    """A problem reported by the editor."""

    path: str
    span: Span
    message: str
    severity: int = 0  # 1 error, 2 warning, 3 information, 4 hint, 0 unknown
    code: str = ""
    source: str = ""


class ClientContext(Struct, frozen=True):
    """Editor state as reported by the client."""

    active_document: str = ""  # path, "" for none
    selection: tuple[str, Span] | None = None
    open_documents: tuple[str, ...] = ()  # most recently used first
    visible_documents: tuple[str, ...] = ()
    diagnostics: tuple[EditorDiagnostic, ...] = ()
    quickfix: tuple[tuple[str, Span], ...] = ()
    terminal: str = ""
    clipboard: str = ""
    history: tuple[tuple[str, str], ...] = ()  # (role, content) of earlier turns, oldest first


class Services(Struct, frozen=True):
    """Long-lived services of the engine (index, graph, memory, git history, …), shared by all requests."""

    index: RetrievalIndex | None = None
    graph: Callable[[Snapshot], GraphView] | None = None
    memory: MemoryStore | None = None
    edits: EditHistory | None = None
    find_pattern: Callable[[str, Sequence[str], CancelToken, float], PatternMatches] | None = None
    strategy: RetrievalStrategy = RetrievalStrategy()
    layers: Mapping[str, tuple[str, ...]] = {}  # layers of the user's settings
    completion_index: CompletionIndex = field(default_factory=CompletionIndex)
    cooccurrence: Cooccurrence = field(default_factory=Cooccurrence)
    projects: ProjectIndex = field(default_factory=ProjectIndex)
    git_history: HistoryCache = field(default_factory=HistoryCache)
    team: TeamSource | None = None  # None without a team index


class ResolveContext(Struct, frozen=True):
    """Everything that resolvers may use for one message."""

    sources: SourceReader
    client: ClientContext = ClientContext()
    token: CancelToken = field(default_factory=CancelToken)
    services: Services = field(default_factory=Services)
    question: str = ""  # the message without its mentions
    document: str = ""  # path of the prompt document that contains the message, if any
    anchors: DocumentAnchors | None = None  # of that document
    cache: ResolutionCache | None = None  # of that document; None to resolve everything now
    index_complete: bool = True  # false until the first scan of the workspace is done
    is_partial: Callable[[], bool] = lambda: False  # whether files are not listed or parsed yet
    pending_symbols: Callable[[str], Iterable[tuple[str, str]]] | None = None  # prefix → (name, unparsed file)

    @property
    def snapshot(self) -> Snapshot:
        """Snapshot that the request works on."""
        return self.sources.snapshot

    @property
    def graph(self) -> GraphView:
        """Knowledge graph of the snapshot."""
        assert self.services.graph is not None, "the engine provides a graph"
        return self.services.graph(self.snapshot)

    @property
    def path_index(self) -> PathIndex:
        """Completion index of the files and folders of the snapshot."""
        return self.services.completion_index.paths(self.snapshot)

    @property
    def symbol_index(self) -> SymbolIndex:
        """Completion index of the symbol names of the snapshot."""
        return self.services.completion_index.symbols(self.snapshot)

    @property
    def index(self) -> RetrievalIndex:
        """Retrieval index."""
        assert self.services.index is not None, "the engine provides an index"
        return self.services.index
