"""Analyses of the open prompt documents: resolved mentions and token counts.

An analysis belongs to one version of a document and one snapshot of the index. The latest analysis of each document is
cached, because editors send many requests about the same text.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import decode_client_context
from promptls.api.messages.params import Json
from promptls.engine import Engine
from promptls.git.commit_history import History
from promptls.index import Snapshot
from promptls.lsp.documents import OpenDocuments, PromptDocument
from promptls.mentions.context import ResolutionCache, ResolveContext
from promptls.mentions.resolve import parse_message
from promptls.mentions.syntax.lexer import token_at_end
from promptls.model import CancelToken, MentionOutcome, Span
from promptls.prompt.assemble import PromptItem
from promptls.prompt.budget import BudgetRequest
from promptls.prompt.dry_run import DryRun, dry_run
from promptls.prompt.errors import InvalidOption
from promptls.prompt.options import PromptOptions, RecipeOptions, RequestOptions, resolve_options
from promptls.prompt.tokens import Counter
from promptls.settings import Settings
from promptls.util.text.positions import LineIndex

if TYPE_CHECKING:
    from promptls.lsp.features.instructions import InstructionAnalysis

RECONCILE_MAX_AGE_S = 15.0
"""Maximum age of the last check of the disk while a prompt is being written, in seconds; building checks again."""
TYPING_PAUSE_S = 1.5
"""Pause after which a mention at the last edit counts as complete, in seconds; longer than between two keystrokes."""
ANALYSIS_MAX_AGE_S = 5.0
"""Seconds for which an analysis is reused: changes, memory and commits are read without a new snapshot of the index."""
FALLBACK_TOKENS = 4000
"""Budget assumed when the settings name an unknown model or counter; building the prompt reports the error."""

_NO_CONTEXT = protocol.Context()


class DocumentAnalysis(Struct, frozen=True):
    """A dry run of a prompt document: the outcomes of its mentions and what they cost."""

    document: PromptDocument
    lines: LineIndex
    context: ResolveContext
    histories: tuple[History, ...]
    run: DryRun
    budget: int
    counter: Counter
    made_at: float  # time.monotonic()

    def is_current(self, snapshot: Snapshot, inputs: tuple[object, ...]) -> bool:
        """Return whether a new analysis would be the same; `inputs` are document, client, options and histories."""
        own = (self.document, self.context.client, self.run.options, self.histories)
        is_recent = time.monotonic() - self.made_at < ANALYSIS_MAX_AGE_S
        return self.context.snapshot is snapshot and own == inputs and is_recent

    def mention_at(self, position: protocol.Position) -> MentionOutcome | None:
        """Return the mention at a position, its end included."""
        offset = self.lines.offset(position.line, position.character)
        outcomes = (*self.run.mentions, *self.run.texts)
        return next((m for m in outcomes if m.mention.start <= offset <= m.mention.end), None)

    def typed_mention(self) -> int | None:
        """Return the offset of the mention that the user is typing, None after a pause or an edit elsewhere."""
        document = self.document
        if document.edit_end < 0 or time.monotonic() - document.edited_at >= TYPING_PAUSE_S:
            return None
        token = token_at_end(document.text[: document.edit_end])
        return token.start if token is not None else None

    def may_be_found_later(self) -> bool:
        """Return whether a mention is not found while the index is incomplete."""
        return any(outcome.status == "unresolved" for outcome in self.run.mentions) and self.context.is_partial()

    def range_of(self, outcome: MentionOutcome) -> Json:
        """Return the LSP range of a mention."""
        return offset_range(self.lines, outcome.mention.start, outcome.mention.end)

    def items_for(self, outcome: MentionOutcome) -> tuple[PromptItem, ...]:
        """Return what the prompt shows of a mention's targets, one item for each fence and target."""
        targets = {(t.path, t.span, t.symbol) for t in outcome.targets}
        return tuple(
            structs.replace(item, rendered=rendered)
            for item in self.run.items
            for rendered in item.parts_showing(lambda source: (source.path, source.span, source.symbol) in targets)
        )


class PromptDocumentSession:
    """The prompt documents of one connection with their analyses and client contexts; thread-safe."""

    def __init__(self, engine: Engine, documents: OpenDocuments, insert_replace: bool = False) -> None:
        self.engine = engine
        self.documents = documents
        self.insert_replace = insert_replace  # whether the client supports InsertReplaceEdit
        self._lock = threading.Lock()
        self._analyses: dict[str, DocumentAnalysis] = {}
        self._resolution_caches: dict[str, ResolutionCache] = {}
        self._client_contexts: dict[str, protocol.Context] = {}
        self.instruction_analyses: dict[str, InstructionAnalysis] = {}
        self._budgets: dict[str, int] = {}  # tokens that the user has chosen for a document

    def client_context(self, uri: str) -> protocol.Context:
        """Return the last client context of a document; documents default to those used most recently."""
        context, recent = self._client_contexts.get(uri, _NO_CONTEXT), self.documents.recent
        return structs.replace(
            context,
            active_document=context.active_document or (recent[0] if recent else None),
            open_documents=recent if context.open_documents is None else context.open_documents,
        )

    def set_client_context(self, uri: str, context: protocol.Context) -> bool:
        """Store the client context that the mentions of a document need; return whether it differs from the last."""
        changed = self._client_contexts.get(uri, _NO_CONTEXT) != context
        self._client_contexts[uri] = context
        return changed

    def budget(self, uri: str | None) -> int | None:
        """Return the tokens that the user has chosen for a document, None for those of the settings."""
        return self._budgets.get(uri or "")

    def set_budget(self, uri: str, tokens: int) -> None:
        """Choose the budget of a document until it is closed."""
        with self._lock:
            self._budgets[uri] = tokens
            self._analyses.pop(uri, None)

    def line_index(self, uri: str) -> LineIndex | None:
        """Return the text of an open prompt document, None for any other URI."""
        document = self.documents.get(uri)
        return LineIndex(document.text, self.engine.encoding) if document is not None else None

    def analyze(self, uri: str, token: CancelToken, *, exact: bool = False) -> DocumentAnalysis | None:
        """Return the current analysis of an open prompt document, None for any other URI.

        With `exact`, its outcomes are those of the built prompt, which takes longer if the mentions may not fit.
        """
        document = self.documents.get(uri)
        if document is None:
            return None
        client = decode_client_context(self.client_context(uri), self.engine.workspace)
        snapshot = self.engine.snapshot(token, RECONCILE_MAX_AGE_S)
        with self._lock:
            resolution_cache = self._resolution_caches.setdefault(uri, ResolutionCache())
            cached = self._analyses.get(uri)
        context = self.engine.resolve_context(client, snapshot, token, document.uri)
        histories = self.engine.services.git_history.histories([root.path for root in snapshot.roots], wait_s=0)
        options = _options(self.engine.settings, self.engine.index.state().progress, self.budget(uri))
        inputs = (document, context.client, options, histories)
        if cached is not None and cached.run.exact >= exact and cached.is_current(snapshot, inputs):
            current = structs.replace(cached.context, token=token, is_partial=context.is_partial)
            return structs.replace(cached, context=current)
        context = structs.replace(context, cache=resolution_cache)
        previous = cached.run if cached is not None and cached.context.snapshot is snapshot else None
        run = dry_run(parse_message(document.text, context), context, options, previous, exact=exact)
        lines, now = LineIndex(document.text, self.engine.encoding), time.monotonic()
        analysis = DocumentAnalysis(document, lines, context, histories, run, options.budget, options.counter, now)
        with self._lock:
            self._analyses[uri] = analysis
        return analysis

    def is_preliminary(self, uri: str) -> bool:
        """Return whether the last analysis of a document was not exact."""
        with self._lock:
            cached = self._analyses.get(uri)
        return cached is not None and not cached.run.exact

    def close(self, uri: str) -> None:
        """Drop everything that is cached for a document."""
        with self._lock:
            self._analyses.pop(uri, None)
            self._resolution_caches.pop(uri, None)
            self._client_contexts.pop(uri, None)
            self._budgets.pop(uri, None)
            self.instruction_analyses.pop(uri, None)


def _options(settings: Settings, index_completeness: float, tokens: int | None) -> PromptOptions:
    """Return the options of a prompt with this budget; invalid settings are replaced by their defaults."""
    request = RequestOptions(budget=BudgetRequest(tokens))
    try:
        return resolve_options(settings, request, RecipeOptions(), index_completeness=index_completeness)
    except InvalidOption:
        request = RequestOptions(budget=BudgetRequest(FALLBACK_TOKENS, counter="estimate"))
        return resolve_options(Settings(), request, RecipeOptions(), index_completeness=index_completeness)


def offset_position(lines: LineIndex, offset: int) -> Json:
    """Return an offset as an LSP position."""
    line, character = lines.position(offset)
    return {"line": line, "character": character}


def offset_range(lines: LineIndex, start: int, end: int) -> Json:
    """Return two offsets as an LSP range."""
    return {"start": offset_position(lines, start), "end": offset_position(lines, end)}


def span_range(span: Span) -> Json:
    """Return the lines of a span as an LSP range; an open end is limited to the maximum of LSP's integers."""
    return {"start": {"line": span.start, "character": 0}, "end": {"line": min(span.end, 2**31 - 1), "character": 0}}
