"""Prompt injections: text that reads like instructions to a model.  Reported, never rewritten.

There are four classes of patterns, narrow enough not to match ordinary code.  Invisible characters are removed before
matching, because they could split a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from promptls.prompt.sanitize.invisible import escape_invisible, strip_invisible
from promptls.redaction.secrets import Finding

_GAP = r"[\s#*/>\"']+"  # the words of a sentence may be on two lines of a comment
_PREVIOUS = (
    rf"{_GAP}(?:(?:all|any|of|the|these|those|your|my|everything){_GAP}){{0,3}}"
    rf"(?:previous|prior|above|earlier|preceding){_GAP}(?:\w+{_GAP}){{0,2}}?"
    r"(?:instructions?|prompts?|contexts?|rules?|directions?|messages?)\b"
)
_ROLE = r"(?:system|inst|instructions?|admin|assistant)"

_VERBS = ("ignore", "forget", "disregard", "override")

# Class, words of which every match contains one (a cheap test), pattern; all in lower case.
_CLASSES = (
    *(("ignore instructions", (verb,), re.compile(verb + _PREVIOUS)) for verb in _VERBS),
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


def find_injections(text: str) -> tuple[Finding, ...]:
    """Return the lines that read like instructions to a model, by class of injection."""
    plain = strip_invisible(text)
    lower = plain.lower()
    matches = [
        (match.start(), name)
        for name, words, pattern in _CLASSES
        if any(word in lower for word in words)
        for match in pattern.finditer(lower)
        if not _continues(lower, match.start()) and (lower[match.start()] != "[" or _is_tag(plain, lower, match))
    ]
    line_ends = [end.start() for end in re.finditer("\n", lower)] if matches else []
    return tuple(sorted(Finding(bisect_left(line_ends, at), name, secret=False) for at, name in matches))


def _continues(text: str, at: int) -> bool:
    """Return whether a match continues a word, or is the index of an expression."""
    before = text[at - 1 : at]
    return before.isalnum() or before == "_" or (text[at] == "[" and before != "" and before in ")]")


def _is_tag(plain: str, lower: str, match: re.Match[str]) -> bool:
    """Return whether "[…]" is a role tag: in capitals or with a colon, unlike a list, an index or an INI section."""
    original = plain[match.start() : match.end()] if len(plain) == len(lower) else match.group().upper()
    return original.isupper() or ":" in original


# ---------------------------------------------------------------- the user's message

MAX_MESSAGE_CHARACTERS = 10_000
"""Length of a message in characters above which there is a warning: probably pasted text."""


def message_warnings(message: str) -> tuple[str, ...]:
    """Return warnings about a user's message; the message itself is never rewritten or rejected."""
    warnings = []
    if len(message) > MAX_MESSAGE_CHARACTERS:
        warnings.append(f"the message has {len(message):,} characters, more than {MAX_MESSAGE_CHARACTERS:,}")
    _, invisible = escape_invisible(message)
    if invisible:
        names = ", ".join(f"{n} x {name}" for name, n in sorted(invisible.items()))
        warnings.append(f"the message has invisible characters: {names}")
    names = ", ".join(dict.fromkeys(f.name for f in find_injections(message)))
    if names:
        warnings.append(f"the message has text that reads like instructions to the model: {names}")
    return tuple(warnings)
