"""Handle `promptls/explainIgnore`: whether a file is indexed, and the ignore rule that excludes it."""

from __future__ import annotations

import os

from promptls.api.messages import params as protocol
from promptls.api.messages.locations import path_of_document
from promptls.api.messages.params import Json
from promptls.engine import Engine
from promptls.index import explain_path, from_uri
from promptls.model import CancelToken


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
