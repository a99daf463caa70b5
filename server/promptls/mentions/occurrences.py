"""Places where the text of the workspace has a word: offered for the mention of a name without a symbol."""

from __future__ import annotations

import re
from functools import reduce

import numpy as np

from promptls.index import secret_reason, tokenize
from promptls.knowledge.project.file_kind import is_test_path
from promptls.mentions.context import ResolveContext
from promptls.mentions.path_lookup import mention_for, sort_by_proximity
from promptls.model import FileText, Span

MAX_OCCURRENCES = 3
"""Maximum number of places that are offered; keeps the message readable."""

MAX_FILES = 20
"""Maximum number of files that are read; bounds the time for a word that many files have."""

_MAX_ROWS = 500
"""Maximum number of chunks whose files are determined."""


def find_occurrences(context: ResolveContext, word: str, paths: frozenset[str] | None = None) -> list[tuple[str, int]]:
    """Return (path, line) of the best places of a word, at most one for each file.

    Only the index is searched, so that the time does not depend on the size of the workspace. Lines that begin with
    the word, or have it after one other word, come first in a file, because definitions look like that.

    Args:
        context: The context of the message.
        word: The word, in its exact spelling.
        paths: Files that are searched, None for all.
    """
    index = context.services.index
    terms = list(dict.fromkeys(tokenize(word)))
    if index is None or not terms or len(word) < 2:
        return []
    reader = index.reader()
    rows = reduce(np.intersect1d, (reader.postings(term).rows for term in terms))[:_MAX_ROWS]
    found = dict.fromkeys(path for row in rows.tolist() for path, _ in reader.locations(int(row)))
    allowed = [path for path in found if (paths is None or path in paths) and not _is_hidden(context, path)]
    ranked = sorted(sort_by_proximity(context, allowed), key=lambda path: is_test_path(context.snapshot.label(path)))
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    places: list[tuple[str, int]] = []
    for path in ranked[:MAX_FILES]:
        context.token.check()
        view = context.sources.read(path)
        line = _best_line(view, pattern, word) if isinstance(view, FileText) else -1
        if line >= 0:
            places.append((path, line))
            if len(places) == MAX_OCCURRENCES:
                break
    return places


def occurrence_mentions(context: ResolveContext, places: list[tuple[str, int]]) -> tuple[str, ...]:
    """Return a mention of each place."""
    mentions = (mention_for(context.snapshot, path, lines=Span(line, line + 1)) for path, line in places)
    return tuple(mention for mention in mentions if mention)


def _is_hidden(context: ResolveContext, path: str) -> bool:
    """Return whether a file may not be read, or is not in the snapshot any more."""
    entry = context.snapshot.files.get(path)
    if entry is None:
        return True
    return bool(secret_reason(entry.name)) and not context.sources.allow_secrets


def _best_line(view: FileText, pattern: re.Pattern[str], word: str) -> int:
    """Return the line that most probably defines the word, -1 if no line has it."""
    best, best_rank = -1, 4
    for i, line in enumerate(view.lines):
        if word not in line:
            continue
        match = pattern.search(line)
        if match is None:
            continue
        words_before = len(line[: match.start()].split())
        rank = 0 if words_before == 1 else 1 if words_before == 0 else 2 if words_before == 2 else 3
        if rank < best_rank:
            best, best_rank = i, rank
        if rank == 0:
            break
    return best
