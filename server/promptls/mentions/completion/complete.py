r"""Completion of the mention at the cursor, best items first.

Offers files and folders by name or path, folder contents after "/", symbols after "#", lines after ":", and mention
kinds.  Every inserted mention parses back to the chosen target.  No file is read, so completion takes milliseconds
even in a large workspace.

An item replaces the part of the mention that the cursor is in: a path up to its lines or symbol, one name of a
qualified symbol, an argument.  Text that directly follows the mention in a script without spaces is kept as well.
If the kept text would change the target of the item, a space separates them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from promptls.git import revisions
from promptls.knowledge.project.file_kind import LAYER_DESCRIPTIONS, is_prose_path, layer_of
from promptls.mentions.completion.completion_items import CompletionItem, CompletionQuery, TokenCounter, build_query
from promptls.mentions.completion.fuzzy import MIN_SUBSEQUENCE_LENGTH
from promptls.mentions.completion.index import fold_case
from promptls.mentions.completion.paths import complete_path
from promptls.mentions.completion.symbols import (
    complete_lines,
    complete_symbol,
    complete_symbol_in_file,
    complete_word,
    has_scope,
)
from promptls.mentions.context import ResolveContext
from promptls.mentions.extent import find_mentions, mention_end
from promptls.mentions.kinds import KindRegistry, MentionKind
from promptls.mentions.path_lookup import find_roots, split_root
from promptls.mentions.registry import registry
from promptls.mentions.resolvers.relations import split_call_path
from promptls.mentions.resolvers.symbol import split_scope
from promptls.mentions.resolvers.team import split_repository
from promptls.mentions.syntax.grammar import (
    format_argument_mention,
    mention_to_argument,
    parse,
)
from promptls.mentions.syntax.lexer import MAX_LENGTH, MentionToken, token_at_end
from promptls.model import Mention, Problem
from promptls.util.text.display import plural

_RELATIVE = re.compile(r"(?:\.\.?/)+")


class CompletionResult(Struct, frozen=True):
    """Completion items, and the range of code points that they replace."""

    is_incomplete: bool  # more letters may give other items
    start: int
    end: int
    items: tuple[CompletionItem, ...] = ()


def complete(
    text: str,
    offset: int,
    context: ResolveContext,
    limit: int = 50,
    count_tokens: TokenCounter | None = None,
    kinds: KindRegistry | None = None,
) -> CompletionResult:
    """Return the completions of the mention at an offset (in code points), best first."""
    offset = max(0, min(offset, len(text)))
    token = token_at_end(text[:offset])
    if token is None or limit < 1:
        return CompletionResult(False, offset, offset)
    query = build_query(context, kinds or registry(), limit, count_tokens)
    part, found = _find_items(query, token)
    items = tuple(islice(found, limit + 1))
    incomplete = len(items) > limit or len(token.value) < MIN_SUBSEQUENCE_LENGTH or token.value[-1] in "/#:."
    incomplete = incomplete or context.pending_symbols is not None  # files that are being parsed may add items
    end = replaced_end(text, token, offset, part, context)
    placed = (place_item(item, text, end, query) for item in items[:limit])
    return CompletionResult(incomplete, token.start, end, tuple(placed))


def _find_items(query: CompletionQuery, token: MentionToken) -> tuple[Part, Iterator[CompletionItem]]:
    """Return the part of the mention that the cursor is in, and the items for it."""
    value, masked = token.value, token.masked
    head = masked.find(":") + 1
    kind = query.kinds.get(value[: head - 1]) if head else None
    if kind is not None and kind.keyword and kind.argument != "nothing":
        return _argument_part(kind, value[head:]), complete_argument(query, kind, value[:head], value[head:])
    hash_at = masked.find("#")
    if hash_at == 0:
        return "symbol", complete_symbol(query, value[1:])
    if hash_at > 0 and has_scope(query, value[:hash_at]):
        return "symbol", complete_symbol_in_file(query, value[:hash_at], value[hash_at + 1 :])
    colon = masked.rfind(":")
    if colon <= 0:  # a "#" may be part of a name
        path = _normalize(value, masked)
        return "path", complete_path(query, path, None, complete_word(query, path))
    roots = [root for root in query.snapshot.roots if fold_case(root.name) == fold_case(value[:colon])]
    if roots:
        return "path", complete_path(query, _normalize(value[colon + 1 :], masked[colon + 1 :]), roots)
    return "lines", complete_lines(query, value[:colon].rstrip(":"), value[colon + 1 :])


def _argument_part(kind: MentionKind, argument: str) -> Part:
    if kind.argument_type == "target" and "/" in argument and "#" not in argument:
        return "path"
    return "symbol" if kind.argument_type in ("symbol", "target") else "argument"


def _normalize(value: str, masked: str) -> str:
    """Convert the backslashes of a Windows path to slashes, and remove leading "./" and "../"."""
    path = "".join("/" if mark == "\\" else char for char, mark in zip(value, masked, strict=True))
    return _RELATIVE.sub("", path)


Part = Literal["path", "symbol", "lines", "argument"]
"""Part of a mention that is completed."""

_RUNS: dict[Part, re.Pattern[str]] = {
    "path": re.compile(r"(?:\\.|[^\\:#\s\u0590-\U0010ffff])*"),
    "symbol": re.compile(r"[A-Za-z0-9_$]*"),
    "lines": re.compile(r"[A-Za-z0-9_:–-]*"),
    "argument": re.compile(r"(?:\\.|[^\\\s\u0590-\U0010ffff])*"),
}
"""Characters after the cursor that continue each part; scripts without spaces do so only behind their own letters."""

_ENDS: dict[Part, re.Pattern[str]] = {
    "path": re.compile(":"),
    "symbol": re.compile("[.:#]"),
    "lines": re.compile("#"),
    "argument": re.compile(r"\s"),
}
"""Characters that end each part, even in a name."""


def replaced_end(text: str, token: MentionToken, offset: int, part: Part, context: ResolveContext) -> int:
    """Return the offset after the text that the items replace; `token` ends at the cursor."""
    if not token.value:
        return offset
    if token.quote:
        return _closing_quote(text, offset, token.quote)
    rest = text[offset : max(offset, mention_end(text, token.start, context))]
    run = _RUNS[part].match(rest) if token.value[-1] < "\u0590" else None
    return offset + (run.end() if run is not None else len(_ENDS[part].split(rest, maxsplit=1)[0]))


def place_item(item: CompletionItem, text: str, end: int, query: CompletionQuery) -> CompletionItem:
    """Return the item with the text to insert before `text[end:]` in place of a mention that ends at `end`."""
    following = text[end : end + MAX_LENGTH].split("\n", 1)[0]
    if not following or following[0].isspace():
        return item
    inserted = item.insert_text
    if inserted.endswith(":"):  # a kind or a root in front of its own argument
        return replace(item, insert_text=inserted.removesuffix(":")) if following[0] == ":" else item
    (alone,) = parse(f"{inserted} x", query.keywords) or (None,)
    joined = find_mentions(inserted + following, query.context, query.kinds)
    if alone is None or (joined and joined[0].start == 0 and _keeps_target(joined[0], alone)):
        return item
    return replace(item, insert_text=f"{inserted} ")


def _keeps_target(joined: Mention, alone: Mention) -> bool:
    """Return whether a mention followed by text still refers to its target, or to lines or a symbol in it."""
    if not joined.text.startswith(alone.text):
        return False
    following = joined.text[len(alone.text) :][:1]
    return following in {"file": ":#", "folder": "#"}.get(alone.kind, "/.:#")


def _closing_quote(text: str, offset: int, quote: str) -> int:
    """Return the offset after the quote that closes the mention, or the cursor if the next quote opens another text."""
    match = re.compile(rf"((?:\\.|[^\\\n\r{quote}]){{0,{MAX_LENGTH}}}){quote}").match(text, offset)
    if match is None:
        return offset
    before, after = text[match.end() - 2], text[match.end() : match.end() + 1]
    return match.end() if not before.isspace() and not after.isalnum() else offset


# ---------------------------------------------------------------- arguments: values after "@kind:" as (value, detail) pairs, best first


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


def _symbols(query: CompletionQuery, kind: MentionKind, head: str, argument: str) -> Iterator[CompletionItem]:
    first, dots, last = split_call_path(argument) if kind.name == "path" else ("", "", "")
    scope, name = split_scope(last if dots else argument, query.context)
    for item in complete_symbol_in_file(query, scope, name) if scope else complete_symbol(query, name):
        yield from _as_argument(head, f"{first}{dots}", replace(item, tokens=None))


def _paths(query: CompletionQuery, head: str, argument: str, item_kind: str) -> Iterator[CompletionItem]:
    root, path = split_root(query.snapshot, argument)
    roots = find_roots(query.snapshot, root) if root else None
    without_kinds = replace(query, kinds=replace(query.kinds, kinds={}))
    for item in complete_path(without_kinds, path, roots):
        if item.kind == item_kind:
            yield from _as_argument(head, "", item)


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


def _as_argument(head: str, before: str, item: CompletionItem) -> Iterator[CompletionItem]:
    """Yield an item with its mention as an argument after a text, unless no mention can represent it."""
    text = format_argument_mention(head.removesuffix(":"), f"{before}{mention_to_argument(item.insert_text)}")
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
