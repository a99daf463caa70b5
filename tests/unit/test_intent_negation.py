"""Exclusions in a question, and negations that exclude nothing."""

import pytest

from promptls.prompt.intent.detect import detect_intent
from promptls.retrieval.query import exclude_words, parse_query


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("explain the login without the database", ("database",)),
        ("explain the login without the database, and the api", ("database",)),
        ("explain the login without the database and show the routes", ("database",)),
        ("list routes except the admin ones", ("admin", "ones")),
        ("refactor it but don't touch the tests", ("tests",)),
        ("please do not change the schema", ("schema",)),
        ("ignore logging. how does upload work?", ("logging",)),
        ("how does upload work? skip the frontend", ("frontend",)),
        ("the server side, not the ui", ("ui",)),
        ("describe it, no kubernetes please", ("kubernetes", "please")),
        ("everything excluding vendored files", ("vendored", "files")),
        ("erkläre den Login ohne die Datenbank", ("datenbank",)),
        ("explica el login sin la base de datos", ("base", "datos")),
    ],
)
def test_excluded_words_of_a_clause(text: str, words: tuple[str, ...]) -> None:
    assert detect_intent(text, text).excluded_words == words


@pytest.mark.parametrize(
    "text",
    [
        *("why does the login not work?", "the project does not compile", "can't log in", "I can't log in with google"),
        *("why isn't the cache invalidated", "it won't start", "users are not found", "no such table: users"),
        *(
            "there is no error but nothing is saved",
            "no module named requests",
            "module not found",
            "I don't understand the parser",
        ),
        *("how do I skip auth in tests?", "how can I avoid the circular import", "why does it ignore my config"),
        *(
            "it fails without any error message",
            "is there anything not covered by tests",
            "add a flag to skip migrations",
        ),
        *("the except block swallows the timeout", "a bare except in main.py", "why not use redis?"),
    ],
)
def test_description_of_a_failure_excludes_nothing(text: str) -> None:
    assert detect_intent(text, text).excluded_words == ()


def test_excluded_category_is_not_likely() -> None:
    text = "explain the login without the database"
    found = {c.name: c for c in detect_intent(text, text).categories}
    assert found["authentication"].is_likely
    assert not found["database"].is_likely


def test_excluded_words_are_not_in_the_query() -> None:
    query = detect_intent("", "explain the login without the database").query
    assert "databas" not in query.terms
    assert query.excluded == ("databas",)
    assert "login" in query.terms


def test_query_is_never_empty() -> None:
    query = parse_query("database")
    assert exclude_words(query, ["database"]) == query


def test_exclusion_works_at_any_position() -> None:
    lead = "one two three four five six seven eight "
    assert detect_intent("", f"{lead}without the database").excluded_words == ("database",)


def test_part_of_a_word_is_not_excluded() -> None:
    text = "explain auth without requiring tokens"  # "requiring" contains "ui"
    intent = detect_intent(text, text)
    assert intent.about_codebase
    assert "frontend" not in [c.name for c in intent.categories]


def test_exclusion_does_not_change_the_relevance() -> None:
    text = "explain without the database"
    assert detect_intent(text, text).about_codebase


def test_exclusion_in_chinese_and_japanese() -> None:
    found = {c.name: c for c in detect_intent("", "解释登录流程,不要数据库").categories}
    assert found["authentication"].is_likely and not found["database"].is_likely
