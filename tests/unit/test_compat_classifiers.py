"""The classifiers of CodeBuddy and prompto, each number worked out by hand."""

import pytest

from promptls.prompt.intent import parity
from promptls.prompt.intent.parity import Fallback, classify, fallback, keywords, question_types, type_label


def test_score_is_three_a_pattern_one_a_keyword_two_a_strong_word() -> None:
    # pattern "how is … handled" 3; keyword authentication 1 ("auth" is shorter than a word to be part of); strong 2
    got = classify("how is authentication handled")
    keyword = sum(len(found) for _, found in got.categories)
    assert got.score == 3 + keyword + 2
    assert dict(got.categories)["authentication"] == ("authentication",)
    assert (got.label, got.confidence, got.decided) == ("high", 0.9, "pattern")


@pytest.mark.parametrize(
    ("score", "label", "confidence"),
    [(0, "low", 0.4), (2, "low", 0.4), (3, "medium", 0.7), (4, "medium", 0.7), (5, "high", 0.9), (12, "high", 0.9)],
)
def test_confidence(score: int, label: str, confidence: float) -> None:
    assert parity.confidence_label(score) == label
    assert parity.CONFIDENCE[label] == confidence


@pytest.mark.parametrize(
    ("question", "codebase", "decided"),
    [
        ("", False, "empty"),
        ("  ?! ", False, "empty"),
        ("explain the login without the database", False, "negation"),
        ("how is the cart handled", True, "pattern"),
        ("jest coverage", True, "keywords"),
        ("security", True, "strong"),
        ("lovely evening", False, "nothing"),
        ("jwt", False, "nothing"),  # a keyword, no strong indicator, whatever the document says
    ],
)
def test_order_of_decision(question: str, codebase: bool, decided: str) -> None:
    got = classify(question)
    assert (got.codebase, got.decided) == (codebase, decided)


@pytest.mark.parametrize("question", ["tell me a joke", "write a poem to mom", "is it a me to"])
def test_short_words_match_nothing(question: str) -> None:
    assert classify(question).codebase is False
    assert classify(question).categories == ()


def test_a_part_of_a_word_is_no_keyword_behind_a_negation() -> None:
    assert classify("explain the auth without requiring pigeons").decided != "negation"  # "requiring" has "ui" in it


@pytest.mark.parametrize("before", ["", "please ", "could you be so kind and "])
def test_a_negation_reaches_four_words_wherever_it_stands(before: str) -> None:
    assert classify(f"{before}without one two three database").decided == "negation"
    assert classify(f"{before}without one two three four database").decided != "negation"


@pytest.mark.parametrize(
    ("word", "category"),
    [
        ("autentication", "authentication"),  # distance 1
        ("databsae", "database"),  # a transposition is distance 2 for Levenshtein
        ("migrations", "database"),  # by its stem
        ("authenticating", "authentication"),
    ],
)
def test_misspelled_and_inflected_words(word: str, category: str) -> None:
    assert category in dict(classify(word).categories)


def test_categories_with_more_keywords_come_first() -> None:
    got = classify("schema migration for the login")
    assert [name for name, _ in got.categories][:2] == ["database", "authentication"]


@pytest.mark.parametrize(
    ("question", "types", "label"),
    [
        ("explain the bug", ("debugging", "explanation"), "Debugging + Code Explanation"),
        ("hello", (), "General Inquiry"),
        ("the address of the office", (), "General Inquiry"),  # "add" is a part of "address", and no word here
        ("add it", ("feature",), "Feature Request"),
    ],
)
def test_question_types(question: str, types: tuple[str, ...], label: str) -> None:
    assert question_types(question) == types
    assert type_label(question_types(question)) == label


def test_keywords_are_lower_case_ascii_distinct_and_ten() -> None:
    assert keywords("Where is the User_Model, the user_model of ÄÖ x9?") == ("user_model",)
    assert keywords(" ".join(f"word{i}" for i in range(20))) == tuple(f"word{i}" for i in range(10))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("add a fix for login", Fallback("create", ("login",))),  # create is asked first
        ("update how it renders", Fallback("modify", ("update", "renders"))),
        ("fix what broke", Fallback("fix", ("broke",))),
        ("how does parsing work", Fallback("explain", ("does", "parsing", "work"))),
        ("refactor address handling", Fallback("refactor", ("refactor", "address", "handling"))),  # not "add"
        ("one two three", Fallback("other", ("three",))),
        ("alpha beta gamma delta epsilon zeta", Fallback("other", ("alpha", "beta", "gamma", "delta", "epsilon"))),
    ],
)
def test_fallback(question: str, expected: Fallback) -> None:
    assert fallback(question) == expected
