"""Changes of configuration files: computed first, then written with a backup.

Unknown keys, line ends, a byte order mark and comments in TOML stay as they are; JSON with comments is not edited.  A
symbolic link stays a link: the file that it points to is replaced, atomically and with its permissions.  In a project,
which may be a clone of a stranger, no link may lead out of the project.
"""

from __future__ import annotations

import copy
import difflib
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptls.install.clients import SERVER_NAME, Client, server_words

BACKUP_SUFFIX = ".promptls-backup"
"""Suffix of the copy of a file before the last change."""
MAX_FILE_BYTES = 16 << 20
"""Size of a file in bytes above which it is refused; Claude Code keeps its history in the same file, a few megabytes."""
_BOM = "\ufeff"


class InstallError(Exception):
    """Raised for a file that cannot be changed; the text is one sentence for the user."""


class Change(Struct, frozen=True):
    """A change of one file."""

    path: Path  # as the client names it, possibly a symbolic link
    before: str | None  # None if the file does not exist
    after: str | None  # None to remove the file, and its folder if that is empty then
    project: Path | None = None  # folder that no link may leave

    @property
    def is_empty(self) -> bool:
        """True if the file already is as it should be."""
        return (self.after or "") == (self.before or "")

    def write(self) -> Path | None:
        """Write a change; return the path of the backup, None for a new file.

        Raises:
            InstallError: The file is read-only or has changed since it was read, or a link leads out of the project.
        """
        target = resolve_path(self.path, self.project)
        if read_text(target) != self.before:
            raise InstallError(f"{self.path} has changed meanwhile; run the command again.")
        backup = None
        try:
            if self.after is None:
                target.unlink()
                with suppress(OSError):  # it has files of the user
                    self.path.parent.rmdir()
                return None
            mode = 0o600  # clients keep tokens in these files
            if self.before is not None:
                mode = stat.S_IMODE(target.stat().st_mode)
                if not mode & stat.S_IWUSR or not os.access(target, os.W_OK):
                    raise InstallError(f"{self.path} is read-only; make it writable or add the entry yourself.")
                backup = target.with_name(target.name + BACKUP_SUFFIX)
                _replace(backup, self.before, mode)
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, self.after, mode)
        except OSError as error:
            raise InstallError(f"cannot write {self.path}: {error.strerror or error}.") from None
        return backup

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before = (self.before or "").removeprefix(_BOM).splitlines()
        after = (self.after or "").removeprefix(_BOM).splitlines()
        name = str(self.path)
        return "\n".join(difflib.unified_diff(before, after, name, name, n=2, lineterm=""))


def configuration_path(client: Client, project: Path | None, home: Path) -> Path:
    """Return the file that contains the servers of a client.

    Raises:
        InstallError: The client has no file in projects.
    """
    if project is None:
        return client.path(home)
    if not client.project_path:
        raise InstallError(f"{client.title} has no configuration in projects; omit --project.")
    return project / client.project_path


def plan_entry(client: Client, project: Path | None, home: Path, install: bool) -> Change:
    """Return the change that adds the server to a client, updates it, or removes it.

    Raises:
        InstallError: The file cannot be read or edited, or a link leads out of the project.
    """
    path = configuration_path(client, project, home)
    resolve_path(path, project)
    before = read_text(path)
    if not install and SERVER_NAME not in (before or ""):
        return Change(path, before, before or "", project)
    entry = client.entry(server_words(client, project))

    def edit(document: dict[str, Any]) -> None:
        servers = document.setdefault(client.key, {})
        if not isinstance(servers, dict):
            raise ValueError(f"{client.key} is not an object")
        if install:
            servers.setdefault(SERVER_NAME, {}).update(entry)
        else:
            servers.pop(SERVER_NAME, None)

    if client.format == "toml":
        return Change(path, before, _edit_toml(path, before or "", edit), project)
    shown = json.dumps({client.key: {SERVER_NAME: entry}}, indent=2)
    return Change(path, before, edit_json(path, before or "", edit, shown), project)


def edit_json(path: Path, text: str, edit: Callable[[dict[str, Any]], None], shown: str) -> str:
    """Return the text of a JSON file after an edit of the decoded object, in the form of the file.

    Args:
        path: The file.
        text: Its text.
        edit: Changes the decoded object.
        shown: What the user adds or removes by hand if the file has comments, which an edit would lose.

    Raises:
        InstallError: The text is not JSON, or has comments.
    """
    bare = text.removeprefix(_BOM)
    try:
        document = json.loads(bare) if bare.strip() else {}
        before = copy.deepcopy(document)
        edit(document)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        reason = f"{path} is not valid JSON without comments ({error}); add or remove this yourself:"
        raise InstallError(f"{reason}\n{shown}") from None
    if document == before:
        return text
    indent = re.search(r'^([ \t]+)"', bare, re.MULTILINE)
    changed = json.dumps(document, indent=indent[1] if indent else 2, ensure_ascii=False)
    return _with_form_of(text, changed + ("\n" if not bare or bare.endswith("\n") else ""))


def resolve_path(path: Path, project: Path | None) -> Path:
    """Return a path without links.

    Raises:
        InstallError: A link leads out of the project.
    """
    target = Path(os.path.realpath(path))
    if project is not None and not target.is_relative_to(os.path.realpath(project)):
        raise InstallError(f"{path} leads through a link to {target}, out of the project; remove the link first.")
    return target


def _replace(path: Path, text: str, mode: int) -> None:
    """Write a new file and move it to a path; a link or a file at that path is replaced, not written through."""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=path.name, delete=False) as file:
        temporary = Path(file.name)
        file.write(text.encode())
    try:
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise


def read_text(path: Path) -> str | None:
    """Return the text of a file with its line ends, None if it does not exist.

    Raises:
        InstallError: The file cannot be read, is too large, or is a pipe, a device or a folder.
    """
    try:
        # Opening a pipe would wait for a writer.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:  # noqa: PTH123
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InstallError(f"{path} is not a regular file; remove it first.")
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InstallError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB; add the entry yourself.")
        return content.decode()
    except FileNotFoundError:
        if path.is_symlink():
            raise InstallError(f"{path} is a link to a file that does not exist.") from None
        return None
    except UnicodeDecodeError:
        raise InstallError(f"{path} is not UTF-8; save it as UTF-8 first.") from None
    except OSError as error:
        raise InstallError(f"cannot read {path}: {error.strerror or error}.") from None


def _edit_toml(path: Path, text: str, edit: Callable[[dict[str, Any]], None]) -> str:
    import tomlkit

    try:
        document = tomlkit.parse(text.removeprefix(_BOM).replace("\r\n", "\n"))
        before = document.unwrap()
        edit(document)
    except (ValueError, AttributeError, TypeError) as error:
        raise InstallError(f"{path} is not valid TOML ({error}); fix it first.") from None
    return text if document.unwrap() == before else _with_form_of(text, tomlkit.dumps(document))


def _with_form_of(original: str, text: str) -> str:
    """Return the text with the line ends and the byte order mark of the original."""
    text = text.replace("\n", "\r\n") if "\r\n" in original else text
    return _BOM + text if original.startswith(_BOM) else text
