"""Values that complete the arguments of mention kinds: revisions, branches, layers, globs, queries, diagnostics.

Each function yields (value, detail) pairs, best first.  `arguments` filters them by the typed text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from promptls.git import revisions
from promptls.knowledge.project.file_kind import LAYER_DESCRIPTIONS, layer_of
from promptls.mentions.completion.fuzzy import MatchTier
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.items import CompletionQuery
from promptls.mentions.resolvers.team import split_repository
from promptls.model import Problem
from promptls.util.text.plural import plural

MAX_COMMITS = 200
"""Number of latest commits that completion chooses from."""

COMMIT_ID_LENGTH = 10
"""Digits of an abbreviated commit id; long enough to be unique in large repositories."""

MAX_SCANNED_FILES = 20_000
"""Maximum number of files whose layer or extension is determined; keeps completion fast."""

MAX_TEAM_VALUES = 500
"""Maximum number of files or symbols of a team repository that completion chooses from."""

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


def team_values(query: CompletionQuery, typed: str) -> tuple[str, Values]:
    """Return the repository that is typed already with its separator, and the values that may follow it.

    These are the repositories, else the files of one, else its symbols, or those of one of its files.
    """
    team = query.context.services.team
    repositories = team.repositories() if team is not None else Problem("")
    if team is None or isinstance(repositories, Problem):
        return "", iter(())
    repository, rest = split_repository(typed, repositories)
    if repository is None or not rest:
        return "", ((r.name, f"{r.label}, {r.age()}") for r in repositories)
    names = team.files(repository.name)
    if isinstance(names, Problem) or rest[0] == ":":
        return "", iter(())
    path, sign, name = rest[1:].partition("#")
    if rest[0] == "#":
        return f"{repository.name}#", _containing(rest[1:], ((n, p) for p, defined in names.items() for n in defined))
    if sign:
        return f"{repository.name}/{path}#", _containing(name, ((n, path) for n in names.get(path, ())))
    counted = ((p, plural(len(defined), "definition")) for p, defined in names.items())
    return f"{repository.name}/", _containing(path, counted)


def _containing(typed: str, values: Values) -> Values:
    """Yield the first values that contain the typed text, because a repository can have very many."""
    typed = fold_case(typed)
    return islice((value for value in values if typed in fold_case(value[0])), MAX_TEAM_VALUES)
