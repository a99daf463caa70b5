"""Diagnostics of a prompt document, and the code actions that mend them."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.api import params as protocol
from promptls.api.params import Json
from promptls.documents import OPEN
from promptls.lsp.session import Desk, Reading
from promptls.mentions.path_lookup import name_for
from promptls.model import CancelToken, MentionOutcome

SOURCE = "promptls"
MOST_FIXES = 8
NARROWED = 3
"""Definitions that a file is narrowed to."""

_ERROR, _WARNING, _INFORMATION, _HINT = 1, 2, 3, 4
_SEVERITY = {
    "unresolved": _ERROR,
    "ambiguous": _WARNING,
    "refused": _WARNING,
    "omitted": _WARNING,
    "over-budget": _WARNING,
    "deleted": _ERROR,
    "changed": _INFORMATION,
    "moved": _INFORMATION,
}


def diagnostics(reading: Reading) -> list[Json]:
    """What is wrong with the mentions, in the words of their outcomes."""
    return [found for outcome in reading.mentions if (found := _diagnostic(reading, outcome)) is not None]


def _diagnostic(reading: Reading, outcome: MentionOutcome) -> Json | None:
    code = _code(outcome)
    if not code:
        return None
    tail = f" Did you mean {outcome.suggestion}?" if outcome.suggestion and code == "unresolved" else ""
    return {
        "range": reading.range(outcome),
        "severity": _SEVERITY[code],
        "code": code,
        "source": SOURCE,
        "message": f"{outcome.reason or outcome.mention.text}{tail}",
    }


def _code(outcome: MentionOutcome) -> str:
    """The kind of trouble, "" for none."""
    if outcome.anchor in ("moved", "changed", "deleted"):
        return outcome.anchor
    if outcome.status in ("unresolved", "ambiguous", "refused"):
        return outcome.status
    if outcome.status == "partial" or (outcome.status == "omitted" and outcome.targets):
        return "over-budget"
    return "omitted" if outcome.status == "omitted" else ""


def actions(desk: Desk, params: protocol.CodeActionParams, token: CancelToken) -> list[Json] | None:
    """Fixes for the mentions in a range, and the way to the prompt."""
    reading = desk.read(params.text_document.uri, token)
    if reading is None:
        return None
    only = params.context.only
    first = reading.text.offset(params.range.start.line, params.range.start.character)
    last = reading.text.offset(params.range.end.line, params.range.end.character)
    out: list[Json] = []
    for outcome in reading.mentions:
        if outcome.mention.start <= last and first <= outcome.mention.end:
            out += _fixes(reading, outcome)
    build = {
        "title": "Build the prompt",
        "kind": "source",
        "command": {"title": "Build the prompt", "command": OPEN, "arguments": [{"uri": reading.document.uri}]},
    }
    out.append(build)
    if only:
        out = [a for a in out if any(a["kind"] == o or a["kind"].startswith(o + ".") for o in only)]
    return out


def _fixes(reading: Reading, outcome: MentionOutcome) -> Iterator[Json]:
    trouble = _diagnostic(reading, outcome)
    names = dict.fromkeys(filter(None, (outcome.suggestion, *outcome.candidates)))
    words = {"moved": "Name the lines as they are now", "changed": "Name the lines as they are now"}
    for i, name in enumerate(list(names)[:MOST_FIXES]):
        title = f"{words.get(_code(outcome), 'Change to')}: {name}" if i == 0 else f"Change to: {name}"
        yield _edit(reading, outcome, title, name, trouble, preferred=i == 0 and bool(outcome.suggestion))
    if outcome.mention.kind == "file" and outcome.mention.lines is None and outcome.status != "included":
        narrower = _narrowed(reading, outcome)
        if narrower:
            yield _edit(reading, outcome, f"Narrow to {narrower}", narrower, trouble, preferred=False)


def _edit(
    reading: Reading, outcome: MentionOutcome, title: str, text: str, trouble: Json | None, preferred: bool
) -> Json:
    edit = {"range": reading.range(outcome), "newText": text}
    return {
        "title": title,
        "kind": "quickfix",
        "isPreferred": preferred,
        "edit": {"changes": {reading.document.uri: [edit]}},
        **({"diagnostics": [trouble]} if trouble is not None else {}),
    }


def _narrowed(reading: Reading, outcome: MentionOutcome) -> str:
    """Mentions of the definitions of a file that belong to the question: those of which most is shown."""
    shown: list[str] = []
    for placed in reading.placed(outcome):
        view = reading.request.sources.read(placed.block.item.path)
        outline = getattr(getattr(view, "entry", None), "outline", None)
        tops = [s for s in (outline.symbols if outline is not None else ()) if s.name and s.parent < 0]
        inside = [s for s in tops if any(span.overlaps(s.span) for span in placed.block.spans)] or tops
        for symbol in inside[:NARROWED]:
            name = name_for(reading.request.snapshot, placed.block.item.path, symbol=symbol.qualified)
            shown += [name] if name else []
    return " ".join(shown)
