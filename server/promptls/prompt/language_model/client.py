"""Language model client: back-off after failures, a cache of answers, and the model of the editor.

A `CompletionFunction` sends one chat and raises `LanguageModelError` with one sentence.  `LanguageModel` owns all
state between questions: consecutive failures, the end of the back-off, the last useful answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from typing import Any, Protocol

from promptls.model import Cancelled, CancelToken
from promptls.prompt.layouts import Message
from promptls.util.backoff import Backoff

FAILURES_BEFORE_BACKOFF = 2
"""Number of consecutive failures after which requests are suspended."""

INITIAL_BACKOFF_S = 30.0
"""First back-off, in seconds; it doubles with each further failure."""

MAX_BACKOFF_S = 600.0
"""Maximum back-off, in seconds, unless the server requests a longer one."""

MAX_CACHED_ANSWERS = 64
"""Maximum number of cached answers: clients rebuild the prompt of a question repeatedly while it is edited."""

POLL_INTERVAL_S = 0.03
"""Interval in which cancellation is checked while waiting for an answer."""

MAX_ANSWER_CHARACTERS = 64 * 1024
"""Maximum characters of an answer; the rest is cut off."""

SendRequest = Callable[[dict[str, Any]], "Future[Any]"]


class LanguageModelError(Exception):
    """A failed request; the text is one sentence for the user, without a full stop, a key or a traceback."""

    def __init__(
        self, sentence: str, *, permanent: bool = False, wrong_parameters: bool = False, retry_after_s: float = 0.0
    ) -> None:
        super().__init__(sentence)
        self.permanent = permanent  # whether retrying cannot help before the configuration changes
        self.wrong_parameters = wrong_parameters  # whether the server expects another name for the token limit
        self.retry_after_s = retry_after_s  # delay that the server requests


class CompletionFunction(Protocol):
    """Function that completes a chat.  Raises `LanguageModelError`, and `Cancelled` within 100 ms of cancellation."""

    def __call__(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        """Return the answer of the language model."""


class LanguageModel:
    """A completion function with back-off and cache.  Thread-safe; requests may overlap."""

    def __init__(
        self,
        complete: CompletionFunction,
        name: str,
        *,
        warnings: tuple[str, ...] = (),
        sends_code: bool = False,
        timeout_s: float = 8.0,
        close: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name  # as shown in results: "llama3.2 at localhost"
        self.warnings = warnings  # about the settings, added to every result
        self.sends_code = sends_code  # whether code in the question is sent
        self.timeout_s = timeout_s  # of all requests for one question
        self._complete = complete
        self._close = close
        self._lock = threading.Lock()
        self._backoff = Backoff(INITIAL_BACKOFF_S, MAX_BACKOFF_S, FAILURES_BEFORE_BACKOFF, clock)
        self._last_error = ""
        self._answers: dict[tuple[Message, ...], str] = {}  # least recently used first

    def cached_answer(self, messages: Sequence[Message]) -> str | None:
        """Return the cached answer to exactly this chat."""
        with self._lock:
            answer = self._answers.pop(tuple(messages), None)
            if answer is not None:
                self._answers[tuple(messages)] = answer
            return answer

    def cache_answer(self, messages: Sequence[Message], answer: str) -> None:
        """Cache a useful answer."""
        with self._lock:
            self._answers[tuple(messages)] = answer
            if len(self._answers) > MAX_CACHED_ANSWERS:
                del self._answers[next(iter(self._answers))]

    def complete(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        """Return the model's answer.  Raises `LanguageModelError` (at once during a back-off) and `Cancelled`."""
        token.check()
        self._check_backoff()
        try:
            answer = self._complete(messages, max_tokens, token)
        except LanguageModelError as error:
            self._record_failure(error)
            raise
        with self._lock:
            self._backoff.record(failed=False)
            self._last_error = ""
        return answer

    def close(self) -> None:
        """Release connections and threads."""
        if self._close is not None:
            self._close()

    def _check_backoff(self) -> None:
        with self._lock:
            remaining = self._backoff.remaining_s
            if remaining > 0:
                raise LanguageModelError(f"{self._last_error}; next attempt in {_format_duration(remaining)}")

    def _record_failure(self, error: LanguageModelError) -> None:
        with self._lock:
            self._last_error = str(error)
            self._backoff.record(failed=True, permanent=error.permanent, min_delay_s=error.retry_after_s)


def _format_duration(seconds: float) -> str:
    """Return "28 s" or "9 min"."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


# ---------------------------------------------------------------- the editor's model


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
