"""A language model for understanding the question: optional, off unless the user's own settings name one.

`connect` makes a `LanguageModel` from the settings: the editor's own, or an OpenAI-compatible endpoint.
`interpret` asks it one thing: what a question is about and what to search for.  Whatever goes wrong
becomes a `Problem` of one sentence, and the caller goes on offline.  Only the question is sent, never
code of the workspace.  Knows nothing of intents, prompts or budgets.
"""

from __future__ import annotations

from promptls.prompt.language_model.client import Complete, Failed, LanguageModel
from promptls.prompt.language_model.editor import editor
from promptls.prompt.language_model.factory import connect
from promptls.prompt.language_model.interpret import Interpretation, interpret, sendable

__all__ = [
    "Complete",
    "Failed",
    "Interpretation",
    "LanguageModel",
    "connect",
    "editor",
    "interpret",
    "sendable",
]
