"""Optional language model that interprets questions; off unless the user's own settings configure one.

`connect_language_model` creates a `LanguageModel` from the settings: the editor's own model or an OpenAI-compatible
endpoint.  `interpret_question` sends it one request: the topic of a question and search terms for it.  Any failure
becomes a `Problem` of one sentence, and the caller continues offline.  Only the question is sent, never code of the
workspace.
"""

from __future__ import annotations

from promptls.prompt.language_model.client import CompletionFunction, LanguageModel, LanguageModelError
from promptls.prompt.language_model.editor import editor_model
from promptls.prompt.language_model.factory import connect_language_model
from promptls.prompt.language_model.interpret import interpret_question, redact_question

__all__ = [
    "CompletionFunction",
    "LanguageModel",
    "LanguageModelError",
    "connect_language_model",
    "editor_model",
    "interpret_question",
    "redact_question",
]
