"""Opening of workspace folders without an editor, shared by the command line and the MCP server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptls.engine import Engine
    from promptls.settings import Settings


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
