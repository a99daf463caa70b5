"""One workspace, ready to answer: the index, the settings and every request as a function of its params.

The same for the language server and the command line.  Blocking; called on request threads.  Turns wire
params into values, calls the floors below, and turns results into JSON; decides nothing by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from promptls import protocol
from promptls.context.mentions import registry
from promptls.context.mentions.complete import complete
from promptls.context.mentions.request import Client, Request
from promptls.context.retrieval import retrieve
from promptls.index import disk
from promptls.index.config import config_of
from promptls.index.indexer import Indexer
from promptls.index.roots import survey as survey_root
from promptls.index.snapshot import Snapshot
from promptls.index.workspace import Workspace
from promptls.model import CancelToken, Item
from promptls.prompt import build, tokens
from promptls.prompt.assemble import BudgetTooSmall
from promptls.prompt.intent import understand
from promptls.protocol import InvalidParams, Json
from promptls.settings import Settings, log_file, user_settings

RECONCILE_S = 2.0
"""Clients need not watch files: a request walks the roots again when the last walk is older than this."""


class Engine:
    """`start` before the first request, `close` at the end."""

    def __init__(self, settings: Settings, workspace: Workspace, on_change: Callable[[], None] = lambda: None) -> None:
        self.settings = settings
        self.workspace = workspace
        self._on_change = on_change
        self.indexer = Indexer(config_of(settings), workspace, on_change)
        self._legs = ThreadPoolExecutor(4, "leg")

    def start(self) -> None:
        """Begin to index."""
        self.indexer.start()

    def close(self) -> None:
        """Stop everything."""
        self.indexer.close()
        self._legs.shutdown(wait=False, cancel_futures=True)

    def apply(self, settings: Settings) -> None:
        """Use other settings from now on; what the index depends on needs a new index."""
        if config_of(settings) != self.indexer.config:
            old = self.indexer
            self.indexer = Indexer(config_of(settings), old.workspace.renewed(), self._on_change)
            self.workspace = self.indexer.workspace
            old.close()
            self.indexer.start()
        self.settings = settings

    # ---- requests

    def build_prompt(self, params: protocol.BuildPromptParams, token: CancelToken) -> Json:
        """promptls/buildPrompt"""
        wanted = self._wanted(params)
        snapshot = self._view(token)
        request = self._request(params.context, snapshot, token)
        try:
            built = build.build(params.message, wanted, request, self.indexer, self._legs)
        except BudgetTooSmall as error:
            raise InvalidParams(
                f"budget.tokens: {error.budget} cannot hold the message, which needs at least {error.needed}.",
                "budget.tokens",
            ) from None
        final = built.assembled
        standing = self.indexer.standing()
        messages = [{"role": m.role, "content": m.content} for m in final.messages]
        return {
            **({"messages": messages} if messages else {"prompt": final.prompt}),
            "tokens": {
                "budget": wanted.budget,
                "used": final.used,
                "counter": wanted.counter.name,
                "exact": wanted.counter.exact,
                "sections": dict(final.sections),
            },
            "items": [
                protocol.item_json(
                    p.block.item, snapshot, p.block.form, p.block.tokens, p.citation, p.block.spans, p.sources[1:]
                )
                for p in final.items
            ],
            "omitted": [
                {
                    "uri": disk.to_uri(o.item.path),
                    "range": protocol.range_of(o.item.span),
                    "reason": o.reason,
                    "tokens": o.tokens,
                }
                for o in built.omitted
            ],
            "mentions": [protocol.mention_json(m, params.message) for m in built.mentions],
            "intent": protocol.intent_json(built.intent),
            "wasTruncated": built.dropped > 0,
            "droppedCount": built.dropped,
            "trace": {
                "stages": [{"name": s.name, "in": s.taken, "out": s.given, "ms": s.ms} for s in built.stages],
                "line": built.line,
            },
            "index": protocol.index_json(standing),
            "warnings": list(built.warnings),
        }

    def _wanted(self, params: protocol.BuildPromptParams) -> build.Wanted:
        if not params.message.strip():
            raise InvalidParams("message: it is blank; it must hold the question.", "message")
        protocol.one_of("profile", params.profile, protocol.PROFILES)
        variant = params.variant or self.settings.retrieval.variant
        try:
            budget, counter, warnings = self._budget(params.budget)
            return build.Wanted(
                budget=budget,
                counter=counter,
                variant=protocol.one_of("variant", variant, build.VARIANTS),
                output=protocol.one_of("output", params.output, protocol.OUTPUTS),
                retrieval=params.sections.get("retrieval", True),
                threshold=self.settings.retrieval.threshold or 0.02,
                warnings=warnings,
                completeness=self.indexer.standing().complete,
            )
        except tokens.UnknownName as error:
            raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None

    def _budget(self, wanted: protocol.Budget) -> tuple[int, tokens.Counter, tuple[str, ...]]:
        ours = self.settings.budget
        counter = tokens.counter(wanted.counter or ours.counter)
        if wanted.tokens is not None:
            if wanted.tokens <= 0:
                raise InvalidParams("budget.tokens: it must be a positive integer.", "budget.tokens")
            return wanted.tokens, counter, ()
        if wanted.model is None and ours.tokens:
            return ours.tokens, counter, ()
        budget, warning = tokens.budget_for(wanted.model or ours.model)
        return budget, counter, (warning,) if warning and (wanted.model or ours.model) else ()

    def resolve_mentions(self, params: protocol.ResolveMentionsParams, token: CancelToken) -> Json:
        """promptls/resolveMentions: a dry run of the explicit part."""
        try:
            budget, counter, _ = self._budget(params.budget)
        except tokens.UnknownName as error:
            raise InvalidParams(str(error), f"budget.{error.field}", error.valid) from None
        request = self._request(params.context, self._view(token), token)
        outcomes = build.mentions_of(params.message, request, budget, counter)
        return {
            "mentions": [protocol.mention_json(m, params.message) for m in outcomes],
            "tokens": sum(m.tokens for m in outcomes),
        }

    def complete_mention(self, params: protocol.CompleteMentionParams, token: CancelToken) -> Json:
        """promptls/completeMention"""
        if not 0 <= params.offset <= protocol.utf16_offset(params.text, len(params.text)):
            raise InvalidParams("offset: it must lie inside the text.", "offset")
        snapshot = self._view(token)
        request = self._request(params.context, snapshot, token)
        offset = _code_points(params.text, params.offset)
        done = complete(params.text, offset, request, params.limit, lambda path: _cost(path, snapshot))
        return {
            "isIncomplete": done.is_incomplete,
            "replace": {
                "start": protocol.utf16_offset(params.text, done.start),
                "end": protocol.utf16_offset(params.text, done.end),
            },
            "items": [
                {
                    "label": i.label,
                    "insertText": i.insert_text,
                    "detail": i.detail,
                    "documentation": i.documentation,
                    "kind": i.kind,
                    "tokens": i.tokens,
                }
                for i in done.items
            ],
        }

    def search(self, params: protocol.SearchParams, token: CancelToken) -> Json:
        """promptls/search"""
        if not params.query.strip():
            raise InvalidParams("query: it is blank; it must say what to look for.", "query")
        if not 1 <= params.limit <= 1000:
            raise InvalidParams("limit: it must lie between 1 and 1000.", "limit")
        snapshot = self._view(token)
        within = _matching(snapshot, params.paths) if params.paths else None
        query = understand(params.query, params.query).query
        found = retrieve(query, snapshot, self.indexer, build.WEIGHTS, self._legs, token, within)
        items = [i for i in found.items if not params.kinds or i.kind in params.kinds]
        hits = _spread(items)[: params.limit]
        return {"hits": [protocol.item_json(item, snapshot) for item in hits]}

    def status(self, params: protocol.NoParams | None = None, token: CancelToken | None = None) -> Json:
        """promptls/status"""
        return protocol.status_json(self.indexer.status(), _resident_bytes(), log_file().name)

    def reindex(self, params: protocol.ReindexParams, token: CancelToken) -> Json:
        """promptls/reindex"""
        roots = {r.uri.rstrip("/"): r.path for r in self.workspace.roots}
        for uri in params.roots:
            protocol.one_of("roots", uri.rstrip("/"), tuple(roots))
        self.workspace.rescan([roots[uri.rstrip("/")] for uri in params.roots], params.full)
        return {}

    def explain_ignore(self, params: protocol.UriParams, token: CancelToken) -> Json:
        """promptls/explainIgnore"""
        path = disk.from_uri(params.uri)
        root = self._view(token).root_of(path) if path else None
        if path is None or root is None:
            return {"indexed": False, "reason": "It lies outside of the workspace."}
        verdict = disk.explain(root.path, path, self.indexer.config.limits)
        out: Json = {"indexed": verdict.indexed, "reason": verdict.reason}
        if verdict.rule:
            out |= {"rule": verdict.rule, "file": verdict.file, "line": verdict.line}
        return out

    def mention_kinds(self, params: protocol.NoParams, token: CancelToken) -> Json:
        """promptls/mentionKinds"""
        return {
            "kinds": [
                {"name": k.name, "syntax": list(k.syntax), "help": k.help} for k in registry.registry().kinds.values()
            ]
        }

    def models(self, params: protocol.NoParams, token: CancelToken) -> Json:
        """promptls/models"""
        default, table = tokens.models()
        return {"default": default, "models": [{"name": name, "budget": budget} for name, budget in table.items()]}

    # ---- shared

    def _view(self, token: CancelToken) -> Snapshot:
        self.indexer.reconcile(RECONCILE_S)
        return self.indexer.view(token)

    def _request(self, context: protocol.Context, snapshot: Snapshot, token: CancelToken) -> Request:
        selection = None
        if context.selection is not None and (path := disk.from_uri(context.selection.uri)):
            selection = (path, context.selection.range.span)
        opened = [p for p in (disk.from_uri(uri) for uri in context.open_documents) if p]
        client = Client(
            active=(disk.from_uri(context.active_document) if context.active_document else None) or "",
            selection=selection,
            open=tuple(dict.fromkeys([*opened, *snapshot.documents])),
        )
        return Request(self.indexer.sources(snapshot), client, token)


def survey(root: str) -> Json:
    """What the index on disk holds for a folder, without changing anything."""
    config = config_of(user_settings()[0])
    found = survey_root(root, config.cache, config.limits)
    return {
        "path": root,
        "files": found.files,
        "upToDate": found.up_to_date,
        "stale": found.files - found.up_to_date,
        "bytes": found.bytes,
        "folder": found.folder,
    }


def _matching(snapshot: Snapshot, globs: Iterable[str]) -> list[str]:
    by_name: dict[str, list[str]] = {}
    for path, entry in snapshot.files.items():
        by_name.setdefault(entry.name, []).append(path)
    return [path for name in disk.matching(by_name, globs) for path in by_name[name]]


def _cost(path: str, snapshot: Snapshot) -> int:
    """About how many tokens a file costs, without reading it: a quarter of its size."""
    document, entry = snapshot.documents.get(path), snapshot.files.get(path)
    return (len(document.text) if document is not None else entry.size if entry is not None else 0) // 4


def _spread(items: Iterable[Item]) -> list[Item]:
    """The best region of each file first, then what is left, each in order of score."""
    seen: set[str] = set()
    first: list[Item] = []
    rest: list[Item] = []
    for item in items:
        (rest if item.path in seen else first).append(item)
        seen.add(item.path)
    return first + rest


def _code_points(text: str, utf16: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * utf16].decode("utf-16-le", "ignore"))


def _resident_bytes() -> int:
    """Memory of this process as the system counts it, 0 where it does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


def milliseconds(start: float) -> float:
    """Since `start` of time.perf_counter()."""
    return round((time.perf_counter() - start) * 1000, 2)
