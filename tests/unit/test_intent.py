import pytest

from promptls.prompt.intent import understand
from promptls.retrieval.query import analyse


@pytest.mark.parametrize(
    "message", ["thank you!", "hi", "Hello there!", "ok", "thanks so much", "good morning", "  ", "?!"]
)
def test_small_talk_needs_no_code(message: str) -> None:
    assert understand(message, message).codebase is False


@pytest.mark.parametrize(
    "message", ["thanks, but where is the cache?", "hi, how do sessions end?", "no", "why", "login?"]
)
def test_questions_do(message: str) -> None:
    assert understand(message, message).codebase is (message != "no")


@pytest.mark.parametrize(
    ("question", "category", "kind", "action"),
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
def test_what_a_question_is_taken_for(question: str, category: str, kind: str, action: str) -> None:
    intent = understand(question, question)
    assert category in [c.name for c in intent.categories]
    assert not kind or kind in intent.types
    assert intent.action == action


def test_negation_demotes_and_ends_with_its_clause() -> None:
    plain = understand("explain the login and the database", "explain the login and the database")
    negated = understand(
        "explain the login without the database, and the api", "explain the login without the database, and the api"
    )
    assert "database" in negated.negated
    assert "api" not in negated.negated
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
def test_names_that_may_be_definitions(text: str, names: list[str]) -> None:
    assert set(names) <= set(analyse(text).names)


def test_what_looks_like_a_path() -> None:
    assert set(analyse("see src/app/main.py or setup.cfg, e.g. this").paths) >= {"src/app/main.py", "setup.cfg"}


@pytest.mark.parametrize(
    ("text", "tests", "docs"),
    [
        ("which tests cover the cart?", True, False),
        ("what does the README say?", False, True),
        ("the latest cart", False, False),
    ],
)
def test_what_a_question_is_about(text: str, tests: bool, docs: bool) -> None:
    query = analyse(text)
    assert (query.about_tests, query.about_docs) == (tests, docs)


def test_quoted_strings_and_identifiers_stay_whole() -> None:
    query = analyse("who prints \"connection refused by peer\" in `retry_later`, parseURL2 or 'a.b'?")
    assert query.phrases == ("connection refused by peer", "retry_later", "a.b")
    assert {"retry_later", "parseurl2"} <= set(query.terms)


@pytest.mark.parametrize("text", ["Straße der Käufer", "Größe", "поиск заказов", "カート"])
def test_words_of_every_script_are_looked_for(text: str) -> None:
    assert analyse(text).terms
