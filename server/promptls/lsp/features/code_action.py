"""Code actions: quick fixes for mentions, and "Build the prompt"."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.lsp.features.diagnostics import diagnostic, diagnostic_code
from promptls.lsp.handlers import OPEN_PROMPT_COMMAND
from promptls.lsp.session import DocumentAnalysis, PromptDocumentSession
from promptls.mentions.path_lookup import mention_for
from promptls.model import CancelToken, MentionOutcome

MAX_FIXES = 8
"""Maximum number of replacements offered for one mention."""
MAX_SYMBOLS = 3
"""Maximum number of symbols that a file mention is narrowed to."""


def code_actions(
    session: PromptDocumentSession, params: protocol.CodeActionParams, token: CancelToken
) -> list[Json] | None:
    """Return the quick fixes for the mentions in a range, and the action that builds the prompt."""
    analysis = session.analyze(params.text_document.uri, token, exact=True)
    if analysis is None:
        return None
    only = params.context.only
    start = analysis.lines.offset(params.range.start.line, params.range.start.character)
    end = analysis.lines.offset(params.range.end.line, params.range.end.character)
    actions: list[Json] = []
    for outcome in (*analysis.run.mentions, *analysis.run.texts):
        if outcome.mention.start <= end and start <= outcome.mention.end:
            actions += _fixes(analysis, outcome)
    title = "Build the prompt"
    arguments = [{"uri": analysis.document.uri}]
    command = {"title": title, "command": OPEN_PROMPT_COMMAND, "arguments": arguments}
    actions.append({"title": title, "kind": "source", "command": command})
    if only:
        actions = [a for a in actions if any(a["kind"] == o or a["kind"].startswith(o + ".") for o in only)]
    return actions


def _fixes(analysis: DocumentAnalysis, outcome: MentionOutcome) -> Iterator[Json]:
    replacements = dict.fromkeys(filter(None, (outcome.suggestion, *outcome.candidates)))
    update = diagnostic_code(outcome) in ("moved", "changed")
    for i, name in enumerate(list(replacements)[:MAX_FIXES]):
        title = f"{'Update line numbers' if update and i == 0 else 'Change to'}: {name}"
        yield _replacement(analysis, outcome, title, name, preferred=i == 0 and bool(outcome.suggestion))
    if outcome.mention.kind == "file" and outcome.mention.lines is None and outcome.status not in ("included", "text"):
        symbols = _suggest_symbols(analysis, outcome)
        if symbols:
            yield _replacement(analysis, outcome, f"Narrow to {symbols}", symbols, preferred=False)


def _replacement(analysis: DocumentAnalysis, outcome: MentionOutcome, title: str, text: str, preferred: bool) -> Json:
    edit = {"range": analysis.range_of(outcome), "newText": text}
    fixed = diagnostic(analysis, outcome)
    return {
        "title": title,
        "kind": "quickfix",
        "isPreferred": preferred,
        "edit": {"changes": {analysis.document.uri: [edit]}},
        **({"diagnostics": [fixed]} if fixed is not None else {}),
    }


def _suggest_symbols(analysis: DocumentAnalysis, outcome: MentionOutcome) -> str:
    """Return mentions of the symbols that the prompt shows of a file, for a mention that is cheaper."""
    names: list[str] = []
    for prompt_item in analysis.items_for(outcome):
        block = prompt_item.rendered
        text = analysis.context.sources.read(block.item.path)
        outline = getattr(getattr(text, "entry", None), "outline", None)
        top_level = [s for s in (outline.symbols if outline is not None else ()) if s.name and s.parent < 0]
        shown = [s for s in top_level if any(span.overlaps(s.span) for span in block.spans)] or top_level
        for symbol in shown[:MAX_SYMBOLS]:
            name = mention_for(analysis.context.snapshot, block.item.path, symbol=symbol.qualified)
            names += [name] if name else []
    return " ".join(names)
