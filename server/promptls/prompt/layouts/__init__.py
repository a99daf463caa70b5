"""Layouts of prompts: order, headings and markup of the parts.

A layout is a function of a prompt's content; `default_layout` is that of the default profile, others come from
profile hooks.  `assemble` counts the result and reduces the content until it fits the budget.
"""

from __future__ import annotations

from promptls.prompt.layouts.default import context_layout, default_layout, message_only_layout
from promptls.prompt.layouts.types import (
    Chat,
    Layout,
    Message,
    MessagePart,
    MessageParts,
    PromptContent,
    PromptMetadata,
    Section,
    SectionPlacement,
    arrange_messages,
    heading,
)

__all__ = [
    "Chat",
    "Layout",
    "Message",
    "MessagePart",
    "MessageParts",
    "PromptContent",
    "PromptMetadata",
    "Section",
    "SectionPlacement",
    "arrange_messages",
    "context_layout",
    "default_layout",
    "heading",
    "message_only_layout",
]
