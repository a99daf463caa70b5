"""A real Neovim with a user interface attached: typed keys in, the drawn screen out, and its API beside it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
from screen import Screen

BOUND_S = 20.0
"""How long a condition may take to come true; far more than it ever does."""


class Failed(AssertionError):
    """A check has failed: what was expected, and what there was."""


class Crashed(Failed):
    """Neovim itself was ended by a signal, which nothing that Lua does should bring about."""


class Nvim:
    """One Neovim process."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str], width: int = 120, height: int = 36) -> None:
        self.screen = Screen()
        self.events: list[tuple[str, list[Any]]] = []
        self._lock = threading.Condition()
        self._answers: dict[int, tuple[Any, Any]] = {}
        self._number = 0
        self._ended = False
        self.process = subprocess.Popen(
            [command[0], "--embed", *command[1:]],
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.call("nvim_ui_attach", width, height, {"rgb": True, "ext_linegrid": True})

    def _read(self) -> None:
        assert self.process.stdout is not None
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, unicode_errors="surrogateescape")
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            unpacker.feed(chunk)
            for message in unpacker:
                with self._lock:
                    if message[0] == 1:
                        self._answers[message[1]] = (message[2], message[3])
                    elif message[0] == 2 and message[1] == "redraw":
                        self.screen.redraw(message[2])
                    elif message[0] == 2:
                        self.events.append((message[1], message[2]))
                    self._lock.notify_all()
        with self._lock:
            self._ended = True
            self._lock.notify_all()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a function of the API."""
        assert self.process.stdin is not None
        with self._lock:
            self._number += 1
            number = self._number
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is told below
            self.process.stdin.write(msgpack.packb([0, number, method, arguments]))
            self.process.stdin.flush()
        with self._lock:
            if not self._lock.wait_for(lambda: number in self._answers or self._ended, BOUND_S):
                raise Failed(f"{method} was not answered; on the screen:\n{self.screen.text()}")
            if number not in self._answers:
                code = self.process.wait(5)
                kind = Crashed if code < 0 else Failed
                raise kind(f"Neovim has ended ({code}) while {method} was under way; it said:\n{self.screen.text()}")
            error, result = self._answers.pop(number)
        if error:
            raise Failed(f"{method}: {error[1]}")
        return result

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua in Neovim; `...` are the arguments."""
        return self.call("nvim_exec_lua", code, arguments)

    def type(self, keys: str) -> None:
        """Type keys, as in a mapping: <CR>, <C-y>, <lt> for "<"."""
        self.call("nvim_input", keys)

    def command(self, text: str) -> None:
        """Type an ex command."""
        self.type("<Esc>:" + text.replace("<", "<lt>") + "<CR>")

    def wait(self, what: str, condition: Callable[[], Any], seconds: float = BOUND_S) -> Any:
        """Wait until a condition is true; its value."""
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {seconds:.0f} s; on the screen:\n{self.screen.text()}")
            with self._lock:
                self._lock.wait(0.02)  # or until something is drawn

    def sees(self, text: str, seconds: float = BOUND_S) -> str:
        """Wait until a text can be read on the screen; the line that holds it."""
        return self.wait(f"{text!r} is on the screen", lambda: self._line_with(text), seconds)

    def sees_no(self, text: str, seconds: float = BOUND_S) -> None:
        """Wait until a text cannot be read on the screen."""
        self.wait(f"{text!r} is gone from the screen", lambda: not self._line_with(text), seconds)

    def _line_with(self, text: str) -> str:
        with self._lock:
            return next((line for line in self.screen.lines() if text in line), "")

    def mode(self) -> str:
        """The mode Neovim is in; "r" and the like mean that it waits for a key."""
        return str(self.call("nvim_get_mode")["mode"])

    def close(self) -> None:
        """Leave Neovim, by force if it does not listen."""
        try:
            if self.process.poll() is None and self.process.stdin is not None:
                self.process.stdin.write(msgpack.packb([2, "nvim_command", ["qall!"]]))
                self.process.stdin.flush()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
