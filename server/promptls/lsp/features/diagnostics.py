"""Diagnostics for mentions that are unresolved, ambiguous, refused, omitted, over budget, changed or only text."""

from __future__ import annotations

from promptls.api.params import Json
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


def diagnostics(analysis: DocumentAnalysis) -> list[Json]:
    """Return the diagnostics of a prompt document."""
    outcomes = (*analysis.mentions, *analysis.texts)
    return [found for outcome in outcomes if (found := diagnostic(analysis, outcome)) is not None]


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
