"""What a client says of settings: its options at the start, what it answers when asked, what it pushes.

The newest word counts, in whatever order answers come, and requests wait for an answer only as long as it is likely to
come.  On the loop.
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
"""How long requests wait for settings that the client is asked for; then the old ones hold."""


class Configuration:
    """The settings of one connection."""

    def __init__(self) -> None:
        self.settings = Settings()
        self._options: Any = None  # what the server was started with: the user's own settings, too
        self._asked = 0  # questions to the client, and pushes
        self._heard = 0  # the newest of them that was answered
        self._patience = 0.0  # until when requests wait, time.monotonic()
        self._settled = asyncio.Event()
        self._settled.set()
        self._problems: tuple[str, ...] = ()
        self._told: frozenset[str] = frozenset()

    def begin(self, options: Any) -> None:
        """What the user's own file and the start of the server say."""
        self._options = options
        self._use(None)

    async def ask(self, question: Callable[[], Awaitable[Any]]) -> None:
        """Ask the client for the workspace's settings and use them, unless there is a newer word by then."""
        self._asked += 1
        number = self._asked
        self._settled.clear()
        self._patience = time.monotonic() + WAIT_S
        try:
            said = await question()
        except JsonRpcException as error:
            log.info("the client gave no settings: %s", error)
            self._hear(number)
        else:
            if self._hear(number):
                self._use(said)

    def push(self, said: Any) -> None:
        """Use the workspace's settings that the client tells by itself."""
        self._asked += 1
        self._hear(self._asked)
        self._use(said)

    async def settled(self) -> None:
        """Wait for what the client was asked, as long as there is hope."""
        left = self._patience - time.monotonic()
        if not self._settled.is_set() and left > 0:
            try:
                await asyncio.wait_for(self._settled.wait(), left)
            except asyncio.TimeoutError:
                log.info("the client does not tell its settings; they count when they come")

    def news(self) -> list[str]:
        """What is wrong with the settings and was not when somebody asked last."""
        new = [problem for problem in self._problems if problem not in self._told]
        self._told = frozenset(self._problems)
        return new

    def _hear(self, number: int) -> bool:
        """Whether this is the newest answer so far."""
        if number < self._heard:
            return False
        self._heard = number
        if number == self._asked:
            self._settled.set()
        return True

    def _use(self, said: Any) -> None:
        """The workspace's settings over the user's own; one that it no longer names is as the user has it."""
        own, problems = user_settings()
        own, more = parse(self._options, own, trusted=True)
        self.settings, most = parse(said, own)
        self._problems = tuple(dict.fromkeys(p.message for p in (*problems, *more, *most)))
