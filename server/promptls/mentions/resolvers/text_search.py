"""Search resolvers: "@codebase" (semantic and keyword), "@text", "@regex" and "@pattern" (structural)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from promptls.index import split_lines
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import included, item_around, item_for_lines, refused, unresolved
from promptls.mentions.path_lookup import files_in_scope, sort_by_proximity
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Problem, Span
from promptls.redaction.secret_files import secret_reason
from promptls.retrieval.query import parse_query
from promptls.retrieval.retrieve import retrieve
from promptls.util.text.display import plural
from promptls.util.text.regex import Regex, RegexError
from promptls.util.text.unicode_forms import spellings_of

MAX_REGIONS = 12
"""Maximum number of regions of one semantic search; they compete for the budget of explicit items."""

MIN_RELATIVE_SCORE = 0.02
"""Minimum score of a region as a fraction of the best score."""

MAX_ITEMS = 60
"""Maximum number of regions of one text search; further matching lines are only counted."""

CONTEXT_LINES = 2
"""Lines shown before and after a match outside of short definitions."""

TIMEOUT_S = 2.0
"""Time limit of a text search in seconds; matches found until then are the result."""

PATTERN_TIMEOUT_S = 4.0
"""Time limit of a structural search in seconds; parsing takes longer than reading."""

BLOCK_CHARS = 16_384
"""Characters matched at a time by the regular expression prefilter, between checks of the time limit."""

MAX_QUOTED_CHARS = 78
"""Length to which a query is shortened in messages."""

_LINE_BY_LINE = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-")
"""Syntax for which a match in a line may not be a match in a text: text anchors and disabled flags."""

LineMatcher = Callable[[str, float], tuple[list[int], bool]]
"""Maps (text, deadline) to the matching lines, and whether all lines were checked; the text has only line feeds."""


def resolve_codebase(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@codebase" to the regions most relevant to the question or the quoted query."""
    index = context.services.index
    query = mention.target or context.question
    if index is None or not query.strip():
        return unresolved(mention, '@codebase needs a query: write a question, or use @codebase:"query".')
    scope = _search_scope(mention, context)
    if isinstance(scope, MentionOutcome):
        return scope
    ranked = retrieve(
        parse_query(query), context.snapshot, index, context.services.strategy, context.token, scope
    ).items
    best = [i for i in ranked if i.score >= MIN_RELATIVE_SCORE * max(1e-9, ranked[0].score)][:MAX_REGIONS]
    items = [Item(i.path, i.span, i.kind, Origin.MENTION, 1.0, i.symbol, i.reasons) for i in best]
    if not items:
        return unresolved(mention, f"No results for {_quote(query)} in the workspace.")
    return included(mention, items, f"{plural(len(items), 'best region')} for {_quote(query)}.")


def resolve_text(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@text:…" to the lines that contain the text (smart case)."""
    needles, ignore_case = spellings_of(mention.target), mention.target.islower()

    def match_lines(text: str, _: float) -> tuple[list[int], bool]:
        text = text.lower() if ignore_case else text
        return sorted({line for needle in needles for line in lines_with(needle, text)}), True

    return _search_lines(mention, context, match_lines)


def lines_with(needle: str, text: str) -> list[int]:
    """Return the lines of a text that contain a string."""
    lines: list[int] = []
    number, start = 0, 0  # the line, and where it begins or continues
    while "\n" not in needle and (found := text.find(needle, start)) >= 0:
        number += text.count("\n", start, found)
        lines.append(number)
        start = text.find("\n", found)
        if start < 0:
            break
    return lines


def resolve_regex(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@regex:…" to the lines that match the expression."""
    try:
        spellings = spellings_of(mention.target)
        expression = mention.target if len(spellings) == 1 else "|".join(f"(?:{one})" for one in spellings)
        match_lines = line_matcher(expression, context.token.check)
    except RegexError as error:
        return refused(mention, f"Invalid regular expression {_quote(mention.target)}: {error}.")
    return _search_lines(mention, context, match_lines)


def line_matcher(expression: str, check: Callable[[], object] = lambda: None) -> LineMatcher:
    """Return a function that finds the lines that match an expression; `check` is called from time to time.

    A match in a line is also a match in the text that begins in this line.  So only the lines in which a match in the text
    begins are matched alone, unless the expression has anchors of the whole text.

    Raises:
        RegexError: The expression is invalid.
    """
    line_regex = Regex(expression)
    text_regex = None if _LINE_BY_LINE.search(expression) else Regex(expression, multiline=True)

    def match_lines(text: str, deadline: float) -> tuple[list[int], bool]:
        data = text.encode("utf-8", "surrogatepass")
        lines: list[int] = []
        number, start = 0, 0  # the next line, and where it begins
        while start <= len(data):
            check()
            if time.monotonic() > deadline:
                return lines, False
            end = _line_end(data, start if text_regex is None else start + BLOCK_CHARS)
            found = text_regex.find(data, start, end) if text_regex is not None else start
            if found < 0:
                number, start = number + data.count(b"\n", start, end) + 1, end + 1
                continue
            number += data.count(b"\n", start, found)
            start, end = data.rfind(b"\n", 0, found) + 1, _line_end(data, found)
            if line_regex.find(data[start:end]) >= 0:
                lines.append(number)
            number, start = number + 1, end + 1
        return lines, True

    return match_lines


def _line_end(data: bytes, at: int) -> int:
    """Return the end of the line at a position."""
    end = data.find(b"\n", at)
    return end if end >= 0 else len(data)


def resolve_pattern(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@pattern:…" to code with this structure, or to the captures of a tree-sitter query."""
    find_pattern = context.services.find_pattern
    if find_pattern is None:
        return unresolved(mention, "Structural search is not available.")
    scope = _search_scope(mention, context)
    if isinstance(scope, MentionOutcome):
        return scope
    files = context.snapshot.files
    parsed = [p for p, e in files.items() if e.encoded_outline and not e.skip_reason and not secret_reason(e.name)]
    paths = sort_by_proximity(context, (p for p in parsed if scope is None or p in scope))
    result = find_pattern(mention.target, paths, context.token, PATTERN_TIMEOUT_S)
    is_partial = result.searched < len(paths)
    note = _timeout_note(result.searched, len(paths)) if is_partial and not result.reached_limit else ""
    if not result.languages:
        reason = f"{_quote(mention.target)} is not one piece of code in any language of the workspace.{note}"
        return unresolved(mention, reason)
    items: dict[tuple[str, Span], Item] = {}
    for path in (p for p in paths if p in result.files):
        if len(items) >= MAX_ITEMS:
            break
        view = _read(context, path)
        if view is not None:
            for span in result.files[path][: MAX_ITEMS - len(items)]:
                items.setdefault((path, span), item_for_lines(path, span, view.entry.outline, Origin.MENTION))
    if not items:
        return unresolved(mention, f"No code matches the pattern {_quote(mention.target)}.{note}")
    count = f"{'At least ' if is_partial else ''}{plural(result.count, 'match', 'matches')}"
    return included(mention, items.values(), f"{count} in {plural(len(result.files), 'file')}.{note}")


def _search_scope(mention: Mention, context: ResolveContext) -> frozenset[str] | MentionOutcome | None:
    """Return the files of the mention's scope, None without a scope, or the outcome if it does not exist."""
    if not mention.scope:
        return None
    files = files_in_scope(context, mention.scope)
    return files or unresolved(mention, f'Folder or file "{mention.scope}" not found in the workspace.')


def _search_lines(mention: Mention, context: ResolveContext, match_lines: LineMatcher) -> MentionOutcome:
    """Return regions around matching lines, open documents and files near the active one first."""
    snapshot = context.snapshot
    scope = _search_scope(mention, context)
    if isinstance(scope, MentionOutcome):
        return scope
    paths = [p for p, e in snapshot.files.items() if not e.skip_reason and (scope is None or p in scope)]
    deadline = time.monotonic() + TIMEOUT_S
    items: dict[tuple[str, Span], Item] = {}
    match_count = file_count = searched = 0
    timed_out = False
    for path in sort_by_proximity(context, paths):
        context.token.check()
        timed_out = timed_out or time.monotonic() > deadline
        if timed_out:
            break
        is_checked = path not in snapshot.documents  # by reading it
        text = context.sources.read_text(path) if is_checked or _is_readable(context, path) else Problem("")
        if isinstance(text, Problem):
            searched += 1
            continue
        lines, complete = match_lines(
            "\n".join(split_lines(text)) if "\r" in text else text.removesuffix("\n"), deadline
        )
        searched, timed_out = searched + complete, not complete
        match_count, file_count = match_count + len(lines), file_count + bool(lines)
        view = _read(context, path) if lines and len(items) < MAX_ITEMS else None
        for item in _regions(view, lines) if view is not None else ():
            if len(items) < MAX_ITEMS:
                items.setdefault((item.path, item.span), item)
    note = _timeout_note(searched, len(paths)) if timed_out else ""
    if not items:
        return unresolved(mention, f"No line matches {_quote(mention.target)}.{note}")
    verb = "matches" if match_count == 1 else "match"
    return included(
        mention, items.values(), f"{plural(match_count, 'line')} in {plural(file_count, 'file')} {verb}.{note}"
    )


def _timeout_note(searched: int, total: int) -> str:
    return f" Stopped at the time limit after {searched:,} of {plural(total, 'file')}."


def _is_readable(context: ResolveContext, path: str) -> bool:
    """Return whether a file may be shown; secret files may not, unless the settings allow it."""
    return context.sources.allow_secrets or not secret_reason(path, [root.path for root in context.snapshot.roots])


def _read(context: ResolveContext, path: str) -> FileText | None:
    """Read a file that may be shown."""
    view = context.sources.read(path) if _is_readable(context, path) else None
    return view if isinstance(view, FileText) else None


def _regions(view: FileText, lines: list[int]) -> Iterator[Item]:
    """Yield the short definition around each line, else some context lines; adjacent context is joined."""
    pending: Item | None = None
    for line in lines:
        item = item_around(view, Span(line, line + 1), CONTEXT_LINES)
        if item.symbol:
            yield item
            continue
        if pending is not None and item.span.start <= pending.span.end:
            item = replace(item, span=Span(pending.span.start, item.span.end))
        elif pending is not None:
            yield pending
        pending = item
    if pending is not None:
        yield pending


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[: MAX_QUOTED_CHARS - 1]}…"' if len(line) > MAX_QUOTED_CHARS else f'"{line}"'
