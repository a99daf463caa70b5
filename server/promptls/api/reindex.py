"""Handle `promptls/reindex`: rescans workspace folders."""

from __future__ import annotations

from promptls.api.messages import params as protocol
from promptls.api.messages.params import Json
from promptls.engine import Engine
from promptls.model import CancelToken


def reindex(engine: Engine, params: protocol.ReindexParams, token: CancelToken) -> Json:
    """Handle `promptls/reindex`."""
    paths = {root.uri.rstrip("/"): root.path for root in engine.workspace.roots}
    for uri in params.roots:
        protocol.one_of("roots", uri.rstrip("/"), tuple(paths))
    engine.indexer.resume()
    engine.workspace.rescan([paths[uri.rstrip("/")] for uri in params.roots], params.full)
    return {}
