"""Cache for outcomes of expensive mentions: used for documents, bypassed for prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.mentions.context import ResolutionCache, ResolveContext
from promptls.mentions.kinds import KindRegistry, MentionKind
from promptls.mentions.registry import load_kinds
from promptls.mentions.resolve import resolve_mentions
from promptls.model import FileText, Item, Mention, MentionOutcome, Origin, Span
from workspaces import context_of, snapshot_of

resolved: list[str] = []


def slow(mention: Mention, context: ResolveContext) -> MentionOutcome:
    resolved.append(mention.text)
    path = context.sources.add_virtual_document(f"answer {len(resolved)}", "one\ntwo")
    return MentionOutcome(mention, "included", (Item(path, Span(0, 2), "text", Origin.MENTION, 1.0),))


@pytest.fixture
def kinds() -> KindRegistry:
    resolved.clear()
    kind = MentionKind("slow", ("@slow",), "Takes long.", slow, argument="optional", expensive=True)
    return KindRegistry({**load_kinds([]).kinds, "slow": kind})


def test_expensive_mention_is_resolved_once(tmp_path: Path, kinds: KindRegistry) -> None:
    snapshot, cache = snapshot_of("-- a.py --\nx = 1", tmp_path), ResolutionCache()
    for _ in range(2):
        context = context_of(snapshot)
        context = replace(context, cache=cache)
        (outcome,) = resolve_mentions("why? @slow", context, kinds)
        view = context.sources.read(outcome.targets[0].path)
        assert isinstance(view, FileText)
        assert view.text == "one\ntwo"
    assert resolved == ["@slow"]
    resolve_mentions("another question @slow @slow:x", context, kinds)
    assert resolved == ["@slow", "@slow", "@slow:x"]
    # With an argument, the outcome does not depend on the question.
    resolve_mentions("the last question @slow:x", context, kinds)
    assert resolved == ["@slow", "@slow", "@slow:x"]


def test_cached_outcome_with_a_conflicting_virtual_document_is_resolved_again(
    tmp_path: Path, kinds: KindRegistry
) -> None:
    def named(mention: Mention, context: ResolveContext) -> MentionOutcome:
        path = context.sources.add_virtual_document("answer", mention.text)
        return MentionOutcome(mention, "included", (Item(path, Span(0, 1), "text", Origin.MENTION, 1.0),))

    both = KindRegistry({**kinds.kinds, "slow": replace(kinds.kinds["slow"], resolve=named)})
    snapshot, cache = snapshot_of("-- a.py --\nx = 1", tmp_path), ResolutionCache()
    for message in ("@slow:a", "@slow:b", "@slow:a @slow:b", "@slow:b @slow:a", "@slow:a"):
        context = context_of(snapshot)
        context = replace(context, cache=cache)
        outcomes = resolve_mentions(message, context, both)
        assert [context.sources.read_text(o.targets[0].path) for o in outcomes] == message.split()


def test_resolution_without_cache(tmp_path: Path, kinds: KindRegistry) -> None:
    snapshot = snapshot_of("-- a.py --\nx = 1", tmp_path)
    for _ in range(2):
        resolve_mentions("why? @slow", context_of(snapshot), kinds)
    assert len(resolved) == 2


def test_cached_outcome_expires(tmp_path: Path, kinds: KindRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("promptls.mentions.context.time.monotonic", lambda: now[0])
    outcome = MentionOutcome(Mention("@slow", 0, 5, "slow", ""), "omitted")
    cache = ResolutionCache()
    cache.put("@slow", "", outcome, {}, duration_s=1.0)
    for passed, known in ((19.0, True), (21.0, False)):
        now[0] = 100.0 + passed
        assert (cache.get("@slow", "") is not None) is known
