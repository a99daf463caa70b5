"""Whether looking into the workspace can help."""

import pytest

from promptls.prompt.intent import understand


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
def test_talk_is_not_about_the_code(text: str) -> None:
    intent = understand(text, text)
    assert intent.codebase is False
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
def test_what_names_code_is(text: str) -> None:
    assert understand(text, text).codebase is True


@pytest.mark.parametrize("text", ["tell me a joke", "thanks", "hi", ""])
def test_a_mention_settles_it(text: str) -> None:
    intent = understand(f"{text} @src/app.py", text)
    assert (intent.codebase, intent.mentioned, intent.confidence_label) == (True, True, "high")


def test_a_name_of_the_workspace_speaks_for_it() -> None:
    text = "what is a Monad?"
    assert understand(text, text).codebase is False
    assert understand(text, text, known=lambda name: name.lower() == "monad").codebase is True


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("where is `parse_header` called in this project?", "high"),
        ("thank you", "high"),
        ("hm what about it then", "medium"),
    ],
)
def test_confidence_has_a_name(text: str, label: str) -> None:
    intent = understand(text, text)
    assert intent.confidence_label == label
    assert intent.evidence


def test_a_word_that_the_workspace_uses_is_no_word_of_the_world_outside() -> None:
    question = "How is a discount applied to the price of the cart?"
    assert understand(question, question, spoken=lambda word: word == "price").codebase
    assert not understand("What is the price of pizza?", "What is the price of pizza?").codebase
