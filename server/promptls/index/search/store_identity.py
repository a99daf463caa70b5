"""Identity of a store: everything that its rows depend on besides the text."""

from __future__ import annotations

from msgspec import Struct

SCHEMA_VERSION = 4
"""Version of the LanceDB schema."""


class StoreIdentity(Struct, frozen=True):
    """Versions and model that rows depend on. Another identity is another table."""

    model: str
    dimension: int
    chunker: int
    terms: int
    schema: int = SCHEMA_VERSION
