"""What can be asked of the memory: add, list, update, remove, search.

Turns the fields of a request into calls and gives entries; the wire's names are the protocol's business.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from promptls.knowledge.memory.entries import Draft, Entry, Expiry, InvalidEntry, category_of, scope_of
from promptls.knowledge.memory.relevance import Hit, search
from promptls.knowledge.memory.store import Memory
from promptls.model import Problem, Root

ACTIONS = ("add", "list", "remove", "search", "update")
MOST_LISTED = 1_000


class Ask(Struct, frozen=True, kw_only=True):
    """A request; which fields count depends on the action."""

    action: str
    id: str = ""  # update, remove
    category: str | UnsetType = UNSET  # add, update; list and search: only these
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    paths: tuple[str, ...] | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET
    scope: str = ""  # add: "user" without; list and search: all without
    root: str = ""  # add to the workspace: name, path or URI of a folder, the first one without
    query: str = ""  # search
    limit: int = 100
    offset: int = 0
    include_expired: bool = False  # list and search


class Answer(Struct, frozen=True):
    """What a request came to."""

    entries: tuple[Entry, ...]  # added, changed, removed or found; for a list the newest first
    total: int  # how many there are without `limit` and `offset`
    scores: tuple[float, ...] = ()  # of a search, one for each entry
    problems: tuple[Problem, ...] = ()


def perform(memory: Memory, ask: Ask, roots: Sequence[Root]) -> Answer:
    """Do what is asked.  Raises `InvalidEntry`, which names the field and what is valid."""
    if ask.action not in ACTIONS:
        raise InvalidEntry("action", f"{ask.action!r} is none; it must be one of {', '.join(ACTIONS)}.", ACTIONS)
    if ask.action in ("update", "remove") and not ask.id:
        raise InvalidEntry("id", "it is missing; it must be the id of an entry.")
    if ask.action in ("list", "search"):
        return _found(memory, ask, roots)
    draft = Draft(
        category=ask.category,
        title=ask.title,
        content=ask.content,
        tags=ask.tags,
        paths=ask.paths,
        expires=ask.expires,
    )
    if ask.action == "add":
        changed = memory.add(draft, _root(ask, roots))
    elif ask.action == "update":
        changed = memory.update(ask.id, draft, roots)
    else:
        changed = memory.remove(ask.id, roots)
    return Answer(changed.entries, len(changed.entries), problems=changed.problems)


def _root(ask: Ask, roots: Sequence[Root]) -> Root | None:
    """The folder to whose memory is added, None for the user's own."""
    if scope_of(ask.scope or "user") == "user":
        return None
    for root in roots:
        if not ask.root or ask.root.rstrip("/") in (root.name, root.path, root.uri.rstrip("/")):
            return root
    valid = tuple(sorted(root.name for root in roots))
    if not roots:
        raise InvalidEntry("scope", "there is no workspace folder; it must be user.", ("user",))
    raise InvalidEntry("root", f"{ask.root!r} is no workspace folder; it must be one of {', '.join(valid)}.", valid)


def _found(memory: Memory, ask: Ask, roots: Sequence[Root]) -> Answer:
    if not 1 <= ask.limit <= MOST_LISTED:
        raise InvalidEntry("limit", f"it must lie between 1 and {MOST_LISTED}.")
    if ask.offset < 0:
        raise InvalidEntry("offset", "it must not be negative.")
    content, now = memory.load(roots), memory.clock()
    category = category_of(ask.category) if ask.category is not UNSET else None
    scope = scope_of(ask.scope) if ask.scope else None
    entries = [
        entry
        for entry in content.entries
        if (category is None or entry.category == category)
        and (scope is None or entry.scope == scope)
        and (ask.include_expired or not entry.expired(now))
    ]
    if ask.action == "list":
        entries.sort(key=lambda entry: (-entry.updated.timestamp(), entry.id))
        hits = [Hit(entry, 1.0) for entry in entries]
    elif not ask.query.strip():
        raise InvalidEntry("query", "it is blank; it must say what to look for.")
    else:
        hits = search(entries, ask.query)
    page = hits[ask.offset : ask.offset + ask.limit]
    scores = tuple(hit.score for hit in page) if ask.action == "search" else ()
    return Answer(tuple(hit.entry for hit in page), len(hits), scores, content.problems)
