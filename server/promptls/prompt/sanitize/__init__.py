"""What must not reach a model unseen: invisible characters, forged headers, secrets, text that poses as orders.

Pure functions over text.  Code stays as it is otherwise: nothing that a reader can see is rewritten,
apart from the secrets, which give way to a named marker.  The number of lines never changes, so that
line numbers stay true.  Knows nothing of items, forms or budgets; fences are in fences.py.
"""

from __future__ import annotations

from msgspec import Struct

from promptls.prompt.sanitize.findings import Finding
from promptls.prompt.sanitize.injections import (
    about_message,
    injections,
    sanitize_like_codebuddy,
    truncate_like_codebuddy,
)
from promptls.prompt.sanitize.invisible import header_text, unseen, visible
from promptls.prompt.sanitize.secrets import is_made_for_secrets, redact

__all__ = [
    "Clean",
    "Finding",
    "about_message",
    "clean",
    "header_text",
    "injections",
    "is_made_for_secrets",
    "redact",
    "sanitize_like_codebuddy",
    "truncate_like_codebuddy",
    "visible",
]


class Clean(Struct, frozen=True):
    """A text that may stand in a prompt; as many lines as it had."""

    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()  # what was redacted or made visible, by line


def clean(text: str, path: str = "") -> Clean:
    """The text with secrets redacted and invisible characters shown; a byte order mark at its start goes.

    With a `path`, the text is lines of that file.
    """
    text = text.removeprefix("\ufeff")
    text, secrets = redact(text, path, is_file=True)
    shown, counts = visible(text)
    hidden = [Finding(line, name, secret=False) for line, name in unseen(text)] if counts else []
    return Clean(tuple(shown.split("\n")), tuple(sorted([*secrets, *hidden])))
