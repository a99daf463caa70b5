"""Engines of the MCP server by workspace folders: the only mutable state of the server.

The folders come from the command line, else the current folder, or from the parameter `root` of a tool.  They confine
the parameter, so that a prompt injection cannot make the server read other projects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from promptls.api.messages.params import InvalidParams
from promptls.api.open_workspace import InvalidFolder, folder_path, open_workspace
from promptls.engine import Engine
from promptls.index import is_inside
from promptls.settings import Settings

MAX_ENGINES = 4
"""Maximum number of open workspaces; the least recently used one without a running call is closed for another one."""


class Workspaces:
    """The open engines by their folders; the least recently used one is closed for another."""

    def __init__(self, roots: Sequence[str], settings: Settings, any_root: bool = False) -> None:
        """Set the folders that a call without `root` uses.

        Args:
            roots: Absolute paths of the default folders, () if there are none.
            settings: The user's settings.
            any_root: Whether calls may use other folders although there are default folders.
        """
        self._roots = tuple(roots)
        self._settings = settings
        self._any_root = any_root
        self._lock = threading.Lock()
        self._engines: dict[tuple[str, ...], Engine] = {}  # least recently used first
        self._running: dict[tuple[str, ...], int] = {}  # number of calls that use an engine

    @property
    def has_default(self) -> bool:
        """True if a call without `root` has a workspace."""
        return bool(self._roots)

    def prestart(self) -> None:
        """Start the engine of the default folders, if there are any, before a call needs it."""
        if self._roots:
            with self.use():
                pass

    @contextmanager
    def use(self, root: str = "") -> Iterator[Engine]:
        """Return a context manager with the engine of a folder, by default of the default folders.

        Raises:
            InvalidParams: The folder does not exist, or is not one of the folders that calls may use.
        """
        roots = self._select(root)
        with self._lock:
            engine = self._engines.pop(roots, None) or open_workspace(roots, self._settings)
            self._engines[roots] = engine
            self._running[roots] = self._running.get(roots, 0) + 1
            unused = self._pop_unused()
        try:
            for other in unused:
                other.close()
            yield engine
        finally:
            with self._lock:
                self._running[roots] -= 1

    def close(self) -> None:
        """Stop all engines."""
        with self._lock:
            engines = list(self._engines.values())
            self._engines.clear()
        for engine in engines:
            engine.close()

    def _select(self, root: str) -> tuple[str, ...]:
        """Return the folders of the engine that serves a call."""
        if not root and self._roots:
            return self._roots
        try:
            if not root:
                raise InvalidParams(
                    f"root: the server was started in {Path.cwd()}, which is not a project; give the absolute path of the "
                    "workspace folder as root.",
                    "root",
                )
            path = folder_path(root)
        except InvalidFolder as error:
            raise InvalidParams(f"root: {error}", "root") from None
        around = [folder for folder in self._roots if is_inside(folder, path)]
        if around:
            return self._roots if len(self._roots) == 1 else (max(around, key=len),)
        if self._roots and not self._any_root:
            raise InvalidParams(
                f"root: {root!r} is outside of the workspace folders: {', '.join(self._roots)}. "
                "The user can allow other folders: promptls mcp --any-root.",
                "root",
                self._roots,
            )
        return (path,)

    def _pop_unused(self) -> list[Engine]:
        """Remove and return the engines above `MAX_ENGINES` that no call uses."""
        unused = [roots for roots in self._engines if roots != self._roots and not self._running.get(roots)]
        return [self._engines.pop(roots) for roots in unused[: max(0, len(self._engines) - MAX_ENGINES)]]


class AttachedWorkspace(Workspaces):
    """The engine of a language server, for the session of an agent with the same folders."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        """Set the function that returns the engine for a call."""
        current = engine()
        super().__init__([root.path for root in current.workspace.roots], current.settings)
        self._engine = engine

    @contextmanager
    def use(self, root: str = "") -> Iterator[Engine]:
        """Return a context manager with the engine.

        Raises:
            InvalidParams: The folder is not one of the workspace folders.
        """
        self._select(root)
        yield self._engine()
