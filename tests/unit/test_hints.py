"""Model hints: temperature and practices."""

from __future__ import annotations

import pytest

from promptls.prompt.hints import MAX_TOKENS, PromptContents, model_hints


@pytest.mark.parametrize(
    ("action", "temperature"),
    [("fix", 0.3), ("modify", 0.3), ("refactor", 0.4), ("create", 0.5), ("other", 0.5), ("explain", 0.7), ("dance", 0.5)],
)  # fmt: skip
def test_temperature_by_action(action: str, temperature: float) -> None:
    found = model_hints(action, [], "", PromptContents())
    assert (found.temperature, found.max_tokens) == (temperature, 16_384) == (temperature, MAX_TOKENS)


@pytest.mark.parametrize(
    ("model", "fixed"),
    [
        ("gpt-4o", False), ("claude-sonnet-4", False), ("solo1", False), ("llama3.2", False), ("o100", False),
        ("o1", True), ("O3-mini", True), ("openai/o4-mini", True), ("gpt-5.1", True), ("azure/openai/GPT-5-mini", True),
    ],
)  # fmt: skip
def test_models_with_a_fixed_temperature_get_none(model: str, fixed: bool) -> None:
    assert (model_hints("fix", [], model, PromptContents()).temperature is None) == fixed


def test_practices_follow_the_content_of_the_prompt() -> None:
    assert model_hints("fix", ["debugging"], "", PromptContents()).practices == ("variant: baseline",)
    everything = PromptContents(
        variant="citation", recipe="fix", sections=("instructions", "rules", "memory", "context", "question", "rules", "frame"),
        has_type_instructions=True, explicit_count=1, implicit_count=2, reduced_count=1, redacted=True, messages=True,
    )  # fmt: skip
    assert model_hints("fix", ["debugging", "feature"], "", everything).practices == (
        "instructions", "rules", "memory", "for questions of type: debugging, feature", "recipe: fix",
        "variant: citation", "citations", "mentioned context", "gathered context", "fenced data",
        "shortened code", "secrets redacted", "stable beginning",
    )  # fmt: skip


def test_question_without_a_type_is_general() -> None:
    assert (
        model_hints("other", [], "", PromptContents(has_type_instructions=True)).practices[0]
        == "for questions of type: general"
    )
