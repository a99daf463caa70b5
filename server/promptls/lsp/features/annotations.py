"""Inlay hints, code lenses, document symbols, semantic tokens and folding ranges."""

from __future__ import annotations

import re
from itertools import pairwise

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.api.pages import Page
from promptls.lsp.handlers import (
    ANSWER_COMMAND,
    COPY_PROMPT_COMMAND,
    OPEN_PROMPT_COMMAND,
    SET_BUDGET_COMMAND,
    TOKEN_MODIFIERS,
    TOKEN_TYPES,
)
from promptls.lsp.session import PromptDocumentSession, offset_position, offset_range
from promptls.model import CancelToken, MentionOutcome
from promptls.prompt.dry_run import DryRun
from promptls.prompt.language_model import LanguageModel
from promptls.settings import MAX_TOKENS
from promptls.util.text.display import plural
from promptls.util.text.positions import LineIndex

FILLED_SHARE = 0.8
"""Share of an offered budget that the mentions take; the rest is for sections and found code."""


def inlay_hints(
    session: PromptDocumentSession, params: protocol.DocumentRange, token: CancelToken
) -> list[Json] | None:
    """Return the inlay hints of the mentions in a range, without problems of the mention that the user is typing."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    start = analysis.lines.offset(params.range.start.line, params.range.start.character)
    end = analysis.lines.offset(params.range.end.line, params.range.end.character)
    typed = analysis.typed_mention()
    return [
        {
            "position": offset_position(analysis.lines, outcome.mention.end),
            "label": cost_label(outcome, analysis.run.exact),
            "paddingLeft": True,
            "tooltip": outcome.reason,
        }
        for outcome in analysis.run.mentions
        if start <= outcome.mention.end <= end
        and (outcome.mention.start != typed or outcome.status in ("included", "partial"))
    ]


def cost_label(outcome: MentionOutcome, exact: bool = True) -> str:
    """Return the cost of the whole mention in tokens, as in completion, or the reason why it has none.

    Only an exact analysis knows how many tokens of a mention that does not fit are sent.
    """
    if outcome.status in ("included", "partial"):
        suffix = f" ({outcome.tokens:,} sent)" if outcome.status == "partial" and exact else ""
        return f"{outcome.full_tokens:,} tokens{suffix}"
    if outcome.status == "ambiguous":
        return f"{len(outcome.candidates)} candidates"
    if outcome.status == "omitted" and not outcome.targets:
        return "no content"
    return {"unresolved": "not found", "refused": "refused"}.get(outcome.status, "omitted")


def code_lenses(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return the code lenses above the first line of a prompt document."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    first_line = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    mentions = plural(len(analysis.run.mentions), "mention") if analysis.run.mentions else "no mentions"
    uri: Json = {"uri": analysis.document.uri}
    lenses = [
        (f"{analysis.run.tokens_used:,} of {analysis.budget:,} tokens, {mentions}", OPEN_PROMPT_COMMAND, uri),
        ("Build prompt", OPEN_PROMPT_COMMAND, uri),
        ("Copy prompt", COPY_PROMPT_COMMAND, uri),
    ]
    if isinstance(session.engine.language_model, LanguageModel):
        lenses.append(("Answer here", ANSWER_COMMAND, uri))
    enough = sufficient_budget(analysis.run)
    if enough:
        lenses.append((f"Raise the budget to {enough:,}", SET_BUDGET_COMMAND, {**uri, "tokens": enough}))
    return [
        {"range": first_line, "command": {"title": title, "command": command, "arguments": [argument]}}
        for title, command, argument in lenses
    ]


def sufficient_budget(run: DryRun) -> int:
    """Return thousands of tokens that hold the mentions in full beside sections and found code; 0 if they fit now."""
    is_complete = all(outcome.status != "partial" for outcome in run.mentions)
    if is_complete and all(outcome.status != "omitted" or not outcome.targets for outcome in run.mentions):
        return 0
    return min(MAX_TOKENS, -(-int(run.full_tokens / FILLED_SHARE) // 1000) * 1000)


_SYMBOL_KIND = {"file": 1, "folder": 4, "workspace": 4, "symbol": 12}  # File, Package, Package, Function
_KEY = 14


def document_symbols(
    session: PromptDocumentSession, params: protocol.Document, token: CancelToken
) -> list[Json] | None:
    """Return a document symbol for each mention."""
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    return [
        {
            "name": outcome.mention.text,
            "detail": cost_label(outcome, analysis.run.exact),
            "kind": _SYMBOL_KIND.get(outcome.mention.kind, _KEY),
            "range": analysis.range_of(outcome),
            "selectionRange": analysis.range_of(outcome),
        }
        for outcome in analysis.run.mentions
    ]


_TOKEN_TYPE = {"file": "string", "symbol": "function", "folder": "namespace", "workspace": "namespace"}
_OTHER_TYPE = "keyword"
_MODIFIER = {
    "unresolved": "deprecated",
    "ambiguous": "deprecated",
    "refused": "deprecated",
    "omitted": "deprecated",
    "partial": "readonly",
}


def semantic_tokens(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> Json | None:
    """Return the semantic tokens of a prompt document in the relative encoding of LSP.

    The mention that the user is typing has no modifier, which would come and go with each keystroke.
    """
    analysis = session.analyze(params.text_document.uri, token)
    if analysis is None:
        return None
    data: list[int] = []
    previous_line = previous_start = 0
    typed = analysis.typed_mention()
    for outcome in analysis.run.mentions:
        mention = outcome.mention
        line, start = analysis.lines.position(mention.start)
        end_line, end = analysis.lines.position(mention.end)
        if end_line != line:
            continue
        modifier = _MODIFIER.get(outcome.status) if mention.start != typed else None
        data += [line - previous_line, start - previous_start if line == previous_line else start, end - start]
        data.append(TOKEN_TYPES.index(_TOKEN_TYPE.get(mention.kind, _OTHER_TYPE)))
        data.append(1 << TOKEN_MODIFIERS.index(modifier) if modifier is not None else 0)
        previous_line, previous_start = line, start
    return {"data": data}


_FENCE = re.compile(r"^<(/?)context-([0-9a-f]{6,})\b([^\n]*?)(/?)>$", re.MULTILINE)


def folding_ranges(session: PromptDocumentSession, params: protocol.Document, token: CancelToken) -> list[Json] | None:
    """Return a folding range for each pair of fences, and for the sections of a page."""
    uri = params.text_document.uri
    document, page = session.documents.exported(uri), session.documents.pages.get(uri)
    if document is None and page is None:
        return None
    lines = LineIndex(
        page.page.text if page is not None else document.text if document else "", session.engine.encoding
    )
    ranges: list[Json] = []
    open_fences: dict[str, int] = {}
    for match in _FENCE.finditer(lines.text):
        closing, boundary, _, self_closing = match.groups()
        if self_closing:
            continue
        if not closing:
            open_fences[boundary] = match.start()
        elif boundary in open_fences:
            span = offset_range(lines, open_fences.pop(boundary), match.end())
            ranges.append({"startLine": span["start"]["line"], "endLine": span["end"]["line"], "kind": "region"})
    return ranges + (_section_folds(page.page) if page is not None else [])


def _section_folds(page: Page) -> list[Json]:
    """Return a folding range for each section of a page but the text of a prompt, which has fences."""
    texts = [line.text for line in page.lines]
    end = texts.index("## Text") if "## Text" in texts else len(texts) + 1  # a blank line is before the next section
    starts = [number for number, text in enumerate(texts[:end]) if text.startswith("## ")]
    return [
        {"startLine": start, "endLine": following - 2}
        for start, following in pairwise([*starts, end])
        if following - 2 > start
    ]
