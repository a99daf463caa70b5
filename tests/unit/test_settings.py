from pathlib import Path

import pytest

from promptls.settings import Settings, config_file, parse, user_settings


def test_nothing_set_means_the_defaults() -> None:
    assert parse({}) == (Settings(), [])
    assert parse(None) == (Settings(), [])


def test_a_budget_is_at_most_what_any_model_reads() -> None:
    settings, problems = parse({"budget": {"tokens": 10**400}})
    assert settings == Settings()
    assert [p.message for p in problems] == ["The setting budget.tokens is ignored: expected `int` <= 100000000."]


def test_what_is_right_is_taken_and_what_is_wrong_is_named() -> None:
    settings, problems = parse({"index": {"maxFileSize": 5, "workers": "many", "nonsense": 1}, "budget": {"tokens": 7}})
    assert settings.index.max_file_size == 5
    assert settings.index.workers == Settings().index.workers
    assert settings.budget.tokens == 7
    assert [p.message for p in problems] == [
        "The setting index.workers is ignored: expected `int`, got `str`.",
        "The setting index.nonsense is ignored: object contains unknown field `nonsense`.",
    ]


@pytest.mark.parametrize("data", [5, [], "x", {"index": 5}, {"index": {"maxFileSize": 0}}, {"indx": {}}])
def test_garbage_is_reported_and_changes_nothing(data: object) -> None:
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
def test_a_workspace_cannot_name_a_model_an_endpoint_or_a_folder(data: dict[str, object]) -> None:
    settings, problems = parse(data)
    assert settings == Settings()
    assert "only in your own settings" in problems[0].message
    trusted, none = parse(data, trusted=True)
    assert trusted != Settings()
    assert not none


@pytest.mark.parametrize(
    ("written", "tokens", "told"),
    [
        (b"[budget]\ntokens = 3000\n", 3000, ""),
        (b"\xef\xbb\xbf[budget]\ntokens = 3000\n", 3000, ""),
        ("# größer\n[budget]\ntokens = 3000\n".encode("latin-1"), 0, "is not in UTF-8"),
        ("[budget]\ntokens = 3000\n".encode("utf-16"), 0, "is not in UTF-8"),
        (b"[budget\n", 0, "cannot be read"),
    ],
)
def test_the_users_file_as_it_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bytes, tokens: int, told: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir(parents=True)
    config_file().write_bytes(written)
    settings, problems = user_settings()
    assert settings.budget.tokens == tokens
    assert [told in problem.message for problem in problems] == [True] * bool(told)
