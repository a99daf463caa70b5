"""From the user's settings to a language model that can be asked, or to the reason why there is none.

The settings count only when they come from the user: they name where questions are sent to.  The key
comes from them or from one environment variable and goes into the request's header, nowhere else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from promptls.model import Problem
from promptls.prompt.language_model.client import LanguageModel
from promptls.prompt.language_model.editor import Send, editor
from promptls.prompt.language_model.endpoint import Endpoint
from promptls.settings import LanguageModelSettings


def connect(
    settings: LanguageModelSettings, environ: Mapping[str, str], send: Send | None = None
) -> LanguageModel | Problem | None:
    """The language model of the settings; None if none is wanted, a `Problem` if it cannot be had.

    `send` is the editor's side (see `editor`), None where the client offers no model.  Nothing is sent
    and openai is not imported before the first question.
    """
    if settings.use == "off":
        return None
    if settings.use == "editor":
        if send is None:
            return Problem(
                "The settings ask for the editor's language model, but this editor offers none.",
                'Set languageModel.use to "off", or to "endpoint" and name a server.',
            )
        way = editor(send, settings.timeout_s)
        return LanguageModel(way, "the editor's language model", sends_code=settings.send_code)
    return _endpoint(settings, environ)


def _endpoint(settings: LanguageModelSettings, environ: Mapping[str, str]) -> LanguageModel | Problem:
    url = _address(settings.endpoint)
    if isinstance(url, Problem):
        return url
    if not settings.model.strip():
        return Problem("languageModel.model is empty.", "Name a model of the endpoint.")
    key = (settings.key or environ.get(settings.key_env, "")).strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        return Problem("The key of the language model has characters that no key has.", "Copy it again.")
    if settings.proxy and not re.match(r"https?://[^/\s]", settings.proxy):
        return Problem("languageModel.proxy is no address of a proxy.", 'Write it as "http://host:port".')
    if find_spec("openai") is None:
        return Problem(
            "A language model endpoint needs the package openai, which is not installed.",
            'Install it with: pip install "promptls[openai]"',
        )
    endpoint = Endpoint(url, settings.model.strip(), key, settings.timeout_s, settings.proxy)
    host = urlsplit(url).hostname or ""
    return LanguageModel(
        endpoint,
        f"{settings.model.strip()} at {host}",
        warnings=_in_the_clear(url, bool(key)),
        sends_code=settings.send_code,
        close=endpoint.close,
    )


def _address(text: str) -> str | Problem:
    """The base address: without a trailing slash, and without the path of the request if somebody gave it."""
    text = text.strip()
    example = 'Write it as "https://api.example.com/v1".'
    if not text:
        return Problem("languageModel.endpoint is empty.", example)
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        fits = False
    if not fits or not re.fullmatch(r"[\x21-\x7e]+", text):
        return Problem("languageModel.endpoint is no http or https address.", example)
    if parts.username is not None or parts.query or parts.fragment:
        return Problem("languageModel.endpoint has a user name, a query or a fragment in it.", example)
    return text.rstrip("/").removesuffix("/chat/completions")


def _in_the_clear(url: str, key: bool) -> tuple[str, ...]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost" or host.endswith(".localhost"):
        return ()
    try:
        if ipaddress.ip_address(host).is_loopback:
            return ()
    except ValueError:
        pass
    what = "Questions and the key go" if key else "Questions go"
    return (f"{what} to {host} without encryption; use an https address.",)
