"""Handle `promptls/status`, `promptls/reindex` and `promptls/explainIgnore`: the index and what it leaves out."""

from __future__ import annotations

import os
from pathlib import Path

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of_document
from promptls.api.messages.params import Json
from promptls.api.messages.results import encode_status
from promptls.engine import Engine
from promptls.index import explain_path, from_uri
from promptls.model import CancelToken
from promptls.prompt.budget import counter_status
from promptls.settings import log_file

PAGE_BYTES = 4096


def status(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """Handle `promptls/status`."""
    result = encode_status(
        engine.index.status(), counter_status(engine.settings.budget), _resident_bytes(), log_file().name
    )
    return result if engine.team is None else {**result, "team": engine.team.status()}


def _resident_bytes() -> int:
    """Return the resident set size of this process, 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0


# ---------------------------------------------------------------- reindex


def reindex(engine: Engine, params: protocol.ReindexParams, token: CancelToken) -> Json:
    """Handle `promptls/reindex`."""
    paths = {root.uri.rstrip("/"): root.path for root in engine.workspace.roots}
    for uri in params.roots:
        protocol.one_of("roots", uri.rstrip("/"), tuple(paths))
    engine.indexer.resume()
    engine.workspace.rescan([paths[uri.rstrip("/")] for uri in params.roots], params.full)
    return {}


# ---------------------------------------------------------------- explain ignore


def explain_ignore(engine: Engine, params: protocol.UriParams, token: CancelToken) -> Json:
    """Handle `promptls/explainIgnore`."""
    snapshot = engine.snapshot(token)
    path = from_uri(params.uri) or ""
    if not os.path.islink(path) or snapshot.root_of(path) is None:  # noqa: PTH114 - a link is excluded as such
        path = path_of_document(params.uri, engine.workspace)
    root = snapshot.root_of(path)
    if root is None:
        return {"indexed": False, "reason": "The file is outside the workspace."}
    decision = explain_path(root.path, path, engine.indexer.config.limits)
    result: Json = {"indexed": decision.indexed, "reason": decision.reason}
    if decision.rule:
        result |= {"rule": decision.rule, "file": decision.file, "line": decision.line}
    return result
