"""Our own layout: instructions, fenced context, task, question.

Order serves caches and readers: what stays the same comes first, the question comes last, verbatim.
"""

from __future__ import annotations

from promptls.prompt import fences
from promptls.prompt.layouts.types import Chat, Draft, Parts, heading, one_message
from promptls.prompt.render import SEPARATOR, Renderer, element
from promptls.prompt.variants import wording


def default(draft: Draft, boundary: str, renderer: Renderer | None) -> Chat:
    """The messages as parts."""
    said = [wording(draft.variant), wording("clause")]
    if draft.named("rules", "memory"):
        said.append(wording("conventions"))
    first: Parts = [("instructions", "", "\n".join(said))]
    first += [(s.name, heading(s.name), s.text) for s in draft.sections if s.place == "instructions"]
    last = _context(draft, boundary, renderer)
    last += [(s.name, heading(s.name), s.text) for s in draft.sections if s.place == "task"]
    last += [("question", heading("question"), draft.message)]
    return one_message(draft, first, last)


def _context(draft: Draft, boundary: str, renderer: Renderer | None) -> Parts:
    """The fenced parts, the boundary stated with the first of them."""
    parts: Parts = []
    for section in draft.sections:
        if section.place == "context":
            parts.append((section.name, "", fences.fence([("section", section.name)], section.text, boundary)))
    if draft.output == "text":
        for turn in draft.history:
            parts.append(("history", "", fences.fence([("turn", turn.role)], turn.content, boundary)))
    if renderer is None or draft.kept:
        elements = [
            element(kept.block, renderer.label, boundary, citation)
            for kept, citation in draft.cited()
            if renderer is not None
        ]
        parts.append(("context", "", SEPARATOR.join(elements)))
    head = f"# Context\nBoundary: {boundary}\n\n" if parts else "# Context\n"
    if draft.empty and not draft.kept:
        parts.append(("context", "", draft.empty))
    return [(name, head if i == 0 else "", text) for i, (name, _, text) in enumerate(parts)]
