"""Hits of the team index: repositories that a question names, scores, and the need of other repositories."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from promptls.extensions.team.client import INCOMPLETE, TeamClient
from promptls.extensions.team.reader_messages import Failure, Hits, SearchIndex
from promptls.index import StoreIdentity
from promptls.model import Item, Origin, Span
from promptls.prompt.context.implicit import Candidates
from promptls.prompt.context.team_context import Search, need_features
from promptls.prompt.scoring import RetrievedItem
from promptls.retrieval.query import parse_query
from promptls.retrieval.team_source import (
    TeamAnswer,
    TeamHit,
    TeamRepository,
    named_repositories,
    score_hits,
    team_weights,
)
from promptls.settings import TeamSettings

REPOSITORIES = ["acme/shop-api", "acme/mail", "tools/Mail_Parser", "a/core", "b/core", "c/core", "sharkdp/fd", "left/db", "right/db"]  # fmt: skip
QUESTIONS = [
    ("How does mail retry?", {"acme/mail": "mail"}),
    ("Where does Mail's queue start?", {"acme/mail": "Mail"}),
    ("In shop_api, who validates vouchers?", {"acme/shop-api": "shop_api"}),
    ("How does acme/mail use mail-parser?", {"acme/mail": "acme/mail", "tools/Mail_Parser": "mail-parser"}),
    ("Is the e-mail sent from mailbox.mail or mail/queue.go?", {}),
    ("How does core start?", {}),  # the name of three repositories
    ("Which fd is closed, and by which db?", {}),  # too short
]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_repositories_are_named_by_whole_words(question: str, expected: dict[str, str]) -> None:
    assert named_repositories(question, REPOSITORIES) == expected


def test_failure_of_one_of_two_searches_is_reported() -> None:
    client = TeamClient(TeamSettings(index="/nowhere"), lambda dimension: StoreIdentity("model", dimension, 1, 1))
    search, named = SearchIndex(b"", ("queue",), 10), SearchIndex(b"", ("queue",), 10, repositories=("acme/mail",))
    failure = Failure("The storage does not respond.")
    problems = [
        client._answer(parse_query("mail queue"), list(zip((search, named), responses, strict=True))).problem
        for responses in [(Hits(()), Hits(())), (Hits(()), failure), (failure, Hits(())), (failure, failure)]
    ]
    assert problems == ["", INCOMPLETE, INCOMPLETE, failure.problem]


def hit(where: str, text: str = "pass", *, kind: str = "function", symbol: str = "", named: bool = False) -> TeamHit:
    """Return a hit at "repository: path"; all have the same similarity."""
    repository, _, path = where.partition(": ")
    return TeamHit(TeamRepository(repository, "1a2b3c", 0), path, Span(0, 3), kind, symbol, text, 0.5, is_named=named)


SEND = "def send(letter): ..."
RANKED = [  # (question, hits, best first)
    ("how are letters sent?", [hit("acme/mail: b.py", SEND, named=True), hit("acme/mail: a.py", SEND)]),
    ("how are letters sent?", [hit("acme/mail: send.py", SEND), hit("acme/mail: tests/test_send.py", SEND)]),
    ("which test covers letters?", [hit("a/b: tests/test_mail.py", "def test_letters(): ..."), hit("a/b: x.py")]),
    ("how are letters sent?", [hit("a/b: send.py", "letters sent", symbol="send_letters"), hit("a/b: send.py")]),
    ("how are letters sent?", [hit("a/b: letters.py", "x = 1"), hit("a/b: other.py", "x = 1")]),
    ("what does `Outbox` do?", [hit("a/b: x.py", symbol="mail.Outbox"), hit("a/b: y.py", symbol="mail.Inbox")]),
]


@pytest.mark.parametrize(("question", "hits"), RANKED)
def test_hits_with_more_evidence_come_first(question: str, hits: list[TeamHit]) -> None:
    for given in (hits, hits[::-1]):
        scored = score_hits(parse_query(question), given, team_weights())
        assert [h.path for h in scored] == [h.path for h in hits]
        assert all(0 < h.score < 1 for h in scored) and scored[0].score > scored[-1].score


def test_scores_do_not_depend_on_the_order_of_hits() -> None:
    query = parse_query("how are letters sent?")
    hits = [h for _, some in RANKED for h in some]
    hits = [replace(h, path=f"{i}/{h.path}", keyword=float(i % 3)) for i, h in enumerate(hits)]
    shuffled = [hits[i] for i in np.random.default_rng(1).permutation(len(hits))]
    assert score_hits(query, hits, team_weights()) == score_hits(query, shuffled, team_weights())
    assert score_hits(query, [], team_weights()) == []


NEED = {"similarity": 0.5, "local": 0.3, "chunks": 1000, "local_chunks": 1000}
MORE_NEEDED = [
    {"similarity": 0.6},  # the best hits are more similar
    {"local": 0.05},  # no local item is probably relevant
    {"chunks": 100},  # the hits are the best of fewer chunks
    {"local_chunks": 10_000},  # local code is the best of more chunks
]


@pytest.mark.parametrize("change", MORE_NEEDED, ids=str)
def test_need_of_other_repositories(change: dict[str, float]) -> None:
    def log_odds(similarity: float, local: float, chunks: int, local_chunks: int) -> float:
        answer = TeamAnswer((replace(hit("a/b: x.py"), similarity=similarity),), chunks=chunks)
        items = (RetrievedItem(Item("/w/x.py", Span(0, 1), "function", Origin.SEMANTIC, local, "x"), "x"),)
        search = Search(lambda: answer, 0.5, local_chunks)
        features = need_features(answer, search, Candidates(items, {}))
        assert features is not None
        return team_weights().need.log_odds(features)

    assert log_odds(**{**NEED, **change}) > log_odds(**NEED)  # type: ignore[arg-type]


def test_need_is_unknown_without_vectors_and_finite_without_local_code() -> None:
    answer = TeamAnswer((hit("a/b: x.py"),))
    empty = Candidates((), {})
    assert need_features(answer, Search(lambda: answer, None, 10), empty) is None
    assert need_features(TeamAnswer(), Search(TeamAnswer, 0.5, 10), empty) is None
    found = need_features(answer, Search(lambda: answer, 0.0, 0), empty)
    assert found is not None and all(map(math.isfinite, found.values()))
