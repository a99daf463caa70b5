"""OpenAI-compatible endpoint, tested with a server that follows or violates the protocol."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from chatserver import Action, ChatServer, break_off, completion, drip, flood, hang, raw, refuse, say, slam
from promptls.model import Cancelled, CancelToken
from promptls.prompt.language_model.client import LanguageModelError
from promptls.prompt.language_model.endpoint import REASONING_TOKEN_FACTOR, Endpoint
from promptls.prompt.language_model.transport import MAX_BODY_BYTES
from promptls.prompt.layouts import Message

CHAT = (Message("system", "Say yes."), Message("user", "é?"))
KEY = "sk-test-0123456789"


@contextmanager
def serving(*actions: Action, timeout_s: float = 20.0, key: str = KEY) -> Iterator[tuple[ChatServer, Endpoint]]:
    with ChatServer(actions) as server:
        endpoint = Endpoint(server.url, "m1", key, timeout_s)
        try:
            yield server, endpoint
        finally:
            endpoint.close()


@pytest.fixture(autouse=True, scope="module")
def openai_is_imported() -> None:
    """Import openai first, so that measured times are those of the server."""
    with serving(say("yes"), timeout_s=120) as (_, endpoint):
        ask(endpoint)


def ask(endpoint: Endpoint) -> str:
    return endpoint(CHAT, 50, CancelToken())


def failure(endpoint: Endpoint) -> LanguageModelError:
    with pytest.raises(LanguageModelError) as caught:
        ask(endpoint)
    assert KEY not in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def test_answer() -> None:
    with serving(say("yes")) as (server, endpoint):
        assert ask(endpoint) == "yes"
        [request] = server.requests
        assert request.path == "/v1/chat/completions"
        assert request.body == {
            "model": "m1",
            "messages": [{"role": "system", "content": "Say yes."}, {"role": "user", "content": "é?"}],
            "max_tokens": 50,
            "temperature": 0,
        }
        assert KEY not in repr(endpoint)


def test_only_required_headers_and_fields_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "from-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for key, expected in ((KEY, f"Bearer {KEY}"), ("", None)):
        with serving(say("yes"), key=key) as (server, endpoint):
            assert ask(endpoint) == "yes"
            headers = dict(server.requests[0].headers)
            assert headers.pop("authorization", None) == expected
            assert headers.pop("user-agent") == "promptls"
            assert set(headers) == {"host", "accept", "accept-encoding", "content-type", "content-length"}


def test_key_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(say("yes"), refuse(401, f"bad {KEY}"), break_off) as (_, endpoint):
        ask(endpoint)
        failure(endpoint)
        failure(endpoint)
    assert "POST" in caplog.text  # the HTTP layers do log
    assert KEY not in caplog.text and "Bearer" not in caplog.text


def test_connection_is_reused() -> None:
    ports: list[int] = []

    def note(handler: object) -> None:
        ports.append(handler.client_address[1])  # type: ignore[attr-defined]
        say("yes")(handler)  # type: ignore[arg-type]

    with serving(note) as (_, endpoint):
        assert [ask(endpoint), ask(endpoint), ask(endpoint)] == ["yes"] * 3
        assert len(ports) == 3 and len(set(ports)) == 1


@pytest.mark.parametrize("action", [hang, drip])
def test_time_out_applies_to_the_whole_exchange(action: Action) -> None:
    with serving(action, timeout_s=0.4) as (server, endpoint):
        assert str(failure(endpoint)) == f"{endpoint.url} did not answer within 0.4 s"
        assert server.left.wait(60)
        assert len(server.requests) == 1


@pytest.mark.parametrize("action", [hang, drip])
def test_cancellation_closes_the_connection_at_once(action: Action) -> None:
    token = CancelToken()
    with serving(action, timeout_s=100) as (server, endpoint):
        threading.Thread(target=lambda: (server.arrived.wait(60), token.cancel())).start()
        with pytest.raises(Cancelled):
            endpoint(CHAT, 50, token)
        assert server.left.wait(60)


def test_close_cancels_running_requests() -> None:
    with serving(hang, timeout_s=100) as (server, endpoint):
        threading.Thread(target=lambda: (server.arrived.wait(60), endpoint.close())).start()
        failure(endpoint)
        assert server.left.wait(60)
        assert str(failure(endpoint)) == "the language model has been switched off"
        assert len(server.requests) == 1


def test_requested_delay_is_reported() -> None:
    with serving(refuse(429, "slow\ndown.", {"Retry-After": "60"})) as (server, endpoint):
        failed = failure(endpoint)
        assert str(failed) == f"{endpoint.url} answered with status 429: slow down"
        assert (failed.retry_after_s, failed.permanent) == (60, False)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("action", "sentence", "lasting"),
    [
        (refuse(401, f"Incorrect key: {KEY}"), "answered with status 401: Incorrect key: …", True),
        (refuse(404, "no model m1"), "answered with status 404: no model m1", True),
        (refuse(401, "x" * 190 + KEY), f"answered with status 401: {'x' * 190}…", True),
        (refuse(400, "bad"), "answered with status 400: bad", False),
        (refuse(429, "", {"Retry-After": "soon"}), "answered with status 429", False),
        (refuse(502, "x" * 1000), f"answered with status 502: {'x' * 200}", False),
        (break_off, "failed (RemoteProtocolError)", False),
        (slam, "failed (RemoteProtocolError)", False),
        (raw(completion("yes"), "application/json", {"Content-Encoding": "gzip"}), "answered with an unsupported encoding", False),
        (refuse(400, "bad\u202e"), "answered with status 400: bad⟦U+202E⟧", False),
        (refuse(302, "", {"Location": "http://127.0.0.1:9/v1"}), "redirects to another address; redirects are not followed", True),
        (refuse(307, "", {"Location": "/elsewhere"}), "redirects to another address; redirects are not followed", True),
        (raw(b"\xff{"), "did not answer with a chat completion", False),
        (raw(b"<html></html>", "text/html"), "did not answer with a chat completion", False),
        (raw(b"[" * 100_000), "did not answer with a chat completion", False),
        (raw(b""), "did not answer with a chat completion", False),
        (raw(b'{"choices": [{"message": "yes"}]}'), "did not answer with a chat completion", False),
        (say(None), "answered without text", False),
        (say(" \n"), "answered without text", False),
        (raw(completion("x" * MAX_BODY_BYTES)), "answered with more than 256 KB", False),
        (flood(), "answered with more than 256 KB", False),
        (flood(400), "answered with status 400", False),
    ],
)  # fmt: skip
def test_failure_is_reported(action: Action, sentence: str, lasting: bool) -> None:
    with serving(action) as (server, endpoint):
        failed = failure(endpoint)
        assert (str(failed).removeprefix("the connection to "), failed.permanent) == (
            f"{endpoint.url} {sentence}",
            lasting,
        )
        assert len(server.requests) == 1


def test_redirect_is_not_followed() -> None:
    with ChatServer([say("stolen")]) as other, serving(refuse(307, "", {"Location": other.url})) as (_, endpoint):
        failure(endpoint)
        assert other.requests == []


def test_refused_connection() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        endpoint = Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "m1", KEY, 20)
        try:
            assert str(failure(endpoint)) == f"the connection to {endpoint.url} failed (ConnectError)"
        finally:
            endpoint.close()


@pytest.mark.parametrize(
    "complaint",
    ["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "'temperature' does not support 0"],
)
def test_parameters_of_reasoning_models(complaint: str) -> None:
    with serving(refuse(400, complaint), say("yes")) as (server, endpoint):
        assert [ask(endpoint), ask(endpoint)] == ["yes", "yes"]
        assert [set(r.body) - {"model", "messages"} for r in server.requests] == [
            {"max_tokens", "temperature"}, {"max_completion_tokens"}, {"max_completion_tokens"},
        ]  # fmt: skip
        assert server.requests[1].body["max_completion_tokens"] == 50 * REASONING_TOKEN_FACTOR


def test_requests_may_overlap() -> None:
    """The server answers two requests only after both have arrived."""
    both = threading.Barrier(2)

    def together(handler: object) -> None:
        both.wait(60)
        say("yes")(handler)  # type: ignore[arg-type]

    with serving(together) as (_, endpoint):
        answers: list[str] = []
        threads: Sequence[threading.Thread] = [
            threading.Thread(target=lambda: answers.append(ask(endpoint))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == ["yes", "yes"]
