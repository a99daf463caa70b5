"""The editor's own language model, used through the request `promptls/complete`.

The server passes `send`, which starts the request and returns a future.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from typing import Any

from promptls.model import Cancelled, CancelToken
from promptls.prompt.language_model.client import CompletionFunction, LanguageModelError
from promptls.prompt.layouts.types import Message

POLL_INTERVAL_S = 0.03
"""Interval in which cancellation is checked while waiting for an answer."""

MAX_ANSWER_CHARACTERS = 64 * 1024
"""Maximum characters of an answer; the rest is cut off."""

SendRequest = Callable[[dict[str, Any]], "Future[Any]"]


def editor_model(send: SendRequest, timeout_s: float) -> CompletionFunction:
    """Return a completion function for the editor's model.

    Args:
        send: Sends the params {messages: [{role, content}], maxTokens} and returns at once.  The result of the
            future is {text}.  The future is cancelled when the answer is not needed any more.
        timeout_s: Time limit of a request, in seconds.
    """

    def complete(messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        try:
            future = send({"messages": chat, "maxTokens": max_tokens})
        except Exception:  # the connection to the client is closing
            raise LanguageModelError("the editor's language model could not be reached") from None
        return _answer_text(wait_for_answer(future, timeout_s, token, "the editor's language model"))

    return complete


def wait_for_answer(
    future: Future[Any], timeout_s: float, token: CancelToken, source: str, grace_s: float = 0.0
) -> Any:
    """Return the result of a future.  Raises `Cancelled` soon after cancellation, and `LanguageModelError`.

    Args:
        future: Cancelled when this function returns or raises.
        timeout_s: Time limit, in seconds.
        token: Cancellation of the request.
        source: Subject of error messages.
        grace_s: Additional time for a future that enforces `timeout_s` itself.
    """
    deadline = time.monotonic() + timeout_s + grace_s
    try:
        while True:
            remaining = deadline - time.monotonic()
            wait((future,), max(0.0, min(POLL_INTERVAL_S, remaining)))
            if token.cancelled:
                raise Cancelled
            if future.done():
                return future.result()
            if remaining <= 0:
                raise LanguageModelError(f"{source} did not answer within {timeout_s:g} s")
    except (Cancelled, LanguageModelError):
        raise
    except CancelledError:
        raise LanguageModelError(f"{source} did not answer: the request was cancelled") from None
    except Exception as error:
        raise LanguageModelError(f"{source} did not answer ({type(error).__name__})") from None
    finally:
        future.cancel()


def _answer_text(result: Any) -> str:
    text = result.get("text") if isinstance(result, Mapping) else getattr(result, "text", None)
    if not isinstance(text, str) or not text.strip():
        raise LanguageModelError("the editor's language model returned no text")
    return text[:MAX_ANSWER_CHARACTERS]
