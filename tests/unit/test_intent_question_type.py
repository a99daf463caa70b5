"""Action, question types, entities, scope, and refinement by a language model."""

import pytest

from promptls.prompt.intent.detect import detect_intent


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
        ("where is the address parsed?", "explain"),  # "add" is only a part of "address"
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
    assert detect_intent(text, text).action == action


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
        ("what breaks if we rename Cart?", ("explanation",)),  # nothing fails yet
        ("the cart breaks if I rename it", ("debugging",)),
    ],
)
def test_question_types(text: str, types: tuple[str, ...]) -> None:
    assert detect_intent(text, text).types == types


def is_defined(name: str) -> bool:
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
def test_entities_are_verified_against_the_workspace(text: str, expected: dict[str, bool]) -> None:
    found = {e.name: e.verified for e in detect_intent(text, text, is_defined).entities}
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
    assert detect_intent(text, text, is_defined).scope == scope
