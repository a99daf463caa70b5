"""Features of instruction files (AGENTS.md, CLAUDE.md, rules, skills): links, hover, fixes, cost and diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from promptls.api.lint_instructions import encode_findings, loaded_files
from promptls.api.mention_requests import complete_at
from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of_document, uri_of
from promptls.api.messages.params import Json
from promptls.api.messages.results import redact_result
from promptls.git.commit_history import History
from promptls.lsp.session import PromptDocumentSession, offset_range, span_range
from promptls.mentions.context import ClientContext, ResolveContext
from promptls.mentions.instruction_files import Finding, check_file
from promptls.model import CancelToken, FileText, Span
from promptls.prompt.budget import BudgetRequest, budget_of
from promptls.util.text.display import plural
from promptls.util.text.positions import LineIndex

MAX_HOVER_LINES = 20
"""Maximum number of lines of a hover."""
MAX_COMPLETIONS = 50

_SEVERITY = {"warning": 2, "note": 3}
_TYPED = re.compile(r"(?:`|@|\]\()([\w./-]*)$")


class InstructionAnalysis(Struct, frozen=True):
    """An open instruction file and what it refers to."""

    path: str
    lines: LineIndex
    context: ResolveContext
    histories: tuple[History, ...]
    findings: tuple[Finding, ...]

    def at(self, offset: int) -> Finding | None:
        """Return what the reference at an offset leads to."""
        return next((one for one in self.findings if one.reference.start <= offset <= one.reference.end), None)


def analyze(session: PromptDocumentSession, uri: str, token: CancelToken) -> InstructionAnalysis | None:
    """Return the analysis of an open instruction file, None for any other document.

    An analysis is kept until the text, the index or the history of git changes.
    """
    document, engine = session.documents.instruction_file(uri), session.engine
    if document is None:
        return None
    snapshot = engine.snapshot(token)
    histories = engine.services.git_history.histories([root.path for root in snapshot.roots], wait_s=0)
    kept = session.instruction_analyses.get(uri)
    is_current = kept is not None and kept.context.snapshot is snapshot and kept.histories == histories
    if kept is not None and is_current and kept.lines.text == document.text:
        return kept
    context = engine.resolve_context(ClientContext(), snapshot, token)
    path = path_of_document(uri, engine.workspace)
    lines = LineIndex(document.text, engine.encoding)
    analysis = InstructionAnalysis(path, lines, context, histories, tuple(check_file(document.text, path, context)))
    session.instruction_analyses[uri] = analysis
    return analysis


def diagnostics(analysis: InstructionAnalysis) -> list[Json]:
    """Return the diagnostics of an instruction file."""
    return [
        {
            "range": found["range"],
            "severity": _SEVERITY[found["severity"]],
            "code": found["kind"],
            "source": "promptls",
            "message": found["message"],
        }
        for found in encode_findings(analysis.findings, analysis.lines)
    ]


def document_links(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the links of an instruction file."""
    analysis = analyze(session, params.text_document.uri, token)
    if analysis is None:
        return None
    return [
        {
            "range": offset_range(analysis.lines, found.reference.start, found.reference.end),
            "target": _uri(analysis, found) + (f"#L{found.span.start + 1}" if found.span else ""),
        }
        for found in analysis.findings
        if found.path
    ]


def definition(
    session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken
) -> list[Json] | None:
    """Return what the name at a position leads to."""
    analysis = analyze(session, params.text_document.uri, token)
    found = analysis.at(_offset(analysis, params)) if analysis is not None else None
    if analysis is None or found is None or not found.path:
        return None
    return [{"uri": _uri(analysis, found), "range": span_range(found.span or Span(0, 1))}]


def hover(session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """Return the first lines of what the name at a position leads to, or the problem."""
    analysis = analyze(session, params.text_document.uri, token)
    found = analysis.at(_offset(analysis, params)) if analysis is not None else None
    if analysis is None or found is None or not (found.path or found.problem):
        return None
    value = found.problem
    view = analysis.context.sources.read(found.path) if found.path else None
    if isinstance(view, FileText):
        from promptls.lsp.features.hover import code_block, name_span

        span = found.span or Span(0, len(view.lines))
        shown = view.lines[span.start : min(span.end, span.start + MAX_HOVER_LINES)]
        language = view.entry.outline.language if view.entry.outline is not None else ""
        size = f"{name_span(analysis.context.snapshot.label(found.path))}, {plural(len(span), 'line')}"
        value = f"{size}\n\n{code_block(chr(10).join(shown), language)}"
    where = offset_range(analysis.lines, found.reference.start, found.reference.end)
    return redact_result({"contents": {"kind": "markdown", "value": value}, "range": where}, found.path)


def code_actions(
    session: PromptDocumentSession, params: protocol.CodeActionParams, token: CancelToken
) -> list[Json] | None:
    """Return the fixes of missing names in a range."""
    uri = params.text_document.uri
    analysis = analyze(session, uri, token)
    return list(_fixes(analysis, uri, params)) if analysis is not None else None


def _fixes(analysis: InstructionAnalysis, uri: str, params: protocol.CodeActionParams) -> Iterator[Json]:
    start = analysis.lines.offset(params.range.start.line, params.range.start.character)
    end = analysis.lines.offset(params.range.end.line, params.range.end.character)
    for found in analysis.findings:
        reference = found.reference
        if found.suggestion and reference.start <= end and start <= reference.end:
            edit = {"range": offset_range(analysis.lines, reference.start, reference.end), "newText": found.suggestion}
            title = f"Change to {found.suggestion}"
            yield {"title": title, "kind": "quickfix", "isPreferred": True, "edit": {"changes": {uri: [edit]}}}


def code_lenses(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the cost of an instruction file, and of all files that its tool loads with it."""
    analysis = analyze(session, params.text_document.uri, token)
    if analysis is None:
        return None
    counter = budget_of(session.engine.settings.budget, BudgetRequest()).counter
    title = plural(counter.count(analysis.lines.text), "token")
    loaded = loaded_files(analysis.path, analysis.context, counter)
    if loaded is not None and loaded.files > 1:
        title += f"; loaded for {loaded.scope}: {plural(loaded.tokens, 'token')}, {plural(loaded.files, 'file')}"
    start = {"line": 0, "character": 0}
    return [{"range": {"start": start, "end": start}, "command": {"title": title, "command": ""}}]


def completion(session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """Return paths for what is typed after a backtick, "@" or "](": those that completion of mentions finds."""
    analysis = analyze(session, params.text_document.uri, token)
    if analysis is None:
        return None
    offset = _offset(analysis, params)
    line_start = analysis.lines.text.rfind("\n", 0, offset) + 1
    typed = _TYPED.search(analysis.lines.text[line_start:offset])
    if typed is None:
        return {"isIncomplete": False, "items": []}
    found = complete_at(f"@{typed[1]}", len(typed[1]) + 1, analysis.context, MAX_COMPLETIONS)
    replaced = offset_range(analysis.lines, offset - len(typed[1]), offset)
    items = [
        {
            "label": text,
            "kind": 17,
            "detail": item.detail,
            "sortText": f"{rank:04}",
            "filterText": typed[1],
            "textEdit": {"range": replaced, "newText": text},
        }
        for rank, item in enumerate(found.items)
        if item.kind in ("file", "folder") and (text := item.insert_text.removeprefix("@").strip('" '))
    ]
    return {"isIncomplete": True, "items": items}


def _offset(analysis: InstructionAnalysis, params: protocol.DocumentPosition) -> int:
    return analysis.lines.offset(params.position.line, params.position.character)


def _uri(analysis: InstructionAnalysis, found: Finding) -> str:
    return uri_of(found.path, analysis.context.snapshot.documents)
