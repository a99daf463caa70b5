"""Text transformations of CodeBuddy: injection redaction, truncation, the cut of project rules.

The pipeline does not use them, because they rewrite code; promptls reports injections instead
(`promptls.prompt.sanitize.injections`).
"""

from __future__ import annotations

import re

from promptls.prompt.sanitize.invisible import strip_invisible

BEGIN, END = "--- BEGIN UNTRUSTED CONTENT ---", "--- END UNTRUSTED CONTENT ---"

MAX_RULE_TOKENS = 2_000
"""Token limit of project rules, at 4 characters per token."""

_MARKER = re.compile(r"---(?=[ \t]*(?:BEGIN|END)[ \t]+UNTRUSTED[ \t]+CONTENT)", re.IGNORECASE)
_REDACTIONS = (
    ("[REDACTED: role tag]", re.compile(r"\[\s*(?:SYSTEM|INST|INSTRUCTION|ADMIN|ASSISTANT)\s*:?\s*\]", re.IGNORECASE)),
    (
        "[REDACTED: instruction override]",
        re.compile(
            r"\b(?:ignore|forget|disregard|override)\s+(?:all\s+)?(?:previous|prior|above|earlier)\s+"
            r"(?:instructions?|prompts?|contexts?|rules?)\b",
            re.IGNORECASE,
        ),
    ),
    ("[REDACTED: role change]", re.compile(r"\byou\s+are\s+now\s+(?:an?|the)\b", re.IGNORECASE)),
    ("[REDACTED: prompt]", re.compile(r"\b(?:new\s+)?(?:system\s+)?prompt\s*:", re.IGNORECASE)),
)


def redact_injections(text: str) -> str:
    """Replace four patterns of prompt injections and enclose the text in two markers.

    Invisible characters are removed before the patterns are matched, and a marker in the text is broken up, as
    CodeBuddy's documentation says.
    """
    text = strip_invisible(text)
    for marker, pattern in _REDACTIONS:
        text = pattern.sub(marker, text)
    return f"{BEGIN}\n{_MARKER.sub('- - -', text)}\n{END}"


def truncate_middle(text: str, limit: int = 12_000) -> str:
    """Return about `limit` characters: the first 80 %, the number of omitted characters, the last 10 %."""
    if len(text) <= limit:
        return text
    head, tail = limit * 8 // 10, limit // 10
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[len(text) - tail :]}"


def cut_rules(text: str, tokens: int = MAX_RULE_TOKENS) -> str:
    """Cut rules to 4 characters per token, at the last line end if that is past 80 %."""
    limit = 4 * tokens
    if len(text) <= limit:
        return text
    kept = text[:limit]
    end = kept.rfind("\n")
    return kept[:end] if end > 0.8 * limit else kept
