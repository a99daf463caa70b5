"""Settings of one connection: initialization options, `workspace/configuration` responses and pushed changes.

The newest request or push takes precedence, whatever the order of responses. Requests wait for a pending response for a
bounded time. Runs on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pygls.exceptions import JsonRpcException

from promptls.settings import Settings, parse, user_settings

log = logging.getLogger(__name__)

WAIT_S = 2.0
"""Maximum time that requests wait for requested settings, in seconds; then the previous settings are used."""


class Configuration:
    """The current settings and the state of the settings requests to the client."""

    def __init__(self) -> None:
        self.settings = Settings()
        self._options: Any = None  # initialization options, part of the user's own settings
        self._last_requested = 0  # number of the newest settings request or push
        self._last_received = 0  # number of the newest one that was answered
        self._deadline = 0.0  # until when requests wait, as time.monotonic()
        self._current = asyncio.Event()
        self._current.set()
        self._problems: tuple[str, ...] = ()
        self._reported: frozenset[str] = frozenset()

    def initialize(self, options: Any) -> None:
        """Load the user's settings file and the initialization options."""
        self._options = options
        self._update(None)

    async def request(self, fetch: Callable[[], Awaitable[Any]]) -> None:
        """Fetch the workspace settings from the client and apply them unless newer ones have arrived meanwhile."""
        self._last_requested += 1
        number = self._last_requested
        self._current.clear()
        self._deadline = time.monotonic() + WAIT_S
        try:
            values = await fetch()
        except JsonRpcException as error:
            log.info("the client did not return settings: %s", error)
            self._receive(number)
        else:
            if self._receive(number):
                self._update(values)

    def push(self, values: Any) -> None:
        """Apply workspace settings that the client sent unrequested."""
        self._last_requested += 1
        self._receive(self._last_requested)
        self._update(values)

    async def wait_current(self) -> None:
        """Wait for pending settings, at most until the deadline."""
        remaining = self._deadline - time.monotonic()
        if not self._current.is_set() and remaining > 0:
            try:
                await asyncio.wait_for(self._current.wait(), remaining)
            except asyncio.TimeoutError:
                log.info("the client has not returned settings yet; they are applied on arrival")

    def new_problems(self) -> list[str]:
        """Return the problems of the settings that were not returned by the previous call."""
        new = [problem for problem in self._problems if problem not in self._reported]
        self._reported = frozenset(self._problems)
        return new

    def _receive(self, number: int) -> bool:
        """Record a response and return whether it is the newest one so far."""
        if number < self._last_received:
            return False
        self._last_received = number
        if number == self._last_requested:
            self._current.set()
        return True

    def _update(self, values: Any) -> None:
        """Layer the workspace settings over the user's own; a setting that the workspace drops falls back to these."""
        own, problems = user_settings()
        own, option_problems = parse(self._options, own, trusted=True)
        self.settings, workspace_problems = parse(values, own)
        self._problems = tuple(dict.fromkeys(p.message for p in (*problems, *option_problems, *workspace_problems)))
