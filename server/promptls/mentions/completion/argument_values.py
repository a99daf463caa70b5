"""Values that complete the arguments of mention kinds: revisions, branches, layers, globs, queries, diagnostics.

Each function yields (value, detail) pairs, best first.  `arguments` filters them by the typed text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from promptls.git import revisions
from promptls.knowledge.project.layers import LAYER_DESCRIPTIONS, layer_of
from promptls.mentions.completion.fuzzy import MatchTier
from promptls.mentions.completion.items import CompletionQuery
from promptls.util.plural import plural

MAX_COMMITS = 200
"""Number of latest commits that completion chooses from."""

COMMIT_ID_LENGTH = 10
"""Digits of an abbreviated commit id; long enough to be unique in large repositories."""

MAX_SCANNED_FILES = 20_000
"""Maximum number of files whose layer or extension is determined; keeps completion fast."""

MAX_GLOBS = 20
"""Maximum number of file extensions that are offered as globs."""

Values = Iterator[tuple[str, str]]


def revision_values(query: CompletionQuery) -> Values:
    """Yield the latest commits, then branches and tags."""
    roots = [root.path for root in query.snapshot.roots]
    for history in query.context.services.git_history.histories(roots):
        for commit in history.commits[:MAX_COMMITS]:
            yield commit.id[:COMMIT_ID_LENGTH], commit.subject
    for root in roots:
        for name in revisions.ref_names(root, "refs/heads", "refs/remotes", "refs/tags", token=query.context.token):
            yield name, "branch or tag"


def branch_values(query: CompletionQuery) -> Values:
    """Yield local branches, then remote ones."""
    for pattern, detail in (("refs/heads", "branch"), ("refs/remotes", "remote branch")):
        for root in query.snapshot.roots:
            for name in revisions.ref_names(root.path, pattern, token=query.context.token):
                yield name, detail


def layer_values(query: CompletionQuery) -> Values:
    """Yield the architectural layers that contain files."""
    snapshot, custom = query.snapshot, query.context.services.layers
    counts = Counter(layer_of(snapshot.label(path), custom) for path in islice(snapshot.files, MAX_SCANNED_FILES))
    for layer, count in counts.most_common():
        yield layer.lower(), f"{LAYER_DESCRIPTIONS.get(layer, '')} {plural(count, 'file')}.".strip()


def glob_values(query: CompletionQuery) -> Values:
    """Yield a glob for each frequent file extension."""
    names = (path.rpartition("/")[2] for path in islice(query.snapshot.files, MAX_SCANNED_FILES))
    extensions = Counter(name.rpartition(".")[2] for name in names if "." in name[1:])
    for extension, count in extensions.most_common(MAX_GLOBS):
        yield f"*.{extension}", plural(count, "file")


def query_values(query: CompletionQuery, typed: str) -> Values:
    """Yield names of symbols that start with the typed text."""
    if typed:
        for _, name in query.context.symbol_index.search(typed, query.limit, MatchTier.PREFIX):
            yield name, "name of a symbol"


def diagnostics_values(query: CompletionQuery) -> Values:
    """Yield the files with diagnostics."""
    counts = Counter(diagnostic.path for diagnostic in query.context.client.diagnostics)
    for path, count in counts.most_common():
        yield query.snapshot.label(path), plural(count, "diagnostic")
