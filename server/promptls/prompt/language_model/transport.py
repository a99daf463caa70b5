"""What goes to an endpoint and what comes back: the HTTP client that is put below openai's.

Out: the headers listed here, the key among them, and nothing of the environment (no proxy, no organisation,
no platform).  In: a 2xx of bounded size; everything else is `Refused`.  Redirects are not followed.
Imported when a question is asked, because httpx2 comes with the extra "openai".
"""

from __future__ import annotations

import re
from typing import Any

import httpx2  # type: ignore[import-not-found,unused-ignore]
import msgspec

from promptls.prompt.language_model.errors import Refused
from promptls.prompt.sanitize import visible

MAX_BODY = 256 * 1024
"""Bytes of a response; an answer of 400 tokens has 2,000."""
MAX_REFUSAL = 16 * 1024
"""Bytes of the body of an error that are read."""

LONGEST_ORDER_S = 3600.0
"""The longest time to leave a server alone that is taken from its "Retry-After"."""

_HEADERS = frozenset({"accept", "content-length", "content-type", "host"})
_AGAIN = frozenset({408, 409, 425, 429})  # and 5xx
_LASTING = frozenset({401, 402, 403, 404, 405, 410})


def client(url: str, key: str, proxy: str = "") -> Any:
    """The client for one endpoint; `url` is what sentences call it."""
    below = httpx2.AsyncHTTPTransport(trust_env=False, proxy=proxy or None)
    return httpx2.AsyncClient(transport=_Wire(below, url, key), trust_env=False, follow_redirects=False)


class _Wire(httpx2.AsyncBaseTransport):  # type: ignore[misc,unused-ignore]
    def __init__(self, below: Any, url: str, key: str) -> None:
        self._below = below
        self._url = url
        self._key = key

    async def aclose(self) -> None:
        await self._below.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send the request and read the whole answer.  Raises `Refused` and what httpx2 raises."""
        response = await self._below.handle_async_request(self._tidy(request))
        try:
            if response.status_code >= 300:
                raise self._refusal(response, await _first(response, MAX_REFUSAL))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Refused(f"{self._url} answered in an encoding that was not asked for")
            body = await _first(response, MAX_BODY + 1)
        finally:
            await response.aclose()
        if len(body) > MAX_BODY:
            raise Refused(f"{self._url} answered with more than {MAX_BODY // 1024} KB")
        return httpx2.Response(response.status_code, headers=response.headers, content=body)

    def _tidy(self, request: Any) -> Any:
        headers = {name: value for name, value in request.headers.items() if name.lower() in _HEADERS}
        headers |= {"User-Agent": "promptls", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )

    def _refusal(self, response: Any, body: bytes) -> Refused:
        status = response.status_code
        if status < 400:
            return Refused(f"{self._url} redirects to another address, which is not followed", lasting=True)
        said = _said(body, self._key)
        what = f"{self._url} answered with status {status}"
        return Refused(
            f"{what}: {said}" if said else what,
            again=status in _AGAIN or status >= 500,
            lasting=status in _LASTING,
            parameters=status == 400 and ("max_completion_tokens" in said or "temperature" in said),
            ordered_s=_retry_after(response.headers.get("retry-after", "")),
        )


async def _first(response: Any, most: int) -> bytes:
    """At most the first `most` bytes of the body."""
    body = bytearray()
    async for chunk in response.stream:
        body += chunk
        if len(body) >= most:
            break
    return bytes(body[:most])


def _retry_after(value: str) -> float | None:
    """Seconds that the server asks for, None if it does not say or gives a date."""
    return min(float(value), LONGEST_ORDER_S) if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", value.strip()) else None


def _said(body: bytes, key: str) -> str:
    """What an error's body says, on one line, without the key; "" for HTML and other things not made for reading."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    error = data.get("error", data) if isinstance(data, dict) else data
    text = error.get("message", "") if isinstance(error, dict) else error
    if not isinstance(text, str):
        return ""
    line = " ".join((text.replace(key, "…") if key else text).split())
    return visible(line[:200].rstrip("."))[0]
