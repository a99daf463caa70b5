"""The resolver of whole roots: "@workspace" for all of them, "@root:" for one."""

from __future__ import annotations

from msgspec.structs import replace

from promptls.mentions.context import Request
from promptls.mentions.outcomes import unresolved
from promptls.mentions.path_lookup import roots_named
from promptls.mentions.resolvers import file, folder
from promptls.model import Mention, MentionOutcome


def resolve(mention: Mention, request: Request) -> MentionOutcome:
    """The folders of the workspace, with their files."""
    roots = roots_named(request.snapshot, mention.root)
    if roots:
        return folder.of(mention, request, [root.path for root in roots], all_of_them=True)
    if not mention.root:
        return unresolved(mention, "No folder is open in the editor.")
    # "@README: why …": a name, and the colon of the sentence.
    plain = Mention(mention.text.rstrip(":"), mention.start, mention.end - 1, "file", mention.root)
    outcome = file.resolve(plain, request)
    if outcome.status != "unresolved":
        return outcome
    return replace(folder.no_root(mention, request, outcome), suggestion=outcome.suggestion)
