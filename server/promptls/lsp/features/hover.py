"""Hover: the content that a mention adds to the prompt, and its cost in tokens."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.session import DocumentAnalysis, PromptDocumentSession
from promptls.model import CancelToken, MentionOutcome
from promptls.util.text.display import code_span

MAX_HOVER_LINES = 40
"""Maximum number of content lines in a hover; keeps the popup below one screen."""
MAX_CANDIDATES = 10
"""Maximum number of candidates listed for an ambiguous mention."""

_STATUS_TEXT = {
    "included": "is included",
    "partial": "is partially included",
    "omitted": "is omitted",
    "ambiguous": "is ambiguous",
    "unresolved": "is not found",
    "refused": "is refused",
    "text": "is text",
}
_STATED_BY_REASON = ("ambiguous", "unresolved")
"""Statuses that the reason of the outcome states as well."""


def hover(session: PromptDocumentSession, params: protocol.DocumentPosition, token: CancelToken) -> Json | None:
    """Return the hover for the mention at a position."""
    analysis = session.analyze(params.text_document.uri, token, exact=True)
    outcome = analysis.mention_at(params.position) if analysis is not None else None
    if analysis is None or outcome is None:
        return None
    value = _render_hover(analysis, outcome)
    return {"contents": {"kind": "markdown", "value": value}, "range": analysis.range_of(outcome)}


def _render_hover(analysis: DocumentAnalysis, outcome: MentionOutcome) -> str:
    sent = f" ({outcome.tokens:,} sent)" if outcome.status == "partial" else ""
    cost = f", {outcome.full_tokens:,} tokens{sent}; the budget is {analysis.budget:,}" if outcome.full_tokens else ""
    parts = []
    if not outcome.reason or outcome.status not in _STATED_BY_REASON:
        parts.append(f"{name_span(outcome.mention.text)} {_STATUS_TEXT[outcome.status]}{cost}.")
    if outcome.reason:
        parts.append(_escape(outcome.reason))
    if outcome.suggestion and outcome.status != "text":
        parts.append(f"Did you mean {name_span(outcome.suggestion)}?")
    if outcome.candidates:
        parts.append("\n".join(f"- {name_span(name)}" for name in outcome.candidates[:MAX_CANDIDATES]))
    snapshot = analysis.context.snapshot
    remaining = MAX_HOVER_LINES
    for prompt_item in analysis.items_for(outcome):
        if remaining <= 0:
            parts.append("…")
            break
        block = prompt_item.rendered
        lines = block.body.split("\n")
        spans = ", ".join(span.label for span in block.spans)
        label = snapshot.label(block.item.path)
        form = "" if block.form == "full" else f", {block.form}"
        parts.append(f"{name_span(label + (':' + spans if spans else ''))}{form}, {block.tokens:,} tokens")
        shown = lines[:remaining]
        more = [f"… {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else []
        parts.append(code_block("\n".join([*shown, *more]), _language(analysis, block.item.path)))
        remaining -= len(shown)
    return "\n\n".join(parts)


def _language(analysis: DocumentAnalysis, path: str) -> str:
    entry = analysis.context.snapshot.files.get(path)
    return entry.outline.language if entry is not None and entry.outline is not None else ""


def name_span(name: str) -> str:
    """Return a name as a Markdown code span; the name of a file may have line breaks."""
    from promptls.prompt.sanitize import one_line  # not at the start of the server

    return code_span(one_line(name))


def code_block(body: str, language: str) -> str:
    """Return a fenced code block.

    In Emacs, three backticks end a longer fence, and the next three name a mode that it runs on what follows. Fences of
    tildes end only at their own length. Its org-mode evaluates macros.
    """
    fence = "~~~" if "```" in body else "```"
    while fence in body:
        fence += fence[0]
    return f"{fence}{language if language.isalnum() and language != 'org' else ''}\n{body}\n{fence}"


def _escape(sentence: str) -> str:
    """Escape the special characters of Markdown, and line breaks."""
    from promptls.prompt.sanitize import one_line

    return "".join("\\" + c if c in "\\`*_{}[]<>#|!" else c for c in one_line(sentence))
