"""promptls/search, promptls/status, promptls/reindex, promptls/explainIgnore."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from promptls import retrieval
from promptls.api import params as protocol
from promptls.api import results
from promptls.api.params import InvalidParams, Json
from promptls.engine import Engine
from promptls.index import files
from promptls.index.snapshot import Snapshot
from promptls.model import CancelToken
from promptls.prompt.intent import understand
from promptls.settings import log_file


def search(engine: Engine, params: protocol.SearchParams, token: CancelToken) -> Json:
    """promptls/search"""
    if not params.query.strip():
        raise InvalidParams("query: it is blank; it must say what to look for.", "query")
    if not 1 <= params.limit <= 1000:
        raise InvalidParams("limit: it must lie between 1 and 1000.", "limit")
    snapshot = engine.view_for(params.query, token)
    within = _matching(snapshot, params.paths) if params.paths else None
    asked = understand(params.query, params.query).query
    complete = engine.indexer.standing().complete >= 1
    query = engine.companions.expand(asked, snapshot, engine.indexer.columns(), complete=complete)
    with engine.indexer.undisturbed():
        found = retrieval.search(query, snapshot, engine.indexer, engine.strategy, token, within)
    items = [i for i in found.items if not params.kinds or i.kind in params.kinds]
    hits = [results.item_json(item, snapshot) for item in items[: params.limit]]
    return results.redacted({"hits": hits, "index": results.index_json(engine.indexer.standing())})


def status(engine: Engine, params: protocol.NoParams, token: CancelToken) -> Json:
    """promptls/status"""
    return results.status_json(engine.indexer.status(), _resident_bytes(), log_file().name)


def reindex(engine: Engine, params: protocol.ReindexParams, token: CancelToken) -> Json:
    """promptls/reindex"""
    roots = {r.uri.rstrip("/"): r.path for r in engine.workspace.roots}
    for uri in params.roots:
        protocol.one_of("roots", uri.rstrip("/"), tuple(roots))
    engine.indexer.resume()
    engine.workspace.rescan([roots[uri.rstrip("/")] for uri in params.roots], params.full)
    return {}


def explain_ignore(engine: Engine, params: protocol.UriParams, token: CancelToken) -> Json:
    """promptls/explainIgnore"""
    path = files.from_uri(params.uri)
    root = engine.view(token).root_of(path) if path else None
    if path is None or root is None:
        return {"indexed": False, "reason": "It lies outside of the workspace."}
    verdict = files.explain(root.path, path, engine.indexer.config.limits)
    out: Json = {"indexed": verdict.indexed, "reason": verdict.reason}
    if verdict.rule:
        out |= {"rule": verdict.rule, "file": verdict.file, "line": verdict.line}
    return out


def _matching(snapshot: Snapshot, globs: Iterable[str]) -> list[str]:
    by_name: dict[str, list[str]] = {}
    for path, entry in snapshot.files.items():
        by_name.setdefault(entry.name, []).append(path)
    return [path for name in files.matching(by_name, globs) for path in by_name[name]]


def _resident_bytes() -> int:
    """Memory of this process as the system counts it, 0 where it does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0
