"""Optional language model that chooses the code of a prompt; off unless the user's own settings configure one.

`connect_language_model` creates a `LanguageModel` from the settings: the editor's own model or an OpenAI-compatible
endpoint.  `promptls.prompt.context.selection` asks it.  Any failure becomes a sentence, and the caller continues offline.
"""

from __future__ import annotations

from collections.abc import Mapping

from promptls.model import Problem
from promptls.prompt.language_model.client import (
    CompletionFunction,
    LanguageModel,
    LanguageModelError,
    SendRequest,
    editor_model,
)
from promptls.settings import LanguageModelSettings

__all__ = ["CompletionFunction", "LanguageModel", "LanguageModelError", "connect_language_model", "editor_model"]


def connect_language_model(
    settings: LanguageModelSettings, environ: Mapping[str, str], send: SendRequest | None = None
) -> LanguageModel | Problem | None:
    """Return the configured language model; None if it is off, a `Problem` if it is not available.

    Nothing is sent and openai is not imported before the first request.

    Args:
        settings: The user's settings.
        environ: Environment variables.
        send: Sends a request to the editor (see `editor_model`); None if the client offers no model.
    """
    if settings.use == "off":
        return None
    if settings.use == "editor":
        if send is None:
            return Problem(
                'languageModel.use is "editor", but this editor offers no language model.',
                'Set languageModel.use to "off", or to "endpoint" and name a server.',
            )
        complete = editor_model(send, settings.timeout_s)
        return LanguageModel(
            complete, "the editor's language model", sends_code=settings.send_code, timeout_s=settings.timeout_s
        )
    from promptls.prompt.language_model.endpoint import connect_endpoint  # asyncio and ssl: 25 ms

    return connect_endpoint(settings, environ)
