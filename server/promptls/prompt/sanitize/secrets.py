"""Redaction of secrets: recognized by shape, by the name before a value, or by the file.

`redact` replaces a secret by a named marker; the number of lines stays.  A token has the shape that its issuer
documents (token_patterns.py).  In a secret file such as .env, everything but names is redacted (file_values.py).
Elsewhere a value is a secret by its name and what it is (assignments.py, siblings.py), or by the syntax around it
(credentials.py).
"""

from __future__ import annotations

import re
from bisect import bisect_right

from promptls.prompt.sanitize.detectors.assignments import find_named_values
from promptls.prompt.sanitize.detectors.columns import find_column_values
from promptls.prompt.sanitize.detectors.credentials import find_credentials
from promptls.prompt.sanitize.detectors.file_values import find_file_values
from promptls.prompt.sanitize.detectors.logins import find_logins
from promptls.prompt.sanitize.detectors.manifests import find_manifest_values
from promptls.prompt.sanitize.detectors.private_keys import find_private_keys
from promptls.prompt.sanitize.detectors.siblings import find_sibling_values
from promptls.prompt.sanitize.detectors.token_patterns import MIN_TOKEN_CHARACTERS, find_tokens
from promptls.prompt.sanitize.findings import Finding
from promptls.prompt.sanitize.place import Place, is_secret_file, place_of
from promptls.prompt.sanitize.rule_index import searchable

_HUNK = re.compile(r"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")

Secret = tuple[int, int, str]
"""Start, end and name of a secret in a text."""


def redact(text: str, path: str = "", *, is_file: bool = False) -> tuple[str, list[Finding]]:
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
    return _replace(text, _merge(secrets)) if secrets else (text, [])


def _secrets_of(text: str, place: Place) -> list[Secret]:
    secrets: list[Secret] = []
    if "PRIVATE KEY" in text:
        secrets += find_private_keys(text)
    ascii_text = searchable(text)
    secrets += find_tokens(text, ascii_text)
    lower = _lower_case(text)
    secrets += find_credentials(text, lower, ascii_text, place)
    secrets += find_named_values(text, ascii_text, place)
    secrets += find_column_values(text, ascii_text, place)
    secrets += find_logins(text, ascii_text, place)
    if "value" in lower or "<string>" in text:
        secrets += find_sibling_values(text, ascii_text, place)
    if "Secret" in text and "kind" in text:
        secrets += find_manifest_values(text)
    return secrets


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


def _lower_case(text: str) -> str:
    """Return a text in lower case that has the same offsets."""
    lower = text.lower()
    if len(lower) != len(text):  # some letters have two characters in lower case
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower


def _merge(secrets: list[Secret]) -> list[Secret]:
    """Sort the secrets and merge those that overlap: a secret can be a part of another one."""
    merged: list[Secret] = []
    for start, end, name in sorted(secrets):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end), merged[-1][2])
        else:
            merged.append((start, end, name))
    return merged


def _replace(text: str, secrets: list[Secret]) -> tuple[str, list[Finding]]:
    """Replace the secrets by markers that keep the number of lines."""
    out: list[str] = []
    findings: list[Finding] = []
    at = line = 0
    for start, end, name in secrets:
        line += text.count("\n", at, start)
        findings.append(Finding(line, name, secret=True))
        line_ends = text.count("\n", start, end)
        out += [text[at:start], f"⟦redacted: {name}⟧", "\n" * line_ends]
        at, line = end, line + line_ends
    return "".join([*out, text[at:]]), findings
