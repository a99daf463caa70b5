"""How a prompt looks: one function for each layout, ours and those of the five systems.

A layout puts the pieces of a draft in order and gives them headings and markup; `assemble` counts what comes
out and makes the draft smaller until it fits.
"""

from __future__ import annotations

from promptls.prompt.layouts.attune import attune
from promptls.prompt.layouts.codebuddy import codebuddy
from promptls.prompt.layouts.cody import cody
from promptls.prompt.layouts.default import default
from promptls.prompt.layouts.prompto import prompto
from promptls.prompt.layouts.types import Chat, Draft, Facts, Layout, Message, Part, Parts, Place, Section
from promptls.prompt.layouts.understand import understand

LAYOUTS: dict[str, Layout] = {
    "attune": attune,
    "codebuddy": codebuddy,
    "cody": cody,
    "default": default,
    "prompto": prompto,
    "understand": understand,
}

QUOTING = frozenset({"attune", "codebuddy", "cody", "understand"})
"""Layouts that show earlier turns as Markdown quotations."""

__all__ = ["LAYOUTS", "QUOTING", "Chat", "Draft", "Facts", "Layout", "Message", "Part", "Parts", "Place", "Section"]
