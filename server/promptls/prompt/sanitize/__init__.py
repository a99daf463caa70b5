"""Sanitizing of text for a prompt: invisible characters, header text and prompt injections; `clean` redacts secrets too.

Invisible characters are escaped, secrets are replaced by a named marker, and injections are only reported.  All other
text stays unchanged, and the number of lines never changes.  Pure functions over text.
"""

from __future__ import annotations

from msgspec import Struct

from promptls.prompt.sanitize.injections import (
    find_injections,
    message_warnings,
)
from promptls.prompt.sanitize.invisible import escape_invisible, header_text, invisible_characters, one_line
from promptls.redaction.secrets import Finding, redact

__all__ = [
    "CleanText",
    "clean",
    "escape_invisible",
    "find_injections",
    "header_text",
    "message_warnings",
    "one_line",
]


class CleanText(Struct, frozen=True):
    """Sanitized lines of a text; as many as the text has."""

    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()  # redacted secrets and escaped characters, by line


def clean(text: str, path: str = "") -> CleanText:
    """Redact secrets, escape invisible characters and remove a byte order mark at the start.

    With a `path`, the origin of a file (see `origin_of`), the text consists of lines of that file.
    """
    text = text.removeprefix("\ufeff")
    text, secrets = redact(text, path, is_file=True)
    escaped, counts = escape_invisible(text)
    invisible = [Finding(line, name, secret=False) for line, name in invisible_characters(text)] if counts else []
    return CleanText(tuple(escaped.split("\n")), tuple(sorted([*secrets, *invisible])))
