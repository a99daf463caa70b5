"""Resolver of "@team": a search in the team index, a repository's file, or a symbol of it.

Texts of the team index are virtual documents, labeled with repository, commit and age.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from promptls.index import split_lines
from promptls.languages import language_of
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes import ambiguous, included, unresolved
from promptls.mentions.syntax.grammar import format_argument_mention, full_argument
from promptls.model import (
    VIRTUAL_SCHEME,
    FileEntry,
    FileText,
    Item,
    Mention,
    MentionOutcome,
    Origin,
    Outline,
    Problem,
    Span,
    encode_outline,
)
from promptls.retrieval.query import parse_query
from promptls.retrieval.team_source import TeamFile, TeamHit, TeamRepository, TeamSource
from promptls.util.hashing import content_hash
from promptls.util.text.display import plural

MAX_REGIONS = 12
"""Maximum number of regions of one search; they compete for the budget of explicit items."""
MIN_RELATIVE_SCORE = 0.1
"""Minimum score of a region as a share of the best one."""
MAX_FILES = 3
"""Files in which definitions of one name are shown."""
NO_INDEX = "There is no team index; the user setting team.index names one."


def resolve(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@team:repo/path", "@team:repo#Symbol" or "@team:…" with a question."""
    team = context.services.team
    if team is None:
        return unresolved(mention, NO_INDEX)
    argument = full_argument(mention)
    repositories = team.repositories()
    if isinstance(repositories, Problem):
        return unresolved(mention, repositories.message)
    repository, rest = split_repository(argument, repositories)
    if repository is None:
        return _search(mention, context, team, mention.target or context.question)
    if rest[:1] == "#":
        return _symbol(mention, context, team, repository, rest[1:])
    if rest[:1] == "/" and rest.strip("/"):
        return _file(mention, context, team, repository, rest[1:])
    if rest.startswith(":"):
        return _search(mention, context, team, rest[1:], repository.name)
    return _search(mention, context, team, context.question, repository.name)


def split_repository(argument: str, repositories: Sequence[TeamRepository]) -> tuple[TeamRepository | None, str]:
    """Return the repository at the start of an argument, and the rest: "acme/shop#Cart" → acme/shop, "#Cart"."""
    by_length = sorted(repositories, key=lambda repository: -len(repository.name))
    for repository in by_length:
        rest = argument[len(repository.name) :]
        if argument.startswith(repository.name) and (not rest or rest[0] in "/#:"):
            return repository, rest
    return None, argument


def _search(
    mention: Mention, context: ResolveContext, team: TeamSource, question: str, repository: str = ""
) -> MentionOutcome:
    """Return the regions most relevant to a question."""
    if not question.strip():
        return unresolved(mention, '@team needs a query: write a question, or use @team:"query".')
    query = parse_query(question)
    roots = [root.path for root in context.snapshot.roots]
    answer = team.start_search(query, context.index.query_vector, roots, repository)()
    if not answer.hits:
        where = repository or "the team index"
        return unresolved(mention, answer.problem or f'No results for "{question.strip()[:78]}" in {where}.')
    best = answer.hits[0].score
    hits = [hit for hit in answer.hits if hit.score >= MIN_RELATIVE_SCORE * best][:MAX_REGIONS]
    items = [item for item, _ in add_hits(hits, context, Origin.MENTION)]
    note = f"{plural(len(items), 'best region')} of the team index. {answer.problem}".strip()
    return included(mention, _explicit(items), note)


def _file(
    mention: Mention, context: ResolveContext, team: TeamSource, repository: TeamRepository, path: str
) -> MentionOutcome:
    """Return a file by its path, or by the end of it."""
    name, _, symbol = path.partition("#")
    names = team.files(repository.name)
    if isinstance(names, Problem):
        return unresolved(mention, names.message)
    found = [name] if name in names else sorted(p for p in names if f"/{p}".endswith(f"/{name}"))
    if not found:
        return unresolved(mention, f"{repository.label} has no file {name} in the team index.")
    if len(found) > 1:
        mentions = [format_argument_mention("team", f"{repository.name}/{p}") for p in found]
        return ambiguous(mention, f"{len(found)} files of {repository.name} match {name}; choose one.", mentions)
    if symbol:
        return _symbol(mention, context, team, repository, symbol, found)
    file = team.read(repository.name, found[0])
    if isinstance(file, Problem):
        return unresolved(mention, file.message)
    return included(
        mention, [whole(add_file(file, context), Origin.MENTION)], f"{repository.label}, {repository.age()}."
    )


def _symbol(
    mention: Mention,
    context: ResolveContext,
    team: TeamSource,
    repository: TeamRepository,
    name: str,
    paths: Sequence[str] | None = None,
) -> MentionOutcome:
    """Return the definitions of a name, qualified as far as necessary."""
    names = team.files(repository.name)
    if isinstance(names, Problem):
        return unresolved(mention, names.message)
    files = list(islice(_files_defining(names, name, paths), MAX_FILES + 1))
    if not files:
        return unresolved(mention, f"{repository.label} does not define {name} in the team index.")
    if len(files) > MAX_FILES:
        mentions = [format_argument_mention("team", f"{repository.name}/{p}#{name}") for p in files]
        return ambiguous(mention, f"More than {MAX_FILES} files of {repository.name} define {name}.", mentions)
    read = [team.read(repository.name, path) for path in files]
    problem = next((file.message for file in read if isinstance(file, Problem)), "")
    items = [item for file in read if not isinstance(file, Problem) for item in _definitions(file, name, context)]
    if not items:
        return unresolved(mention, problem or f"{repository.label} does not define {name} in the team index.")
    return included(mention, items, f"{repository.label}, {repository.age()}. {problem}".strip())


def _files_defining(names: Mapping[str, tuple[str, ...]], name: str, paths: Sequence[str] | None) -> Sequence[str]:
    return [p for p in (names if paths is None else paths) if any(matches(n, name) for n in names[p])]


def matches(qualified: str, name: str) -> bool:
    """Return whether a qualified name is a name, or ends with it: "Cart.total" matches total."""
    return qualified == name or qualified.endswith(f".{name}")


def _definitions(file: TeamFile, name: str, context: ResolveContext) -> list[Item]:
    """Return the definitions of a name in a file as items."""
    document = add_file(file, context)
    outline = document.entry.outline
    symbols = [s for s in (outline.symbols if outline is not None else ()) if matches(s.qualified, name)]
    return [Item(document.entry.path, s.span, s.kind, Origin.MENTION, 1.0, s.qualified) for s in symbols]


def _explicit(items: Sequence[Item]) -> list[Item]:
    return [Item(i.path, i.span, i.kind, i.origin, 1.0, i.symbol, i.reasons) for i in items]


MAX_LINES = 200_000
"""Line number up to which a chunk keeps its place in the file; the lines before it are blank."""


def add_file(file: TeamFile, context: ResolveContext) -> FileText:
    """Add a file to the request as a virtual document."""
    return _add(file.repository, file.path, file.text, file.outline, context)


def add_hits(hits: Iterable[TeamHit], context: ResolveContext, origin: Origin) -> list[tuple[Item, FileText]]:
    """Add chunks to the request; chunks of one file are one virtual document, each at its lines."""
    hits = [hit for hit in hits if hit.span.end <= MAX_LINES]
    lines: dict[tuple[str, str], list[str]] = {}
    for hit in hits:
        rows = lines.setdefault((hit.repository.name, hit.path), [])
        rows += [""] * (hit.span.end - len(rows))
        body = hit.text.split("\n")[: len(hit.span)]
        rows[hit.span.start : hit.span.start + len(body)] = body
    documents: dict[tuple[str, str], FileText] = {}
    items: list[tuple[Item, FileText]] = []
    for hit in hits:
        key = (hit.repository.name, hit.path)
        if key not in documents:
            text = "\n".join(lines[key])
            outline = encode_outline(Outline(language_of(hit.path, ""), len(lines[key])))
            documents[key] = _add(hit.repository, hit.path, text, outline, context)
        reasons = {"semantic": hit.similarity, "keyword": hit.keyword}
        path = documents[key].entry.path
        items.append((Item(path, hit.span, hit.kind, origin, hit.score, hit.symbol, reasons), documents[key]))
    return items


def team_label(repository: TeamRepository, path: str) -> str:
    """Return the label of a file: "acme/shop@1a2b3c4d5e/shop/cart.py (3 days old)"."""
    return f"{repository.label}/{path} ({repository.age()})"


def _add(repository: TeamRepository, path: str, text: str, outline: bytes, context: ResolveContext) -> FileText:
    """Add a virtual document; a number is appended to its name if another text already has it."""
    label, number = team_label(repository, path), 1
    while True:
        name = VIRTUAL_SCHEME + (label if number == 1 else f"{label[:-1]}, {number})")
        entry = FileEntry(name, "", name[len(VIRTUAL_SCHEME) :], len(text), 0, content_hash(text), None, outline)
        file = FileText(entry, text, tuple(split_lines(text)))
        if context.sources.share_virtual_documents({name: file}):
            return file
        number += 1


def whole(file: FileText, origin: Origin) -> Item:
    """Return the item for all lines of a document."""
    return Item(file.entry.path, Span(0, len(file.lines)), "file", origin, 1.0)
