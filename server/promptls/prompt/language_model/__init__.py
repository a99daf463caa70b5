"""Optional language model that chooses the code of a prompt; off unless the user's own settings configure one.

`connect_language_model` creates a `LanguageModel` from the settings: the editor's own model or an OpenAI-compatible
endpoint.  `promptls.prompt.context.selection` asks it.  Any failure becomes a sentence, and the caller continues offline.
"""

from __future__ import annotations

from promptls.prompt.language_model.client import (
    CompletionFunction,
    LanguageModel,
    LanguageModelError,
    editor_model,
)
from promptls.prompt.language_model.endpoint import connect_language_model

__all__ = ["CompletionFunction", "LanguageModel", "LanguageModelError", "connect_language_model", "editor_model"]
