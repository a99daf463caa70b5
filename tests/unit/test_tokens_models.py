"""Model table: budgets and vocabularies, and overrides of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.prompt.tokens import budget_for, model_table, models, user_models, vocabulary_of
from promptls.settings import config_file

# ---------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("qwen2.5-coder:3b", 3000),
        ("qwen2.5-coder:7b", 4000),
        ("llama3.2", 3000),
        ("llama-3.3-70b", 20000),
        ("gpt-4", 6000),
        ("gpt-4-turbo", 20000),
        ("GPT-4o", 20000),
        ("anthropic/claude-sonnet-4.5", 60000),
        ("us.anthropic.claude-opus-4-20250514-v1:0", 60000),
        ("openrouter/meta-llama/Llama-3.3-70B-Instruct", 20000),
        ("openrouter/x-ai/grok-4:free", 60000),
        ("claude-sonnet-4@20250514", 60000),
        ("ollama:qwen3:4b", 6000),
        ("meta.llama3-3-70b-instruct-v1:0", 20000),
        ("moonshotai/Kimi-K2-Instruct", 40000),
        ("phi:latest", 4000),
    ],
)
def test_budget_of_the_longest_matching_prefix(model: str, tokens: int) -> None:
    assert budget_for(model) == (tokens, None)


@pytest.mark.parametrize("model", ["", "banana-7b", "vendor/unheard-of", "philosopher-7b"])
def test_unknown_model_has_the_default_budget_and_a_warning(model: str) -> None:
    tokens, warning = budget_for(model)
    assert tokens == 8000
    assert warning == f'the model "{model}" is not in the model table; using a budget of 8000 tokens'


def test_warning_names_similar_models() -> None:
    tokens, warning = budget_for("claud-sonnet")
    assert tokens == 8000
    assert warning is not None
    assert warning.endswith("8000 tokens (similar: claude-3-sonnet, claude-sonnet-4, claude-sonnet-5)")


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-5.1-codex", "o200k_base"),
        ("o4-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("claude-opus-4", ""),
        ("", ""),
    ],
)
def test_vocabulary_of_a_model(model: str, vocabulary: str) -> None:
    assert vocabulary_of(model) == vocabulary


# ---------------------------------------------------------------- user table


def test_user_table_overrides_the_built_in_table(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(
        'default = 9000\n[models]\n"Gpt-4" = 7000\n"house-7b" = 1234\n[vocabularies]\nhouse = "cl100k_base"\n'
    )
    assert budget_for("gpt-4", path) == (7000, None)
    assert budget_for("house-7b-v2", path) == (1234, None)
    assert budget_for("gpt-4o", path) == (20000, None)
    assert budget_for("banana", path)[0] == 9000
    assert vocabulary_of("house-7b", path) == "cl100k_base"
    assert model_table(path).problems == ()
    assert models(path)[0] == 9000
    path.write_text('[models]\n"gpt-4" = 7001\nx = 1')
    assert budget_for("gpt-4", path) == (7001, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("models = 3", "Expected `object`, got `int` - at `$.models`"),
        ('[models]\n"a" = 0', "Expected `int` >= 1 - at `$.models[...]`"),
        ('[models]\n"a" = true', "Expected `int`, got `bool` - at `$.models[...]`"),
        ("[models]\na.b = 3", "Expected `int`, got `object` - at `$.models[...]`"),
        ('default = "many"', "Expected `int | null`, got `str` - at `$.default`"),
        ('[vocabularies]\n"a" = "p50k"', "Invalid enum value 'p50k' - at `$.vocabularies[...]`"),
        ("[budgets]", "Object contains unknown field `budgets`"),
        ("[[[", "Invalid"),
    ],
)
def test_user_table_with_an_error_is_not_used(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(content)
    (problem,) = model_table(path).problems
    assert message in problem.message
    assert str(path) in problem.message
    assert budget_for("gpt-4o", path) == (20000, None)


def test_missing_user_table_is_accepted(tmp_path: Path) -> None:
    assert model_table(tmp_path / "models.toml") == model_table()
    assert user_models() == config_file().parent / "models.toml"
