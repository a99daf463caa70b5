"""Topics, and the words that speak for them."""

import pytest

from promptls.prompt.intent import category_names, understand
from promptls.prompt.intent.lexicon import data, distance_allowed, entries, nearest
from promptls.prompt.intent.topics import STRONG, TYPO, WEAK, confidence


def _topics(text: str) -> dict[str, float]:
    return {c.name: c.confidence for c in understand(text, text).categories}


def test_there_are_thirteen() -> None:
    assert category_names() == (
        *("authentication", "api", "database", "architecture", "configuration", "testing", "performance"),
        *("error handling", "deployment", "implementation", "frontend", "backend", "general"),
    )


@pytest.mark.parametrize("name", category_names())
def test_every_topic_has_strong_and_weak_words(name: str) -> None:
    strong, weak = entries(data("categories")[name]["strong"]), entries(data("categories")[name]["weak"])
    assert strong and weak
    assert not set(strong) & set(weak)


@pytest.mark.parametrize(
    ("text", "topic", "how"),
    [
        ("where is the login", "authentication", "exact"),
        ("authenticating guests", "authentication", "stem"),
        ("users log in twice", "authentication", "phrase"),
        ("autentication please", "authentication", "typo"),
        ("the databse of users", "database", "typo"),
        ("the databaes of users", "database", "typo"),  # a transposition is one error
        ("用户登录在哪里", "authentication", "inside"),
        ("see UserLoginForm.tsx", "authentication", "exact"),
        ("call user_login()", "authentication", "exact"),
    ],
)
def test_how_a_word_is_found(text: str, topic: str, how: str) -> None:
    found = next(c for c in understand(text, text).categories if c.name == topic)
    assert how in [m.how for m in found.matches]
    assert found.strong


def test_weights_are_told() -> None:
    found = next(c for c in understand("jwt token", "jwt token").categories if c.name == "authentication")
    assert [(m.word, m.weight, m.strong) for m in found.matches] == [("jwt", STRONG, True), ("token", WEAK, False)]
    assert found.matched == ("jwt", "token")
    assert found.confidence == round(confidence(STRONG + WEAK), 2)


def test_a_typing_error_weighs_less() -> None:
    found = understand("autentication", "autentication").categories[0]
    assert found.matches[0].weight == pytest.approx(STRONG * TYPO)


def test_a_word_counts_once() -> None:
    assert _topics("login login login") == _topics("login")


@pytest.mark.parametrize(
    ("word", "errors"), [("api", 0), ("test", 1), ("tests1"[:6], 1), ("pattern", 2), ("authentication", 2)]
)
def test_errors_allowed_grow_with_the_word(word: str, errors: int) -> None:
    assert distance_allowed(word) == errors


@pytest.mark.parametrize("word", ["a", "is", "me", "to", "the", "for", "how", "ui", "tset"[:3]])
def test_short_words_are_never_typing_errors(word: str) -> None:
    assert nearest(word, ["api", "test", "auth", "is", "ui"]) == ""


@pytest.mark.parametrize("text", ["tell me a joke", "write a poem to mom", "what a night", "a is me to"])
def test_everyday_words_are_no_keywords(text: str) -> None:
    assert not [m for c in understand(text, text).categories for m in c.matches if m.how == "typo"]


@pytest.mark.parametrize("word", ["calling", "staring", "dialect", "text", "rest"])
def test_english_words_are_not_taken_for_typing_errors(word: str) -> None:
    text = f"the {word} of the day in main.py"
    assert not [m for c in understand(text, text).categories for m in c.matches if m.how == "typo"]


def test_a_name_of_the_workspace_is_no_typing_error() -> None:
    text = "where is databse used"
    assert understand(text, text, known=lambda name: name == "databse").categories[0].name == "general"


def test_general_is_what_is_left() -> None:
    assert next(iter(_topics("where do I start reading this repo?"))) == "general"
    assert "general" not in _topics("where in the repo is the login?")


def test_a_word_is_looked_at_as_a_whole() -> None:
    assert "frontend" not in _topics("requiring a guide")  # "ui" stands inside both
