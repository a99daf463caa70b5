"""Completion of the argument after "@kind:": fixed suggestions, symbols, paths, revisions, layers, globs, queries.

The functions for values yield (value, detail) pairs, best first, and `complete_argument` filters them by the typed text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from promptls.git import revisions
from promptls.knowledge.project.file_kind import LAYER_DESCRIPTIONS, is_prose_path, layer_of
from promptls.mentions.completion.fuzzy import MatchTier
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.items import CompletionItem, CompletionQuery
from promptls.mentions.completion.paths import complete_path
from promptls.mentions.completion.symbols import complete_symbol, complete_symbol_in_file
from promptls.mentions.kinds import MentionKind
from promptls.mentions.path_lookup import find_roots, split_root
from promptls.mentions.resolvers.relations import split_call_path
from promptls.mentions.resolvers.symbol import split_scope
from promptls.mentions.resolvers.team import split_repository
from promptls.mentions.syntax.grammar import format_argument_mention, mention_to_argument
from promptls.model import Problem
from promptls.util.text.plural import plural

MAX_FOLDERS = 10
"""Maximum number of folders offered before other values of an argument."""


def complete_argument(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    """Yield completions of an argument; `head` is "kind:" as typed."""
    fixed = ((suggestion, kind.help) for suggestion in kind.suggestions)
    yield from _matching(kind, head, "", argument, fixed)
    match kind.argument_type:
        case "symbol":
            yield from _symbols(query, kind, head, argument)
        case "target":
            yield from _symbols(query, kind, head, argument)
            if argument:
                yield from (i for i in _paths(query, head, argument, "file") if not is_prose_path(i.label))
        case "path":
            yield from _paths(query, head, argument, "folder")
        case "revision":
            first, dots, last = split_call_path(argument)
            before, typed = (f"{first}{dots}", last) if dots else ("", argument)
            yield from _matching(kind, head, before, typed, revision_values(query), by_detail=True)
        case "branch":
            yield from _matching(kind, head, "", argument, branch_values(query))
        case "layer":
            yield from _matching(kind, head, "", argument, layer_values(query))
        case "diagnostics":
            yield from _matching(kind, head, "", argument, diagnostics_values(query))
        case "team":
            before, values = team_values(query, argument)
            yield from _matching(kind, head, before, argument.removeprefix(before), values)
        case "glob":
            yield from _matching(kind, head, "", argument, glob_values(query))
            yield from _paths(query, head, argument, "folder", "**")
        case "query":
            yield from _matching(kind, head, "", argument, query_values(query, argument))
            for item in islice(_paths(query, head, argument, "folder"), MAX_FOLDERS):
                yield replace(item, label=f"{item.label}:", insert_text=f"{item.insert_text}:")


def _symbols(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    first, dots, last = split_call_path(argument) if kind.name == "path" else ("", "", "")
    scope, name = split_scope(last if dots else argument, query.context)
    for item in complete_symbol_in_file(query, scope, name) if scope else complete_symbol(query, name):
        yield from _as_argument(head, f"{first}{dots}", replace(item, tokens=None))


def _paths(
    query: CompletionQuery, head: str, argument: str, item_kind: str, after: str = ""
) -> Iterator[CompletionItem]:
    root, path = split_root(query.snapshot, argument)
    roots = find_roots(query.snapshot, root) if root else None
    without_kinds = replace(query, kinds=replace(query.kinds, kinds={}))
    for item in complete_path(without_kinds, path, roots):
        if item.kind == item_kind:
            yield from _as_argument(head, "", item, after)


def _matching(
    kind: MentionKind, head: str, before: str, typed: str, values: Values, by_detail: bool = False
) -> Iterator[CompletionItem]:
    """Yield the values that start with the typed text, then those that contain it, or `by_detail` whose detail does."""
    typed = fold_case(typed)
    others: list[CompletionItem] = []
    for value, detail in dict(values).items():
        text = format_argument_mention(head.removesuffix(":"), before + value)
        if text is None:
            continue
        item = CompletionItem(f"{head}{before}{value}", text, detail, kind=kind.name)
        if fold_case(value).startswith(typed):
            yield item
        elif typed in fold_case(value) or (by_detail and len(typed) > 2 and typed in fold_case(detail)):
            others.append(item)
    yield from others


def _as_argument(head: str, before: str, item: CompletionItem, after: str = "") -> Iterator[CompletionItem]:
    """Yield an item with its mention as an argument between two texts, unless no mention can represent it."""
    text = format_argument_mention(head.removesuffix(":"), f"{before}{mention_to_argument(item.insert_text)}{after}")
    if text is not None:
        yield replace(item, insert_text=text)


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
