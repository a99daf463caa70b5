"""What a resolver may look at: the sources of this request, what the client says of itself, the token.

A value; the same one serves every mention of a message.  Nothing here knows LSP: paths are absolute
with forward slashes, lines 0-based and half-open.
"""

from __future__ import annotations

from msgspec import Struct, field

from promptls.index.snapshot import Snapshot, Sources
from promptls.model import CancelToken, Span


class Client(Struct, frozen=True):
    """What stands in front of the user, as far as the client says it."""

    active: str = ""  # path of the active document, "" for none
    selection: tuple[str, Span] | None = None
    open: tuple[str, ...] = ()  # open documents, most recent first


class Request(Struct, frozen=True):
    """One message's surroundings."""

    sources: Sources
    client: Client = Client()
    token: CancelToken = field(default_factory=CancelToken)

    @property
    def snapshot(self) -> Snapshot:
        return self.sources.snapshot
