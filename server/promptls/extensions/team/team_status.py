"""What a team index contains, for `promptls team status`."""

from __future__ import annotations

from msgspec import Struct

from promptls.extensions.team import indices
from promptls.extensions.team.schema import RepositoryState
from promptls.extensions.team.storage import Storage
from promptls.extensions.team.table import identity_of, open_table, published_version, states_of
from promptls.index import StoreIdentity


class TeamStatus(Struct, frozen=True, rename="camel"):
    """State of the published version of a team index."""

    uri: str
    version: int
    identity: StoreIdentity | None
    repositories: tuple[RepositoryState, ...]
    unindexed_rows: dict[str, int]  # by index
    bytes: int  # data and indices of the published version


def read_status(storage: Storage) -> TeamStatus | None:
    """Return the state of the published version, None if there is none."""
    table = open_table(storage)
    version = published_version(table) if table is not None else 0
    if not version:
        return None
    published = open_table(storage, version)
    states = sorted(states_of(published).values(), key=lambda state: state.name)
    size = sum(file.file_size_bytes or 0 for fragment in published.get_fragments() for file in fragment.data_files())
    return TeamStatus(
        storage.uri, version, identity_of(published), tuple(states), indices.unindexed_rows(published), size
    )
