"""attune's prompt: context, request and instruction under three headings, passages between sentinels.

The passage's header carries the lines too, and what stands in a passage cannot close it (attune relied on
a sentence alone).  The beginning is a message of its own only if it is long enough for a cache to keep.
"""

from __future__ import annotations

from promptls.compat.passages import CLAUSE, FALLBACK, passage
from promptls.prompt.layouts import markdown
from promptls.prompt.layouts.codebuddy import quoted
from promptls.prompt.layouts.types import Chat, Draft, Parts
from promptls.prompt.pack import Kept
from promptls.prompt.render import SEPARATOR, Renderer
from promptls.prompt.variants import wording

CACHEABLE = 1024
"""Characters that the beginning must have to be worth a cache entry (attune)."""


def attune(draft: Draft, boundary: str, renderer: Renderer | None) -> Chat:
    """The messages as parts."""
    last: Parts = [(s.name, f"### {s.name.capitalize()}\n", s.text) for s in draft.sections if s.place == "task"]
    last.append(("question", "### User request\n", draft.message))
    first: Parts = [
        (s.name, f"### {s.name.capitalize()}\n", quoted(s.text)) for s in draft.sections if s.place == "context"
    ]
    said: Parts = [
        (s.name, f"### {s.name.capitalize()}\n", s.text) for s in draft.sections if s.place == "instructions"
    ]
    if draft.output == "text":
        first += [("history", f"### Earlier, {turn.role}\n", quoted(turn.content)) for turn in draft.history]
    if renderer is not None and draft.kept:
        passages = [passage(_source(kept, renderer), kept.block.body, c) for kept, c in draft.cited()]
        first.append(("context", "### Context\n", SEPARATOR.join(passages)))
        said.append(("instructions", "### Instruction\n", f"{wording(draft.variant)}\n{CLAUSE}"))
    elif renderer is not None:
        said.append(("instructions", "### Instruction\n", FALLBACK))
    else:
        said.append(("instructions", "### Instruction\n", f"{wording(draft.variant)}\n{CLAUSE}"))
    if draft.output == "text":
        return [("user", [*first, *last, *said])]
    turns: Chat = [(turn.role, [("history", "", turn.content)]) for turn in draft.history]
    if sum(len(head) + len(text) for _, head, text in first) < CACHEABLE:
        return [*turns, ("user", [*first, *last, *said])]
    return [("system", first), *turns, ("user", [*last, *said])]


def _source(kept: Kept, renderer: Renderer) -> str:
    return markdown.place(kept, renderer)
