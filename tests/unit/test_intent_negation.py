"""What a question leaves out, and what only sounds like it."""

import pytest

from promptls.prompt.intent import understand
from promptls.retrieval.query import analyse, without


@pytest.mark.parametrize(
    ("text", "negated"),
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
def test_words_of_an_excluding_clause(text: str, negated: tuple[str, ...]) -> None:
    assert understand(text, text).negated == negated


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
def test_a_complaint_excludes_nothing(text: str) -> None:
    assert understand(text, text).negated == ()


def test_an_excluded_topic_is_demoted_and_stays() -> None:
    text = "explain the login without the database"
    found = {c.name: c for c in understand(text, text).categories}
    assert found["authentication"].likely
    assert not found["database"].likely


def test_excluded_words_are_not_looked_for() -> None:
    query = understand("", "explain the login without the database").query
    assert "databas" not in query.terms
    assert query.excluded == ("databas",)
    assert "login" in query.terms


def test_something_is_always_looked_for() -> None:
    query = analyse("database")
    assert without(query, ["database"]) == query


def test_the_window_does_not_move_with_the_position() -> None:
    lead = "one two three four five six seven eight "
    assert understand("", f"{lead}without the database").negated == ("database",)


def test_a_part_of_a_word_is_not_excluded() -> None:
    text = "explain auth without requiring tokens"  # "requiring" has "ui" in it
    intent = understand(text, text)
    assert intent.codebase
    assert "frontend" not in [c.name for c in intent.categories]


def test_an_exclusion_does_not_make_it_another_matter() -> None:
    text = "explain without the database"
    assert understand(text, text).codebase


def test_chinese_and_japanese() -> None:
    found = {c.name: c for c in understand("", "解释登录流程,不要数据库").categories}
    assert found["authentication"].likely and not found["database"].likely
