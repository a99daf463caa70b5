"""Engines of the MCP server by workspace folders: the only mutable state of the server.

The folders come from the command line, else the current folder, or from the parameter `root` of a tool.  They confine
the parameter, so that a prompt injection cannot make the server read other projects.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from promptls.api.messages.params import InvalidParams
from promptls.api.open_workspace import InvalidFolder, folder_path, open_workspace
from promptls.engine import Engine
from promptls.index import is_inside
from promptls.settings import Settings

SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/Applications", "/Library", "/System"),
    *("C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData", "C:/Windows"),
)
"""Folders of the operating system: they and the folders in them are workspaces only with a file of `PROJECT_FILES`."""
PROJECT_FILES = frozenset({
    *(".git", ".hg", ".jj", ".svn", "pyproject.toml", "setup.py", "package.json", "deno.json", "Cargo.toml", "go.mod"),
    *("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "composer.json", "Gemfile", "pubspec.yaml", "mix.exs"),
    *("Makefile", "justfile", "CMakeLists.txt", "meson.build", "configure.ac", "AGENTS.md"),
})  # fmt: skip
"""Names by which a folder is a project, in most cases of version control and of builds."""
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


def default_root() -> tuple[str, ...]:
    """Return the current folder; () if it is not a project, such as the folders in which clients start global servers.

    Raises:
        InvalidFolder: The current folder was deleted.
    """
    try:
        path = Path.cwd().resolve()
    except FileNotFoundError:
        raise InvalidFolder("the current folder was deleted; change to another folder.") from None
    return (path.as_posix(),) if is_project(path) else ()


def is_project(path: Path) -> bool:
    """Return whether a folder can be a workspace: not the home folder, a system folder or an empty temporary one."""
    temporary, home = Path(tempfile.gettempdir()).resolve(), Path.home().resolve()
    if path in (home, *home.parents, temporary, *temporary.parents):
        return False
    try:
        names = {child.name for child in path.iterdir()}
    except OSError:
        return False
    if temporary in path.parents:
        return bool(names)
    in_system = f"{path.as_posix()}/".startswith(tuple(f"{folder}/" for folder in SYSTEM_FOLDERS))
    return not in_system or bool(names & PROJECT_FILES)
