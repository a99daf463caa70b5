"""Creation of a language model from the user's settings, with checks of the configuration.

Only the user's own settings are used, because they determine where questions are sent.  The key comes from the settings
or from one environment variable, and is sent in the header of requests only.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from promptls.model import Problem
from promptls.prompt.language_model.client import LanguageModel
from promptls.prompt.language_model.editor import SendRequest, editor_model
from promptls.prompt.language_model.endpoint import Endpoint
from promptls.settings import LanguageModelSettings


def connect_language_model(
    settings: LanguageModelSettings, environ: Mapping[str, str], send: SendRequest | None = None
) -> LanguageModel | Problem | None:
    """Return the configured language model; None if it is off, a `Problem` if it is not available.

    Nothing is sent and openai is not imported before the first request.

    Args:
        settings: The user's settings.
        environ: Environment variables.
        send: Sends a request to the editor (see `editor_model`); None if the client offers no model.
    """
    if settings.use == "off":
        return None
    if settings.use == "editor":
        if send is None:
            return Problem(
                'languageModel.use is "editor", but this editor offers no language model.',
                'Set languageModel.use to "off", or to "endpoint" and name a server.',
            )
        complete = editor_model(send, settings.timeout_s)
        return LanguageModel(complete, "the editor's language model", sends_code=settings.send_code)
    return _connect_endpoint(settings, environ)


def _connect_endpoint(settings: LanguageModelSettings, environ: Mapping[str, str]) -> LanguageModel | Problem:
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
            'Install it with: pip install "promptls[openai]"',
        )
    endpoint = Endpoint(url, settings.model.strip(), key, settings.timeout_s, settings.proxy)
    host = urlsplit(url).hostname or ""
    return LanguageModel(
        endpoint,
        f"{settings.model.strip()} at {host}",
        warnings=_encryption_warnings(url, bool(key)),
        sends_code=settings.send_code,
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
