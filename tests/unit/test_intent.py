"""Intent of whole questions, and parsing of retrieval queries."""

import numpy as np
import pytest

from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval.linear_model import bundled_weights
from promptls.retrieval.query import parse_query


@pytest.mark.parametrize(
    "message", ["thank you!", "hi", "Hello there!", "ok", "thanks so much", "good morning", "  ", "?!"]
)
def test_small_talk_is_not_about_the_codebase(message: str) -> None:
    assert detect_intent(message, message).about_codebase is False


@pytest.mark.parametrize(
    "message", ["thanks, but where is the cache?", "hi, how do sessions end?", "no", "why", "login?"]
)
def test_questions_are_about_the_codebase(message: str) -> None:
    assert detect_intent(message, message).about_codebase is (message != "no")


@pytest.mark.parametrize(
    ("question", "category", "question_type", "action"),
    [
        ("fix the login bug", "authentication", "debugging", "fix"),
        ("How are database migrations run?", "database", "explanation", "explain"),
        ("add an endpoint for invoices", "api", "feature", "create"),
        ("refactor the cache, it is slow", "performance", "", "refactor"),
        ("describe the architecture", "architecture", "architectural", "explain"),
        ("change the default option", "configuration", "", "modify"),
        ("authenticating users", "authentication", "", "other"),
    ],
)
def test_category_type_and_action(question: str, category: str, question_type: str, action: str) -> None:
    intent = detect_intent(question, question)
    assert category in [c.name for c in intent.categories]
    assert not question_type or question_type in intent.types
    assert intent.action == action


def test_exclusion_lowers_the_confidence_and_ends_with_its_clause() -> None:
    plain = detect_intent("explain the login and the database", "explain the login and the database")
    negated = detect_intent(
        "explain the login without the database, and the api", "explain the login without the database, and the api"
    )
    assert "database" in negated.excluded_words
    assert "api" not in negated.excluded_words
    confidence = {c.name: c.confidence for c in negated.categories}
    assert confidence["database"] < {c.name: c.confidence for c in plain.categories}["database"]
    assert confidence["api"] > confidence["database"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("what does handle_ping do?", ["handle_ping"]),
        ("where is `Server.stop` called?", ["Server.stop"]),
        ("HTTPServer and parseURL", ["HTTPServer", "parseURL"]),
        ("session cookie", ["sessioncookie", "session_cookie"]),
        ("call std::move(x)", ["std::move"]),
    ],
)
def test_query_contains_names_in_code_style(text: str, names: list[str]) -> None:
    assert set(names) <= set(parse_query(text).names)


def test_query_contains_paths() -> None:
    assert set(parse_query("see src/app/main.py or setup.cfg, e.g. this").paths) >= {"src/app/main.py", "setup.cfg"}


@pytest.mark.parametrize(
    ("text", "tests", "docs"),
    [
        ("which tests cover the cart?", True, False),
        ("what does the README say?", False, True),
        ("the latest cart", False, False),
    ],
)
def test_query_about_tests_or_documentation(text: str, tests: bool, docs: bool) -> None:
    query = parse_query(text)
    assert (query.about_tests, query.about_docs) == (tests, docs)


def test_query_keeps_quoted_strings_and_identifiers_whole() -> None:
    query = parse_query("who prints \"connection refused by peer\" in `retry_later`, parseURL2 or 'a.b'?")
    assert query.phrases == ("connection refused by peer", "retry_later", "a.b")
    assert {"retry_later", "parseurl2"} <= set(query.terms)


@pytest.mark.parametrize("text", ["Straße der Käufer", "Größe", "поиск заказов", "カート"])
def test_query_has_terms_of_every_script(text: str) -> None:
    assert parse_query(text).terms


OPEN_QUESTIONS = [
    ("How are rules matched?", True),
    ("in werkzeug, how are rules matched?", True),
    ("a small upload inflates to gigabytes, where's the cap", True),
    ("Hello, what happens after flask.Flask() is called?", True),
    ("explain the cache", True),
    ("缓存是如何失效的？", True),
    ("Wo wird der Preis berechnet?", True),
    ("¿Cómo se valida un cupón?", True),
    ("Which function rounds prices?", False),
    ("is there a limit, and who checks it?", False),
    ("Was the cache cleared?", False),
    ("Comment out the debug output", False),
    ("Fix a crash where the queue is empty", False),
    ("The upload fails. How can I find out why?", False),  # a report; the second sentence does not count
    ('Why?\nFile "a.py", line 3, in fail', False),
    ("", False),
]


@pytest.mark.parametrize(("question", "expected"), OPEN_QUESTIONS)
def test_open_questions(question: str, expected: bool) -> None:
    assert parse_query(question).is_open is expected


def test_an_open_question_needs_more() -> None:
    scores = np.array([2.0, 1.0, 0.0])
    calibration = bundled_weights().calibration
    assert (calibration.probabilities(scores, is_open=True) > calibration.probabilities(scores)).all()
