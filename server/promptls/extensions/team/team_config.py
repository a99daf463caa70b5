"""Configuration file of a team index: storage, repositories, and how they are indexed."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from promptls import settings
from promptls.extensions.team.storage import Storage, open_storage
from promptls.index import IndexConfig, index_config
from promptls.model import Problem
from promptls.util.decode import convert, tomllib

_USER_INFO = re.compile(r"^([a-z+]+://)[^/@]*@", re.IGNORECASE)
_SCP_ADDRESS = re.compile(r"^[\w.-]+@([\w.-]+):(?!//)(.+)$")


class RepositoryEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `repositories`; exactly one of `url`, `path` and `glob` is set."""

    url: str = ""
    path: str = ""  # of a repository, bare or not, or of a folder without git
    glob: str = ""  # of repositories on disk
    name: str = ""
    branch: str = ""  # "": the default branch
    include: tuple[str, ...] = ()  # patterns in .gitignore syntax
    exclude: tuple[str, ...] = ()


class ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration file as it is written."""

    uri: str
    repositories: tuple[RepositoryEntry, ...]
    storage: dict[str, str] = {}
    storage_env: dict[str, str] = {}  # option → name of an environment variable
    index: dict[str, Any] = {}  # as in the settings
    embedding: dict[str, Any] = {}  # as in the settings
    keep_hours: float = 24.0  # age up to which old versions are kept for readers


class Repository(Struct, frozen=True):
    """A repository to index."""

    name: str
    address: str  # URL or absolute path, as git gets it
    branch: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def public_address(self) -> str:
        """The address in a form that can be compared, without credentials."""
        return public_address(self.address)

    @property
    def cache_name(self) -> str:
        """Name of the folder with the checked out files."""
        return blake2b(f"{self.address}\0{self.branch}".encode(), digest_size=12).hexdigest()


class TeamConfig(Struct, frozen=True):
    """A checked configuration."""

    storage: Storage
    repositories: tuple[Repository, ...]
    index: IndexConfig
    keep_hours: float


def read_config(file: Path, environment: Mapping[str, str] = os.environ) -> TeamConfig | Problem:
    """Read a configuration file; return what is wrong with it as one sentence."""
    try:
        raw = convert(tomllib.loads(file.read_text("utf-8-sig")), ConfigFile)
    except OSError as error:
        return Problem(f"Cannot read {file}: {error.strerror}.")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        return Problem(f"Invalid configuration {file}: {error}.")
    storage = open_storage(raw.uri, raw.storage, raw.storage_env, environment)
    if isinstance(storage, Problem):
        return storage
    sections = {"index": raw.index, "embedding": raw.embedding}
    parsed, problems = settings.parse(sections, trusted=True)
    if problems:
        return problems[0]
    repositories: dict[str, Repository] = {}
    for entry in raw.repositories:
        found = _repositories(entry, file.parent)
        if isinstance(found, Problem):
            return found
        for repository in found:
            if repositories.setdefault(repository.name, repository) != repository:
                return Problem(f'Two repositories are called "{repository.name}"; set `name` for one of them.')
    if not repositories:
        return Problem(f"The configuration {file} names no repository.")
    return TeamConfig(storage, tuple(repositories.values()), index_config(parsed), raw.keep_hours)


def public_address(address: str) -> str:
    """Return an address without credentials, and in one spelling for `git@host:a/b.git` and `https://host/a/b`."""
    if scp := _SCP_ADDRESS.match(address):
        address = f"ssh://{scp[1]}/{scp[2]}"
    address = _USER_INFO.sub(r"\1", address).rstrip("/").removesuffix(".git").rstrip("/")
    return re.sub(r"^(?:https?|ssh|git)://([^/:]+)(?::\d+)?/", r"\1/", address)


def _repositories(entry: RepositoryEntry, folder: Path) -> list[Repository] | Problem:
    given = [kind for kind in ("url", "path", "glob") if getattr(entry, kind)]
    if len(given) != 1:
        return Problem("A repository needs exactly one of `url`, `path` and `glob`.")
    if entry.url.startswith("-") or entry.branch.startswith("-"):
        return Problem(f'The repository address or branch "{entry.url or entry.branch}" begins with "-".')

    def repository(name: str, address: str) -> Repository:
        return Repository(name, address, entry.branch, entry.include, entry.exclude)

    if entry.url:
        return [repository(entry.name or "/".join(public_address(entry.url).split("/")[-2:]), entry.url)]
    if entry.path:
        path = _absolute(entry.path, folder)
        return [repository(entry.name or _last_part(path), path)]
    paths = sorted(glob.glob(_absolute(entry.glob, folder)))  # noqa: PTH207 - the pattern is absolute
    if not paths:
        return Problem(f'No repository matches "{entry.glob}".')
    return [repository(_last_part(path), path) for path in paths]


def _absolute(path: str, folder: Path) -> str:
    return os.path.abspath(folder / Path(path).expanduser())  # noqa: PTH100 - links stay as they are


def _last_part(path: str) -> str:
    return Path(path).name.removesuffix(".git")
