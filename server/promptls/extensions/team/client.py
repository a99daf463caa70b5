"""The team source of the server: searches within the limit of the settings, and never fails.

Every failure is one sentence, which the prompt's warnings and the status show.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import numpy as np

from promptls.extensions.team.reader_connection import TIMEOUT_S, ReaderConnection
from promptls.extensions.team.reader_messages import (
    Exclusion,
    Failure,
    FileContentResult,
    FileNames,
    Hits,
    IndexOpened,
    ListFiles,
    OpenIndex,
    ReaderRequest,
    ReaderResponse,
    ReadFile,
    SearchIndex,
)
from promptls.extensions.team.schema import RepositoryState
from promptls.extensions.team.storage import open_storage
from promptls.extensions.team.team_config import public_address
from promptls.index import StoreIdentity, split_lines
from promptls.model import Problem, Span, is_valid_outline
from promptls.retrieval.query import Query
from promptls.retrieval.team_source import (
    EmbedQuery,
    PendingAnswer,
    TeamAnswer,
    TeamFile,
    TeamHit,
    TeamRepository,
    named_repositories,
    score_hits,
    team_weights,
    without_names,
)
from promptls.settings import TeamSettings
from promptls.util.git_process import find_git_folder, read_git_file
from promptls.util.mappings import GenerationalCache

MAX_HITS = 50
"""Chunks that a search returns at most; about twice as many as a prompt can show."""
MAX_TERMS = 48
"""Terms of a question that are searched; a report has many more."""
INCOMPLETE = "Results of the team index are incomplete: a search failed or exceeded team.deadlineMs."
"""Problem of an answer with the hits of one of two searches."""
DAMAGED = "Parts of the team index are damaged and left out; rebuild it (`promptls team build`)."
"""Problem of an index with lines that its texts do not have."""
MAX_LISTED_REPOSITORIES = 4
"""Repositories whose names of files and definitions are kept for completion."""


_UNOPENED = IndexOpened(0, StoreIdentity("", 0, 0, 0), (), 0, 0)


class TeamClient:
    """The team index of the user's settings. Thread-safe."""

    def __init__(
        self,
        settings: TeamSettings,
        identity: Callable[[int], StoreIdentity],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare the connection; nothing is started before the first use.

        `identity` returns the identity of this installation's rows, given the dimension of the vectors.
        """
        self.weights = team_weights()  # an evaluation replaces them by held-out ones
        self._settings = settings
        self._identity = identity
        self._opened: IndexOpened | None = None
        self._warning = ""  # about the model of the index
        self._use_vectors = self._use_terms = True
        self._names: GenerationalCache[tuple[str, int], Mapping[str, tuple[str, ...]]] = GenerationalCache(
            MAX_LISTED_REPOSITORIES, lambda key: 1
        )
        storage = open_storage(settings.index, settings.storage, settings.storage_env, environment)
        self._connection = ReaderConnection(storage, self._on_opened)

    @property
    def share(self) -> float:
        """Share of the budget for code of other repositories."""
        return self._settings.share

    def warm(self) -> None:
        """Open the index in the background and read what the first search needs."""
        if self._opened is None:
            self._connection.submit(OpenIndex("", {}, warm=True), TIMEOUT_S)

    def wait_until_open(self, timeout_s: float) -> bool:
        """Wait until the index is open or cannot be opened; for commands that serve one request."""
        pending = self._connection.submit(OpenIndex("", {}, warm=True), timeout_s)
        return isinstance(self._wait(pending, time.monotonic() + timeout_s), IndexOpened)

    def close(self) -> None:
        """Stop the reader process."""
        self._connection.close()

    def status(self) -> dict[str, Any]:
        """Return the state for `promptls/status`."""
        problem, opened = self._connection.problem, self._opened or _UNOPENED
        state = "failed" if problem else "ready" if opened.version else "closed"
        return {
            "index": self._settings.index,
            "state": state,
            "version": opened.version,
            "repositories": len(opened.repositories),
            "chunks": opened.chunks,
            "unindexed": opened.unindexed,
            "age": max(map(_repository, self._states()), key=lambda r: r.committed_at).age() if self._states() else "",
            "model": opened.identity.model,
            "message": problem or self._warning,
        }

    # ---- TeamSource

    def start_search(
        self, query: Query, embed: EmbedQuery, roots: Sequence[str], repository: str = ""
    ) -> PendingAnswer:
        """Start a search in all repositories that are not open, or in one repository."""
        deadline = time.monotonic() + self._limit_s

        def search() -> list[tuple[SearchIndex, Future[ReaderResponse]]]:
            return [(request, self._submit(request)) for request in self._requests(query, embed, roots, repository)]

        # Which repositories exist, and which vectors and terms can be used, is known only when the index is open.
        opening = self._submit(OpenIndex("", {})) if self._opened is None else None
        started = search() if opening is None else []

        def wait() -> TeamAnswer:
            if opening is not None:
                opened = self._wait(opening, deadline)
                if not isinstance(opened, IndexOpened):
                    return TeamAnswer(problem=_problem_of(opened))
            searches = started or search()
            return self._answer(query, [(request, self._wait(future, deadline)) for request, future in searches])

        return wait

    def repositories(self) -> tuple[TeamRepository, ...] | Problem:
        """Return the repositories."""
        if self._opened is None:
            response = self._wait(self._submit(OpenIndex("", {})), time.monotonic() + self._limit_s)
            if not isinstance(response, IndexOpened):
                return Problem(_problem_of(response))
            self._on_opened(response)
        return tuple(map(_repository, self._states()))

    def files(self, repository: str) -> Mapping[str, tuple[str, ...]] | Problem:
        """Return the names of definitions in each file of a repository."""
        key = repository, (self._opened or _UNOPENED).version
        if (known := self._names.get(key)) is not None:
            return known
        response = self._wait(self._submit(ListFiles(repository)), time.monotonic() + self._limit_s)
        if not isinstance(response, FileNames):
            return Problem(_problem_of(response))
        self._names.put(key, response.names)
        return response.names

    def read(self, repository: str, path: str) -> TeamFile | Problem:
        """Read a file."""
        response = self._wait(self._submit(ReadFile(repository, path)), time.monotonic() + self._limit_s)
        state = next((state for state in self._states() if state.name == repository), None)
        if not isinstance(response, FileContentResult):
            return Problem(_problem_of(response))
        if not response.found or state is None:
            return Problem(f"The team index has no file {path} in {repository}.")
        if not is_valid_outline(response.outline, len(split_lines(response.text))):
            self._warning = DAMAGED
            return Problem(f"The team index has a damaged outline of {path} in {repository}; rebuild the index.")
        return TeamFile(_repository(state), path, response.text, response.outline)

    # ---- requests

    @property
    def _limit_s(self) -> float:
        return self._settings.deadline_ms / 1000

    def _submit(self, request: ReaderRequest) -> Future[ReaderResponse]:
        # An index that is being opened is opened in any case, so that a later request finds it ready.
        timeout_s = TIMEOUT_S if isinstance(request, OpenIndex) else self._limit_s
        return self._connection.submit(request, timeout_s)

    def _wait(self, pending: Future[ReaderResponse], deadline: float) -> ReaderResponse:
        try:
            return pending.result(max(0.0, deadline - time.monotonic()))
        except (FutureTimeout, TimeoutError):
            state = "is being opened" if self._opened is None else "did not answer"
            limit = f"{self._settings.deadline_ms} ms"
            return Failure(f"The team index {state} and is left out after the limit of {limit} (team.deadlineMs).")

    def _requests(
        self, query: Query, embed: EmbedQuery, roots: Sequence[str], repository: str
    ) -> Iterator[SearchIndex]:
        """Yield the search in one repository; or that in all, and one in those that the question names."""
        if repository:
            yield self._request(query, embed, (), (repository,))
            return
        excluded = open_repositories(roots, self._states())
        yield self._request(query, embed, excluded, ())
        is_open = {exclusion.repository for exclusion in excluded if not exclusion.folder}
        closed = [state.name for state in self._states() if state.name not in is_open]
        if named := named_repositories(query.text, closed):
            yield self._request(without_names(query, named.values()), embed, excluded, tuple(named))

    def _request(
        self, query: Query, embed: EmbedQuery, excluded: tuple[Exclusion, ...], repositories: tuple[str, ...]
    ) -> SearchIndex:
        vector = embed(query.text) if self._use_vectors and query.text.strip() else None
        packed = vector.astype(np.float32).tobytes() if vector is not None else b""
        terms = query.terms[:MAX_TERMS] if self._use_terms else ()
        return SearchIndex(packed, terms, MAX_HITS, excluded, repositories)

    def _answer(self, query: Query, searches: Sequence[tuple[SearchIndex, ReaderResponse]]) -> TeamAnswer:
        """Merge the hits of the search in all repositories and of the one in the named repositories, if any."""
        failed = [response for _, response in searches if not isinstance(response, Hits)]
        if len(failed) == len(searches):
            return TeamAnswer(problem=_problem_of(failed[0]))
        named = {name for request, _ in searches[1:] for name in request.repositories}
        states = {state.name: state for state in self._states()}
        merged: dict[tuple[str, str, Span, str], TeamHit] = {}
        for found in (hit for _, response in searches if isinstance(response, Hits) for hit in response.hits):
            if not 0 <= found.span.start < found.span.end:
                self._warning = DAMAGED
            elif (state := states.get(found.repository)) is not None:
                key = found.repository, found.path, found.span, found.symbol
                fields = (found.path, found.span, found.kind, found.symbol, found.text, found.similarity, found.keyword)
                merged[key] = TeamHit(_repository(state), *fields, is_named=found.repository in named)
        problem = INCOMPLETE if failed else self._warning
        hits = tuple(score_hits(query, list(merged.values()), self.weights))
        return TeamAnswer(hits, problem, (self._opened or _UNOPENED).chunks)

    def _states(self) -> tuple[RepositoryState, ...]:
        return (self._opened or _UNOPENED).repositories

    def _on_opened(self, opened: IndexOpened) -> None:
        """Compare the index with this installation: vectors of another model and other terms cannot be searched."""
        own = self._identity(opened.identity.dimension)
        self._use_vectors = opened.identity.model == own.model
        self._use_terms = opened.identity.terms == own.terms
        if self._use_vectors:
            other = "" if self._use_terms else "was built by another version of promptls; words are not searched."
        elif self._use_terms:
            other = f"has vectors of another model ({opened.identity.model}); only words are searched."
        else:
            other = "was built by another version of promptls with another model; rebuild it."
        self._warning = f"The team index {other}" if other else ""
        self._opened = opened


def _repository(state: RepositoryState) -> TeamRepository:
    return TeamRepository(state.name, state.commit, state.committed_at)


def _problem_of(response: ReaderResponse) -> str:
    return response.problem if isinstance(response, Failure) else "The team index gave an unexpected answer."


# ---------------------------------------------------------------- open repositories


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
