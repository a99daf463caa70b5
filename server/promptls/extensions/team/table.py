"""The team table for the commands that write it: opening, states of repositories, and atomic commits.

The only module that imports pylance. Writers of LanceDB's own client cannot commit deletions and new fragments as one
version, which an update needs so that readers never see a mix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from promptls.extensions.team.schema import REPO, RepositoryState, any_of, table_identity, table_schema
from promptls.extensions.team.storage import PUBLISHED, Storage
from promptls.index import StoreIdentity
from promptls.util.decode import decode_json


class TeamError(Exception):
    """The command cannot run; the message is one sentence."""


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


def commit_build(storage: Storage, identity: StoreIdentity, fragments: Sequence[str]) -> None:
    """Replace the whole table by new fragments, as one version."""
    import lance

    dataset = open_table(storage)
    lance.LanceDataset.commit(
        storage.table_uri,
        lance.LanceOperation.Overwrite(table_schema(identity), _decoded(fragments)),
        read_version=int(dataset.version) if dataset is not None else None,
        storage_options=dict(storage.options) or None,
    )


def commit_update(dataset: Any, storage: Storage, replaced: Sequence[str], fragments: Sequence[str]) -> Any:
    """Delete the rows of repositories and add new ones as one version; return the table.

    Raises:
        TeamError: Another command has changed the index.
    """
    import lance

    conflict = TeamError("Another command has changed the team index meanwhile; run the update again.")
    if open_table(storage).version != dataset.version:
        raise conflict
    removed, updated = _delete_rows(dataset, any_of("repo", replaced))
    operation = lance.LanceOperation.Update(
        removed_fragment_ids=removed, updated_fragments=updated, new_fragments=_decoded(fragments)
    )
    try:
        return lance.LanceDataset.commit(
            storage.table_uri,
            operation,
            read_version=dataset.version,
            max_retries=0,  # a rebased deletion would miss rows of the other writer
            storage_options=dict(storage.options) or None,
        )
    except OSError as error:
        if "conflict" in str(error).lower() or "preempted" in str(error).lower():
            raise conflict from error
        raise


def publish(storage: Storage) -> int:
    """Make the latest version the one that readers use, and return it."""
    dataset = open_table(storage)
    if PUBLISHED in dataset.tags.list():
        dataset.tags.update(PUBLISHED, dataset.version)
    else:
        dataset.tags.create(PUBLISHED, dataset.version)
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


def _decoded(fragments: Sequence[str]) -> list[Any]:
    from lance.fragment import FragmentMetadata

    return [FragmentMetadata.from_json(text) for text in fragments]
