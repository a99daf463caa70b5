"""Text that poses as instructions to a model: told, and left as it is.

The four classes are CodeBuddy's, made narrower where its patterns take ordinary code.  Invisible characters are
seen through, so that they hide nothing.  `sanitize_like_codebuddy` rewrites, for those who want what CodeBuddy does.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from promptls.prompt.sanitize.findings import Finding
from promptls.prompt.sanitize.invisible import seen_through, visible

_GAP = r"[\s#*/>\"']+"  # words of a sentence may stand on two lines of a comment
_FORMER = (
    rf"{_GAP}(?:(?:all|any|of|the|these|those|your|my|everything){_GAP}){{0,3}}"
    rf"(?:previous|prior|above|earlier|preceding){_GAP}(?:\w+{_GAP}){{0,2}}?"
    r"(?:instructions?|prompts?|contexts?|rules?|directions?|messages?)\b"
)
_ROLE = r"(?:system|inst|instructions?|admin|assistant)"

_VERBS = ("ignore", "forget", "disregard", "override")

# Class, words of which every match holds one (a cheap test), shape; all are for lower case.
_CLASSES = (
    *(("ignore instructions", (verb,), re.compile(verb + _FORMER)) for verb in _VERBS),
    ("you are now", ("you",), re.compile(rf"you{_GAP}are{_GAP}now{_GAP}(?:an?|the)\b")),
    ("system prompt", ("prompt",), re.compile(r"system\s+prompt\s*:")),
    ("system prompt", ("prompt",), re.compile(r"new\s+prompt\s*:")),
    ("role tag", ("system", "inst", "admin", "assistant"), re.compile(rf"\[\s*/?{_ROLE}\s*:?\s*\]")),
    (
        "role tag",
        ("<|",),
        re.compile(r"<\|(?:im_start|im_end|system|assistant|start_header_id|begin_of_text|endoftext)\|>"),
    ),
    ("role tag", ("sys>>",), re.compile(r"<</?sys>>")),
)


def injections(text: str) -> tuple[Finding, ...]:
    """Where a text reads like instructions to a model, by line."""
    plain = seen_through(text)
    low = plain.lower()
    found = [
        (match.start(), name)
        for name, words, pattern in _CLASSES
        if any(word in low for word in words)
        for match in pattern.finditer(low)
        if not _is_part(low, match.start()) and (low[match.start()] != "[" or _is_tag(plain, low, match))
    ]
    ends = [end.start() for end in re.finditer("\n", low)] if found else []
    return tuple(sorted(Finding(bisect_left(ends, at), name, secret=False) for at, name in found))


def _is_part(text: str, at: int) -> bool:
    """Whether a word goes on before a place, or an expression that takes an index ends there."""
    before = text[at - 1 : at]
    return before.isalnum() or before == "_" or (text[at] == "[" and before != "" and before in ")]")


def _is_tag(plain: str, low: str, match: re.Match[str]) -> bool:
    """Whether "[…]" is no list, index or heading of a settings file: in capitals, or with a colon."""
    written = plain[match.start() : match.end()] if len(plain) == len(low) else match.group().upper()
    return written.isupper() or ":" in written


# ---------------------------------------------------------------- the user's message

LONG_MESSAGE = 10_000
"""Characters; CodeBuddy's limit."""


def about_message(message: str) -> tuple[str, ...]:
    """Sentences of warning about a user's message, which itself is never rewritten or refused."""
    warnings = []
    if len(message) > LONG_MESSAGE:
        warnings.append(f"the message has {len(message):,} characters, more than {LONG_MESSAGE:,}")
    _, hidden = visible(message)
    if hidden:
        names = ", ".join(f"{n} x {name}" for name, n in sorted(hidden.items()))
        warnings.append(f"the message has characters that cannot be seen: {names}")
    names = ", ".join(dict.fromkeys(f.name for f in injections(message)))
    if names:
        warnings.append(f"the message has text that reads like instructions to the model: {names}")
    return tuple(warnings)


# ---------------------------------------------------------------- parity

BEGIN, END = "--- BEGIN UNTRUSTED CONTENT ---", "--- END UNTRUSTED CONTENT ---"
_MARKER = re.compile(r"---(?=[ \t]*(?:BEGIN|END)[ \t]+UNTRUSTED[ \t]+CONTENT)", re.IGNORECASE)
_LIKE_CODEBUDDY = (
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


def sanitize_like_codebuddy(text: str) -> str:
    """The text as CodeBuddy puts it into a prompt: its four patterns replaced, between two markers.

    Its documented intent: invisible characters go before the patterns are looked for, not after, and a marker
    in the text cannot end the passage.  Rewrites code; promptls itself only tells (`injections`).
    """
    text = seen_through(text)
    for marker, pattern in _LIKE_CODEBUDDY:
        text = pattern.sub(marker, text)
    return f"{BEGIN}\n{_MARKER.sub('- - -', text)}\n{END}"


def truncate_like_codebuddy(text: str, limit: int = 12_000) -> str:
    """At most about `limit` characters: the first 80 %, how many are left out, the last 10 %."""
    if len(text) <= limit:
        return text
    head, tail = limit * 8 // 10, limit // 10
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[len(text) - tail :]}"
