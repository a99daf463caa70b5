"""Parsing of settings: valid values are applied, invalid ones are reported and keep their defaults."""

from pathlib import Path

import pytest

from promptls.settings import Settings, config_file, parse, user_settings


def test_valid_values_are_applied_and_invalid_ones_are_reported() -> None:
    settings, problems = parse({"index": {"maxFileSize": 5, "workers": "many", "nonsense": 1}, "budget": {"tokens": 7}})
    assert settings.index.max_file_size == 5
    assert settings.index.workers == Settings().index.workers
    assert settings.budget.tokens == 7
    assert [p.message for p in problems] == [
        "The setting index.workers is ignored: expected `int`, got `str`.",
        "The setting index.nonsense is ignored: object contains unknown field `nonsense`.",
    ]


@pytest.mark.parametrize("data", [5, [], "x", {"index": 5}, {"index": {"maxFileSize": 0}}, {"indx": {}}])
def test_invalid_data_is_reported_and_changes_nothing(data: object) -> None:
    settings, problems = parse(data)
    assert settings == Settings()
    assert problems
    assert all(p.message.endswith(".") for p in problems)


@pytest.mark.parametrize(
    "data",
    [
        {"embedding": {"model": "/evil"}},
        {"cache": {"folder": "/evil"}},
        {"budget": {"tokenizer": "/evil"}},
        {"languageModel": {"endpoint": "http://evil"}},
        {"languageModel": {"use": "endpoint"}},
        {"secrets": {"allowFiles": True}},
    ],
)
def test_workspace_cannot_change_trusted_settings(data: dict[str, object]) -> None:
    settings, problems = parse(data)
    assert settings == Settings()
    assert "a workspace cannot set it" in problems[0].message
    trusted, no_problems = parse(data, trusted=True)
    assert trusted != Settings()
    assert not no_problems


@pytest.mark.parametrize(
    ("content", "tokens", "message"),
    [
        (b"[budget]\ntokens = 3000\n", 3000, ""),
        (b"\xef\xbb\xbf[budget]\ntokens = 3000\n", 3000, ""),
        ("# größer\n[budget]\ntokens = 3000\n".encode("latin-1"), 0, "is not UTF-8"),
        (b"[budget\n", 0, "Cannot read"),
    ],
)
def test_settings_file_in_every_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, tokens: int, message: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    config_file().write_bytes(content)
    settings, problems = user_settings()
    assert settings.budget.tokens == tokens
    assert [message in problem.message for problem in problems] == [True] * bool(message)
