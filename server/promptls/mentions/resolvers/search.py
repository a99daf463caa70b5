"""The resolvers that look for something: "@codebase" by meaning and words, "@text:…" and "@regex:…" in
the lines, "@pattern:…" in the syntax.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import regex

from promptls.index import files as disk
from promptls.mentions.context import Request
from promptls.mentions.outcomes import included, refused, region, unresolved
from promptls.mentions.path_lookup import nearest_first, within
from promptls.model import Item, Mention, MentionOutcome, Origin, Problem, Span, TextView
from promptls.retrieval import Strategy, retrieve
from promptls.retrieval.query import analyse

REGIONS = 12
"""Regions that one search by meaning brings."""

LEAST_SCORE = 0.02
HITS = 60
"""Regions with matching lines that are brought; further lines are counted."""

AROUND = 2
"""Lines shown around a match that stands in no short definition."""

SHORT = 30
"""Lines up to which the whole definition around a match is brought."""

SECONDS = 2.0
"""How long lines are looked at; then what was found so far is the answer."""

LINE_SECONDS = 0.25
"""How long an expression may take for one line."""

WRITTEN_OUT = 50_000
"""Parts that an expression may have when its counted repeats are written out, as compiling it does."""

_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)

_LINE_BY_LINE = re.compile(r"\\[AGZzK]|\(\?(?!:|P[<=]|<\w|i\))|\(\*|[*+?}]\+|\{(?!\d)")
"""What may match in a line and not there in a text of many: ends of a text, what is looked around for, what is not given
back once taken, flags, verbs, letters that may differ."""
LONGEST_LINE = 2_000
"""Characters of a line that an expression is tried on."""
IN_VAIN = 3
"""Whole texts on which an expression may take too long before it is tried line by line only."""

Holds = Callable[[str, float], bool]
"""(text, time when to stop) → whether any of its lines may match."""
Matches = Callable[[TextView, float], tuple[list[int], bool]]
"""(such a text, time when to stop) → the lines that match, and whether all were looked at."""


def resolve_codebase(mention: Mention, request: Request) -> MentionOutcome:
    """What the workspace has on a question."""
    index = request.around.index
    text = mention.target or request.question
    if index is None or not text.strip():
        return unresolved(mention, "There is no question to look for; write one, or put it in quotes behind a colon.")
    inside = within(request, mention.scope) if mention.scope else None
    if mention.scope and not inside:
        return unresolved(mention, f'There is no folder or file "{mention.scope}" in the workspace.')
    strategy = request.around.strategy or Strategy()
    found = retrieve(analyse(text), request.snapshot, index, strategy, request.token, inside).items
    best = [i for i in found if i.score >= LEAST_SCORE * max(1e-9, found[0].score)][:REGIONS]
    items = [Item(i.path, i.span, i.kind, Origin.MENTION, 1.0, i.symbol, i.reasons) for i in best]
    if not items:
        return unresolved(mention, f"Nothing in the workspace is about {_quoted(text)}.")
    return included(mention, items, f"The {len(items)} best regions for {_quoted(text)}.")


def resolve_text(mention: Mention, request: Request) -> MentionOutcome:
    """The lines that hold a text."""
    wanted, plain = mention.target, mention.target.islower()

    def holds(text: str, deadline: float) -> bool:
        return wanted in (text.lower() if plain else text)

    def matches(view: TextView, deadline: float) -> tuple[list[int], bool]:
        return [i for i, line in enumerate(view.lines) if wanted in (line.lower() if plain else line)], True

    return _lines(mention, request, holds, matches)


def resolve_regex(mention: Mention, request: Request) -> MentionOutcome:
    """The lines that an expression matches; one that takes too long is stopped and said so."""
    if _written_out(mention.target) > WRITTEN_OUT:
        return refused(mention, f"{_quoted(mention.target)} repeats too often; write it without nested repeats.")
    try:
        compiled = regex.compile(mention.target)
    except (regex.error, OverflowError, RecursionError) as error:
        return refused(mention, f"{_quoted(mention.target)} is no regular expression: {error}.")

    def matches(view: TextView, deadline: float) -> tuple[list[int], bool]:
        found: list[int] = []
        for i, line in enumerate(view.lines):
            request.token.check()
            left = deadline - time.monotonic()
            try:
                if left <= 0:
                    return found, False
                if compiled.search(line[:LONGEST_LINE], timeout=min(LINE_SECONDS, left)) is not None:
                    found.append(i)
            except TimeoutError:
                if left > LINE_SECONDS:
                    raise
                return found, False
        return found, True

    try:
        return _lines(mention, request, _Anywhere(mention.target).in_text, matches)
    except TimeoutError:
        return refused(mention, f"{_quoted(mention.target)} takes too long to match; write it without nested repeats.")


class _Anywhere:
    """Whether any line of a text may match an expression: one look at a text instead of one at each of its lines."""

    def __init__(self, expression: str) -> None:
        apart = _LINE_BY_LINE.search(expression) is not None
        self._compiled = None if apart else regex.compile(expression, regex.MULTILINE)
        self._vain = 0

    def in_text(self, text: str, deadline: float) -> bool:
        """False where no line does; that one may can be wrong."""
        compiled = self._compiled
        if compiled is None or self._vain >= IN_VAIN or "\r" in text or _has_long_line(text):
            return True
        try:
            left = max(0.001, deadline - time.monotonic())
            return compiled.search(text, timeout=min(LINE_SECONDS, left)) is not None
        except TimeoutError:
            self._vain += 1
            return True


def _has_long_line(text: str) -> bool:
    """Whether a line is longer than what expressions are tried on; the text is looked at here and there only."""
    start = 0
    while len(text) - start > LONGEST_LINE:
        end = text.rfind("\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _written_out(expression: str) -> int:
    """How many parts an expression has when each counted repeat is written as often as it is there at least."""
    open_groups, last = [0], 0  # the size of each open group, and of what stood last in the innermost
    for found in _PARTS.finditer(expression):
        part = found.group()
        if found[1]:
            open_groups[-1] += last * max(0, int(found[1]) - 1)
            last *= max(1, int(found[1]))
        elif part == "(":
            open_groups.append(0)
        elif part == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        elif part not in "*+?":
            last = 1
            open_groups[-1] += 1
    return sum(open_groups)


def resolve_pattern(mention: Mention, request: Request) -> MentionOutcome:
    """The code of a shape, or what a tree-sitter query captures."""
    if request.around.matches is None:
        return unresolved(mention, "Nothing can be looked for here.")
    inside = within(request, mention.scope) if mention.scope else None
    if mention.scope and not inside:
        return unresolved(mention, f'There is no folder or file "{mention.scope}" in the workspace.')
    files = request.snapshot.files
    known = [p for p, e in files.items() if e.outlined and not e.skipped and not disk.secret(p)]
    paths = nearest_first(request, (p for p in known if inside is None or p in inside))
    found = request.around.matches(mention.target, paths, request.token, 2 * SECONDS)
    cut = (
        f" Only {found.seen:,} of {len(paths):,} files were looked at in the time there is."
        if found.seen < len(paths)
        else ""
    )
    if not found.languages:
        return unresolved(
            mention, f"{_quoted(mention.target)} is one piece of code in no language of the workspace.{cut}"
        )
    items: dict[tuple[str, Span], Item] = {}
    for path in paths:
        for span in found.files.get(path, ()):
            view = _text(request, path)
            if view is not None and len(items) < HITS:
                items.setdefault((path, span), region(path, span, view.entry.outline, Origin.MENTION))
    count = sum(map(len, found.files.values()))
    if not items:
        return unresolved(mention, f"Nothing has the shape {_quoted(mention.target)}.{cut}")
    return included(mention, items.values(), f"{count:,} matches in {len(found.files):,} files.{cut}")


def _lines(mention: Mention, request: Request, holds: Holds, matches: Matches) -> MentionOutcome:
    """Regions around the matching lines, open documents and files near the active one first."""
    snapshot = request.snapshot
    inside = within(request, mention.scope) if mention.scope else None
    if mention.scope and not inside:
        return unresolved(mention, f'There is no folder or file "{mention.scope}" in the workspace.')
    paths = [p for p, e in snapshot.files.items() if not e.skipped and (inside is None or p in inside)]
    deadline = time.monotonic() + SECONDS
    items: dict[tuple[str, Span], Item] = {}
    hits = files = seen = 0
    late = False
    for path in nearest_first(request, paths):
        request.token.check()
        late = late or time.monotonic() > deadline
        if late:
            break
        view = _text(request, path, lambda text: holds(text, deadline))
        if view is None:
            seen += 1
            continue
        lines, whole = matches(view, deadline)
        seen, late = seen + whole, not whole
        hits, files = hits + len(lines), files + bool(lines)
        for item in _regions(view, lines) if lines and len(items) < HITS else ():
            if len(items) < HITS:
                items.setdefault((item.path, item.span), item)
    cut = f" Only {seen:,} of {len(paths):,} files were looked at in the time there is." if late else ""
    if not items:
        return unresolved(mention, f"No line matches {_quoted(mention.target)}.{cut}")
    return included(mention, items.values(), f"{hits:,} lines in {files:,} files match.{cut}")


def _text(request: Request, path: str, wanted: Callable[[str], bool] | None = None) -> TextView | None:
    """A file's text if it is `wanted`; files of secrets are not looked into, unless the settings say so.

    A text that is not is let go at once: nobody asks for its lines, nor whether its outline was made from it.
    """
    if disk.secret(path) and not request.sources.secrets:
        return None
    if wanted is not None:
        text = request.sources.text(path)
        if isinstance(text, Problem) or not wanted(text):
            return None
    view = request.sources.read(path)
    return view if isinstance(view, TextView) else None


def _regions(view: TextView, lines: list[int]) -> Iterator[Item]:
    """The short definition around each line, else a few lines around it; what touches is joined."""
    path, outline = view.entry.path, view.entry.outline
    symbols = [s for s in (outline.symbols if outline is not None else ()) if s.name and len(s.span) <= SHORT]
    near: Span | None = None
    for line in lines:
        around = [s for s in symbols if line in s.span]
        if around:
            symbol = max(around, key=lambda s: len(s.span))
            yield Item(path, symbol.span, symbol.kind, Origin.MENTION, 1.0, symbol.qualified)
            continue
        here = Span(max(0, line - AROUND), min(len(view.lines), line + AROUND + 1))
        if near is not None and here.start <= near.end:
            here = Span(near.start, here.end)
        elif near is not None:
            yield Item(path, near, "text", Origin.MENTION, 1.0)
        near = here
    if near is not None:
        yield Item(path, near, "text", Origin.MENTION, 1.0)


def _quoted(text: str) -> str:
    short = " ".join(text.split())
    return f'"{short[:77]}…"' if len(short) > 78 else f'"{short}"'
