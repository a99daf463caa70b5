"""The team table for the commands that write it: opening, states of repositories, and atomic commits.

The only module that imports pylance. Writers of LanceDB's own client cannot commit deletions and new fragments as one
version, which an update needs so that readers never see a mix.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from promptls.extensions.team.schema import REPO, RepositoryState, table_identity, table_schema
from promptls.extensions.team.storage import PUBLISHED, Storage
from promptls.index import StoreIdentity
from promptls.util.decode import decode_json

MAX_ATTEMPTS = 20
"""Attempts of one commit while other writers commit, too."""
_FIRST_DELAY_S, _MAX_DELAY_S = 0.05, 2.0
"""Delay between attempts in seconds; it doubles up to a maximum."""

log = logging.getLogger(__name__)
Value = TypeVar("Value")


class Change(Struct, frozen=True):
    """New fragments of a repository, and the filters of the rows that they replace."""

    repository: str
    fragments: tuple[str, ...] = ()  # metadata as JSON
    deleted: tuple[str, ...] = ()  # filter expressions
    base: RepositoryState | None = None  # state that the change starts from, None for a new repository


class ConcurrentChange(Exception):
    """Other writers kept committing; the message is one sentence."""


def open_table(storage: Storage, version: int | str | None = None) -> Any:
    """Open the table, at its latest or a given version; None if it does not exist."""
    import lance

    try:
        return lance.dataset(storage.table_uri, version=version, storage_options=dict(storage.options) or None)
    except (ValueError, FileNotFoundError) as error:
        if "not found" in str(error).lower() or "does not exist" in str(error).lower():
            return None
        raise


def states_of(dataset: Any) -> dict[str, RepositoryState]:
    """Return the state of each repository by name."""
    rows = dataset.to_table(columns=["text"], filter=f"row = '{REPO}'")["text"].to_pylist()
    states = (decode_json(text.encode(), RepositoryState) for text in rows)
    return {state.name: state for state in states}


def identity_of(dataset: Any) -> StoreIdentity | None:
    """Return the identity of the rows."""
    return table_identity(dataset.schema.metadata)


def write_fragments(
    storage: Storage, identity: StoreIdentity, tables: Iterable[Any], is_new: bool = False
) -> tuple[str, ...]:
    """Write tables as fragments that no version contains yet; return their metadata.

    With `is_new`, they are for a new table, whose rows may differ from those of an existing one.
    """
    import json

    import pyarrow as pa
    from lance.fragment import write_fragments as write

    schema = table_schema(identity)
    batches = (batch for table in tables for batch in table.to_batches())
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    fragments = write(
        reader,
        storage.table_uri,
        schema=schema,
        mode="overwrite" if is_new else "append",  # nothing is overwritten before the commit; "create" can fail
        storage_options=dict(storage.options) or None,
    )
    return tuple(json.dumps(fragment.to_json()) for fragment in fragments)


def commit_build(storage: Storage, identity: StoreIdentity, changes: Sequence[Change]) -> Any:
    """Replace the whole table by new fragments, as one version."""
    import lance

    operation = lance.LanceOperation.Overwrite(table_schema(identity), _fragments(changes))
    options = dict(storage.options) or None
    return retry(
        lambda: lance.LanceDataset.commit(
            storage.table_uri, operation, read_version=_latest_version(storage), storage_options=options
        )
    )


def commit_update(storage: Storage, changes: Sequence[Change]) -> tuple[Any, list[str]]:
    """Delete and add rows as one version; return the table and the repositories that another writer has changed.

    The changes of such a repository are dropped: they start from a state that no longer exists.

    Raises:
        ConcurrentChange: Other writers kept committing.
    """
    import lance

    def attempt() -> tuple[Any, list[str]]:
        dataset = open_table(storage)
        states = states_of(dataset)
        current = [change for change in changes if states.get(change.repository) == change.base]
        preempted = [change.repository for change in changes if states.get(change.repository) != change.base]
        if not current:
            return dataset, preempted
        condition = " OR ".join(f"({expression})" for change in current for expression in change.deleted)
        removed, updated = _delete_rows(dataset, condition) if condition else ([], [])
        operation = lance.LanceOperation.Update(
            removed_fragment_ids=removed, updated_fragments=updated, new_fragments=_fragments(current)
        )
        committed = lance.LanceDataset.commit(
            storage.table_uri,
            operation,
            read_version=dataset.version,
            max_retries=0,  # a rebased deletion would miss rows of the other writer
            storage_options=dict(storage.options) or None,
        )
        return committed, preempted

    return retry(attempt)


def publish(storage: Storage) -> int:
    """Make the latest version the one that readers use; never moves back behind another writer."""
    while True:
        dataset = open_table(storage)
        tags = dataset.tags.list()
        if PUBLISHED not in tags:
            try:
                dataset.tags.create(PUBLISHED, dataset.version)
            except (OSError, ValueError):
                if PUBLISHED not in dataset.tags.list():
                    raise
                continue  # another writer was first
        elif tags[PUBLISHED]["version"] < dataset.version:
            dataset.tags.update(PUBLISHED, dataset.version)
        if open_table(storage).version == dataset.version:
            return int(dataset.version)


def published_version(dataset: Any) -> int:
    """Return the version that readers use, 0 if there is none."""
    tag = dataset.tags.list().get(PUBLISHED)
    return int(tag["version"]) if tag else 0


def _delete_rows(dataset: Any, condition: str) -> tuple[list[int], list[Any]]:
    """Write deletion vectors; return (ids of empty fragments, metadata of the changed ones)."""
    addresses = dataset.scanner(columns=[], filter=condition, with_row_address=True).to_table()["_rowaddr"]
    touched = {address >> 32 for address in addresses.to_pylist()}
    removed: list[int] = []
    updated: list[Any] = []
    for fragment in dataset.get_fragments():
        if fragment.fragment_id in touched:
            metadata = fragment.delete(condition)
            if metadata is None:
                removed.append(fragment.fragment_id)
            else:
                updated.append(metadata)
    return removed, updated


def _fragments(changes: Sequence[Change]) -> list[Any]:
    from lance.fragment import FragmentMetadata

    return [FragmentMetadata.from_json(text) for change in changes for text in change.fragments]


def _latest_version(storage: Storage) -> int | None:
    dataset = open_table(storage)
    return int(dataset.version) if dataset is not None else None


def retry(commit: Callable[[], Value]) -> Value:
    """Repeat a commit that another writer preempted."""
    delay = _FIRST_DELAY_S
    for _ in range(MAX_ATTEMPTS):
        try:
            return commit()
        except OSError as error:  # CommitConflictError is a subclass
            if not is_conflict(error):
                raise
            log.info("Another writer was first: %s", error)
        time.sleep(delay)
        delay = min(2 * delay, _MAX_DELAY_S)
    raise ConcurrentChange("Other writers keep changing the team index; run the update again later.")


def is_conflict(error: BaseException) -> bool:
    """Return whether an operation failed because another writer committed first."""
    text = str(error).lower()
    return "conflict" in text or "preempted" in text
