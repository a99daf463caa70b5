"""Diagnostics for mentions that are unresolved, ambiguous, refused, omitted, over budget, changed or only text."""

from __future__ import annotations

from collections.abc import Sequence

from promptls.api.messages.params import Json
from promptls.lsp.session import DocumentAnalysis
from promptls.model import MentionOutcome

SOURCE = "promptls"

_ERROR, _WARNING, _INFORMATION = 1, 2, 3
_SEVERITY = {
    "unresolved": _ERROR,
    "ambiguous": _WARNING,
    "refused": _WARNING,
    "omitted": _WARNING,
    "over-budget": _WARNING,
    "deleted": _ERROR,
    "changed": _INFORMATION,
    "moved": _INFORMATION,
    "text": _INFORMATION,
}


def diagnostics(
    analysis: DocumentAnalysis, published: Sequence[Json], typed: int | None, is_partial: bool
) -> list[Json]:
    """Return the diagnostics of a prompt document.

    The mention that the user is typing, at the offset `typed`, keeps its published diagnostic or the lack of one: an
    incomplete mention is rarely found, and diagnostics that come and go with each keystroke distract. The same applies
    to mentions that are not found while the index is incomplete.
    """
    current = (
        _published_diagnostic(analysis, outcome, published)
        if outcome.mention.start == typed or (is_partial and outcome.status == "unresolved")
        else diagnostic(analysis, outcome)
        for outcome in (*analysis.run.mentions, *analysis.run.texts)
    )
    return [found for found in current if found is not None]


def _published_diagnostic(
    analysis: DocumentAnalysis, outcome: MentionOutcome, published: Sequence[Json]
) -> Json | None:
    """Return the published diagnostic of a mention that was edited since."""
    span = analysis.range_of(outcome)
    return next(({**found, "range": span} for found in published if found["range"]["start"] == span["start"]), None)


def diagnostic(analysis: DocumentAnalysis, outcome: MentionOutcome) -> Json | None:
    """Return the diagnostic of one mention, None if it is included as written."""
    code = diagnostic_code(outcome)
    if not code:
        return None
    suggestion = f" Did you mean {outcome.suggestion}?" if outcome.suggestion and code == "unresolved" else ""
    return {
        "range": analysis.range_of(outcome),
        "severity": _SEVERITY[code],
        "code": code,
        "source": SOURCE,
        "message": f"{outcome.reason or outcome.mention.text}{suggestion}",
    }


def diagnostic_code(outcome: MentionOutcome) -> str:
    """Return the diagnostic code of an outcome, "" for none."""
    if outcome.anchor in ("moved", "changed", "deleted"):
        return outcome.anchor
    if outcome.status in ("unresolved", "ambiguous", "refused", "text"):
        return outcome.status
    if outcome.status == "partial" or (outcome.status == "omitted" and outcome.targets):
        return "over-budget"
    return "omitted" if outcome.status == "omitted" else ""
