"""Costly mentions: recalled while a document is only looked at, asked anew when a prompt is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from promptls.mentions import resolution_cache as recalling
from promptls.mentions.context import Request
from promptls.mentions.registry import Kind, Registry, load
from promptls.mentions.resolution_cache import Recall
from promptls.mentions.resolve import resolve_all
from promptls.model import Item, Mention, MentionOutcome, Origin, Span, TextView
from workspaces import request_of, snapshot_of

asked: list[str] = []


def slow(mention: Mention, request: Request) -> MentionOutcome:
    asked.append(mention.text)
    path = request.sources.exhibit(f"answer {len(asked)}", "one\ntwo")
    return MentionOutcome(mention, "included", (Item(path, Span(0, 2), "text", Origin.MENTION, 1.0),))


@pytest.fixture
def kinds() -> Registry:
    asked.clear()
    kind = Kind("slow", ("@slow",), "Takes long.", slow, argument="optional", costly=True)
    return Registry({**load([]).kinds, "slow": kind})


def test_looking_twice_asks_once(tmp_path: Path, kinds: Registry) -> None:
    snapshot, recall = snapshot_of("-- a.py --\nx = 1", tmp_path), Recall()
    for _ in range(2):
        request = request_of(snapshot)
        request = replace(request, around=replace(request.around, recall=recall))
        (outcome,) = resolve_all("why? @slow", request, kinds)
        view = request.sources.read(outcome.targets[0].path)
        assert isinstance(view, TextView)
        assert view.text == "one\ntwo"
    assert asked == ["@slow"]
    resolve_all("another question @slow @slow:x", request, kinds)
    assert asked == ["@slow", "@slow", "@slow:x"]
    resolve_all("the last question @slow:x", request, kinds)  # an argument is its own question
    assert asked == ["@slow", "@slow", "@slow:x"]


def test_an_answer_whose_name_another_text_has_taken_is_asked_for_again(tmp_path: Path, kinds: Registry) -> None:
    def named(mention: Mention, request: Request) -> MentionOutcome:
        path = request.sources.exhibit("answer", mention.text)
        return MentionOutcome(mention, "included", (Item(path, Span(0, 1), "text", Origin.MENTION, 1.0),))

    both = Registry({**kinds.kinds, "slow": replace(kinds.kinds["slow"], resolve=named)})
    snapshot, recall = snapshot_of("-- a.py --\nx = 1", tmp_path), Recall()
    for message in ("@slow:a", "@slow:b", "@slow:a @slow:b", "@slow:b @slow:a", "@slow:a"):
        request = request_of(snapshot)
        request = replace(request, around=replace(request.around, recall=recall))
        outcomes = resolve_all(message, request, both)
        assert [request.sources.text(o.targets[0].path) for o in outcomes] == message.split()


def test_building_always_asks(tmp_path: Path, kinds: Registry) -> None:
    snapshot = snapshot_of("-- a.py --\nx = 1", tmp_path)
    for _ in range(2):
        resolve_all("why? @slow", request_of(snapshot), kinds)
    assert len(asked) == 2


def test_an_answer_grows_old(tmp_path: Path, kinds: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(recalling.time, "monotonic", lambda: now[0])
    outcome = MentionOutcome(Mention("@slow", 0, 5, "slow", ""), "omitted")
    recall = Recall()
    recall.put("@slow", "", outcome, {}, took=1.0)
    for passed, known in ((19.0, True), (21.0, False)):
        now[0] = 100.0 + passed
        assert (recall.get("@slow", "") is not None) is known
