"""An OpenAI-compatible endpoint, asked through the `openai` client.

The client has no limit on the whole exchange: its time-outs begin anew with every byte.  So each question
is a task on an event loop of our own thread, which can be ended at any moment; that closes its connection.
We retry ourselves, because the client would sleep past the deadline.  What goes over the wire, and how much
comes back, is decided in wire.py.  openai is imported on that thread, when the first question is asked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import msgspec

from promptls.model import CancelToken
from promptls.prompt.language_model.client import Failed
from promptls.prompt.language_model.editor import await_answer
from promptls.prompt.language_model.errors import Refused
from promptls.prompt.layouts.types import Message

PAUSE_S = 0.2
"""Before the one retry, where the server names no time."""
GRACE_S = 0.5
"""The task keeps the time itself; after so much more its thread is held up, by the import of openai say."""

REASONING_ROOM = 8
"""Models that count their thinking as a part of the answer get so many times the tokens."""


class Endpoint:
    """One server and one model.  Any thread; questions may overlap.  `close` ends its thread."""

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
        self._reasoning = False  # the model wants "max_completion_tokens" and takes no temperature

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def __call__(self, messages: Sequence[Message], max_tokens: int, token: CancelToken) -> str:
        """The answer to a chat, with temperature 0.  See `asking.Complete`."""
        loop = self._running()
        chat = [{"role": message.role, "content": message.content} for message in messages]
        future = asyncio.run_coroutine_threadsafe(self._within(chat, max_tokens), loop)
        answer: str = await_answer(future, self.timeout_s, token, self.url, GRACE_S)
        return answer

    def close(self) -> None:
        """End what is under way and close all connections."""
        with self._lock:
            first, self._closed = not self._closed, True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if first:  # stopping twice would stop the tidying up
            loop.call_soon_threadsafe(loop.stop)
        thread.join(2.0)

    # ------------------------------------------------------------ the thread

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise Failed("the language model has been switched off")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="promptls-language-model", daemon=True
                )
                self._thread.start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._end())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _end(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    # ------------------------------------------------------------ one question

    async def _within(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        self._connected()  # first: loading the client takes a second or two, which the model has not taken
        try:
            return await asyncio.wait_for(self._retried(chat, max_tokens), self.timeout_s)
        except (asyncio.TimeoutError, TimeoutError):
            raise Failed(f"{self.url} did not answer within {self.timeout_s:g} s") from None

    async def _retried(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.timeout_s
        try:
            return await self._once(chat, max_tokens)
        except Refused as refused:
            if not refused.again:
                raise _failed(refused) from None
            pause = PAUSE_S if refused.ordered_s is None else refused.ordered_s
            if clock() + pause >= deadline:
                raise _failed(refused, f" and wants to be left alone for {pause:.0f} s") from None
            await asyncio.sleep(pause)
        try:
            return await self._once(chat, max_tokens)
        except Refused as refused:
            raise _failed(refused, ", twice" if refused.again else "") from None

    async def _once(self, chat: list[dict[str, str]], max_tokens: int) -> str:
        import openai  # type: ignore[import-not-found,unused-ignore]  # an extra: see connect

        limits: dict[str, Any] = {"max_tokens": max_tokens, "temperature": 0}
        if self._reasoning:
            limits = {"max_completion_tokens": max_tokens * REASONING_ROOM}
        chats = self._connected().chat.completions.with_raw_response
        try:
            response = await chats.create(model=self.model, messages=chat, **limits)
        except Refused as refused:
            if refused.parameters and not self._reasoning:
                self._reasoning = True
                refused.again = True
            raise
        except openai.APITimeoutError:
            raise Refused(f"{self.url} did not answer within {self.timeout_s:g} s") from None
        except openai.APIConnectionError as error:
            why = type(error.__cause__ or error).__name__  # its text may hold the key
            raise Refused(f"the connection to {self.url} failed ({why})", again=True) from None
        return self._content(response.content)

    def _connected(self) -> Any:
        if self._client is None:
            import openai

            from promptls.prompt.language_model.transport import client

            self._client = openai.AsyncOpenAI(
                # Whatever is not given here would be taken from the environment; the key is put in by `wire`.
                api_key="-",
                organization="",
                project="",
                webhook_secret="",
                base_url=self.url,
                timeout=self.timeout_s,
                max_retries=0,
                http_client=client(self.url, self._key, self._proxy),
            )
        return self._client

    def _content(self, body: bytes) -> str:
        """The text of the first choice of a chat completion."""
        try:
            choice = msgspec.json.decode(body)["choices"][0]
            content = choice["message"]["content"]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError):
            raise Refused(f"{self.url} answered with something that is no chat completion") from None
        if isinstance(content, list):  # in parts
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        if not isinstance(content, str) or not content.strip():
            raise Refused(f"{self.url} answered without any text")
        return content


def _failed(refused: Refused, more: str = "") -> Failed:
    return Failed(f"{refused}{more}", lasting=refused.lasting, retry_after_s=refused.ordered_s or 0.0)
