"""Resolvers of rule files and memory entries: "@rules" and "@memory"."""

from __future__ import annotations

from promptls.knowledge import memory_requests, rule_files
from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes.constructors import included, unresolved, virtual_item
from promptls.mentions.path_lookup import access_denied_reason
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Span
from promptls.util.text.plural import plural


def resolve_rules(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@rules" to the rule files that apply to the open documents."""
    documents = [path for path in (context.client.active_document, *context.client.open_documents) if path]
    rule_set = rule_files.collect_rules(context.sources, documents)
    items: list[Item] = []
    for path in dict.fromkeys(rule.path for rule in rule_set.active):
        view = context.sources.read(path, explicit=True)
        if isinstance(view, FileText) and not access_denied_reason(context, path):
            items.append(Item(path, Span(0, len(view.lines)), "file", Origin.MENTION, 1.0))
    if not items:
        return unresolved(mention, "No rule files (such as AGENTS.md) apply to the open documents.")
    return included(mention, items)


def resolve_memory(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve "@memory" to all entries of the memory, or to those relevant to the argument."""
    memory, empty = context.services.memory, unresolved(mention, "The memory has no entries.")
    if memory is None:
        return empty
    now = memory.clock()
    entries = [entry for entry in memory.load(context.snapshot.roots).entries if not entry.is_expired(now)]
    if not entries:
        return empty
    if mention.target:
        entries = [hit.entry for hit in memory_requests.search_entries(entries, mention.target)]
        if not entries:
            return unresolved(mention, f'No memory entry matches "{mention.target}".')
    text = "\n".join(memory_requests.format_entry(entry) for entry in entries)
    return included(
        mention, [virtual_item(context, "memory", text, "memory")], f"{plural(len(entries), 'entry', 'entries')}."
    )
