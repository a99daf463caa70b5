"""HTTP transport of the `openai` client: which headers are sent, how much is received, which errors are raised.

Requests have only the headers listed here and the key, and nothing from the environment (no proxy, no organization,
no platform).  Responses are 2xx and of bounded size; everything else raises `LanguageModelError`.  Redirects are not
followed.  Imported on the first request, because httpx2 comes with the extra "openai".
"""

from __future__ import annotations

import re
from typing import Any

import httpx2  # type: ignore[import-not-found,unused-ignore]
import msgspec

from promptls.prompt.language_model.client import LanguageModelError
from promptls.prompt.sanitize import escape_invisible

MAX_BODY_BYTES = 256 * 1024
"""Maximum size of a response, in bytes; an answer of 400 tokens has 2,000."""

MAX_ERROR_BODY_BYTES = 16 * 1024
"""Maximum bytes of an error response that are read."""

MAX_RETRY_AFTER_S = 3600.0
"""Maximum delay that is accepted from the header "Retry-After", in seconds."""

_ALLOWED_HEADERS = frozenset({"accept", "content-length", "content-type", "host"})
_PERMANENT_STATUS = frozenset({401, 402, 403, 404, 405, 410})


def create_client(url: str, key: str, proxy: str = "") -> Any:
    """Return an HTTP client for one endpoint; `url` is its name in error messages."""
    inner = httpx2.AsyncHTTPTransport(trust_env=False, proxy=proxy or None)
    return httpx2.AsyncClient(transport=_Transport(inner, url, key), trust_env=False, follow_redirects=False)


class _Transport(httpx2.AsyncBaseTransport):  # type: ignore[misc,unused-ignore]
    def __init__(self, inner: Any, url: str, key: str) -> None:
        self._inner = inner
        self._url = url
        self._key = key

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send the request and read the whole response.

        Raises:
            LanguageModelError: The response has another status than 2xx, or is too large.
        """
        response = await self._inner.handle_async_request(self._clean_request(request))
        try:
            if response.status_code >= 300:
                raise self._failure(response, await _read_up_to(response, MAX_ERROR_BODY_BYTES))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise LanguageModelError(f"{self._url} answered with an unsupported encoding")
            body = await _read_up_to(response, MAX_BODY_BYTES + 1)
        finally:
            await response.aclose()
        if len(body) > MAX_BODY_BYTES:
            raise LanguageModelError(f"{self._url} answered with more than {MAX_BODY_BYTES // 1024} KB")
        return httpx2.Response(response.status_code, headers=response.headers, content=body)

    def _clean_request(self, request: Any) -> Any:
        headers = {name: value for name, value in request.headers.items() if name.lower() in _ALLOWED_HEADERS}
        headers |= {"User-Agent": "promptls", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )

    def _failure(self, response: Any, body: bytes) -> LanguageModelError:
        status = response.status_code
        if status < 400:
            return LanguageModelError(
                f"{self._url} redirects to another address; redirects are not followed", permanent=True
            )
        message = _error_message(body, self._key)
        status_text = f"{self._url} answered with status {status}"
        return LanguageModelError(
            f"{status_text}: {message}" if message else status_text,
            permanent=status in _PERMANENT_STATUS,
            wrong_parameters=status == 400 and ("max_completion_tokens" in message or "temperature" in message),
            retry_after_s=_retry_after(response.headers.get("retry-after", "")),
        )


async def _read_up_to(response: Any, limit: int) -> bytes:
    """Return the first `limit` bytes of the body."""
    body = bytearray()
    async for chunk in response.stream:
        body += chunk
        if len(body) >= limit:
            break
    return bytes(body[:limit])


def _retry_after(value: str) -> float:
    """Return the seconds of the header "Retry-After"; 0 without one and for a date."""
    return min(float(value), MAX_RETRY_AFTER_S) if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", value.strip()) else 0.0


def _error_message(body: bytes, key: str) -> str:
    """Return the message of an error response, on one line and without the key; "" if it is not JSON."""
    try:
        data = msgspec.json.decode(body)  # noqa: TID251  (plain values)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    error = data.get("error", data) if isinstance(data, dict) else data
    text = error.get("message", "") if isinstance(error, dict) else error
    if not isinstance(text, str):
        return ""
    line = " ".join((text.replace(key, "…") if key else text).split())
    return escape_invisible(line[:200].rstrip("."))[0]
