"""The commands that write a team index: build and update, run by Ray on this machine or on a cluster."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from promptls.extensions.team import indices
from promptls.extensions.team.fetch import FetchError, latest_commit
from promptls.extensions.team.index_repository import IndexedRepository, index_repository, settings_hash
from promptls.extensions.team.schema import RepositoryState
from promptls.extensions.team.table import (
    TeamError,
    commit_build,
    commit_update,
    open_table,
    publish,
    published_version,
    states_of,
)
from promptls.extensions.team.team_config import Repository, TeamConfig

MAX_RETRIES = 3
"""Further attempts for a repository whose worker is killed, for example for lack of memory."""


class Report(Struct, frozen=True):
    """Result of a build or an update."""

    version: int
    repositories: tuple[RepositoryState, ...]  # those that were indexed
    unchanged: int
    removed: tuple[str, ...]
    problems: tuple[str, ...]  # one sentence for each repository that failed
    embedded: int  # chunks
    seconds: float
    freed_bytes: int


OnProgress = Callable[[int, int, str], None]
"""Called with (finished repositories, all repositories, name of the last one)."""


def build(config: TeamConfig, cache: str, on_progress: OnProgress = lambda done, total, name: None) -> Report:
    """Rebuild the index of all repositories. Readers use the previous one until the new one is complete.

    Raises:
        TeamError: No repository could be indexed.
    """
    start = time.perf_counter()
    results, problems = _index(config, config.repositories, cache, 0, on_progress)
    if not results:
        raise TeamError(problems[0])
    commit_build(config.storage, results[0].identity, [one for result in results for one in result.fragments])
    indices.build_indices(config.storage)
    publish(config.storage)
    return _report(config, start, results, problems)


def update(config: TeamConfig, cache: str, on_progress: OnProgress = lambda done, total, name: None) -> Report:
    """Index the repositories whose commit or configuration has changed; remove those that are no longer configured.

    Raises:
        TeamError: The index is missing, was built with another model, or was changed by another command.
    """
    start = time.perf_counter()
    table = open_table(config.storage)
    if table is None:
        raise TeamError(f"There is no team index in {config.storage.uri}; run `promptls team build`.")
    states = states_of(table)
    changed: list[Repository] = []
    problems: list[str] = []
    for repository in config.repositories:
        state = states.get(repository.name)
        try:
            commit = latest_commit(repository)
        except FetchError as error:
            problems.append(str(error))
            continue
        if state is None or (state.commit, state.settings) != (commit, settings_hash(repository, config.index)):
            changed.append(repository)
    results, failures = _index(config, changed, cache, int(table.version), on_progress) if changed else ([], [])
    removed = tuple(sorted(states.keys() - {repository.name for repository in config.repositories}))
    if results or removed:
        replaced = [*removed, *(result.state.name for result in results)]
        fragments = [one for result in results for one in result.fragments]
        table = commit_update(table, config.storage, replaced, fragments)
    if published_version(table) != int(table.version):
        indices.update_indices(config.storage)
        publish(config.storage)
    return _report(config, start, results, problems + failures, len(config.repositories) - len(changed), removed)


def _index(
    config: TeamConfig, repositories: Sequence[Repository], cache: str, base_version: int, on_progress: OnProgress
) -> tuple[list[IndexedRepository], list[str]]:
    """Index repositories as tasks of Ray, one per core; return the results and what failed.

    Raises:
        TeamError: The index was built with another model.
    """
    import ray

    results: list[IndexedRepository] = []
    problems: list[str] = []
    with _cluster():
        task = ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(index_repository)
        waiting = {task.remote(one, config.storage, config.index, cache, base_version): one for one in repositories}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            name = waiting.pop(done).name
            try:
                results.append(ray.get(done))
            except ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None) or error
                if isinstance(cause, TeamError):
                    raise cause from None
                reason = f"{type(cause).__name__}: {str(cause).splitlines()[0][:200]}"
                problems.append(str(cause) if isinstance(cause, FetchError) else f"Cannot index {name}: {reason}.")
            on_progress(len(results) + len(problems), len(repositories), name)
    return results, problems


@contextmanager
def _cluster() -> Iterator[None]:
    """Connect to the cluster of RAY_ADDRESS, or start Ray on this machine."""
    import ray

    if ray.is_initialized():
        yield
        return
    local: dict[str, Any] = {"_node_ip_address": "127.0.0.1"} if not os.environ.get("RAY_ADDRESS") else {}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    before = os.getcwd()  # noqa: PTH109 - as a string
    # Ray puts the current folder on `sys.path` of the workers, where a `numpy.py` in it would be imported.
    os.chdir(Path(__file__).parents[3])
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "lance is not fork-safe")  # the programs that Ray starts do not use it
            ray.init(include_dashboard=False if local else None, log_to_driver=False, logging_level="error", **local)
    finally:
        os.chdir(before)
    try:
        yield
    finally:
        ray.shutdown()


def _report(
    config: TeamConfig,
    start: float,
    results: Sequence[IndexedRepository],
    problems: Sequence[str],
    unchanged: int = 0,
    removed: tuple[str, ...] = (),
) -> Report:
    """Remove old versions, and return the report."""
    freed = indices.remove_old_versions(config.storage, config.keep_hours)
    return Report(
        published_version(open_table(config.storage)),
        tuple(result.state for result in results),
        unchanged,
        removed,
        tuple(problems),
        sum(result.embedded for result in results),
        round(time.perf_counter() - start, 2),
        freed,
    )
