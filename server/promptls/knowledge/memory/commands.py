"""Memory requests: add, list, update, remove and search entries.

Translates the fields of a request into calls of the store.  Independent of the names in the protocol.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from promptls.knowledge.memory.entries import EntryDraft, Expiry, InvalidEntry, MemoryEntry, parse_category, parse_scope
from promptls.knowledge.memory.relevance import ScoredEntry, search_entries
from promptls.knowledge.memory.store import MemoryStore
from promptls.model import Problem, Root

ACTIONS = ("add", "list", "remove", "search", "update")
MAX_LIMIT = 1_000


class MemoryRequest(Struct, frozen=True, kw_only=True):
    """A memory request; the relevant fields depend on the action."""

    action: str
    id: str = ""  # update, remove
    category: str | UnsetType = UNSET  # add, update; filter for list and search
    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    paths: tuple[str, ...] | UnsetType = UNSET
    expires: Expiry | UnsetType = UNSET
    scope: str = ""  # add: default "user"; list and search: default all
    root: str = ""  # add to a workspace: name, path or URI of a workspace folder, default the first one
    query: str = ""  # search
    limit: int = 100
    offset: int = 0
    include_expired: bool = False  # list and search


class MemoryResult(Struct, frozen=True):
    """The result of a memory request."""

    entries: tuple[MemoryEntry, ...]  # added, changed, removed or matching entries; a list is sorted newest first
    total: int  # number of entries without `limit` and `offset`
    scores: tuple[float, ...] = ()  # search: one score per entry
    problems: tuple[Problem, ...] = ()


def perform(memory: MemoryStore, request: MemoryRequest, roots: Sequence[Root]) -> MemoryResult:
    """Execute a request.

    Raises:
        InvalidEntry: A field of the request is invalid.
    """
    if request.action not in ACTIONS:
        raise InvalidEntry(
            "action", f"unknown action {request.action!r}; must be one of {', '.join(ACTIONS)}.", ACTIONS
        )
    if request.action in ("update", "remove") and not request.id:
        raise InvalidEntry("id", "missing; must be the id of an entry.")
    if request.action in ("list", "search"):
        return _matching(memory, request, roots)
    draft = EntryDraft(
        category=request.category,
        title=request.title,
        content=request.content,
        tags=request.tags,
        paths=request.paths,
        expires=request.expires,
    )
    if request.action == "add":
        changed = memory.add(draft, _target_root(request, roots))
    elif request.action == "update":
        changed = memory.update(request.id, draft, roots)
    else:
        changed = memory.remove(request.id, roots)
    return MemoryResult(changed.entries, len(changed.entries), problems=changed.problems)


def _target_root(request: MemoryRequest, roots: Sequence[Root]) -> Root | None:
    """Return the workspace folder to add an entry to, or None for user memory."""
    if parse_scope(request.scope or "user") == "user":
        return None
    for root in roots:
        if not request.root or request.root.rstrip("/") in (root.name, root.path, root.uri.rstrip("/")):
            return root
    valid = tuple(sorted(root.name for root in roots))
    if not roots:
        raise InvalidEntry("scope", "no workspace folder is open; must be user.", ("user",))
    raise InvalidEntry("root", f"{request.root!r} is not a workspace folder; must be one of {', '.join(valid)}.", valid)


def _matching(memory: MemoryStore, request: MemoryRequest, roots: Sequence[Root]) -> MemoryResult:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidEntry("limit", f"must be between 1 and {MAX_LIMIT}.")
    if request.offset < 0:
        raise InvalidEntry("offset", "must not be negative.")
    content, now = memory.load(roots), memory.clock()
    category = parse_category(request.category) if request.category is not UNSET else None
    scope = parse_scope(request.scope) if request.scope else None
    entries = [
        entry
        for entry in content.entries
        if (category is None or entry.category == category)
        and (scope is None or entry.scope == scope)
        and (request.include_expired or not entry.is_expired(now))
    ]
    if request.action == "list":
        entries.sort(key=lambda entry: (-entry.updated.timestamp(), entry.id))
        matches = [ScoredEntry(entry, 1.0) for entry in entries]
    elif not request.query.strip():
        raise InvalidEntry("query", "blank; must contain search terms.")
    else:
        matches = search_entries(entries, request.query)
    page = matches[request.offset : request.offset + request.limit]
    scores = tuple(match.score for match in page) if request.action == "search" else ()
    return MemoryResult(tuple(match.entry for match in page), len(matches), scores, content.problems)
