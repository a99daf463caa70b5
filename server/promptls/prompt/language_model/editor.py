"""The editor's own language model, asked through the request `promptls/complete`.

How the request reaches the client is the server's business: `send` starts it and gives a future.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from typing import Any

from promptls.model import Cancelled, CancelToken
from promptls.prompt.language_model.client import Complete, Failed
from promptls.prompt.layouts.types import Message

LOOK_S = 0.03
"""How often the token is looked at while an answer is awaited."""

MAX_ANSWER = 64 * 1024
"""Characters of an answer that are looked at."""

Send = Callable[[dict[str, Any]], "Future[Any]"]


def editor(send: Send, timeout_s: float) -> Complete:
    """A way to the editor's model.

    `send` sends the params {messages: [{role, content}], maxTokens} and returns at once; the future's
    result should be {text}.  It is cancelled when nobody waits any longer.
    """

    def complete(messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        try:
            future = send({"messages": chat, "maxTokens": max_tokens})
        except Exception:  # the connection to the client is going down
            raise Failed("the editor could not be asked for an answer of its language model") from None
        return _text(await_answer(future, timeout_s, token, "the editor's language model"))

    return complete


def await_answer(future: Future[Any], timeout_s: float, token: CancelToken, who: str, grace_s: float = 0.0) -> Any:
    """The future's result.  Raises `Cancelled` soon after the token, and `Failed`; then nobody waits for it.

    `grace_s`: more time for a future that keeps `timeout_s` itself.
    """
    deadline = time.monotonic() + timeout_s + grace_s
    try:
        while True:
            left = deadline - time.monotonic()
            wait((future,), max(0.0, min(LOOK_S, left)))
            if token.cancelled:
                raise Cancelled
            if future.done():
                return future.result()
            if left <= 0:
                raise Failed(f"{who} did not answer within {timeout_s:g} s")
    except (Cancelled, Failed):
        raise
    except CancelledError:
        raise Failed(f"{who} gave no answer: the request was cancelled") from None
    except Exception as error:
        raise Failed(f"{who} gave no answer ({type(error).__name__})") from None
    finally:
        future.cancel()


def _text(result: Any) -> str:
    text = result.get("text") if isinstance(result, Mapping) else getattr(result, "text", None)
    if not isinstance(text, str) or not text.strip():
        raise Failed("the editor's language model gave no text")
    return text[:MAX_ANSWER]
