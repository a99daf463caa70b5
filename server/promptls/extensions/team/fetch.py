"""Files of a repository: shallow fetches into a cache folder, and the commit that a branch points to.

Unlike the rest of promptls, these commands use the network: the administrator's configuration names the addresses.
No hook, filter or file-system monitor of a repository is started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from promptls.extensions.team.team_config import Repository, public_address
from promptls.util.git_process import git_program, kill_process_group, safe_environment

FETCH_TIMEOUT_S = 1800.0
"""Maximum time of one git command, in seconds: the first fetch of a large repository."""
_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "filter.lfs.smudge="),
    *("-c", "filter.lfs.process="),
    *("-c", "filter.lfs.required=false"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "core.autocrlf=false"),
)
_PROTOCOLS = "https:http:ssh:git:file"


class FetchError(Exception):
    """A repository cannot be fetched; the message is one sentence without credentials."""


class Checkout(Struct, frozen=True):
    """Files of one commit of a repository."""

    folder: str
    commit: str
    committed_at: float  # seconds since the epoch


def latest_commit(repository: Repository) -> str:
    """Return the commit that the branch of a repository points to, without fetching it.

    Raises:
        FetchError: The repository cannot be reached, or has no such branch.
    """
    reference = f"refs/heads/{repository.branch}" if repository.branch else "HEAD"
    output = _git(repository, ("ls-remote", "--", _address(repository), reference), None)
    commit = output.partition("\t")[0].strip()
    if not commit:
        raise FetchError(f"Cannot fetch {repository.name}: there is no branch {repository.branch or 'HEAD'}.")
    return commit


def fetch(repository: Repository, cache: Path) -> Checkout:
    """Check out the latest commit of a repository in the cache folder.

    Raises:
        FetchError: The repository cannot be fetched.
    """
    folder = cache / repository.cache_name
    try:
        return _checkout(repository, folder)
    except FetchError:
        if not (folder / ".git").exists():
            raise
        shutil.rmtree(folder, ignore_errors=True)  # a fetch that was killed may have damaged it
        return _checkout(repository, folder)


def _checkout(repository: Repository, folder: Path) -> Checkout:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git" / "HEAD").is_file():
        _git(repository, ("init", "--quiet", "."), folder)
    reference = f"refs/heads/{repository.branch}" if repository.branch else "HEAD"
    fetch_options = ("--quiet", "--depth", "1", "--no-tags", "--force", "--no-write-fetch-head")
    target = "refs/promptls/indexed"
    _git(repository, ("fetch", *fetch_options, "--", _address(repository), f"{reference}:{target}"), folder)
    _git(repository, ("checkout", "--quiet", "--force", "--detach", target), folder)
    _git(repository, ("clean", "--quiet", "-ffdx"), folder)
    commit, _, seconds = _git(repository, ("log", "-1", "--format=%H %ct"), folder).strip().partition(" ")
    return Checkout(folder.as_posix(), commit, float(seconds or 0))


def _address(repository: Repository) -> str:
    """Return the address for git; a path as a URL, because git ignores `--depth` for paths."""
    path = Path(repository.address)
    return path.as_uri() if path.is_absolute() else repository.address


def _git(repository: Repository, arguments: tuple[str, ...], folder: Path | None) -> str:
    """Run git with access to the network and return its output."""
    program = git_program()
    if not program:
        raise FetchError(f"Cannot fetch {repository.name}: git is not installed.")
    environment = {**safe_environment(), "GIT_ALLOW_PROTOCOL": _PROTOCOLS, "GIT_LFS_SKIP_SMUDGE": "1"}
    process = subprocess.Popen(
        [program, *_OPTIONS, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=FETCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        kill_process_group(process)
        process.communicate()
        raise FetchError(f"Cannot fetch {repository.name}: git did not finish in {FETCH_TIMEOUT_S:g} s.") from None
    if process.returncode:
        lines = os.fsdecode(errors).replace(repository.address, public_address(repository.address)).strip().splitlines()
        reason = lines[-1] if lines else f"git failed with status {process.returncode}"
        raise FetchError(f"Cannot fetch {repository.name}: {reason.rstrip('.')}.")
    return os.fsdecode(output)
