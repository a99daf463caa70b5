"""The optional language model: settings, requests, back-off and cache of answers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from chatserver import ChatServer, say
from promptls.model import Cancelled, CancelToken, Problem
from promptls.prompt.language_model import (
    LanguageModel,
    LanguageModelError,
    connect_language_model,
    editor_model,
)
from promptls.prompt.language_model.client import INITIAL_BACKOFF_S, MAX_BACKOFF_S, MAX_CACHED_ANSWERS
from promptls.prompt.layouts import Message
from promptls.settings import LanguageModelSettings
from promptls.util.packages import extra_command

KEY = "sk-test-0123456789"


class ScriptedCompletion:
    """Completion function with scripted answers, in order; the last one repeats."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[Message, ...]] = []

    def __call__(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(tuple(messages))
        if isinstance(answer, Exception):
            raise answer
        return answer


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_cache_keeps_the_most_recently_used_answers() -> None:
    model = LanguageModel(ScriptedCompletion("x"), "m")
    chats = [(Message("user", str(n)),) for n in range(MAX_CACHED_ANSWERS + 1)]
    for chat in chats[:-1]:
        model.cache_answer(chat, "yes")
    assert model.cached_answer(chats[0]) == "yes"
    model.cache_answer(chats[-1], "yes")
    assert [c[0].content for c in chats if model.cached_answer(c) is None] == ["1"]


# ---------------------------------------------------------------- back-off


def failing(*answers: str | Exception) -> tuple[LanguageModel, ScriptedCompletion, Clock]:
    completion, clock = ScriptedCompletion(*answers), Clock()
    return LanguageModel(completion, "m", clock=clock), completion, clock


def outcome(model: LanguageModel) -> str:
    try:
        return model.complete((), 1, CancelToken())
    except LanguageModelError as failure:
        return str(failure)


def test_back_off_doubles_up_to_a_maximum() -> None:
    model, completion, clock = failing(LanguageModelError("down"))
    assert [outcome(model), outcome(model)] == ["down", "down"]
    pauses = []
    for _ in range(8):
        start = len(completion.requests)
        assert outcome(model).startswith("down; next attempt in ")
        assert len(completion.requests) == start
        pause = 0.0
        while len(completion.requests) == start:
            clock.now += 10
            pause += 10
            outcome(model)
        pauses.append(pause)
    assert pauses[:3] == [INITIAL_BACKOFF_S, 2 * INITIAL_BACKOFF_S, 4 * INITIAL_BACKOFF_S]
    assert pauses[-1] == MAX_BACKOFF_S == max(pauses)


def test_success_resets_the_back_off() -> None:
    model, completion, _ = failing(LanguageModelError("down"), "yes", LanguageModelError("down"), "yes")
    assert [outcome(model) for _ in range(4)] == ["down", "yes", "down", "yes"]
    assert len(completion.requests) == 4


def test_permanent_error_starts_the_back_off_at_once() -> None:
    model, completion, clock = failing(LanguageModelError("bad key", permanent=True), "yes")
    assert [outcome(model), outcome(model)] == ["bad key", "bad key; next attempt in 30 s"]
    clock.now += 30
    assert outcome(model) == "yes"
    assert len(completion.requests) == 2


def test_requested_delay_is_respected() -> None:
    model, _, clock = failing(LanguageModelError("slow down", retry_after_s=1200), "yes")
    assert [outcome(model), outcome(model)] == ["slow down", "slow down; next attempt in 20 min"]
    clock.now += 1200
    assert outcome(model) == "yes"


def test_cancellation_is_not_a_failure() -> None:
    model, completion, _ = failing(Cancelled(), Cancelled(), Cancelled(), "yes")
    for _ in range(3):
        with pytest.raises(Cancelled):
            model.complete((), 1, CancelToken())
    assert outcome(model) == "yes"
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        model.complete((), 1, token)
    assert len(completion.requests) == 4


# ---------------------------------------------------------------- the editor's model


def answering(answer: Callable[[Future[Any]], None]) -> tuple[Any, list[dict[str, Any]], list[Future[Any]]]:
    asked: list[dict[str, Any]] = []
    futures: list[Future[Any]] = []

    def send(params: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        asked.append(params)
        futures.append(future)
        answer(future)
        return future

    return send, asked, futures


def test_request_to_the_editor() -> None:
    send, asked, _ = answering(lambda future: future.set_result({"text": "yes"}))
    assert editor_model(send, 20)((Message("user", "x"),), 7, CancelToken()) == "yes"
    assert asked == [{"messages": [{"role": "user", "content": "x"}], "maxTokens": 7}]


@pytest.mark.parametrize("result", [None, {}, {"text": ""}, {"text": 3}, {"text": None}, [], "yes"])
def test_empty_answer_of_the_editor_is_an_error(result: Any) -> None:
    send, _, _ = answering(lambda future: future.set_result(result))
    with pytest.raises(LanguageModelError, match="returned no text"):
        editor_model(send, 20)((), 7, CancelToken())


def test_failure_of_the_editor_is_an_error() -> None:
    send, _, _ = answering(lambda future: future.set_exception(ValueError("/home/me")))
    with pytest.raises(LanguageModelError, match=r"^the editor's language model did not answer \(ValueError\)$"):
        editor_model(send, 20)((), 7, CancelToken())
    send, _, _ = answering(lambda future: (future.cancel(), None)[1])
    with pytest.raises(LanguageModelError, match="cancelled"):
        editor_model(send, 20)((), 7, CancelToken())

    def gone(params: dict[str, Any]) -> Future[Any]:
        raise OSError("closed")

    with pytest.raises(LanguageModelError, match="could not be reached"):
        editor_model(gone, 20)((), 7, CancelToken())


def test_time_out_of_the_editor() -> None:
    send, _, futures = answering(lambda future: None)
    with pytest.raises(LanguageModelError, match=r"^the editor's language model did not answer within 0.1 s$"):
        editor_model(send, 0.1)((), 7, CancelToken())
    assert futures[0].cancelled()


def test_request_to_the_editor_can_be_cancelled() -> None:
    token = CancelToken()
    send, _, futures = answering(lambda future: threading.Thread(target=token.cancel).start())
    with pytest.raises(Cancelled):
        editor_model(send, 100)((), 7, token)
    assert futures[0].cancelled()


# ---------------------------------------------------------------- settings


def connect(environ: Mapping[str, str] | None = None, **settings: Any) -> LanguageModel | Problem | None:
    return connect_language_model(LanguageModelSettings(**settings), environ or {})


def test_language_model_is_off_by_default() -> None:
    assert connect_language_model(LanguageModelSettings(), {"PROMPTLS_API_KEY": KEY, "OPENAI_API_KEY": KEY}) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "languageModel.endpoint is empty."),
        ({"endpoint": "api.example.com/v1"}, "languageModel.endpoint is not an http or https URL."),
        ({"endpoint": "http://[::1/v1"}, "languageModel.endpoint is not an http or https URL."),
        ({"endpoint": f"https://me:{KEY}@a/v1"}, "languageModel.endpoint contains a user name, a query or a fragment."),
        ({"endpoint": f"https://a/v1?key={KEY}"}, "languageModel.endpoint contains a user name, a query or a fragment."),
        ({"endpoint": "https://a/v1"}, "languageModel.model is empty."),
        ({"endpoint": "https://a/v1", "model": "m", "key": "a\nb"}, "The key of the language model contains invalid characters."),
        ({"endpoint": "https://a/v1", "model": "m", "proxy": "a:80"}, "languageModel.proxy is not a URL."),
    ],
)  # fmt: skip
def test_invalid_settings_are_problems(settings: dict[str, Any], message: str) -> None:
    problem = connect(use="endpoint", **settings)
    assert isinstance(problem, Problem)
    assert (problem.message, KEY in problem.suggestion) == (message, False)
    assert problem.suggestion


def test_missing_openai_package_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    problem = connect(use="endpoint", endpoint="https://a/v1", model="m")
    assert isinstance(problem, Problem)
    assert problem.suggestion == f"Run `{extra_command('openai')}`."


def test_editor_without_a_model_is_a_problem() -> None:
    problem = connect_language_model(LanguageModelSettings(use="editor"), {}, None)
    assert isinstance(problem, Problem) and "this editor offers no language model" in problem.message
    send, _, _ = answering(lambda future: future.set_result({"text": "yes"}))
    model = connect_language_model(LanguageModelSettings(use="editor"), {}, send)
    assert isinstance(model, LanguageModel)
    assert outcome(model) == "yes"


@pytest.mark.parametrize(
    ("endpoint", "key", "warnings"),
    [
        ("https://api.example.com/v1", KEY, ()),
        ("http://localhost:11434/v1", KEY, ()),
        ("http://127.0.0.2:1/v1", KEY, ()),
        ("http://[::1]:1/v1", KEY, ()),
        ("http://10.0.0.7/v1", "", ("Questions are sent to 10.0.0.7 without encryption; use an https URL.",)),
        ("http://example.com", KEY, ("Questions and the key are sent to example.com without encryption; use an https URL.",)),
        ("http://localhost.example.com", "", ("Questions are sent to localhost.example.com without encryption; use an https URL.",)),
    ],
)  # fmt: skip
def test_unencrypted_connection_is_a_warning(endpoint: str, key: str, warnings: tuple[str, ...]) -> None:
    model = connect(use="endpoint", endpoint=endpoint, model="m", key=key)
    assert isinstance(model, LanguageModel)
    assert model.warnings == warnings


def test_key_is_never_shown() -> None:
    settings = LanguageModelSettings(use="endpoint", key=KEY, proxy=f"http://me:{KEY}@p")
    assert KEY not in repr(settings) + str(settings) + f"{settings}" + repr([settings])
    assert "endpoint" in repr(settings)


@pytest.mark.parametrize(
    ("settings", "environ", "expected"),
    [
        ({"key": KEY}, {"PROMPTLS_API_KEY": "other"}, KEY),
        ({}, {"PROMPTLS_API_KEY": f" {KEY}\n"}, KEY),
        ({"key_env": "GROQ_API_KEY"}, {"GROQ_API_KEY": KEY, "PROMPTLS_API_KEY": "other"}, KEY),
        ({}, {"OPENAI_API_KEY": "other"}, None),
    ],
)
def test_key_from_settings_or_environment(
    settings: dict[str, Any], environ: dict[str, str], expected: str | None
) -> None:
    with ChatServer([say("yes")]) as server:
        url = f"{server.url}/chat/completions"  # the full URL is accepted, too
        model = connect(environ, use="endpoint", endpoint=url, model="m", **settings)
        assert isinstance(model, LanguageModel)
        try:
            assert outcome(model) == "yes"
        finally:
            model.close()
        [request] = server.requests
        assert request.headers.get("authorization") == (f"Bearer {expected}" if expected else None)
        assert request.path == "/v1/chat/completions"
