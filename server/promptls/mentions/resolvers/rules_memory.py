"""The resolvers of what was written down: "@rules" and "@memory"."""

from __future__ import annotations

from promptls.index.snapshot import split_lines
from promptls.knowledge import rules
from promptls.knowledge.memory import relevance
from promptls.mentions.context import Request
from promptls.mentions.outcomes import included, unresolved
from promptls.mentions.path_lookup import barred
from promptls.model import Item, Mention, MentionOutcome, Origin, Span, TextView


def resolve_rules(mention: Mention, request: Request) -> MentionOutcome:
    """The rule files that hold for the documents in front of the user."""
    files = [path for path in (request.client.active, *request.client.open) if path]
    found = rules.gather(request.sources, files)
    items: list[Item] = []
    for path in dict.fromkeys(rule.path for rule in found.held):
        view = request.sources.read(path, explicit=True)
        if isinstance(view, TextView) and not barred(request, path):
            items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if not items:
        return unresolved(mention, "The workspace has no rule files that hold here, such as AGENTS.md.")
    return included(mention, items)


def resolve_memory(mention: Mention, request: Request) -> MentionOutcome:
    """What is remembered, or what of it is about something."""
    held, nothing = request.around.memory, unresolved(mention, "Nothing is remembered yet.")
    if held is None:
        return nothing
    now = held.clock()
    entries = [entry for entry in held.load(request.snapshot.roots).entries if not entry.expired(now)]
    if not entries:
        return nothing
    if mention.target:
        entries = [hit.entry for hit in relevance.search(entries, mention.target)]
        if not entries:
            return unresolved(mention, f'Nothing that is remembered is about "{mention.target}".')
    text = "\n".join(relevance.line(entry) for entry in entries)
    path = request.sources.exhibit("memory", text)
    count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    return included(mention, [Item(path, Span(0, len(split_lines(text))), "memory", Origin.MENTION, 1.0)], f"{count}.")
