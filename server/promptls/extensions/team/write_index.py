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
from promptls.extensions.team.actors import Job, JobResult, RepositoryIndexer, settings_hash
from promptls.extensions.team.fetch import FetchError, latest_commit
from promptls.extensions.team.scan import repository_limits
from promptls.extensions.team.schema import RepositoryState, quoted
from promptls.extensions.team.table import (
    Change,
    commit_build,
    commit_update,
    identity_of,
    open_table,
    publish,
    states_of,
)
from promptls.extensions.team.team_config import Repository, TeamConfig
from promptls.index import StoreIdentity

MAX_ATTEMPTS = 3
"""Attempts for a repository whose worker is killed, for example for lack of memory."""


class TeamError(Exception):
    """The command cannot run; the message is one sentence."""


class Report(Struct, frozen=True):
    """Result of a build or an update."""

    version: int
    repositories: tuple[RepositoryState, ...]  # those that were indexed
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # one sentence for each repository that failed
    changed_files: int = 0
    embedded: int = 0  # chunks
    seconds: dict[str, float] = {}  # by stage; those of actors are sums over all of them
    freed_bytes: int = 0


OnProgress = Callable[[int, int, str], None]
"""Called with (finished repositories, all repositories, name of the last one)."""


def build(config: TeamConfig, cache: str, on_progress: OnProgress = lambda done, total, name: None) -> Report:
    """Rebuild the index of all repositories. Readers use the previous one until the new one is complete.

    Raises:
        TeamError: No repository could be indexed.
    """
    start = time.perf_counter()
    with indexers(config, cache) as actors:
        identity = _identity(actors)
        results, problems = _run([Job(repository) for repository in config.repositories], actors, on_progress)
    if not results:
        raise TeamError(problems[0])
    commit_build(config.storage, identity, [result.change for result in results])
    seconds = _seconds(results) | indices.build_indices(config.storage)
    version = publish(config.storage)
    freed = indices.remove_old_versions(config.storage, config.keep_hours)
    seconds["total"] = time.perf_counter() - start
    return _report(version, results, problems, seconds, freed)


def update(config: TeamConfig, cache: str, on_progress: OnProgress = lambda done, total, name: None) -> Report:
    """Index the repositories whose commit or configuration has changed; remove those that are no longer configured.

    Raises:
        TeamError: There is no index, or it was built with another model.
        ConcurrentChange: Other writers kept committing.
    """
    start = time.perf_counter()
    table = open_table(config.storage)
    if table is None:
        raise TeamError(f"There is no team index in {config.storage.uri}; run `promptls team build`.")
    states = states_of(table)
    jobs, problems = _changed(config, states, int(table.version))
    configured = {repository.name for repository in config.repositories}
    removed = tuple(sorted(states.keys() - configured))
    changes = [Change(name, (), (f"repo = {quoted(name)}",), states[name]) for name in removed]
    results: list[JobResult] = []
    if jobs:
        with indexers(config, cache, len(jobs)) as actors:
            if _identity(actors) != identity_of(table):
                raise TeamError("The index was built with another model or version; run `promptls team build`.")
            results, failures = _run(jobs, actors, on_progress)
        problems += failures
        changes += [result.change for result in results]
    if changes:
        table, preempted = commit_update(config.storage, changes)
        problems += [f"Another update has indexed {name} in the meantime." for name in preempted]
        results = [result for result in results if result.state.name not in preempted]
        removed = tuple(name for name in removed if name not in preempted)
    if changes or not indices.is_published(table):
        begin = time.perf_counter()
        indices.update_indices(config.storage)
        seconds = {**_seconds(results), "indices": time.perf_counter() - begin}
        version = publish(config.storage)
    else:
        seconds, version = {}, int(table.version)
    freed = indices.remove_old_versions(config.storage, config.keep_hours)
    seconds["total"] = time.perf_counter() - start
    unchanged = len(config.repositories) - len(jobs)
    return _report(version, results, problems, seconds, freed, unchanged, removed)


@contextmanager
def indexers(config: TeamConfig, cache: str, jobs: int | None = None) -> Iterator[list[Any]]:
    """Yield one actor per core, on the cluster of RAY_ADDRESS or on this machine."""
    import ray

    started = not ray.is_initialized()
    if started:
        local: dict[str, Any] = {"_node_ip_address": "127.0.0.1"} if not os.environ.get("RAY_ADDRESS") else {}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        with _import_root_as_current_folder(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "lance is not fork-safe")  # the programs that Ray starts do not use it
            ray.init(include_dashboard=False if local else None, log_to_driver=False, logging_level="error", **local)
    cores = int(ray.cluster_resources().get("CPU", 1))
    count = max(1, min(cores, jobs or len(config.repositories)))
    remote = ray.remote(RepositoryIndexer).options(num_cpus=1, max_restarts=-1)
    actors = [remote.remote(config.storage, config.index, cache) for _ in range(count)]
    try:
        yield actors
    finally:
        for actor in actors:
            ray.kill(actor)
        if started:
            ray.shutdown()


@contextmanager
def _import_root_as_current_folder() -> Iterator[None]:
    """Change the current folder: Ray puts it on `sys.path` of the workers, where a `numpy.py` in it would be imported."""
    before = os.getcwd()  # noqa: PTH109 - as a string
    os.chdir(Path(__file__).parents[3])
    try:
        yield
    finally:
        os.chdir(before)


def _identity(actors: Sequence[Any]) -> StoreIdentity:
    """Return the identity of the first actor that starts; others may wait for cores that another command uses.

    Raises:
        TeamError: The actors cannot start, for example because the model cannot be loaded.
    """
    import ray

    (first, *_), _ = ray.wait([actor.identity.remote() for actor in actors], num_returns=1)
    try:
        identity: StoreIdentity = ray.get(first)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[-300:]
        raise TeamError(f"The workers cannot start: {reason}") from error
    return identity


def _changed(config: TeamConfig, states: dict[str, RepositoryState], version: int) -> tuple[list[Job], list[str]]:
    """Return jobs for the repositories that have changed, and the problems of those that cannot be reached."""
    jobs: list[Job] = []
    problems: list[str] = []
    for repository in config.repositories:
        state = states.get(repository.name)
        try:
            commit = latest_commit(repository, repository_limits(config.index, repository))
        except FetchError as error:
            problems.append(str(error))
            continue
        if state is None or (state.commit, state.settings) != (commit, settings_hash(repository, config.index)):
            jobs.append(Job(repository, version, state))
    return jobs, problems


def _run(jobs: Sequence[Job], actors: Sequence[Any], on_progress: OnProgress) -> tuple[list[JobResult], list[str]]:
    """Run jobs on the actors that have started; a job whose actor is killed is repeated on one that Ray has restarted.

    An actor that waits for a core gets no job: two commands on one cluster would wait for each other.
    """
    import ray

    waiting = list(reversed([(job, 1) for job in jobs]))
    idle: list[Any] = []
    starting = {_started(actor): actor for actor in actors}
    running: dict[Any, tuple[Job, int, Any]] = {}
    results: list[JobResult] = []
    problems: list[str] = []
    while waiting or running:
        while waiting and idle:
            (job, attempt), actor = waiting.pop(), idle.pop()
            running[actor.run.remote(job)] = job, attempt, actor
        (done,), _ = ray.wait([*running, *starting], num_returns=1)
        if done in starting:
            idle.append(starting.pop(done))
            continue
        job, attempt, actor = running.pop(done)
        try:
            results.append(ray.get(done))
            idle.append(actor)
        except ray.exceptions.RayTaskError as error:
            problems.append(_problem(job.repository, error.cause))
            idle.append(actor)
        except ray.exceptions.RayError as error:
            starting[_started(actor)] = actor
            if attempt < MAX_ATTEMPTS:
                waiting.append((job, attempt + 1))
                continue
            problems.append(f"Cannot index {job.repository.name}: its worker ended ({type(error).__name__}).")
        on_progress(len(results) + len(problems), len(jobs), job.repository.name)
    return results, problems


def _started(actor: Any) -> Any:
    """Return a reference that is ready when the actor has started, also if Ray has to restart it first."""
    return actor.identity.options(max_task_retries=MAX_ATTEMPTS).remote()


def _problem(repository: Repository, cause: BaseException) -> str:
    if isinstance(cause, FetchError):
        return str(cause)
    return f"Cannot index {repository.name}: {type(cause).__name__}: {str(cause).splitlines()[0][:200]}."


def _seconds(results: Sequence[JobResult]) -> dict[str, float]:
    stages = dict.fromkeys(stage for result in results for stage in result.seconds)
    return {stage: sum(result.seconds.get(stage, 0.0) for result in results) for stage in stages}


def _report(
    version: int,
    results: Sequence[JobResult],
    problems: Sequence[str],
    seconds: dict[str, float],
    freed: int,
    unchanged: int = 0,
    removed: tuple[str, ...] = (),
) -> Report:
    return Report(
        version,
        tuple(result.state for result in results),
        unchanged,
        removed,
        tuple(problems),
        sum(result.changed_files for result in results),
        sum(result.embedded for result in results),
        {stage: round(value, 2) for stage, value in seconds.items()},
        freed,
    )
