"""Redaction of secrets: recognized by shape, by the name before a value, or by the file.

`redact` replaces a secret by a named marker; the number of lines stays.  A token has the shape that its issuer
documents, and a password is in the syntax of a program (credentials.py).  Elsewhere a value is a secret by its name and
what it is (named_values.py), or by the format of its file (formats.py).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from promptls.redaction.credentials import find_credentials, find_logins
from promptls.redaction.formats import find_file_values, find_manifest_values, find_private_keys
from promptls.redaction.named_values import (
    find_byte_keys,
    find_column_values,
    find_named_values,
    find_sibling_values,
)
from promptls.redaction.place import Place, is_secret_file, place_of
from promptls.redaction.rules import Secret, Source, compile_linear, source_of

if TYPE_CHECKING:
    import re2

MARKER = "⟦redacted: {}⟧"
"""Replacement of a secret; the name is that of the kind of secret."""
MIN_TOKEN_CHARACTERS = 20
"""Length of the shortest token in characters; few names of symbols are longer."""
_HUNK = re.compile(r"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_CANDIDATE = re.compile(r"""[0-9"'`]|[A-Za-z]{30}|[a-z]{3}-[a-z]{3,12}-[a-z]{3}""")
"""A secret has a digit, is in quotes, is long or is a phrase."""


class Finding(Struct, frozen=True, order=True):
    """A redacted secret, an escaped character or a reported injection."""

    line: int  # 0-based
    name: str  # "github token", "bidi control", "role tag", …
    secret: bool  # whether it was redacted


def redact(text: str, path: str = "", *, is_file: bool = False, marker: str = MARKER) -> tuple[str, list[Finding]]:
    """Replace each secret of the text by a marker such as "⟦redacted: github token⟧", and return the findings.

    `path` is the origin of the text, see `origin_of`.  `is_file`: the text consists of lines of that file, and is not
    about the file; of a secret file only names remain then.
    """
    if len(text) < MIN_TOKEN_CHARACTERS and not path:
        return text, []
    place = place_of(path)
    secrets = _secrets_of(text, place)
    if is_secret_file(path):
        secrets += find_file_values(text, is_file)
    if is_diff(text):
        secrets += _secrets_of_versions(text, place)
    return _replace(text, _merge(secrets), marker) if secrets else (text, [])


def may_have_secret(text: str) -> bool:
    """Return whether a name, a signature or a sentence can have a secret; two thirds have nothing like one."""
    return _CANDIDATE.search(text) is not None


def _secrets_of(text: str, place: Place) -> list[Secret]:
    source = source_of(text, place)
    searches = (
        find_credentials,
        find_named_values,
        find_sibling_values,
        find_column_values,
        find_byte_keys,
        find_logins,
    )
    secrets = [secret for search in searches for secret in search(source)]
    if place.in_code:
        secrets += _secrets_of_comments(source)
    if "PRIVATE KEY" in text:
        secrets += find_private_keys(text)
    if "Secret" in text and "kind" in text:
        secrets += find_manifest_values(text)
    return secrets


def _secrets_of_comments(source: Source) -> Iterator[Secret]:
    """Yield the secrets in comments on a line of their own; a comment is prose, where values have no quotes."""
    place = replace(source.place, in_text=True)
    for comment in _comment().finditer(source.ascii):
        start, end = comment.span()
        prose = Source(source.text[start:end], source.ascii[start:end], place)
        for search in (find_credentials, find_named_values):
            yield from ((start + first, start + last, name) for first, last, name in search(prose))


@cache
def _comment() -> re2._Regexp:
    """Return the expression of a comment line with the word of a secret."""
    return compile_linear(
        r"(?mi)^[ \t]{0,80}(?://|#|--|;|/?\*|<!--)[^\n]{0,160}"
        r"(?:\b(?:pw|pwd|psk|log-?in|account|admin|cred(?:ential)?s?|(?:api|access|secret)[ _-]?key|token|secret)|passw(?:d|or[dt])|passphrase)\b[^\n]{0,160}"
    )


def is_diff(text: str) -> bool:
    """Return whether a text has the hunks of a unified diff."""
    return "@@ -" in text and _HUNK.search(text) is not None


def _secrets_of_versions(text: str, place: Place) -> list[Secret]:
    """Return the secrets of both versions in a diff: a name and its value may be lines with different signs.

    A version has no signs, because the names of columns and fields are recognized at the start of a line.
    """
    secrets: list[Secret] = []
    lines = text.split("\n")
    for sign in "-+":
        version: list[str] = []
        starts, moved, at, length = [0], [0], 0, 0  # offset in the version, and how far it has moved in the diff
        for line in lines:
            if line[:1] in ("", " ", sign):
                version.append(line[1:])
                starts.append(length)
                moved.append(at + 1 - length)
                length += max(1, len(line))
            elif version and line.startswith("@@"):
                version.append("")
                starts.append(length)
                moved.append(at - length)
                length += 1
            at += len(line) + 1
        for start, end, name in _secrets_of("\n".join(version), place):
            first, last = (bisect_right(starts, offset) - 1 for offset in (start, end - 1))
            secrets.append((start + moved[first], end + moved[last], name))
    return secrets


def _merge(secrets: list[Secret]) -> list[Secret]:
    """Sort the secrets and merge those that overlap: a secret can be a part of another one."""
    merged: list[Secret] = []
    for start, end, name in sorted(secrets):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end), merged[-1][2])
        else:
            merged.append((start, end, name))
    return merged


def _replace(text: str, secrets: list[Secret], marker: str) -> tuple[str, list[Finding]]:
    """Replace the secrets by markers that keep the number of lines."""
    out: list[str] = []
    findings: list[Finding] = []
    at = line = 0
    for start, end, name in secrets:
        line += text.count("\n", at, start)
        findings.append(Finding(line, name, secret=True))
        line_ends = text.count("\n", start, end)
        out += [text[at:start], marker.format(name), "\n" * line_ends]
        at, line = end, line + line_ends
    return "".join([*out, text[at:]]), findings
