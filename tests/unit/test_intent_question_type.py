"""Actions, kinds of question, names, scope; and what a language model says over them."""

import pytest

from promptls.prompt.intent import understand
from promptls.prompt.intent.refine import SAID, UNSAID, refined
from promptls.prompt.language_model import Interpretation


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("fix the crash", "fix"),
        ("could you please add a button", "create"),
        ("i want to rename Foo", "refactor"),
        ("change the port", "modify"),
        ("how do I add a route?", "create"),
        ("how does the router work?", "explain"),
        ("what's the best way to implement paging", "create"),
        ("why does the login not work?", "fix"),
        ("why do we use redis?", "explain"),
        ("where is the address parsed?", "explain"),  # "add" is a part of "address"
        ("the app crashes when I save", "fix"),
        ("clean up the helpers", "refactor"),
        ("explain error handling", "explain"),
        ("implment a stack", "create"),
        ("the sidebar", "other"),
        ("wie kann ich einen Endpunkt hinzufügen", "create"),
        ("修复登录", "fix"),
        ("このクラスを説明して", "explain"),
        ('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x', "fix"),
    ],
)
def test_action(text: str, action: str) -> None:
    assert understand(text, text).action == action


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("fix the crash", ("debugging",)),
        ("add a login page", ("feature",)),
        ("add tests for the cart", ("implementation",)),
        ("how is paging implemented?", ("implementation", "explanation")),
        ("describe the architecture", ("architectural", "explanation")),
        ("fix the crash and explain the cause", ("debugging", "explanation")),
        ("explain the cart and then rename it", ("implementation", "explanation")),
        ("the sidebar", ()),
        ("tell me a joke", ()),
    ],
)
def test_kinds_of_question(text: str, types: tuple[str, ...]) -> None:
    assert understand(text, text).types == types


def _known(name: str) -> bool:
    return name.lower() in {"parse_header", "cart", "session_cookie", "stop"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what does parse_header do", {"parse_header": True}),
        ("what does parse_footer do", {"parse_footer": False}),
        ("who calls `Server.stop`?", {"Server.stop": True}),
        ("is Cart a session cookie", {"Cart": True, "session_cookie": True}),
        ("what is going on here", {}),
    ],
)
def test_entities_are_checked_against_the_names_of_the_workspace(text: str, expected: dict[str, bool]) -> None:
    found = {e.name: e.verified for e in understand(text, text, _known).entities}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("what does parse_header do", "symbol"),
        ("what does this function do", "symbol"),
        ("summarize src/app.py", "file"),
        ("explain this file", "file"),
        ("compare src/a.py and src/b.py", "several"),
        ("how do parse_header and session_cookie differ", "several"),
        ("give me an overview of the project", "project"),
        ("how do logins work", "several"),
    ],
)
def test_scope(text: str, scope: str) -> None:
    assert understand(text, text, _known).scope == scope


# ---------------------------------------------------------------- a language model


def test_what_a_model_says_outranks_the_words() -> None:
    offline = understand("", "the login table")
    said = Interpretation(
        codebase=False,
        confidence=0.8,
        categories=("backend",),
        types=("feature",),
        action="create",
        terms=("UserQueue", "job runner"),
    )
    got = refined(offline, said)
    assert (got.codebase, got.confidence, got.confidence_label) == (False, 0.8, "medium")
    assert (got.types, got.action) == (("feature",), "create")
    assert (got.categories[0].name, got.categories[0].confidence) == ("backend", SAID)
    assert all(c.confidence <= UNSAID for c in got.categories[1:])
    assert {c.name for c in offline.categories} <= {c.name for c in got.categories}
    assert got.query.terms[: len(offline.query.terms)] == offline.query.terms
    assert {"userqueue", "job"} <= set(got.query.terms)
    assert "UserQueue" in got.query.names


def test_what_a_model_does_not_say_stays() -> None:
    offline = understand("", "fix the login")
    assert refined(offline, Interpretation()) == offline


def test_a_model_does_not_overrule_a_mention() -> None:
    offline = understand("hi @src/app.py", "hi")
    assert refined(offline, Interpretation(codebase=False)).codebase is True


def test_excluded_words_stay_excluded() -> None:
    offline = understand("", "explain the login without the database")
    got = refined(offline, Interpretation(terms=("database", "login form")))
    assert "databas" not in got.query.terms
    assert "form" in got.query.terms
