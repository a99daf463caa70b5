"""Opening of workspace folders without an editor, shared by the command line and the MCP server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptls.engine import Engine
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


class InvalidFolder(Exception):
    """Raised for a folder that cannot be opened as a workspace; the text is one sentence for the user."""


def folder_path(name: str) -> str:
    """Return the absolute path of a workspace folder.

    Raises:
        InvalidFolder: The folder does not exist or cannot be read.
    """
    try:
        path = Path(name).expanduser().absolute()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError):  # too long, an unknown "~user", a null character, a deleted folder
        exists = False
    if not exists:
        raise InvalidFolder(f"the workspace {name!r} does not exist.")
    if not path.is_dir():
        raise InvalidFolder(f"the workspace {name!r} is not a folder.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise InvalidFolder(f"cannot read the workspace {name!r}: permission denied.")
    return path.resolve().as_posix()


def open_workspace(paths: Sequence[str], settings: Settings) -> Engine:
    """Start the engine for folders given by absolute paths."""
    from promptls.engine import Engine  # the MCP server checks its folders before it imports the engine
    from promptls.index import Workspace
    from promptls.model import Root

    workspace = Workspace()
    workspace.set_roots([Root(path, path.rsplit("/", 1)[-1] or path, Path(path).as_uri()) for path in paths])
    engine = Engine(settings, workspace)
    engine.start()
    if engine.team is not None:
        engine.team.warm()  # while the folders are indexed
    return engine


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
