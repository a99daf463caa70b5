"""Handle `promptls/verifyCitations`: checks the citations in an answer against the items of its prompt."""

from __future__ import annotations

from collections.abc import Callable

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of
from promptls.api.messages.params import Json
from promptls.api.messages.results import encode_span, utf16_offsets
from promptls.engine import Engine
from promptls.index import Snapshot, SourceReader
from promptls.model import CancelToken, FileText
from promptls.prompt.rendering.citations import CitableItem, Citation, verify

UNKNOWN_LINE_COUNT = 1 << 30
"""Line count assumed for a file that is not parsed yet, so that no citation of it is rejected."""


def verify_citations(engine: Engine, params: protocol.VerifyCitationsParams, token: CancelToken) -> Json:
    """Handle `promptls/verifyCitations`."""
    snapshot = engine.snapshot(token)
    sources = engine.index.source_reader(snapshot, engine.settings.secrets.allow_files)
    items = [_citable_item(item, snapshot, sources) for item in params.items]
    entries = {snapshot.label(path): entry for path, entry in snapshot.files.items()}

    def count_lines(label: str) -> int | None:
        entry = entries.get(label)
        if entry is None:
            matches = [e for name, e in entries.items() if name.endswith((f"/{label}", f":{label}"))]
            entry = matches[0] if len(matches) == 1 else None
        if entry is None:
            return None
        return entry.outline.lines if entry.outline is not None else UNKNOWN_LINE_COUNT

    to_utf16 = utf16_offsets(params.answer)
    report = verify(params.answer, items, count_lines)
    return {
        "citations": [_encode_citation(citation, to_utf16) for citation in report.citations],
        "unknown": list(report.unknown),
        "unused": list(report.unused),
        "uncited": [{"start": to_utf16(start), "end": to_utf16(end)} for start, end in report.uncited],
        "citedShare": report.cited_share,
    }


def _citable_item(item: protocol.Cited, snapshot: Snapshot, sources: SourceReader) -> CitableItem:
    """Return an item with its current text."""
    path = path_of(item.uri, snapshot)
    spans = tuple(one.span for one in item.spans) or (item.range.span,)
    if item.form in ("outline", "reference"):  # they show no lines
        spans = ()
    text = sources.read(path) if path in snapshot.files else None
    shown = "\n".join(map(text.slice, spans)) if isinstance(text, FileText) else ""
    return CitableItem(item.citation, snapshot.label(path), item.range.span, shown, spans)


def _encode_citation(citation: Citation, to_utf16: Callable[[int], int]) -> Json:
    optional = {
        "citation": citation.citation,
        "path": citation.path,
        "range": encode_span(citation.span) if citation.span is not None else None,
        "reason": citation.reason,
        "missing": list(citation.missing),
    }
    return {
        "text": citation.text,
        "offset": to_utf16(citation.start),
        "status": citation.status,
        **{name: value for name, value in optional.items() if value},
    }
