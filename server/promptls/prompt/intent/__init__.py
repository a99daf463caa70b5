"""Intent detection: categories, types and action of a question, exclusions, entities, search terms.

`detect.detect_intent` works offline on the words of the question, in well below 2 ms; `refine.refine_intent` adds the
interpretation of a language model.  The intent controls the instructions and the amount of context; mentions are
resolved whatever the intent.  Word lists are TOML files.
"""

from __future__ import annotations

from promptls.prompt.intent.types import ACTIONS, QUESTION_TYPES, Category, Entity, Intent

__all__ = ["ACTIONS", "QUESTION_TYPES", "Category", "Entity", "Intent"]
