"""Categories of a question, and the keywords that match them."""

import pytest

from promptls.prompt.intent.categories import (
    STRONG_WEIGHT,
    TYPO_FACTOR,
    WEAK_WEIGHT,
    category_names,
    confidence_of_weight,
)
from promptls.prompt.intent.detect import detect_intent
from promptls.prompt.intent.lexicon import closest_keyword, load_data, max_edit_distance, split_entries


def categories_of(text: str) -> dict[str, float]:
    return {c.name: c.confidence for c in detect_intent(text, text).categories}


def test_there_are_thirteen_categories() -> None:
    assert category_names() == (
        *("authentication", "api", "database", "architecture", "configuration", "testing", "performance"),
        *("error handling", "deployment", "implementation", "frontend", "backend", "general"),
    )


@pytest.mark.parametrize("name", category_names())
def test_every_category_has_strong_and_weak_keywords(name: str) -> None:
    strong, weak = (
        split_entries(load_data("categories")[name]["strong"]),
        split_entries(load_data("categories")[name]["weak"]),
    )
    assert strong and weak
    assert not set(strong) & set(weak)


@pytest.mark.parametrize(
    ("text", "category", "kind"),
    [
        ("where is the login", "authentication", "exact"),
        ("authenticating guests", "authentication", "stem"),
        ("users log in twice", "authentication", "phrase"),
        ("autentication please", "authentication", "typo"),
        ("the databse of users", "database", "typo"),
        ("the databaes of users", "database", "typo"),  # a transposition is one edit
        ("用户登录在哪里", "authentication", "inside"),
        ("see UserLoginForm.tsx", "authentication", "exact"),
        ("call user_login()", "authentication", "exact"),
    ],
)
def test_kind_of_match(text: str, category: str, kind: str) -> None:
    found = next(c for c in detect_intent(text, text).categories if c.name == category)
    assert kind in [m.kind for m in found.matches]
    assert found.has_strong_match


def test_weights_of_matches() -> None:
    found = next(c for c in detect_intent("jwt token", "jwt token").categories if c.name == "authentication")
    assert [(m.word, m.weight, m.strong) for m in found.matches] == [
        ("jwt", STRONG_WEIGHT, True),
        ("token", WEAK_WEIGHT, False),
    ]
    assert found.matched_words == ("jwt", "token")
    assert found.confidence == round(confidence_of_weight(STRONG_WEIGHT + WEAK_WEIGHT), 2)


def test_typo_has_a_lower_weight() -> None:
    found = detect_intent("autentication", "autentication").categories[0]
    assert found.matches[0].weight == pytest.approx(STRONG_WEIGHT * TYPO_FACTOR)


def test_repeated_word_counts_once() -> None:
    assert categories_of("login login login") == categories_of("login")


@pytest.mark.parametrize(
    ("word", "distance"), [("api", 0), ("test", 1), ("tests1"[:6], 1), ("pattern", 2), ("authentication", 2)]
)
def test_maximum_edit_distance_by_length(word: str, distance: int) -> None:
    assert max_edit_distance(word) == distance


@pytest.mark.parametrize("word", ["a", "is", "me", "to", "the", "for", "how", "ui", "tset"[:3]])
def test_short_words_are_never_typos(word: str) -> None:
    assert closest_keyword(word, ["api", "test", "auth", "is", "ui"], frozenset()) == ""


@pytest.mark.parametrize("text", ["tell me a joke", "write a poem to mom", "what a night", "a is me to"])
def test_common_words_are_not_keywords(text: str) -> None:
    assert not [m for c in detect_intent(text, text).categories for m in c.matches if m.kind == "typo"]


@pytest.mark.parametrize("word", ["calling", "staring", "dialect", "text", "rest"])
def test_common_english_words_are_not_typos(word: str) -> None:
    text = f"the {word} of the day in main.py"
    assert not [m for c in detect_intent(text, text).categories for m in c.matches if m.kind == "typo"]


def test_defined_name_is_not_a_typo() -> None:
    text = "where is databse used"
    assert detect_intent(text, text, is_defined=lambda name: name == "databse").categories[0].name == "general"


def test_general_is_the_fallback_category() -> None:
    assert next(iter(categories_of("where do I start reading this repo?"))) == "general"
    assert "general" not in categories_of("where in the repo is the login?")


def test_keyword_matches_whole_words_only() -> None:
    assert "frontend" not in categories_of("requiring a guide")  # both words contain "ui"
