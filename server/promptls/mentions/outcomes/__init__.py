"""Outcomes of mentions: their constructors, suggestions for unresolved ones, and what is text and not a mention.

The constructors are part of the interface for plugins; import them from here.
"""

from promptls.mentions.outcomes.constructors import ambiguous, empty, included, refused, unresolved

__all__ = ["ambiguous", "empty", "included", "refused", "unresolved"]
