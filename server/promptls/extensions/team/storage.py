"""Access to the storage of a team index: addresses, explicit options, and errors as sentences for users.

All options are passed explicitly. Without region or credentials, client libraries would query the metadata service of a
cloud; such a configuration is refused instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from promptls.model import Problem

TABLE = "chunks"
"""Name of the table."""
PUBLISHED = "published"
"""Tag of the version that readers use: the last one with complete rows and indices."""

_SECRET_OPTION = re.compile(r"secret|password|token|access_key|account_key|key_id|sas|credential", re.IGNORECASE)
_REQUIRED = (("region",), ("access_key_id", "skip_signature"))
"""Options of which one of each group must be set, without their prefix."""
_PREFIX = "aws_"
_GENERAL_OPTIONS = frozenset(
    {"allow_http", "connect_timeout", "timeout", "client_max_retries", "client_retry_timeout", "proxy_url"}
)
"""Options without a prefix."""


class Storage(Struct, frozen=True):
    """A location with the options to open it."""

    uri: str
    options: Mapping[str, str] = {}

    def __repr__(self) -> str:  # the options contain credentials
        return f"Storage({self.uri!r}, …)"

    __str__ = __repr__

    @property
    def table_uri(self) -> str:
        """Address of the table."""
        return f"{self.uri}/{TABLE}.lance"


def open_storage(
    uri: str, options: Mapping[str, str], variables: Mapping[str, str], environment: Mapping[str, str]
) -> Storage | Problem:
    """Return the storage of an `s3://` address or a folder, or what its configuration lacks.

    `options` are without secrets, and their prefix `aws_` may be left out; `variables` has the names of environment
    variables with secrets by option.
    """
    configure_libraries()
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return Storage(Path(uri).expanduser().absolute().as_posix())
    if scheme != "s3":
        return Problem(f'Unknown storage "{scheme}://"; use s3:// or a folder.')
    if secret := next((name for name in options if _SECRET_OPTION.search(name)), ""):
        return Problem(f"The storage option {secret} is a secret; name an environment variable in storage_env instead.")
    if missing := next((name for name in variables.values() if not environment.get(name)), ""):
        return Problem(f"The environment variable {missing} with a storage credential is not set.")
    values = {**options, **{option: environment[name] for option, name in variables.items()}}
    named = {_full_name(name): value for name, value in values.items()}
    for group in _REQUIRED:
        if not any(named.get(_full_name(name)) for name in group):
            choices = " or ".join(group)
            return Problem(f"The storage option {choices} is missing for s3://; promptls queries no metadata service.")
    named.setdefault("aws_endpoint", f"https://s3.{named['aws_region']}.amazonaws.com")
    return Storage(uri.rstrip("/"), named)


def configure_libraries() -> None:
    """Keep libraries in this process from querying the metadata service of a cloud and from printing warnings."""
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    os.environ.setdefault("LANCE_LOG", "error")


def storage_problem(error: BaseException, storage: Storage) -> str:
    """Return why the storage cannot be used, as one sentence without credentials."""
    text = str(error)
    lower = text.lower()
    if re.search(r"\b(401|403)\b|forbidden|access ?denied|unauthorized|invalidaccesskey|signaturedoesnotmatch", lower):
        reason = "access is denied; check the credentials"
    elif re.search(r"\b5\d\d\b|internal server error|service unavailable|slow ?down", lower):
        reason = "the storage reports an internal error"
    elif isinstance(error, TimeoutError) or re.search(r"timed out|(?<!retry_)(?<!connect_)timeout", lower):
        reason = "it does not respond"
    elif "not found" in lower or "does not exist" in lower or "no such" in lower or "nosuchbucket" in lower:
        reason = "there is no index; run `promptls team build`"
    elif re.search(r"connect|dns|resolve|network|unreachable|sending request|connection", lower):
        reason = "it cannot be reached"
    else:
        reason = _without_secrets(text.splitlines()[0] if text else type(error).__name__, storage)[:160]
    return f"Cannot read the team index {storage.uri}: {reason}."


def _full_name(name: str) -> str:
    name = name.lower()
    return name if name in _GENERAL_OPTIONS or name.startswith(_PREFIX) else _PREFIX + name


def _without_secrets(text: str, storage: Storage) -> str:
    for name, value in storage.options.items():
        if _SECRET_OPTION.search(name) and len(value) > 3:
            text = text.replace(value, "…")
    return text.rstrip(".")
