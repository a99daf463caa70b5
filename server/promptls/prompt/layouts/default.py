"""The default layout: instructions, fenced context, task, question.

Parts that do not depend on the question come first, so that a provider can cache the prefix: instructions, sections,
mentioned code.  Earlier turns, retrieved code, advice for the type of question and the question follow.
"""

from __future__ import annotations

from promptls.prompt.layouts.types import Chat, MessageParts, PromptContent, arrange_messages, heading
from promptls.prompt.rendering import fences
from promptls.prompt.rendering.renderer import SEPARATOR, Renderer, render_element
from promptls.prompt.variants import variant_text

MAP_INTRODUCTION = "More regions of the workspace, not shown; name them to get them:"


def default_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out a prompt in the default format."""
    instructions = [variant_text(content.variant), variant_text("clause")]
    if content.sections_named("rules", "memory"):
        instructions.append(variant_text("conventions"))
    first: MessageParts = [("instructions", "", "\n".join(instructions))]
    last = _context(content, boundary, renderer)
    for placement in ("instructions", "task"):
        last += [(s.name, heading(s.name), s.text) for s in content.sections if s.placement == placement]
    if content.message.strip():
        last.append(("question", heading("question"), content.message))
    return arrange_messages(content, first, last)


def context_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out the fenced context without instructions, earlier turns and the question, for output "context"."""
    return [("user", [] if content.message_only else _context(content, boundary, renderer))]


def message_only_layout(content: PromptContent, boundary: str, renderer: Renderer | None) -> Chat:
    """Lay out a message that needs no context: the message and nothing else, after the earlier turns of a chat."""
    return arrange_messages(content, [], [("question", "", content.message)])


def _context(content: PromptContent, boundary: str, renderer: Renderer | None) -> MessageParts:
    """Return the fenced parts; the heading of the first one states the boundary."""
    parts: MessageParts = []
    for section in content.sections:
        if section.placement == "context":
            parts.append((section.name, "", fences.fence([("section", section.name)], section.text, boundary)))
    elements = [
        (packed.explicit, render_element(packed.rendered, renderer.label, boundary, citation))
        for packed, citation in content.labelled_items()
        if renderer is not None
    ]
    if mentioned := [text for explicit, text in elements if explicit]:
        parts.append(("context", "", SEPARATOR.join(mentioned)))
    if content.output == "text":
        for turn in content.history:
            parts.append(("history", "", fences.fence([("turn", turn.role)], turn.content, boundary)))
    retrieved = [text for explicit, text in elements if not explicit]
    if renderer is None or retrieved:
        parts.append(("context", "", SEPARATOR.join(retrieved)))
    head = f"# Context\nBoundary: {boundary}\n\n" if parts else "# Context\n"
    if content.empty_notice and not content.items:
        parts.append(("context", "", content.empty_notice))
    if unresolved := content.metadata.unresolved:
        parts.append(("context", "", f"Not included, because it could not be resolved: {', '.join(unresolved)}."))
    if content.map:
        parts.append(("map", "", f"{MAP_INTRODUCTION}\n{fences.fence([('section', 'map')], content.map, boundary)}"))
    return [(name, head if i == 0 else "", text) for i, (name, _, text) in enumerate(parts)]
