"""One editor's prompt documents, and what their mentions stand for right now.

A `Reading` belongs to one version of a document and one snapshot of the workspace; the last one of each document
is kept, because editors ask many things about the same text.  Any thread.
"""

from __future__ import annotations

import threading

from msgspec import Struct, structs
from msgspec.structs import replace

from promptls.api import params
from promptls.api.params import Json
from promptls.api.prompt import budget_of
from promptls.documents import Documents, PromptDocument, Text
from promptls.engine import Engine
from promptls.mentions.context import Request
from promptls.mentions.resolution_cache import Recall
from promptls.model import CancelToken, MentionOutcome, Span
from promptls.prompt.assemble import Placed
from promptls.prompt.build import DryRun, dry_run
from promptls.prompt.tokens import Counter, UnknownName

LOOK_S = 15.0
"""How old the last walk of the roots may be while a question is only being written."""

_SILENCE = params.Context()
UNCOUNTED = 4000
"""Tokens assumed where the settings name a model or counter that does not exist; building says what is wrong."""


class Reading(Struct, frozen=True):
    """A prompt document as it would be sent."""

    document: PromptDocument
    text: Text
    request: Request
    run: DryRun
    budget: int
    counter: Counter

    @property
    def mentions(self) -> tuple[MentionOutcome, ...]:
        return self.run.mentions

    @property
    def used(self) -> int:
        """Tokens of message and mentions, without anything found."""
        return self.run.used

    def at(self, line: int, character: int) -> MentionOutcome | None:
        """The mention at a position, its end included."""
        offset = self.text.offset(line, character)
        return next((m for m in self.mentions if m.mention.start <= offset <= m.mention.end), None)

    def range(self, outcome: MentionOutcome) -> Json:
        """Where a mention stands, as an LSP range."""
        return range_of(self.text, outcome.mention.start, outcome.mention.end)

    def placed(self, outcome: MentionOutcome) -> tuple[Placed, ...]:
        """What of the prompt is there because of a mention."""
        wanted = {(t.path, t.span, t.symbol) for t in outcome.targets}
        return tuple(p for p in self.run.items if any((s.path, s.span, s.symbol) in wanted for s in p.sources))


class Desk:
    """The prompt documents of one connection, read when somebody looks at them."""

    def __init__(self, engine: Engine, documents: Documents) -> None:
        self.engine = engine
        self.documents = documents
        self._lock = threading.Lock()
        self._readings: dict[str, Reading] = {}
        self._recalls: dict[str, Recall] = {}
        self._said: dict[str, params.Context] = {}

    def context(self, uri: str) -> params.Context:
        """What the editor has last said of itself for a document; where it says nothing, which were used last."""
        said, recent = self._said.get(uri, _SILENCE), self.documents.recent
        return structs.replace(
            said,
            active_document=said.active_document or (recent[0] if recent else None),
            open_documents=said.open_documents or recent,
        )

    def hear(self, uri: str, context: params.Context) -> None:
        """The editor has told of itself what the mentions of a document need."""
        self._said[uri] = context

    def text(self, uri: str) -> Text | None:
        """The text of an open prompt document."""
        document = self.documents.get(uri)
        return Text(document.text, self.engine.encoding) if document is not None else None

    def read(self, uri: str, token: CancelToken) -> Reading | None:
        """The reading of an open prompt document as of now, None for any other."""
        document = self.documents.get(uri)
        if document is None:
            return None
        context = self.context(uri)
        snapshot = self.engine.view(token, LOOK_S)
        with self._lock:
            recall = self._recalls.setdefault(uri, Recall())
            known = self._readings.get(uri)
        if (
            known is not None
            and known.document == document
            and known.request.snapshot is snapshot
            and known.request.client == self.engine.request(context, snapshot, token).client
        ):
            return replace(known, request=replace(known.request, token=token))
        request = self.engine.request(context, snapshot, token, document.uri)
        request = replace(request, around=replace(request.around, recall=recall))
        try:
            budget, counter, _ = budget_of(self.engine, params.Budget())
        except UnknownName:
            budget, counter, _ = budget_of(self.engine, params.Budget(UNCOUNTED, counter="estimate"))
        same = (
            known is not None
            and known.request.snapshot is snapshot
            and (known.budget, known.counter) == (budget, counter)
        )
        run = dry_run(document.text, request, budget, counter, known.run if known is not None and same else None)
        reading = Reading(document, Text(document.text, self.engine.encoding), request, run, budget, counter)
        with self._lock:
            self._readings[uri] = reading
        return reading

    def forget(self, uri: str) -> None:
        """The document is closed."""
        with self._lock:
            self._readings.pop(uri, None)
            self._recalls.pop(uri, None)
            self._said.pop(uri, None)


def position_of(text: Text, offset: int) -> Json:
    """An offset as an LSP position."""
    line, character = text.position(offset)
    return {"line": line, "character": character}


def range_of(text: Text, start: int, end: int) -> Json:
    """Offsets as an LSP range."""
    return {"start": position_of(text, start), "end": position_of(text, end)}


def lines_of(span: Span) -> Json:
    """The lines of a target, to be jumped to: an open end is cut by the editor."""
    return {"start": {"line": span.start, "character": 0}, "end": {"line": min(span.end, 2**31 - 1), "character": 0}}
