"""Relevance of the workspace to a question."""

import pytest

from promptls.prompt.intent.detect import detect_intent


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tell me a joke",
            "write a poem to mom",
            "hi there, how are you?",
            "thanks, that worked!",
            "good morning everyone",
        ),
        *(
            "what is the capital of france?",
            "what's the difference between tcp and udp",
            "who are you?",
            "lol",
            "谢谢",
            "おはよう",
        ),
        *("erzähl mir einen Witz", "muchas gracias", "merci beaucoup", "what is a closure?"),
    ],
)
def test_small_talk_and_general_knowledge_are_not_about_the_codebase(text: str) -> None:
    intent = detect_intent(text, text)
    assert intent.about_codebase is False
    assert intent.confidence >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tell me a joke about our codebase's `parse_header`",
            "write a poem generator in poems.py",
            "where is the joke of the day loaded?",
        ),
        *(
            "thanks, but the login still fails",
            "what is the difference between Store and SessionStore",
            "hi, how do sessions end?",
        ),
        *("what is a Widget in this project?", "why", "login?", "数据库在哪里配置"),
    ],
)
def test_questions_with_code_names_are_about_the_codebase(text: str) -> None:
    assert detect_intent(text, text).about_codebase is True


@pytest.mark.parametrize("text", ["tell me a joke", "thanks", "hi", ""])
def test_message_with_a_mention_is_about_the_codebase(text: str) -> None:
    intent = detect_intent(f"{text} @src/app.py", text)
    assert (intent.about_codebase, intent.has_mentions, intent.confidence_label) == (True, True, "high")


def test_defined_name_is_evidence() -> None:
    text = "what is a Monad?"
    assert detect_intent(text, text).about_codebase is False
    assert detect_intent(text, text, is_defined=lambda name: name.lower() == "monad").about_codebase is True


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("where is `parse_header` called in this project?", "high"),
        ("thank you", "high"),
        ("hm what about it then", "medium"),
    ],
)
def test_confidence_label(text: str, label: str) -> None:
    intent = detect_intent(text, text)
    assert intent.confidence_label == label
    assert intent.evidence


def test_word_used_in_the_workspace_is_not_evidence_against_relevance() -> None:
    question = "How is a discount applied to the price of the cart?"
    assert detect_intent(question, question, is_used_word=lambda word: word == "price").about_codebase
    assert not detect_intent("What is the price of pizza?", "What is the price of pizza?").about_codebase
