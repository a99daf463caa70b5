"""Resolver of whole workspace roots: "@workspace" for all of them, "@root:" for one."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.mentions.context import ResolveContext
from promptls.mentions.outcomes.constructors import unresolved
from promptls.mentions.path_lookup import find_roots
from promptls.mentions.resolvers import file, folder
from promptls.model import Mention, MentionOutcome


def resolve(mention: Mention, context: ResolveContext) -> MentionOutcome:
    """Resolve a mention of all roots or of one root to their files."""
    roots = find_roots(context.snapshot, mention.root)
    if roots:
        return folder.folder_outcome(mention, context, [root.path for root in roots], include_all=True)
    if not mention.root:
        return unresolved(mention, "The editor has no workspace folder open.")
    # "@README: why …" is a file and the colon of the sentence.
    as_file = Mention(mention.text.rstrip(":"), mention.start, mention.end - 1, "file", mention.root)
    outcome = file.resolve(as_file, context)
    if outcome.status != "unresolved":
        return outcome
    return replace(folder.unknown_root(mention, context, outcome), suggestion=outcome.suggestion)
