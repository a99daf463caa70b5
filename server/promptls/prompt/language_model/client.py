"""Asking a language model, and not asking again for a while after it has failed.

`Complete` is what a way to a model offers: it tries as its protocol demands and raises `Failed` with one
sentence.  `LanguageModel` is the only owner of what is remembered between questions: how often the model
has failed in a row, when it may be asked again, its last useful answers.  Knows nothing of HTTP or editors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from promptls.model import CancelToken
from promptls.prompt.layouts.types import Message

PATIENCE = 2
"""Failures in a row after which a model is left alone for a while …"""
FIRST_PAUSE_S = 30.0
"""… this long at first, twice as long after each further failure …"""
LONGEST_PAUSE_S = 600.0
"""… and never longer than this, unless the server itself asked for more."""


REMEMBERED = 64
"""Answers that are kept: clients build the prompt of one question again and again while it is edited."""


class Failed(Exception):
    """No answer; the text is one sentence for the user, without a full stop, a key or a traceback."""

    def __init__(self, sentence: str, *, lasting: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.lasting = lasting  # asking again will not help until something is changed
        self.retry_after_s = retry_after_s  # what the server asked for


class Complete(Protocol):
    """One answer to a chat.  Raises `Failed`, and `Cancelled` within 100 ms of the token."""

    def __call__(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str: ...


class LanguageModel:
    """A way to a model and how it has fared.  Any thread; questions may overlap."""

    def __init__(
        self,
        complete: Complete,
        name: str,
        *,
        warnings: tuple[str, ...] = (),
        sends_code: bool = False,
        close: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name  # as results call it: "llama3.2 at localhost"
        self.warnings = warnings  # of the settings, for every result
        self.sends_code = sends_code  # whether code that stands in a question is sent with it
        self._complete = complete
        self._close = close
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._last = ""
        self._answers: dict[tuple[Message, ...], str] = {}  # least recently used first

    def recall(self, messages: Sequence[Message]) -> str | None:
        """The answer that was kept for exactly this chat."""
        with self._lock:
            answer = self._answers.pop(tuple(messages), None)
            if answer is not None:
                self._answers[tuple(messages)] = answer
            return answer

    def keep(self, messages: Sequence[Message], answer: str) -> None:
        """Remember an answer that was of use."""
        with self._lock:
            self._answers[tuple(messages)] = answer
            if len(self._answers) > REMEMBERED:
                del self._answers[next(iter(self._answers))]

    def ask(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        """The model's answer.  Raises `Failed`, at once while the model is left alone, and `Cancelled`."""
        token.check()
        self._look_at_the_clock()
        try:
            answer = self._complete(messages, max_tokens, token)
        except Failed as failure:
            self._remember(failure)
            raise
        with self._lock:
            self._failures, self._not_before, self._last = 0, 0.0, ""
        return answer

    def forgive(self) -> None:
        """Ask again at once: something was changed, or the user wants it."""
        with self._lock:
            self._failures, self._not_before, self._last = 0, 0.0, ""

    def close(self) -> None:
        """Give up what the way to the model holds: connections, threads."""
        if self._close is not None:
            self._close()

    def _look_at_the_clock(self) -> None:
        with self._lock:
            left = self._not_before - self._clock()
            if left > 0:
                raise Failed(f"{self._last}; it is not asked again for {_duration(left)}")

    def _remember(self, failure: Failed) -> None:
        with self._lock:
            self._last = str(failure)
            self._failures = max(PATIENCE, self._failures + 1) if failure.lasting else self._failures + 1
            pause = 0.0
            if self._failures >= PATIENCE:
                pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(16, self._failures - PATIENCE))
            self._not_before = self._clock() + max(pause, failure.retry_after_s)


def _duration(seconds: float) -> str:
    """ "28 s", "9 min" """
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"
