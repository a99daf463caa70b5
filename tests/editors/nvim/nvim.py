"""Driver of a real Neovim process: types keys, reads the drawn screen and calls the API."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgpack
from screen import Screen

TIMEOUT_S = 60.0
"""Maximum time to wait for a condition or a response, in seconds; many times the usual duration."""


class CheckFailedError(AssertionError):
    """A check failed; the message contains the expectation and the actual value."""


class NvimCrashedError(CheckFailedError):
    """The Neovim process was terminated by a signal, which is a bug of Neovim and not of the plugin."""


class Nvim:
    """A Neovim process with an attached user interface."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str], width: int = 120, height: int = 36) -> None:
        self.screen = Screen()
        self.events: list[tuple[str, list[Any]]] = []
        self._lock = threading.Condition()
        self._responses: dict[int, tuple[Any, Any]] = {}
        self._last_request = 0
        self._exited = False
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
                        self._responses[message[1]] = (message[2], message[3])
                    elif message[0] == 2 and message[1] == "redraw":
                        self.screen.redraw(message[2])
                    elif message[0] == 2:
                        self.events.append((message[1], message[2]))
                    self._lock.notify_all()
        with self._lock:
            self._exited = True
            self._lock.notify_all()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call an API function and return its result."""
        return self.result(self.request(method, *arguments), method)

    def request(self, method: str, *arguments: Any) -> int:
        """Call an API function without waiting for its result; return the number of the call."""
        assert self.process.stdin is not None
        with self._lock:
            self._last_request += 1
            request = self._last_request
        with contextlib.suppress(BrokenPipeError):  # Neovim has exited, which `is_answered` reports
            self.process.stdin.write(msgpack.packb([0, request, method, arguments]))
            self.process.stdin.flush()
        return request

    def is_answered(self, request: int, seconds: float) -> bool:
        """Wait for the result of a call, and return whether it has arrived."""
        with self._lock:
            self._lock.wait_for(lambda: request in self._responses or self._exited, seconds)
            if request not in self._responses and self._exited:
                self._raise_exited("the response to a call")
            return request in self._responses

    def result(self, request: int, method: str = "a call") -> Any:
        """Wait for a call and return its result."""
        if not self.is_answered(request, TIMEOUT_S):
            raise CheckFailedError(f"No response to {method}. Screen:\n{self.screen.text()}")
        error, result = self._responses.pop(request)
        if error:
            raise CheckFailedError(f"{method}: {error[1]}")
        return result

    def _raise_exited(self, awaited: str) -> NoReturn:
        code = self.process.wait(5)
        error_class = NvimCrashedError if code < 0 else CheckFailedError
        raise error_class(f"Neovim exited with {code} before: {awaited}. Screen:\n{self.screen.text()}")

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua code in Neovim; `...` holds the arguments."""
        return self.call("nvim_exec_lua", code, arguments)

    def type(self, keys: str) -> None:
        """Type keys in the notation of mappings: <CR>, <C-y>, <lt> for "<"."""
        self.call("nvim_input", keys)

    def command(self, text: str) -> None:
        """Type an ex command."""
        self.type("<Esc>:" + text.replace("<", "<lt>") + "<CR>")

    def wait(self, expectation: str, condition: Callable[[], Any], seconds: float = TIMEOUT_S) -> Any:
        """Wait until a condition is true and return its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise CheckFailedError(f"Timeout of {seconds:.0f} s: {expectation}. Screen:\n{self.screen.text()}")
            with self._lock:
                if self._exited and self.process.wait(5) < 0:
                    self._raise_exited(expectation)
                self._lock.wait(0.02)  # or until the screen changes

    def wait_text(self, text: str, seconds: float = TIMEOUT_S) -> str:
        """Wait until the screen shows a text and return the line that contains it."""
        return self.wait(f"{text!r} is on the screen", lambda: self._line_with(text), seconds)

    def wait_text_gone(self, text: str, seconds: float = TIMEOUT_S) -> None:
        """Wait until the screen does not show a text."""
        self.wait(f"{text!r} is gone from the screen", lambda: not self._line_with(text), seconds)

    def _line_with(self, text: str) -> str:
        with self._lock:
            return next((line for line in self.screen.lines() if text in line), "")

    def mode(self) -> str:
        """Return the current mode; modes that start with "r" wait for a key."""
        return str(self.call("nvim_get_mode")["mode"])

    def close(self) -> None:
        """Quit Neovim; kill the process if it does not exit."""
        try:
            if self.process.poll() is None and self.process.stdin is not None:
                self.process.stdin.write(msgpack.packb([2, "nvim_command", ["qall!"]]))
                self.process.stdin.flush()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
