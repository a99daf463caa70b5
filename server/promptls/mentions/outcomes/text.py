"""Outcomes of what is text although it resembles a mention: why it is text, and what to write to mention it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes.other_tools import word_as_text
from promptls.mentions.path_lookup import mention_for
from promptls.mentions.syntax.code_ranges import CodeRanges
from promptls.mentions.syntax.grammar import Keywords, is_explicit_reference, parse
from promptls.model import Mention, MentionOutcome

MAX_DOUBTFUL = 20
"""Maximum number of mentions in unclosed or indented code that are resolved; code rarely contains any."""

MAX_WARNINGS = 2
"""Maximum number of words whose reason is a warning; pasted code contains many words of one kind."""
MAX_NAMES = 10
"""Maximum number of other words in a warning."""

_UNCLOSED, _INDENTED = "in a code fence that is not closed", "in indented code"
_ADVICE = {_UNCLOSED: "Close the fence", _INDENTED: "Remove the indentation"}


def keyword_as_text(mention: Mention, place: str) -> MentionOutcome:
    """Return the outcome of a kind's name that is text; a colon makes it a mention anywhere."""
    return _text(mention, place, f"{mention.text}:")


def path_as_text(outcome: MentionOutcome, place: str, context: ResolveContext) -> list[MentionOutcome]:
    """Return the outcome of a path or a word that is text; none if the workspace has nothing with its name."""
    mention = outcome.mention
    if outcome.status == "unresolved":
        if place in _ADVICE:
            return []
        if not outcome.suggestion:
            return [] if place else word_as_text(mention)
        return [_text(mention, place or "not the name of a file", outcome.suggestion)]
    suggestion = ""
    if place not in _ADVICE and outcome.targets:
        first = outcome.targets[0]
        suggestion = mention_for(context.snapshot, first.path, folder=first.kind == "folder") or ""
    return [_text(mention, place, suggestion if suggestion != mention.text else "")]


def doubtful_mentions(message: str, code: CodeRanges, keywords: Keywords) -> Iterator[tuple[Mention, str]]:
    """Yield the explicit references in code that the author may not mean as code, and where they are."""
    unclosed = message.find("\n", code.unclosed) + 1 if code.unclosed >= 0 else 0
    ranges = [(start, end, _INDENTED) for start, end in code.indented]
    if unclosed:
        ranges.append((unclosed, len(message), _UNCLOSED))
    count = 0
    for start, end, place in ranges:
        for mention in parse(message[start:end], keywords):
            if mention.kind in ("file", "folder", "symbol") and is_explicit_reference(mention):
                count += 1
                if count > MAX_DOUBTFUL:
                    return
                yield replace(mention, start=mention.start + start, end=mention.end + start), place


def text_warnings(texts: Sequence[MentionOutcome]) -> list[str]:
    """Return warnings for a client that shows no diagnostics: the first reasons, and the names of all other words."""
    reasons = {outcome.mention.text: outcome.reason for outcome in texts}
    others = list(reasons)[MAX_WARNINGS:]
    warnings = [reasons[name] for name in list(reasons)[:MAX_WARNINGS]]
    if others:
        more = f" and {len(others) - MAX_NAMES} more" if len(others) > MAX_NAMES else ""
        warnings.append(f"These words are text, too: {', '.join(others[:MAX_NAMES])}{more}.")
    return warnings


def _text(mention: Mention, place: str, suggestion: str) -> MentionOutcome:
    advice = _ADVICE.get(place) or (f"Write {suggestion}" if suggestion else "Write it in a sentence")
    reason = f"{mention.text} is {place}, so it is text. {advice} to mention it."
    return MentionOutcome(mention, "text", reason=reason, suggestion=suggestion)
