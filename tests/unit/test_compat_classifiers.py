"""The classifiers of the compat profiles; expected values are computed by hand."""

import pytest

from promptls.extensions.compat.codebuddy import classifier
from promptls.extensions.compat.codebuddy.classifier import classify_keywords, extract_keywords, question_types
from promptls.extensions.compat.codebuddy.layout import question_type_label
from promptls.extensions.compat.prompto import ActionAndKeywords, classify_action


def test_score_is_three_per_pattern_one_per_keyword_two_per_strong_word() -> None:
    # pattern "how is … handled" 3; keyword authentication 1 ("auth" is too short to match a part of a word); strong 2
    result = classify_keywords("how is authentication handled")
    keyword_count = sum(len(found) for _, found in result.categories)
    assert result.score == 3 + keyword_count + 2
    assert dict(result.categories)["authentication"] == ("authentication",)
    assert (result.label, result.confidence, result.rule) == ("high", 0.9, "pattern")


@pytest.mark.parametrize(
    ("score", "label", "confidence"),
    [(0, "low", 0.4), (2, "low", 0.4), (3, "medium", 0.7), (4, "medium", 0.7), (5, "high", 0.9), (12, "high", 0.9)],
)
def test_confidence_by_score(score: int, label: str, confidence: float) -> None:
    assert classifier.confidence_label(score) == label
    assert classifier.CONFIDENCE[label] == confidence


@pytest.mark.parametrize(
    ("question", "codebase", "rule"),
    [
        ("", False, "empty"),
        ("explain the login without the database", False, "negation"),
        ("how is the cart handled", True, "pattern"),
        ("jest coverage", True, "keywords"),
        ("security", True, "strong"),
        ("lovely evening", False, "nothing"),
        ("jwt", False, "nothing"),  # a keyword, but not a strong indicator, whatever the documentation claims
    ],
)
def test_order_of_the_deciding_rules(question: str, codebase: bool, rule: str) -> None:
    result = classify_keywords(question)
    assert (result.codebase, result.rule) == (codebase, rule)


@pytest.mark.parametrize("before", ["", "please ", "could you be so kind and "])
def test_negation_applies_to_four_words_at_any_position(before: str) -> None:
    assert classify_keywords(f"{before}without one two three database").rule == "negation"
    assert classify_keywords(f"{before}without one two three four database").rule != "negation"


@pytest.mark.parametrize(
    ("word", "category"),
    [
        ("autentication", "authentication"),  # distance 1
        ("databsae", "database"),  # a transposition has the Levenshtein distance 2
        ("migrations", "database"),  # by its stem
    ],
)
def test_misspelled_and_inflected_words_match(word: str, category: str) -> None:
    assert category in dict(classify_keywords(word).categories)


@pytest.mark.parametrize(
    ("question", "types", "label"),
    [
        ("explain the bug", ("debugging", "explanation"), "Debugging + Code Explanation"),
        ("hello", (), "General Inquiry"),
        ("the address of the office", (), "General Inquiry"),  # "add" is a part of "address", not a word
        ("add it", ("feature",), "Feature Request"),
    ],
)
def test_question_types_and_their_label(question: str, types: tuple[str, ...], label: str) -> None:
    assert question_types(question) == types
    assert question_type_label(types) == label


def test_keywords_are_lower_case_ascii_distinct_and_at_most_ten() -> None:
    assert extract_keywords("Where is the User_Model, the user_model of ÄÖ x9?") == ("user_model",)
    assert extract_keywords(" ".join(f"word{i}" for i in range(20))) == tuple(f"word{i}" for i in range(10))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("add a fix for login", ActionAndKeywords("create", ("login",))),  # create is checked first
        ("update how it renders", ActionAndKeywords("modify", ("update", "renders"))),
        ("how does parsing work", ActionAndKeywords("explain", ("does", "parsing", "work"))),
        ("refactor address handling", ActionAndKeywords("refactor", ("refactor", "address", "handling"))),  # not "add"
        ("one two three", ActionAndKeywords("other", ("three",))),
        (
            "alpha beta gamma delta epsilon zeta",
            ActionAndKeywords("other", ("alpha", "beta", "gamma", "delta", "epsilon")),
        ),
    ],
)
def test_prompto_action_and_keywords(question: str, expected: ActionAndKeywords) -> None:
    assert classify_action(question) == expected
