"""Which rows of the team index belong to open workspace folders, whose text in the editor takes precedence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from promptls.extensions.team.reader_messages import Exclusion
from promptls.extensions.team.schema import RepositoryState
from promptls.extensions.team.team_config import public_address
from promptls.util.git_process import find_git_folder, read_git_file

_REMOTE = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.MULTILINE)


def open_repositories(roots: Sequence[str], states: Iterable[RepositoryState]) -> tuple[Exclusion, ...]:
    """Return the repositories, or folders of them, that are open.

    A folder is recognized by its path, or by the address of a remote of the repository that it belongs to.
    """
    places: dict[str, set[str]] = {}  # address → folders of the repository that are open, "" for all of it
    paths = [os.path.realpath(root).replace("\\", "/") for root in roots]
    for path in paths:
        found = find_git_folder(path)
        if found is not None and not found.problem:
            folder = "" if path == found.top else f"{os.path.relpath(path, found.top)}/".replace("\\", "/")
            for url in _REMOTE.findall(read_git_file(f"{found.common}/config")):
                places.setdefault(public_address(url), set()).add(folder)
    exclusions: list[Exclusion] = []
    for state in states:
        folders = places.get(state.address, set()) | _folders_at(state.address, paths)
        exclusions += [Exclusion(state.name)] if "" in folders else [Exclusion(state.name, f) for f in sorted(folders)]
    return tuple(exclusions)


def _folders_at(address: str, paths: Iterable[str]) -> set[str]:
    """Return the open folders of a repository that is a folder of this machine."""
    if not address.startswith("/"):
        return set()
    address = os.path.realpath(address).replace("\\", "/")
    above = {"" for path in paths if address == path or address.startswith(f"{path.rstrip('/')}/")}
    return above | {f"{path[len(address) + 1 :]}/" for path in paths if path.startswith(f"{address}/")}
