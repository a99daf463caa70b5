"""OpenAI-compatible endpoint, used through the `openai` client.

The time-outs of the client restart with every byte, so that it has no limit for a whole exchange.  Each request is
therefore a task on an event loop in a thread of its own, which can be cancelled at any time; that closes its
connection.  transport.py decides which headers are sent and how much is received.  openai is imported in that thread,
on the first request.

Only the user's own settings are used, because they determine where questions are sent.  The key comes from the settings
or from one environment variable, and is sent in the header of requests only.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import msgspec

from promptls.model import CancelToken, Problem
from promptls.prompt.language_model.client import (
    LanguageModel,
    LanguageModelError,
    wait_for_answer,
)
from promptls.prompt.layouts import Message
from promptls.settings import LanguageModelSettings
from promptls.util.packages import extra_command

GRACE_S = 0.5
"""Time after the task's own time-out, in seconds; then its thread is blocked, for example by the import of openai."""

REASONING_TOKEN_FACTOR = 8
"""Factor for the token limit of models that count their reasoning as a part of the answer."""


class Endpoint:
    """Completion function for one model of one server.  Thread-safe; requests may overlap; `close` ends its thread."""

    def __init__(self, url: str, model: str, key: str, timeout_s: float, proxy: str = "") -> None:
        self.url = url
        self.model = model
        self.timeout_s = timeout_s
        self._key = key
        self._proxy = proxy
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Any = None
        self._closed = False
        self._is_reasoning_model = False  # it expects "max_completion_tokens" and no temperature

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def __call__(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        """Return the answer to a chat, with temperature 0; see `CompletionFunction`."""
        loop = self._start_loop()
        chat = [{"role": message.role, "content": message.content} for message in messages]
        future = asyncio.run_coroutine_threadsafe(self._complete_within_timeout(chat, max_tokens), loop)
        answer: str = wait_for_answer(future, self.timeout_s, token, self.url, GRACE_S)
        return answer

    def close(self) -> None:
        """Cancel all requests and close all connections."""
        with self._lock:
            is_first, self._closed = not self._closed, True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if is_first:  # a second stop would interrupt the shutdown
            loop.call_soon_threadsafe(loop.stop)
        thread.join(2.0)

    # ------------------------------------------------------------ event loop

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise LanguageModelError("the language model has been switched off")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run_loop, args=(self._loop,), name="promptls-language-model", daemon=True
                )
                self._thread.start()
            return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._cancel_tasks())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _cancel_tasks(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    # ------------------------------------------------------------ requests

    async def _complete_within_timeout(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        self._ensure_client()  # before the time-out: importing the client takes a second or two
        try:
            return await asyncio.wait_for(self._complete(chat, max_tokens), self.timeout_s)
        except (asyncio.TimeoutError, TimeoutError):
            raise LanguageModelError(f"{self.url} did not answer within {self.timeout_s:g} s") from None

    async def _complete(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        try:
            return await self._complete_once(chat, max_tokens)
        except LanguageModelError as error:
            if not error.wrong_parameters or self._is_reasoning_model:
                raise
        self._is_reasoning_model = True
        return await self._complete_once(chat, max_tokens)

    async def _complete_once(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        import openai  # type: ignore[import-not-found,unused-ignore]  # an optional dependency

        limits: dict[str, Any] = {"max_tokens": max_tokens, "temperature": 0}
        if self._is_reasoning_model:
            limits = {"max_completion_tokens": max_tokens * REASONING_TOKEN_FACTOR}
        chats = self._ensure_client().chat.completions.with_raw_response
        try:
            response = await chats.create(model=self.model, messages=chat, **limits)
        except openai.APITimeoutError:
            raise LanguageModelError(f"{self.url} did not answer within {self.timeout_s:g} s") from None
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__  # the text of the error may contain the key
            raise LanguageModelError(f"the connection to {self.url} failed ({cause})") from None
        return self._message_text(response.content)

    def _ensure_client(self) -> Any:
        if self._client is None:
            import openai

            from promptls.prompt.language_model.transport import create_client

            self._client = openai.AsyncOpenAI(
                # Missing values would be taken from the environment; transport.py adds the key.
                api_key="-",
                organization="",
                project="",
                webhook_secret="",
                base_url=self.url,
                timeout=self.timeout_s,
                max_retries=0,
                http_client=create_client(self.url, self._key, self._proxy),
            )
        return self._client

    def _message_text(self, body: bytes) -> str:
        """Return the text of the first choice of a chat completion."""
        try:
            choice = msgspec.json.decode(body)["choices"][0]  # noqa: TID251  (plain values)
            content = choice["message"]["content"]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError):
            raise LanguageModelError(f"{self.url} did not answer with a chat completion") from None
        if not isinstance(content, str) or not content.strip():
            raise LanguageModelError(f"{self.url} answered without text")
        return content


# ---------------------------------------------------------------- settings


def connect_endpoint(settings: LanguageModelSettings, environ: Mapping[str, str]) -> LanguageModel | Problem:
    """Return the language model at the configured endpoint, a `Problem` if it is not available."""
    url = _base_url(settings.endpoint)
    if isinstance(url, Problem):
        return url
    if not settings.model.strip():
        return Problem("languageModel.model is empty.", "Name a model of the endpoint.")
    key = (settings.key or environ.get(settings.key_env, "")).strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        return Problem("The key of the language model contains invalid characters.", "Copy it again.")
    if settings.proxy and not re.match(r"https?://[^/\s]", settings.proxy):
        return Problem("languageModel.proxy is not a URL.", 'Write it as "http://host:port".')
    if find_spec("openai") is None:
        return Problem(
            "A language model endpoint needs the package openai, which is not installed.",
            f"Run `{extra_command('openai')}`.",
        )
    endpoint = Endpoint(url, settings.model.strip(), key, settings.timeout_s, settings.proxy)
    host = urlsplit(url).hostname or ""
    return LanguageModel(
        endpoint,
        f"{settings.model.strip()} at {host}",
        warnings=_encryption_warnings(url, bool(key)),
        sends_code=settings.send_code,
        timeout_s=settings.timeout_s,
        close=endpoint.close,
    )


def _base_url(text: str) -> str | Problem:
    """Return the base URL, without a trailing slash and without the path of chat completions."""
    text = text.strip()
    example = 'Write it as "https://api.example.com/v1".'
    if not text:
        return Problem("languageModel.endpoint is empty.", example)
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or not re.fullmatch(r"[\x21-\x7e]+", text):
        return Problem("languageModel.endpoint is not an http or https URL.", example)
    if parts.username is not None or parts.query or parts.fragment:
        return Problem("languageModel.endpoint contains a user name, a query or a fragment.", example)
    return text.rstrip("/").removesuffix("/chat/completions")


def _encryption_warnings(url: str, key: bool) -> tuple[str, ...]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost" or host.endswith(".localhost"):
        return ()
    try:
        if ipaddress.ip_address(host).is_loopback:
            return ()
    except ValueError:
        pass
    sent = "Questions and the key are" if key else "Questions are"
    return (f"{sent} sent to {host} without encryption; use an https URL.",)
