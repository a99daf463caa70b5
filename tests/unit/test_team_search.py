"""Questions that name repositories of the team index."""

from __future__ import annotations

import pytest

from promptls.index import StoreIdentity
from promptls.model import Span
from promptls.retrieval.query import parse_query
from promptls.retrieval.team import TeamHit, TeamRepository, named_repositories, score_hits, without_names
from promptls.settings import TeamSettings
from promptls.team.client import INCOMPLETE, TeamClient
from promptls.team.messages import Failure, Hits, SearchIndex

REPOSITORIES = ["acme/shop-api", "acme/mail", "tools/Mail_Parser", "a/core", "b/core", "c/core", "sharkdp/fd", "left/db", "right/db"]  # fmt: skip
QUESTIONS = [
    ("How does mail retry?", {"acme/mail": "mail"}),
    ("Where does Mail's queue start?", {"acme/mail": "Mail"}),
    ("In shop_api, who validates vouchers?", {"acme/shop-api": "shop_api"}),
    ("How does acme/mail use mail-parser?", {"acme/mail": "acme/mail", "tools/Mail_Parser": "mail-parser"}),
    ("`mail`: where is the queue?", {"acme/mail": "mail"}),
    ("Is the e-mail sent from mailbox.mail or mail/queue.go?", {}),
    ("How does core start?", {}),  # the name of three repositories
    ("How does b/core start?", {"b/core": "b/core"}),
    ("Which fd is closed, and by which db?", {}),  # too short
    ("What does sharkdp/fd print?", {"sharkdp/fd": "sharkdp/fd"}),
]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_repositories_are_named_by_whole_words(question: str, expected: dict[str, str]) -> None:
    assert named_repositories(question, REPOSITORIES) == expected


def test_names_of_repositories_are_not_searched_in_them() -> None:
    query = without_names(parse_query("How does acme/mail handle mail that bounces?"), ["acme/mail"])
    assert query.text.split() == ["How", "does", "handle", "mail", "that", "bounces?"]
    assert not {"acme", "mail"} & set(query.terms) and query.terms
    only_a_name = parse_query("mail")
    assert without_names(only_a_name, ["mail"]) == only_a_name


def test_failure_of_one_of_two_searches_is_reported() -> None:
    client = TeamClient(TeamSettings(index="/nowhere"), lambda dimension: StoreIdentity("model", dimension, 1, 1))
    search, named = SearchIndex(b"", ("queue",), 10), SearchIndex(b"", ("queue",), 10, repositories=("acme/mail",))
    failure = Failure("The storage does not respond.")
    problems = [
        client._answer(parse_query("mail queue"), list(zip((search, named), responses, strict=True))).problem
        for responses in [(Hits(()), Hits(())), (Hits(()), failure), (failure, Hits(())), (failure, failure)]
    ]
    assert problems == ["", INCOMPLETE, INCOMPLETE, failure.problem]


def test_hits_of_a_named_repository_come_first() -> None:
    repository = TeamRepository("acme/mail", "1a2b3c", 0)
    hits = [
        TeamHit(repository, path, Span(0, 3), "function", "send", "def send(): ...", 0.5, is_named=is_named)
        for path, is_named in (("a.py", False), ("b.py", True))
    ]
    assert [hit.path for hit in score_hits(parse_query("how are letters sent?"), hits)] == ["b.py", "a.py"]
